#!/bin/sh
# The page of a run in a browser: its script makes no mistake, keys walk the tree, and a link unfolds
# its node; without the script it can be read. Left out where there is no chromium.
. "$(dirname "$0")/lib.sh"

browser=$(command -v chromium || command -v chromium-browser || true)
[ -n "$browser" ] || skip "no chromium"
"$HONE" optimize "$ROOT/problems/softmax.hone" --dim M=16,N=16 --no-calibrate --evals 4 --race 1 --seconds 100 >log 2>&1 ||
    fail "$(cat log)"
"$HONE" report --html page.html >log || fail "$(cat log)"

# open FILE: the page as the browser has it then; what its console says is in `console`.
open() {
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$TMP/profile" \
        --enable-logging=stderr --virtual-time-budget=2000 --dump-dom "file://$TMP/$1" >dom 2>console || fail "$browser: $(tail -5 console)"
    ! grep CONSOLE console || fail "the script made a mistake"
}
# press WHAT...: a copy of the page in which a script does this at the end.
press() {
    sed "s|</body>|<script>$1</script></body>|" page.html >pressed.html
    open pressed.html
}

grep -q 'Hot lines: a static estimate' page.html && grep -q '<span data-share="[0-9]*%"' page.html || fail 'no hot lines'
# All in one page: the script has run, keys walk, a link unfolds its node.
press "for (const key of 'jjk') document.dispatchEvent(Object.defineProperty(new KeyboardEvent('keydown', {key}), 'target', {value: document.body})); const walked = document.activeElement.parentElement.id; location.hash = 'n1'; setTimeout(() => { document.title = walked + ' open ' + document.getElementById('n1').open; }, 500);"
grep -q '<p id="find"><label>' dom || fail "the script did not run: $(grep 'id="find"' dom)"
grep -q '<title>n0 open true</title>' dom || fail "keys do not walk, or a link does not unfold its node: $(grep '<title>' dom | head -1)"
"$HONE" runs --html pages >log || fail "$(cat log)"
sed "s|</body>|<script>document.querySelector('table.sort th').click(); document.title = document.querySelector('[aria-sort]').textContent;</script></body>|" pages/index.html >pressed.html
open pressed.html
grep -q '<title>run</title>' dom || fail "the index does not sort"
sed '/<script>/,/<\/script>/d' page.html >still.html
open still.html
grep -q '<p id="find" hidden' dom || fail "what needs the script is shown without it"
