/* Drags a card of the board to another stage, by pointer or keys, and sends the form that stands on it. */

const columns = [...document.querySelectorAll('[data-stage]')];
const says = document.querySelector('[data-board-says]');
const help = document.querySelector('[data-board-help]');
if (help !== null) help.hidden = false;

function mark(column) {
  for (const each of columns) each.toggleAttribute('data-over', each === column);
}

function drop(card, column) {
  mark(null);
  const form = card.querySelector('form');
  if (column === null || column.contains(card)) return;
  form.elements.namedItem('stage').value = column.dataset.stage;
  form.requestSubmit();
}

function columnAt(x, y) {
  return document.elementFromPoint(x, y)?.closest('[data-stage]') ?? null;
}

for (const handle of document.querySelectorAll('[data-handle]')) {
  const card = handle.closest('[data-card]');
  let start = null;
  let lifted = null;
  handle.hidden = false;

  handle.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    start = { x: event.clientX, y: event.clientY };
    handle.setPointerCapture(event.pointerId);
  });
  handle.addEventListener('pointermove', (event) => {
    if (start === null) return;
    card.toggleAttribute('data-dragged', true);
    card.style.transform = `translate(${event.clientX - start.x}px, ${event.clientY - start.y}px)`;
    mark(columnAt(event.clientX, event.clientY));
  });
  function release(column) {
    start = null;
    card.removeAttribute('data-dragged');
    card.style.transform = '';
    drop(card, column);
  }
  handle.addEventListener('pointerup', (event) => {
    if (start !== null) release(columnAt(event.clientX, event.clientY));
  });
  handle.addEventListener('pointercancel', () => release(null));

  handle.addEventListener('keydown', (event) => {
    const own = columns.findIndex((column) => column.contains(card));
    if (event.key === ' ' || event.key === 'Enter') {
      event.preventDefault();
      if (lifted === null) {
        lifted = own;
        says.textContent = `Taken from ${columns[own].dataset.stage}.`;
        mark(columns[own]);
      } else {
        const column = columns[lifted];
        lifted = null;
        says.textContent = `Put into ${column.dataset.stage}.`;
        drop(card, column);
      }
    } else if (event.key === 'Escape' && lifted !== null) {
      lifted = null;
      mark(null);
      says.textContent = 'Left where it was.';
    } else if (lifted !== null && /^Arrow(?:Left|Right|Up|Down)$/.test(event.key)) {
      event.preventDefault();
      const step = event.key === 'ArrowLeft' || event.key === 'ArrowUp' ? -1 : 1;
      lifted = Math.min(columns.length - 1, Math.max(0, lifted + step));
      mark(columns[lifted]);
      columns[lifted].scrollIntoView({ block: 'nearest', inline: 'nearest' });
      says.textContent = columns[lifted].dataset.stage;
    }
  });
}

/* A card that was moved keeps the focus. */
if (location.hash.startsWith('#led_')) {
  document.getElementById(location.hash.slice(1))?.querySelector('[data-handle]')?.focus();
}
