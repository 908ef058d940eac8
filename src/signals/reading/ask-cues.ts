import { cue } from './cue.ts';

/** Verbs of wanting, whose meaning hangs on who does it: "we are looking for" asks, "are you looking for" sells. */
export const WISHES = [
  cue(
    'seek',
    '\\b(?:looking|searching|shopping|hunting|lookin) (?:around )?(?:for(?! (?:(?:some|any|a|an|your|honest|early|new|more|brutal|real) ){0,3}(?:feedback|(?:beta[- ])?testers?|(?:beta |early |first )?users|early adopters|clients|customers|investors?|co-?founders?|mentors?|collaborators?)\\b)|to (?:buy|hire|replace|switch|find|get|move|migrate|outsource|purchase|upgrade|implement|set ?up|add|invest|change|bring|work with|connect with)|into (?!it\\b))',
    '\\bin (?:search|need|the market) (?:of|for)\\b|\\btasked with (?:finding|choosing|picking|selecting|buying|sourcing)\\b',
    '\\b(?:shop|shopping) around\\b|\\blook(?:ing)? elsewhere\\b|\\blooking at (?:\\w+ ){0,2}(?:vendors?|providers?|suppliers?|options|alternatives|quotes|tools|platforms)\\b|\\bopen to (?:other |new ){1,2}(?:options|providers?|vendors?|suppliers?|tools?|ideas)\\b',
    '\\bon the (?:lookout|hunt) for\\b',
    '\\b(?:seeking|iso|wtb)\\b',
    '\\btrying to (?:find|choose|decide|pick|select|source|figure out (?:which|what|who))\\b',
    "\\b(?:can't|cannot|can not|couldn't|could not|haven't been able to) (?:seem to )?(?:find|decide|figure out which)\\b",
    '\\bhaving (?:a hard time|trouble|difficulty) (?:finding|choosing)\\b|\\bstruggling to find\\b',
  ),
  cue(
    'need',
    "\\b(?:need|needs|require|requires|want|wants|wanna|'d like|would like|would love|would appreciate) (?:a|an|some|someone|somebody|something|one|the|new|help|advice|better|more|recommendations?|suggestions?|your|it to|to (?:buy|hire|find|get|replace|switch|move|migrate|outsource|purchase|upgrade|set ?up|add|order|have|start|make|build|know (?:which|what)|pay|automate|invest|choose|pick|select|integrate|implement|sync|use|be able))\\b",
    '\\b(?:needed|wanted|required)\\b(?! to| by| in)',
    '\\bin desperate need\\b|\\bdesperate(?:ly)? (?:for|need)',
    "\\b(?:it's|it is) (?:finally )?time (?:to|for)\\b",
  ),
  cue(
    'consider',
    '\\b(?:considering|evaluating|comparing|exploring|assessing|weighing|debating|reviewing|shortlisted|shortlisting|trialing|trialling|investigating|researching|deciding) (?!how)',
    '^\\W*(?:\\d+[.)] )?(?:evaluate|re-?evaluate|consider|re-?consider|select|choose|pick|compare|research|investigate|explore|look into|find|decide|get|set up|replace|switch|move (?:off|to|away)|migrate|buy|order|purchase|hire|add|begin exploring|review) (?!your|you|the following|these)',
    '\\b(?:deciding|torn|choose|choosing|decide|stuck) (?:between|on)\\b',
    '\\b(?:thinking|thought) (?:of|about) (?:getting|using|hiring|switching|moving|buying|going|trying|upgrading|outsourcing|investing|adding|replacing|changing|implementing|starting|paying|migrating|building)',
    '\\bleaning (?:to|toward|towards)\\b|\\bnarrowed (?:it )?down\\b|\\bdemo(?:ed|d)\\b|\\bon the fence\\b|\\btempted to\\b',
    '\\b(?:plan|planning) (?:to|on) (?:buy|hire|switch|mov|migrat|us|implement|replac|get|upgrad|purchas|launch|start)',
  ),
  cue(
    'switch',
    '\\b(?:switch|switching|move|moving|migrate|migrating|transition|transitioning|change|changing) (?:away )?(?:from|off|off of|over|to (?:a|an|another|something)|away|our|my|providers?|platforms?|vendors?)\\b',
    '\\b(?:replace|replacing|replacement for|ditch|ditching|drop|dropping|leave|leaving|get rid of|getting rid of|getting off|outgrown|outgrew|outgrowing|cancel|cancelling|canceling)\\b',
    '\\b(?:contract|renewal|licen[cs]e|subscription) (?:is (?:up|due|coming)|ends|expires|runs out|coming up)\\b|\\bup for renewal\\b|\\brenewal (?:time|coming)\\b',
  ),
] as const;

/** Questions put to whoever reads, that ask for a thing, a supplier or a choice. */
export const QUESTIONS = [
  cue(
    'recommend',
    '\\b(?:any|some|your|for|appreciate|need|seeking|welcome|want|looking|love|open to|best|other|tool|theme|app|vendor|software) (?:\\w+ ){0,3}(?:recommendations?|recs|recommends|reccs|suggestions?|recos)\\b',
    '\\b(?:recommendations?|suggestions?|recs) (?:for|on|please|needed|wanted|appreciated|welcome|would|are|is)\\b',
    '\\b(?:recommendations?|suggestions?|recs)\\s*[?!]',
    '\\b(?:would|can|could|do|does|should|will|may|please|you|anyone|anybody|someone|everyone|who|which|what|vendor) (?:\\w+ )?(?:recommend|suggest)\\b',
    '\\bsuggest (?:me|a|an|some|good|us)\\b|\\brecommend (?:me|a|an|some|us)\\b',
    '\\bpoint me (?:to|in|towards?)\\b|\\b(?:any|some|good) (?:leads|referrals?|contacts?|pointers) (?:for|to|on|would)\\b',
  ),
  cue(
    'which',
    "\\b(?:what|which|who|what's|whats|who's|where) (?:is|are|'s|would be|do you think is|has been|was)? ?(?:the|your|a|some|an?)? ?(?:\\w+ )?(?:best|good|cheapest|better|ideal|right|go-to|go to|favou?rite|most (?:reliable|affordable|cost|popular)|easiest|recommended|decent|affordable|fastest|simplest|top)\\b",
    '\\b(?:what|which) (?:\\w+ ){1,4}(?:is|are|would be|works) (?:the )?(?:best|better|good|right|ideal|suitable|cheapest)\\b',
    '\\b(?:which|what) (?:\\w+ ){1,4}(?:should|shall|could) (?:i|we|(?:my|our|a) \\w+)\\b',
    '\\b(?:what|which) (?:else )?(?:do|should|would|can|could) (?:i|we) (?:\\w+ ){0,2}(?:sign up for|get|buy|use|pick|choose|order|go (?:with|for)|switch to|move to)\\b',
    '\\bwhich (?:one|of these|would|should|is better|way|option|do|\\w+ (?:should|would|do|is|are|to))\\b',
    '\\bwhat (?:are|is) (?:the|my|our|some|your)? ?(?:\\w+ )?(?:options|alternatives|choices|solutions)\\b',
    '\\b(?:other|better|any) (?:\\w+ )?options\\b',
    '\\bhelp (?:me |us )?(?:to )?(?:choose|choosing|pick|picking|decide|deciding|select|selecting|compare|comparing|find|finding)\\b',
  ),
  cue(
    'best',
    '^\\W*(?:\\[[^\\]]*\\] )?(?:the )?(?:best|good|cheapest|affordable|cheap|reliable|ask hn: (?:best|good|affordable|cheap)|great)\\b(?! (?:practices?|of|way to learn|time|things?|buy|deal|friend|day|news|luck|morning))',
  ),
  cue(
    'alternative',
    '\\balternatives? (?:to|for|that|like|with|which|available|out there|suggestions?)\\b|\\balternatives?\\s*[?]|\\b(?:any|an|some|good|better|cheaper|free|viable|affordable|other|decent|solid|reliable) (?:\\w+ )?alternatives?\\b|\\b\\w+ alternatives?\\s*$',
    '\\b(?:replacement|substitute|equivalent) (?:for|to|of)\\b|\\bequivalents?\\s*[?]|\\b\\w+ replacements?\\b',
    '\\b(?:something|anything) (?:else|better|cheaper|simpler|similar|easier|like|that|more|comparable)\\b',
    '\\b(?:similar|comparable) to\\b|\\binstead of (?:paying|using|the|\\w+ing)\\b',
  ),
  cue(
    'any_tool',
    '\\b(?:is|are|does|do) there (?:a|an|any|some|other|anything|something|even|actually|really|still|such|no)\\b',
    "\\b(?:anyone|anybody|someone|somebody|any ?one|you|people|folks|guys|y'all) (?:here |else |all |guys |out there )?(?:happen to )?(?:know|aware|familiar|heard|got|have|found|find|seen|come across)\\b",
    '\\b\\w+ as a service\\b(?=.*\\?)',
    '\\bdoes (?:such|something like this|anything like this|this) (?:\\w+ )?exist\\b|\\bdoes (?:a|an|anything) \\w+ exist\\b',
    '\\bany (?:\\w+ ){0,2}(?:tools?|apps?|software|services?|compan(?:y|ies)|platforms?|solutions?|providers?|plugins?|vendors?|suppliers?|firms?|agenc(?:y|ies)|products?|programs?|sites?|websites?|systems?)\\b',
    '\\bany (?:good|decent|reliable|cheap|affordable|free|solid)\\b',
    '\\b(?:anyone|anybody|someone|somebody) (?:here |out there )?(?:able|willing|available) to\\b',
  ),
  cue(
    'anyone_used',
    '\\b(?:anyone|anybody|any ?one|someone|you|any of you|folks|people|those who|who) (?:here |else |all |guys |actually |ever |currently |in \\w+ )?(?:used|tried|using|use|uses|worked with|work with|working with|had|have any|has any|have|has|got|switched|moved|migrated|done|had experience|hired|dealt|implemented|ordered|bought|combining|getting)\\b',
    '\\b(?:experiences?|feedback|thoughts|opinions?|reviews?|insights?) (?:with|on|of|about|for|from|regarding) ',
    '\\bhas any ?(?:one|body)\\b|\\bhave any of you\\b|\\breal[- ]world (?:experience|recommendations?)',
    '\\bunbiased (?:opinion|analysis|review|view)|\\bpros and cons\\b',
  ),
  cue(
    'used_by_you',
    '\\b(?:what|which|who|where) (?:\\w+ ){0,5}(?:do|are|did|does|is|have|would) (?:you|people|others|everyone|folks|companies|teams|other \\w+|y.?all|most \\w+|anyone|everybody|your \\w+) (?:\\w+ ){0,3}(?:use|using|buy|choose|pick|chosen|hire|get|go with|prefer|used|order|source|sourcing|running|rely|host|hosting|paying|trust|swear by|like|moving to|move to|switching to|switch to|going with|end up with)\\b',
    "\\bwhat's (?:your|everyone's|everybody's) (?:\\w+ ){0,3}(?:stack|setup|tool|tools|go-to|software|system|workflow|provider|solution)\\b",
    '\\bwhat (?:tools?|apps?|software|systems?|platforms?|services?|plugins?) ',
  ),
  cue(
    'should_we',
    '\\b(?:should|shall) (?:i|we) (?:\\w+ )?(?:go|use|get|buy|choose|hire|switch|pick|stick|stay|pay|invest|move|try|outsource|upgrade|opt|sign|just use|be using|look into|consider|start with)\\b',
    '\\b(?:worth (?:it|the|paying|switching|buying|getting|trying|using|upgrading|investing|hiring|considering|a try))\\b',
    '\\b(?:is|are) [\\w.&-]{1,30} (?:\\w+ ){0,3}(?:any good|legit|the best|worth|a good (?:option|choice|fit|idea)|reliable|good for|better than|good enough|overkill)\\b',
    '\\bbetter off\\b|\\bmake sense to (?:use|hire|buy|switch|go|pay|move)\\b',
  ),
  cue('versus', '\\b[\\w.]{1,30} (?:vs\\.?|versus|v\\.s\\.|v) [\\w.]'),
  cue(
    'where_buy',
    '\\bwhere (?:can|do|could|should|would|to|did|might) (?:\\w+ )?(?:i |we |you )?(?:\\w+ )?(?:find|get|buy|purchase|source|hire|order|look|go|start looking|deploy|host|outsource)\\b',
    '\\b(?:how|where) (?:can|do|did|would|should|to) (?:i|we|you)? ?(?:\\w+ )?(?:find|choose|hire|pick|select|source|vet|evaluate) (?:a|an|good|the|your|reliable|someone|new|developers?|suppliers?|freelancers?)',
    '\\bwho (?:can|could|should|would|do|to) (?:\\w+ ){0,3}(?:help|call|talk|contact|hire|do this|trust|reach|use|go (?:to|with)|move to|switch to|pick|choose)\\b',
    '\\bwho (?:builds?|makes|sells|offers|does|handles|provides) (?:these|this|that|those|them|it|an?|good)\\b|\\b(?:drop|give me|send me) (?:the|a|some|your) names?\\b|\\bopen to (?:other )?(?:offers|quotes)\\b',
  ),
  cue(
    'how_much',
    '\\bhow (?:much|expensive|many hours) (?:\\w+ ){0,4}(?:pay|cost|charge|spend|costs|budget|is|are|should|would|does|do)\\b',
    "\\b(?:what|what's) (?:\\w+ ){0,4}(?:pay|paying|price|cost|rate|fair price|ballpark|reasonable)\\b|\\bball ?park\\b",
    '\\btoo (?:much|expensive|high|steep)\\b(?:[^.!]*\\?)|\\bfair (?:price|quote)\\b',
  ),
] as const;

/** Plain words of buying and hiring that need no question. */
export const OFFERS_TO_BUY = [
  cue(
    'tender',
    '\\b(?:rfps?|rfqs?|request for (?:proposals?|quotes?|quotations?|information|tender|bids?)|invitation to (?:tender|bid)|call for (?:proposals|tenders|bids)|ausschreibung|tenders?|procurement|solicitation|bidders?|auftraggeber|statement of work|quotes? for|beschaffung|vergabe|auftragsbekanntmachung|konzessionsbekanntmachung|contracting authority|contract notice|marché public|appel d.offres|licitación|get(?:ting)? (?:a |some )?quotes?|quotes? (?:needed|wanted|requested)|(?:need|needs|want|seeking|requesting|inviting) (?:a |some |your )?(?:quotes?|proposals|bids|offers))\\b',
  ),
  cue(
    'hire_supplier',
    '\\b(?:hire|hiring|contract|engage|find|bring on|pay|outsource to|outsourcing|need|want|get|seeking|looking for|onboard) (?:\\w+ ){0,4}(?:agency|agencies|freelancers?|consultants?|consultancy|contractors?|virtual assistant|va|accountant|bookkeeper|lawyer|attorney|designer|videographer|photographer|copywriter|cpa|firm|dev shop|development company|expert|specialist|media buyer|marketer|seo \\w+|editor|recruiter|headhunter|broker|translator|trainer|someone)\\b',
    '\\boutsourc(?:e|ing) (?:our|my|the|some|this|a)\\b',
    '^\\W*hiring\\b|\\[hiring\\]|\\(hiring\\)|\\[task\\]|\\[paid\\]',
    '\\b(?:freelance|freelancer|contract|part[- ]time|short[- ]term|paid) (?:\\w+ ){0,2}(?:wanted|needed|project|gig|position|work|role|basis|contract|opportunity)\\b|\\bcontractor\\b|\\bcontract(?: only)?\\s*[|)\\/,]|\\|\\s*contract',
  ),
  cue(
    'contract_work',
    '\\b(?:1099|contract[- ]to[- ]hire|contract (?:role|position|work|basis|developer|engineer|designer)|\\(contract|contract\\s*[,|)\\/]|\\|\\s*(?:contract|freelance|part[- ]time)|hourly|\\/ ?h(?:ou)?r|per hour|an hour|project[- ]based|fixed[- ]price|(?:short|long)[- ]term (?:contract|project)|inside ir35|outside ir35|day rate|freelance (?:basis|role|position)|contractors?)\\b',
  ),
  cue(
    'gig_title',
    '^\\W*(?:[\\w&\\/-]+ ){0,6}(?:development|developer|designer|design|redesign|migration|migrations|setup|set-up|integration|optimi[sz]ation|editor|expert|specialist|consultant|assistant|creation|update|build|management|automation|marketing|seo) (?:[\\w&\\/-]+ ){0,3}(?:for|of|with|needed|wanted|to)\\b(?!.*\\?)',
  ),
  cue(
    'willing_to_pay',
    "\\b(?:willing|happy|ready|prepared|able|looking|want|going) to (?:pay|spend|sign|buy|invest|purchase)\\b|\\b(?:will|i'll|we'll|can) pay\\b|\\bpaid (?:options|opportunity|gig)\\b|\\bopen to paid\\b",
  ),
  cue(
    'decides',
    '\\b(?:have|has|had|got|going|want|wants|need|needs) to (?:\\w+ )?(?:pick|choose|decide|select|buy|order|purchase|sign)\\b(?=.*\\b(?:by|before|until|this|next|tomorrow|today)\\b)',
    '\\b(?:pick|choose|decide|select|buy|buying|order|ordering|switching|replacing|purchase|sign|signing|moving|migrating) (?:\\w+ ){0,4}(?:by|before|this|next) (?:the |our |my )?(?:end|week|month|quarter|year|spring|summer|autumn|fall|winter|season|christmas|monday|tuesday|wednesday|thursday|friday|january|february|march|april|june|july|august|september|october|november|december|q[1-4]|renewal|launch|holiday\\w*|black friday)\\b',
    '\\b(?:purchase|decision|rollout|roll-out|budget|money|spend|approval|funds?) (?:is|has been|was|have been|are) (?:planned|due|approved|agreed|set aside|signed off|there|allocated|ready)\\b',
    '\\b(?:approved|approval|sign[- ]off|go[- ]ahead|green light|agreed|permission) (?:\\w+ ){0,4}(?:to (?:put|pay|spend|buy|hire|invest)|budget|spend|money)\\b|\\b(?:have|got|with) (?:a |the |our )?(?:budget|money|funds|[$€£]? ?\\d[\\d.,]*k?(?: a month| per month| [a-z]{3,7})?) (?:to spend|for (?:it|this|that)|ready)\\b',
    '\\b(?:boss|ceo|cfo|cto|coo|owner|founder|partner|leadership|management|board|director|they) (?:\\w+ ){0,2}(?:asked|told|wants|tasked|gave) (?:me|us) (?:\\w+ ){0,3}(?:to|with|until|till|by) (?:\\w+ )?(?:pick|choose|find|research|evaluate|select|look|decide|get|replace|buy|compare|set|year|the end|friday)',
    '\\b(?:want|need|must have) (?:it|this|that|one|something) (?:\\w+ )?(?:live|sorted|done|running|in place|up and running|set up|working|ready|online) (?:by|before|in|within|this|next)\\b',
  ),
  cue(
    'budget',
    "\\bbudget(?:s|ed)?\\b|\\bprice range\\b|\\bunder \\$ ?\\d|\\b(?:max|maximum|up to) \\$|\\bcost[- ]effective\\b|\\baffordable\\b|\\bbudget[- ]friendly\\b|\\bwon't break the bank\\b",
  ),
] as const;
