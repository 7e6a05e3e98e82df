#!/bin/sh
# demo.sh HONE: optimise a worked example on the CPU, export the champion, and let the
# export check itself without hone. Everything lands in build/demo.
set -eu
hone=$1
cd "$(dirname "$0")/.."
demo=build/demo
rm -rf "$demo"
mkdir -p "$demo"

say() {
    printf '\n$ %s\n' "$*"
    "$@"
}
echo "optimising problems/softmax.hone on the CPU; about a minute"
say "$hone" optimize problems/softmax.hone --dim M=1024,N=4096 --target cpu --seconds 35 --race 48 --memory off --store "$demo"
say "$hone" export --store "$demo" -o "$demo/softmax"
say make -s -C "$demo/softmax"
say "$hone" report --store "$demo" --html "$demo/report.html"
cd "$demo/softmax"
say ./check
echo
echo "the kernel, its header and its proof are in $demo/softmax"
echo "how it was found, as a page: $(cd .. && pwd)/report.html"
