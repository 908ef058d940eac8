import { HtmlValidate } from 'html-validate';

const judge = new HtmlValidate({
  root: true,
  extends: [
    'html-validate:recommended',
    'html-validate:standard',
    'html-validate:a11y',
    'html-validate:document',
  ],
  rules: {
    // The stylesheet comes from the same server as the page.
    'require-sri': ['error', { target: 'crossorigin' }],
    // The stylesheet keeps telephone numbers on one line.
    'tel-non-breaking': 'off',
    // Checkboxes and radio buttons of one list share a name.
    'form-dup-name': ['error', { shared: ['radio', 'checkbox', 'submit'] }],
    // A matter of style: both are valid HTML.
    'doctype-style': 'off',
    'no-trailing-whitespace': 'off',
  },
});

/** The problems that html-validate finds in a document, with their lines. */
export async function htmlFaults(html: string): Promise<string[]> {
  const { results } = await judge.validateString(html);
  return results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, line }) => `${line} ${ruleId}: ${message}`),
  );
}
