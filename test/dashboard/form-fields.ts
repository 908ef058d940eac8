/** What a browser would send for a page's last form, without buttons and token; repeated names are arrays. */
export function formFields(html: string, action = ''): Record<string, string | string[]> {
  const forms = [...html.matchAll(/<form [^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)];
  const [, , body = ''] = forms.findLast(([, to]) => to?.endsWith(action)) ?? [];
  const fields: Record<string, string | string[]> = {};
  const add = (name: string, value: string) => {
    fields[name] = fields[name] === undefined ? value : [fields[name], value].flat();
  };
  for (const [tag, name = ''] of body.matchAll(/<input [^>]*name="(\w+)"[^>]*>/g)) {
    if (/type="(?:checkbox|radio)"/.test(tag) && !/ checked/.test(tag)) continue;
    add(name, plain(/ value="([^"]*)"/.exec(tag)?.[1] ?? (/ checked/.test(tag) ? 'on' : '')));
  }
  for (const [, name = '', value = ''] of body.matchAll(/<textarea [^>]*name="(\w+)"[^>]*>([^<]*)</g)) {
    add(name, plain(value));
  }
  for (const [, name = '', options = ''] of body.matchAll(
    /<select [^>]*name="(\w+)"[^>]*>([\s\S]*?)<\/select>/g,
  )) {
    fields[name] = /<option value="([^"]*)" selected/.exec(options)?.[1] ?? '';
  }
  delete fields._csrf;
  return fields;
}

function plain(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
