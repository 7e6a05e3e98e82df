#!/bin/sh
# pictures.sh PAGE.html [NODE [NAME]]: the pictures of docs/images (or the one called NAME) from a page of
# `hone report --html`, by headless Chromium:
# its beginning, every candidate with one of them unfolded (dark), and the champion's source. 1000 wide.
set -eu
page=$1
node=${2:-1}
only=${3:-}
out=$(cd "$(dirname "$0")/../docs/images" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)

# shot NAME HEIGHT FIRST NEXT [OPTION]: what stands between the headings with these ids; no FIRST: from the beginning.
shot() {
    name=$1 height=$2 first=$3 next=$4
    shift 4
    [ -z "$only" ] || [ "$only" = "$name" ] || return 0
    {
        sed 's|</body>.*||' "$page"
        cat <<SCRIPT
<script>
const main = document.querySelector('main');
let on = '$first' === '';
for (const part of [...main.children]) {
    const has = id => id && (part.id === id || part.querySelector('#' + id));
    if (has('$first')) on = true;
    if (has('$next')) on = false;
    if (!on) part.remove();
}
const unfolded = document.getElementById('n$node');
if (unfolded) unfolded.open = true;
if ('$first') main.firstElementChild.style.marginTop = 0;
for (const line of main.querySelectorAll('pre')) line.style.maxHeight = 'none';
</script></body></html>
SCRIPT
    } >"$work/part.html"
    "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" "$@" \
        --virtual-time-budget=2000 --window-size="1000,$height" --screenshot="$out/$name.png" "file://$work/part.html" 2>"$work/log" ||
        cat "$work/log"
}
shot report 1900 '' path
shot report-tree 900 tree effort --force-dark-mode
shot report-source 1500 source tree
