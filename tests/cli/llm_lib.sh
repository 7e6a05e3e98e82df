# shellcheck shell=sh
# Read after lib.sh by the tests of models. A server on the loopback address plays the model:
#
#   serve <<'END' ... END    start it with this scenario (tests/tools/llm_server.c); $url is where
#   unserve                  end it; $TMP/requests has what it was sent
#
# CANARY is a key that must not be found anywhere but in those requests.
CANARY=sk-canary-0123456789abcdef
server=""
url=""
# Waits between attempts are the same code however short they are.
export HONE_LLM_BACKOFF_S=0.01 HONE_LLM_RETRIES=3
trap 'unserve; rm -rf "$TMP"' EXIT

serve() {
    unserve
    cat >"$TMP/scenario"
    rm -f "$TMP/port" "$TMP/requests"
    "$(dirname "$HONE")/llm-server" "$TMP/scenario" "$TMP/port" "$TMP/requests" &
    server=$!
    until_true test -s "$TMP/port"
    # shellcheck disable=SC2034  # for the test
    url=http://127.0.0.1:$(cat "$TMP/port")
}

unserve() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    server=
}

# The key is nowhere: not in what was printed, not in any file below here but the requests.
no_canary() {
    case $got in
    *"$CANARY"*) fail "the key was printed: $got" ;;
    esac
    found=$(grep -rlF "$CANARY" "$TMP" | grep -v -e "^$TMP/requests" -e "^$TMP/keyfile" -e "^$TMP/scenario") || true
    [ -z "$found" ] || fail "the key is in $found"
}

# ---- for runs that must survive what a model does

hypothesis() {
    printf '{"hypotheses": [{"cause": "c", "finding": 0, "change": "%s", "form": "%s", "spans": [%s], "speedup": 1.3, "risk_implementation": 1, "risk_performance": 2}]}' "$1" "$2" "$3"
}
span='{"name": "stage", "first": 2, "last": 2}'
# good N: a plan and the code for it, another one for each N.
good() {
    cat <<END
---
match You plan
say $(hypothesis "good $1" kernel "$span")
---
match Change: good $1
say <<<IMPROVE stage>>>\nstage y : rowwise  $2\n<<<END stage>>>
END
}
# survived COUNT: a champion, a replay that gives the same tree, no key anywhere.
survived() {
    [ "$status" = 0 ] || fail "optimize gave $status: $got"
    printf '%s\n' "$got" | grep -q '^champion  ' || fail "no champion: $got"
    no_canary
    outcome=$got
    expect_match 0 '^the same tree' "$HONE" replay
    got=$outcome
}
said() {
    printf '%s\n' "$got" | grep -Eq -e "$1" || fail "nothing about '$1': $got"
}

