/* Triage without leaving the list: the selected signal is shown next to it, and keys and buttons act in place. Without script, links and buttons work. */

const SETTLE_MS = 60;
const REFRESH_MS = 5_000;
const ACTS = { y: 'relevant', n: 'not_relevant', a: 'lead', s: 'snooze' };
const KEYS_OFF = 'signalpost-keys-off';

const pane = document.querySelector('[data-inbox-pane]');
const says = document.querySelector('[data-inbox-says]');
const keys = document.querySelector('[data-keys]');
const keysOn = document.querySelector('[data-keys-on]');
const wide = window.matchMedia('(width >= 68rem)');
const list = () => document.querySelector('[data-inbox-list]');
const form = () => document.querySelector('[data-inbox-form]');
const rows = () => [...document.querySelectorAll('[data-row]')];
const currentRow = () => document.querySelector('[data-row][data-current]');
const linkOf = (row) => row.querySelector('[data-open]');

async function fetchPage(address, options) {
  const answer = await fetch(address, options);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  if (page.querySelector('#main') === null) throw new Error('signed out');
  return page;
}

let timer = 0;
let asked = null;
/* When moving over rows quickly, only the last one is fetched. */
function showSoon(row) {
  clearTimeout(timer);
  timer = setTimeout(() => show(row).catch(() => undefined), SETTLE_MS);
}

async function show(row) {
  if (!wide.matches) return;
  asked?.abort();
  asked = new AbortController();
  const page = await fetchPage(linkOf(row).href, { signal: asked.signal });
  const detail = page.querySelector('[data-detail]');
  if (detail === null) return;
  pane.hidden = false;
  pane.replaceChildren(...detail.childNodes);
  pane.scrollTop = 0;
  pane.dispatchEvent(new CustomEvent('shown', { bubbles: true }));
}

function mark(row) {
  for (const each of rows()) {
    each.toggleAttribute('data-current', each === row);
    linkOf(each).removeAttribute('aria-current');
  }
  linkOf(row).setAttribute('aria-current', 'true');
}

function select(row, { focus = true } = {}) {
  mark(row);
  if (focus) {
    linkOf(row).focus({ preventScroll: true });
    row.scrollIntoView({ block: 'nearest' });
    const address = new URL(location.href);
    address.searchParams.set('signal', row.dataset.key);
    address.searchParams.delete('done');
    history.replaceState(null, '', address);
  }
  showSoon(row);
}

function step(by) {
  const all = rows();
  const at = all.indexOf(currentRow());
  const row = at === -1 ? all[0] : all[Math.min(all.length - 1, Math.max(0, at + by))];
  if (row !== undefined) select(row);
}

function renewList(page) {
  list().replaceChildren(...page.querySelector('[data-inbox-list]').childNodes);
  document.querySelector('.tabs').replaceWith(page.querySelector('.tabs'));
  list().dispatchEvent(new CustomEvent('shown', { bubbles: true }));
  prepare();
}

/* Replaces the list with the server's response to an action; the row that moved up is selected next. */
function replaceList(page, { at, key, focus }) {
  renewList(page);
  const all = rows();
  const next = all.find((row) => row.dataset.key === key) ?? all[Math.min(at, all.length - 1)];
  if (next !== undefined) return select(next, { focus });
  pane.hidden = true;
  pane.replaceChildren();
  document.querySelector('.tabs a[aria-current], .tabs a').focus();
}

let acting = Promise.resolve();
function send(body) {
  acting = acting.then(async () => {
    const row = currentRow();
    const place = { at: Math.max(0, rows().indexOf(row)), key: row?.dataset.key, focus: true };
    const page = await fetchPage(form().action, { method: 'POST', body });
    replaceList(page, place);
    const said = page.querySelector('.notice[role="status"], .notice[role="alert"]');
    says.textContent = said?.textContent ?? '';
  });
  acting.catch(() => location.reload());
}

function act(name) {
  const row = currentRow();
  if (form() === null || (row === null && form().querySelector(':checked') === null)) return;
  const body = new URLSearchParams(new FormData(form()));
  body.set('act', name);
  if (!body.has('id')) body.set('id', row.dataset.key);
  body.set('until', '1');
  send(body);
}

const isBusy = () => {
  const { activeElement: active } = document;
  const isElsewhere = document.hidden || document.querySelector('dialog[open], [data-bulk][open]') !== null;
  return isElsewhere || (list().contains(active) && !active.matches('[data-open]'));
};

/* Adds new signals to the list; the selected signal stays, with any unsaved input. */
async function refresh() {
  if (isBusy()) return;
  const page = await fetchPage(location.href);
  const keys = new Set(rows().map((row) => row.dataset.key));
  const fresh = [...page.querySelectorAll('[data-row]')].filter((row) => !keys.has(row.dataset.key)).length;
  if (fresh === 0 || isBusy()) return;
  const hadFocus = list().contains(document.activeElement);
  const key = currentRow()?.dataset.key;
  renewList(page);
  says.textContent = `${fresh} new`;
  const row = rows().find((each) => each.dataset.key === key);
  if (row === undefined) {
    if (wide.matches) select(rows()[0], { focus: hadFocus });
    return;
  }
  mark(row);
  if (hadFocus) linkOf(row).focus({ preventScroll: true });
}

function prepare() {
  const all = document.querySelector('[data-select-all]');
  if (all !== null) all.hidden = false;
}

document.addEventListener('submit', async (event) => {
  if (event.target.matches('[data-inbox-form]')) {
    event.preventDefault();
    send(new URLSearchParams(new FormData(event.target, event.submitter)));
  } else if (pane.contains(event.target)) {
    event.preventDefault();
    const row = currentRow();
    const place = { at: rows().indexOf(row), key: row?.dataset.key, focus: false };
    const body = new URLSearchParams(new FormData(event.target, event.submitter));
    try {
      await fetchPage(event.target.action, { method: 'POST', body });
      replaceList(await fetchPage(location.href), place);
      if (currentRow() !== null) await show(currentRow());
    } catch {
      location.reload();
    }
  }
});

document.addEventListener('change', ({ target }) => {
  if (target.matches('[data-select-all]'))
    for (const row of rows()) row.querySelector('input[name="id"]').checked = target.checked;
  if (!target.matches('[data-select-all], [data-row] input')) return;
  const count = form().querySelectorAll('input[name="id"]:checked').length;
  form().querySelector('[data-bulk-count]').textContent = count === 0 ? '' : ` (${count})`;
  if (count > 0) form().querySelector('[data-bulk]').open = true;
});

document.addEventListener('click', (event) => {
  const link = event.target.closest?.('[data-open]');
  if (link === null || link === undefined || !wide.matches) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  select(link.closest('[data-row]'));
});

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (document.querySelector('dialog[open]') !== null) return;
  if (event.target.closest?.('input:not([type="checkbox"]), select, textarea') != null) return;
  const key = event.key.toLowerCase();
  if (key === '?') keys.showModal();
  else if (!keysOn.checked) return;
  else if (key === 'j') step(1);
  else if (key === 'k') step(-1);
  else if (key === 'x') currentRow()?.querySelector('input[name="id"]')?.click();
  else if (key === 'o') {
    const address = currentRow()?.dataset.post;
    if (address) window.open(address, '_blank', 'noopener,noreferrer');
  } else if (key === 'r') pane.querySelector('[data-copy]')?.click();
  else if (ACTS[key] !== undefined) act(ACTS[key]);
  else return;
  event.preventDefault();
});

keysOn.checked = localStorage.getItem(KEYS_OFF) === null;
keysOn.addEventListener('change', () => {
  if (keysOn.checked) localStorage.removeItem(KEYS_OFF);
  else localStorage.setItem(KEYS_OFF, 'true');
});
const help = document.querySelector('[data-keys-help]');
help.hidden = false;
help.addEventListener('click', () => keys.showModal());

prepare();
const named = new URLSearchParams(location.search).get('signal');
const first = rows().find((row) => row.dataset.key === named) ?? rows()[0];
if (first !== undefined && wide.matches) {
  /* Before its content is fetched: the list would move under the pointer later, and a click in that moment would be lost. */
  pane.hidden = false;
  select(first, { focus: false });
}
const refreshing = setInterval(() => {
  acting = acting.then(() => refresh().catch(() => clearInterval(refreshing)));
}, REFRESH_MS);
