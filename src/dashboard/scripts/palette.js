/* Ctrl-K opens the results of the "Find" page as a combobox over any screen (WAI-ARIA: combobox with a listbox). */

const link = document.querySelector('[data-find]');
const SETTLE_MS = 120;

function element(name, attributes) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

function createPalette() {
  const dialog = element('dialog', { class: 'palette', 'aria-label': 'Find' });
  const input = element('input', {
    type: 'text',
    role: 'combobox',
    'aria-label': 'Find a signal, company, lead, webhook or page',
    'aria-controls': 'palette-list',
    'aria-expanded': 'false',
    'aria-autocomplete': 'list',
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: '200',
    placeholder: 'Find a signal, company, lead, webhook or page',
  });
  const list = element('ul', { role: 'listbox', id: 'palette-list', 'aria-label': 'Found' });
  const says = element('p', { class: 'hidden', role: 'status' });
  const hint = element('p', { class: 'soft small' });
  hint.textContent = 'Arrow keys choose, Enter opens, Escape closes.';
  dialog.append(input, list, says, hint);
  document.body.append(dialog);

  let options = [];
  let at = -1;
  let asked = null;
  let timer = 0;
  /** The query of the current list: Enter never opens a result of another query. */
  let shownFor = null;

  function choose(next) {
    at = options.length === 0 ? -1 : (next + options.length) % options.length;
    for (const [i, option] of options.entries()) option.setAttribute('aria-selected', String(i === at));
    if (at === -1) input.removeAttribute('aria-activedescendant');
    else {
      input.setAttribute('aria-activedescendant', options[at].id);
      options[at].scrollIntoView({ block: 'nearest' });
    }
  }

  async function search() {
    asked?.abort();
    asked = new AbortController();
    const words = input.value;
    const address = `${link.getAttribute('href')}?q=${encodeURIComponent(words)}`;
    const answer = await fetch(address, { signal: asked.signal });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    options = [...page.querySelectorAll('[data-found] a')].map((found, i) => {
      const option = element('li', {
        role: 'option',
        id: `palette-${i}`,
        'data-href': found.getAttribute('href'),
      });
      option.append(...found.childNodes);
      option.addEventListener('click', () => open(option));
      return option;
    });
    list.replaceChildren(...options);
    shownFor = words;
    input.setAttribute('aria-expanded', String(options.length > 0));
    says.textContent = options.length === 0 ? 'Nothing found' : `${options.length} found`;
    choose(0);
  }
  const ask = () => search().catch(() => undefined);

  function open(option) {
    dialog.close();
    location.assign(option.dataset.href);
  }

  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(ask, SETTLE_MS);
  });
  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      choose(at + step);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      clearTimeout(timer);
      void (input.value === shownFor ? Promise.resolve() : ask()).then(() => {
        if (at >= 0 && input.value === shownFor) open(options[at]);
      });
    }
  });
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  return {
    show() {
      if (dialog.open) return;
      input.value = '';
      dialog.showModal();
      void ask();
    },
  };
}

if (link !== null) {
  let palette = null;
  const show = (event) => {
    event.preventDefault();
    palette ??= createPalette();
    palette.show();
  };
  link.addEventListener('click', (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) show(event);
  });
  document.addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') show(event);
  });
}
