/* Moves a card of the board to another stage by pointer or keyboard, and submits its form. */

const columns = [...document.querySelectorAll('[data-stage]')];
const says = document.querySelector('[data-board-says]');
const help = document.querySelector('[data-board-help]');
const lost = document.querySelector('[data-lost]');
/* A shorter movement is a click. */
const DRAGGED_PX = 6;
if (help !== null) help.hidden = false;

function mark(column) {
  for (const each of columns) each.toggleAttribute('data-over', each === column);
}

function columnAt(x, y) {
  return document.elementFromPoint(x, y)?.closest('[data-stage]') ?? null;
}

/* Asks why a lead was lost before submitting its form; null if cancelled. */
function askReason(card) {
  return new Promise((resolve) => {
    const field = lost.querySelector('input');
    field.value = '';
    lost.querySelector('[data-lost-name]').textContent = card.querySelector('.who-is').textContent;
    lost.returnValue = '';
    lost.addEventListener('close', () => resolve(lost.returnValue === 'lost' ? field.value : null), {
      once: true,
    });
    lost.showModal();
  });
}

async function send(card, column, takeBack) {
  const { elements } = card.querySelector('form');
  const { stage } = column.dataset;
  if (stage === 'lost') {
    const reason = await askReason(card);
    if (reason === null) {
      takeBack();
      says.textContent = 'Not moved.';
      return;
    }
    elements.namedItem('reason').value = reason;
  }
  elements.namedItem('stage').value = stage;
  card.querySelector('form').requestSubmit();
}

/* Moves a card to the top of a column, where it is visible; returns a function that undoes it. */
function place(card, column) {
  const { parentNode: list, nextSibling: next } = card;
  column.querySelector('.cards').prepend(card);
  column.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  card.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  return () => list.insertBefore(card, next);
}

for (const handle of document.querySelectorAll('[data-handle]')) {
  const card = handle.closest('[data-card]');
  const home = card.closest('[data-stage]');
  let start = null;
  handle.hidden = false;
  card.toggleAttribute('data-movable', true);

  /* A mouse can drag the whole card, touch only its handle, so that the rest scrolls. The pointer soon leaves the card. */
  function follow(event) {
    const [x, y] = [event.clientX - start.x, event.clientY - start.y];
    if (!start.isDragged && Math.hypot(x, y) < DRAGGED_PX) return;
    start.isDragged = true;
    card.toggleAttribute('data-dragged', true);
    card.style.transform = `translate(${x}px, ${y}px)`;
    mark(columnAt(event.clientX, event.clientY));
  }
  function release(event) {
    for (const [type, listener] of listeners) document.removeEventListener(type, listener);
    const { isDragged } = start;
    start = null;
    card.removeAttribute('data-dragged');
    card.style.transform = '';
    mark(null);
    if (!isDragged || event.type === 'pointercancel') return;
    /* Ignore the click after a drag. */
    const stop = (click) => click.preventDefault();
    document.addEventListener('click', stop, { capture: true, once: true });
    setTimeout(() => document.removeEventListener('click', stop, { capture: true }));
    const column = columnAt(event.clientX, event.clientY);
    if (column !== null && column !== home) void send(card, column, place(card, column));
  }
  const listeners = [
    ['pointermove', follow],
    ['pointerup', release],
    ['pointercancel', release],
  ];
  card.addEventListener('pointerdown', (event) => {
    const isHandle = event.target.closest('[data-handle]') !== null;
    if (start !== null || event.button !== 0 || event.target.closest('.move') !== null) return;
    if (event.pointerType !== 'mouse' && !isHandle) return;
    start = { x: event.clientX, y: event.clientY, isDragged: false };
    for (const [type, listener] of listeners) document.addEventListener(type, listener);
  });

  /* The column that the keyboard moved it to, and the function that undoes it; null: not being moved. */
  let taken = null;
  function carry(to) {
    taken.at = to;
    place(card, columns[to]);
    handle.focus();
    mark(columns[to]);
    says.textContent = columns[to].dataset.stage;
  }
  function putBack() {
    taken.list.insertBefore(card, taken.next);
    handle.focus();
  }
  handle.addEventListener('keydown', (event) => {
    const { key } = event;
    if (key === ' ' || key === 'Enter') {
      event.preventDefault();
      if (taken === null) {
        taken = { at: columns.indexOf(home), list: card.parentNode, next: card.nextSibling };
        card.toggleAttribute('data-taken', true);
        mark(home);
        says.textContent = `Picked up from ${home.dataset.stage}.`;
        return;
      }
      const column = columns[taken.at];
      const { list, next } = taken;
      taken = null;
      card.removeAttribute('data-taken');
      mark(null);
      says.textContent = `Dropped in ${column.dataset.stage}.`;
      if (column !== home) void send(card, column, () => list.insertBefore(card, next));
    } else if (taken !== null && key === 'Escape') {
      putBack();
      taken = null;
      card.removeAttribute('data-taken');
      mark(null);
      says.textContent = 'Not moved.';
    } else if (taken !== null && /^Arrow(?:Left|Right|Up|Down)$/.test(key)) {
      event.preventDefault();
      const step = key === 'ArrowLeft' || key === 'ArrowUp' ? -1 : 1;
      carry(Math.min(columns.length - 1, Math.max(0, taken.at + step)));
    }
  });
}

/* A moved card keeps the focus. */
if (location.hash.startsWith('#led_')) {
  document.getElementById(location.hash.slice(1))?.querySelector('[data-handle]')?.focus();
}
