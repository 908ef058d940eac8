/* Comfort alone: every screen works without it. */

const shown = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
for (const time of document.querySelectorAll('time[datetime]')) {
  const moment = new Date(time.dateTime);
  if (!Number.isNaN(moment.getTime())) time.title = shown.format(moment);
}

/* The token of a one-time link stands behind the `#`, which is never sent; it leaves the address bar at once. */
function takeToken() {
  const linkField = document.querySelector('[data-link-field]');
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (linkField === null || token === null) return;
  linkField.querySelector('input').value = token;
  linkField.hidden = true;
  history.replaceState(null, '', location.pathname);
}
takeToken();
/* A link that is pasted where the page is open already loads nothing anew. */
window.addEventListener('hashchange', takeToken);

for (const button of document.querySelectorAll('[data-confirm]')) {
  button.addEventListener('click', (event) => {
    if (!window.confirm(button.dataset.confirm)) event.preventDefault();
  });
}

for (const button of document.querySelectorAll('[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy);
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = 'Copied';
  });
}

/* The preview of a payload format follows what is chosen; without script, the button shows it. */
for (const form of document.querySelectorAll('[data-live-preview]')) {
  let newest = 0;
  form.addEventListener('change', async (event) => {
    if (!['format', 'fields', 'flatten', 'custom', 'topic'].includes(event.target.name)) return;
    const mine = ++newest;
    const body = new URLSearchParams(new FormData(form));
    body.set('act', 'preview');
    const answer = await fetch(form.action, { method: 'POST', body });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const made = page.getElementById('preview');
    if (mine === newest && made !== null)
      document.getElementById('preview').replaceChildren(...made.childNodes);
  });
}
