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
window.addEventListener('hashchange', unfold);
unfold();
