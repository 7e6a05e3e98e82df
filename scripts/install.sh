#!/bin/sh
# install.sh install|uninstall HONE PREFIX [DESTDIR]: the binary, its man pages, and completions for three shells. What is
# uninstalled is what this binary's install wrote, and nothing else; directories of our own go when they are empty.
set -eu
what=$1
hone=$2
to=${4:-}$3
man=$to/share/man/man1
bash=$to/share/bash-completion/completions/hone
zsh=$to/share/zsh/site-functions/_hone
fish=$to/share/fish/vendor_completions.d/hone.fish
case $what in
install)
    install -D -m 755 "$hone" "$to/bin/hone"
    "$hone" _man "$man"
    mkdir -p "$(dirname "$bash")" "$(dirname "$zsh")" "$(dirname "$fish")"
    "$hone" completion bash >"$bash"
    "$hone" completion zsh >"$zsh"
    "$hone" completion fish >"$fish"
    ;;
uninstall)
    pages=$(mktemp -d)
    "$hone" _man "$pages"
    for page in "$pages"/*; do
        rm -f "$man/$(basename "$page")"
    done
    rm -rf "$pages"
    rm -f "$to/bin/hone" "$bash" "$zsh" "$fish"
    ;;
*)
    echo "install.sh: '$what' is neither install nor uninstall" >&2
    exit 2
    ;;
esac
