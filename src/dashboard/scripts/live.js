/* Updates while a page is open: previews of forms, and growing lists. Without script, use the button or reload. */

const SETTLE_MS = 400;
const REFRESH_MS = 5_000;

async function fetchPage(address, options) {
  const answer = await fetch(address, options);
  if (answer.redirected) throw new Error('signed out');
  return new DOMParser().parseFromString(await answer.text(), 'text/html');
}

/* Updates a preview while the user types, with the same result as its button. */
for (const form of document.querySelectorAll('[data-live-preview]')) {
  let asked = null;
  let timer = 0;
  async function preview() {
    asked?.abort();
    asked = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    body.set('act', 'preview');
    try {
      const page = await fetchPage(form.action, { method: 'POST', body, signal: asked.signal });
      const fault = page.querySelector('form [role="alert"]');
      const made = fault === null ? [...(page.getElementById('preview')?.childNodes ?? [])] : [fault];
      if (made.length > 0) document.getElementById('preview').replaceChildren(...made);
    } catch {
      /* A newer request is in progress, or the server is unreachable: keep the current preview. */
    }
  }
  form.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(preview, SETTLE_MS);
  });
}

/* Loads the preview of a suggested source. */
for (const form of document.querySelectorAll('[data-preview-of]')) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const place = document.getElementById(form.dataset.previewOf);
    const button = form.querySelector('button');
    button.disabled = true;
    place.textContent = 'Reading the last 24 hours…';
    try {
      const body = new URLSearchParams(new FormData(form));
      const page = await fetchPage(form.action, { method: 'POST', body });
      place.replaceChildren(...page.getElementById(place.id).childNodes);
    } catch {
      form.submit();
    }
    button.disabled = false;
  });
}

/* Refreshes a growing list every few seconds, unless the user works in it, has hidden the page or stopped it. */
for (const region of document.querySelectorAll('[data-live]')) {
  const toggle = document.querySelector('[data-live-toggle]');
  const says = document.querySelector('[data-live-says]');
  let isOn = true;
  if (toggle !== null) {
    toggle.hidden = false;
    toggle.addEventListener('click', () => {
      isOn = !isOn;
      toggle.setAttribute('aria-pressed', String(isOn));
    });
  }
  const isBusy = () =>
    document.hidden ||
    !isOn ||
    region.contains(document.activeElement) ||
    region.querySelector(':checked') !== null;
  const keys = (root) => new Set([...root.querySelectorAll('[data-key]')].map((row) => row.dataset.key));

  async function refresh() {
    if (isBusy()) return;
    const page = await fetchPage(location.href);
    const made = page.getElementById(region.id);
    if (made === null || isBusy() || made.innerHTML === region.innerHTML) return;
    const known = keys(region);
    const fresh = [...keys(made)].filter((key) => !known.has(key)).length;
    region.replaceChildren(...made.childNodes);
    region.dispatchEvent(new CustomEvent('shown', { bubbles: true }));
    if (fresh > 0 && says !== null) says.textContent = `${fresh} new`;
  }
  const timer = setInterval(() => refresh().catch(() => clearInterval(timer)), REFRESH_MS);
}
