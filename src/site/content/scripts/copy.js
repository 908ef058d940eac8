// Puts a copy button on each piece of code. Without scripts, or where the clipboard is out of reach, nothing else is missing.
const SAID_FOR_MS = 2_000;

for (const code of navigator.clipboard === undefined ? [] : document.querySelectorAll('pre')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.setAttribute('aria-live', 'polite');
  button.addEventListener('click', async () => {
    button.textContent = await navigator.clipboard.writeText(code.textContent).then(
      () => 'Copied',
      () => 'Not allowed',
    );
    setTimeout(() => {
      button.textContent = 'Copy';
    }, SAID_FOR_MS);
  });
  // Beside the code and not in it, as wide code scrolls.
  const box = document.createElement('div');
  box.className = 'copyable';
  code.replaceWith(box);
  box.append(code, button);
}
