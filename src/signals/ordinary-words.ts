/** Ordinary words that, written in capitals, are another's name or an acronym: IT, SAP, ACT, LEAN. */
export const ORDINARY_WORDS: ReadonlySet<string> = new Set(
  (
    'a act ads age aid aim air all am an and any app arc are arm art as ask at bat be best bid bit box but by ' +
    'can cap car care case cat chat core cost dash do dot dr ebb ed end eps era fab fan far fast fit flow for fun ' +
    'get go had has he help her his hit hot how i if ill in ire is it its jam job just key kit last lead lean less ' +
    'let life lift like link list live lot make map mat max may me met mid mine more most my net new no not now oh ' +
    'of off oh old on one or our out pal pan part pass past pat pay pick pie pin plan play pop pro pub put raw ' +
    'real rest rich ride rig rise risk run safe sage said sap save say see set shop show sip smart so spa spin ' +
    'star stem step tab tag tap ten test that the them time tip to too top trust up us use van via war was way we ' +
    'well who will win with work you zoom'
  ).split(' '),
);
