// Comfort only: the page can be read without. No character here may need an escape in XML.
const nodes = Array.from(document.querySelectorAll('.tree .n'));
function unfold() {
  const node = location.hash ? document.getElementById(location.hash.slice(1)) : null;
  if (!node) return;
  const all = document.getElementById('all');
  if (node.classList.contains('s')) { if (all) all.checked = true; }
  if (node.tagName === 'DETAILS') node.open = true;
  node.scrollIntoView({block: 'center'});
}
function walk(step) {
  const heads = nodes.map(n => n.querySelector('summary')).filter(s => s ? s.offsetParent !== null : false);
  const at = heads.indexOf(document.activeElement) + step;
  const next = heads[Math.max(0, Math.min(heads.length - 1, at))];
  if (next) { next.focus(); next.scrollIntoView({block: 'nearest'}); }
}
document.addEventListener('keydown', event => {
  if (event.target.tagName === 'INPUT' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'j') walk(1);
  if (event.key === 'k') walk(-1);
});
const find = document.getElementById('find');
if (find) {
  find.hidden = false;
  find.querySelector('input').addEventListener('input', event => {
    const word = event.target.value.toLowerCase();
    for (const n of nodes) n.classList.toggle('out', !n.textContent.toLowerCase().includes(word));
  });
}
for (const head of document.querySelectorAll('table.sort th')) head.addEventListener('click', () => {
  const body = head.closest('table').tBodies[0], column = head.cellIndex;
  const falls = head.getAttribute('aria-sort') === 'ascending';
  for (const other of head.parentElement.children) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', falls ? 'descending' : 'ascending');
  const value = row => row.cells[column].dataset.v ? Number(row.cells[column].dataset.v) : row.cells[column].textContent;
  const order = (a, b) => typeof a === typeof b ? (typeof a === 'number' ? a - b : a.localeCompare(b)) : (typeof a === 'number' ? -1 : 1);
  const rows = Array.from(body.rows).sort((a, b) => order(value(a), value(b)));
  body.append(...(falls ? rows.reverse() : rows));
});
window.addEventListener('hashchange', unfold);
unfold();
