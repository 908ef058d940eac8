/* Conveniences only: every screen works without it. */

const shown = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
function showOwnTimes(root) {
  for (const time of root.querySelectorAll('time[datetime]')) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.getTime())) time.title = shown.format(moment);
  }
}
showOwnTimes(document);
document.addEventListener('shown', (event) => showOwnTimes(event.target));

/* The token of a one-time link follows the `#`, which is never sent; it is removed from the address bar at once. */
function takeToken() {
  const linkField = document.querySelector('[data-link-field]');
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (linkField === null || token === null) return;
  linkField.querySelector('input').value = token;
  linkField.hidden = true;
  for (const other of document.querySelectorAll('[data-without-link]')) other.hidden = true;
  history.replaceState(null, '', location.pathname);
}
takeToken();
/* Pasting a link into the address bar of the same page does not reload it. */
window.addEventListener('hashchange', takeToken);

/* The back button may show a cached page despite `no-store`: reload it, in case the session has ended. */
window.addEventListener('pageshow', async ({ persisted }) => {
  if (!persisted) return;
  const { body } = document;
  body.hidden = true;
  const answer = await fetch(location.href, { method: 'HEAD', redirect: 'manual' }).catch(() => null);
  if (answer?.type === 'opaqueredirect') location.reload();
  else body.hidden = false;
});

for (const button of document.querySelectorAll('[data-confirm]')) {
  button.addEventListener('click', (event) => {
    if (!window.confirm(button.dataset.confirm)) event.preventDefault();
  });
}

function offerCopies(root) {
  for (const button of root.querySelectorAll('[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      const source = document.getElementById(button.dataset.copy);
      await navigator.clipboard.writeText(source.value ?? source.textContent);
      button.textContent = 'Copied';
    });
  }
}
offerCopies(document);
document.addEventListener('shown', (event) => offerCopies(event.target));

/* Of the fields of all kinds, show those of the selected kind. */
for (const form of document.querySelectorAll('[data-kind-form]')) {
  const kind = form.elements.namedItem('kind');
  const choose = () => {
    for (const field of form.querySelectorAll('[data-kinds]'))
      field.hidden = !field.dataset.kinds.split(' ').includes(kind.value);
  };
  /* With the fields of one kind only, the labels need not name the kind. */
  for (const hint of form.querySelectorAll('[data-kinds] > .hint')) hint.hidden = true;
  kind.addEventListener('change', choose);
  choose();
}
