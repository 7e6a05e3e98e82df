#!/bin/sh
# The validator that other tests rely on says no when it should.
. "$(dirname "$0")/lib.sh"
validate=$(dirname "$HONE")/validate

printf '{"type": "object", "required": ["a"], "additionalProperties": false, "properties": {
  "a": {"type": ["integer", "null"], "minimum": 0}, "b": {"enum": ["x", "y"]},
  "c": {"const": "k"}, "d": {"type": "array", "items": {"type": "string"}},
  "e": {"anyOf": [{"type": "null"}, {"$ref": "other.json"}]}}}' >schema.json
printf '{"type": "boolean"}' >other.json

judge() {
    printf '%s' "$1" | "$validate" schema.json
}
expect 0 '' judge '{"a": 1, "b": "x", "c": "k", "d": ["s"], "e": true}'
expect 0 '' judge '{"a": null, "e": null}'
expect 1 'validate: $: lacks a' judge '{}'
expect 1 'validate: $: has another type' judge '[]'
expect 1 'validate: $.a: has another type' judge '{"a": 1.5}'
expect 1 'validate: $.a: is below the minimum' judge '{"a": -1}'
expect 1 'validate: $.b: is none of the values listed' judge '{"a": 1, "b": "z"}'
expect 1 'validate: $.c: is not the constant' judge '{"a": 1, "c": "z"}'
expect 1 'validate: $.d[1]: has another type' judge '{"a": 1, "d": ["s", 2]}'
expect 1 'validate: $.e: fits none of anyOf' judge '{"a": 1, "e": 3}'
expect 1 'validate: $: has what the schema does not know: z' judge '{"a": 1, "z": 1}'
expect_match 1 'duplicate' judge '{"a": 1, "a": 2}'
expect_match 1 'document:1' judge '{"a": 1} more'
printf '{"typo": 1}' >schema.json
expect 1 'validate: $: the schema uses a keyword that is not checked: typo' judge '{}'
expect_match 2 'none.json' "$validate" none.json

# Every schema of ours uses only what is checked, and says which draft it is written in.
for schema in "$ROOT"/docs/schema/*.json; do
    expect_match 0 'json-schema.org/draft/2020-12/schema' cat "$schema"
    run sh -c 'echo "{}" | "$1" "$2"' sh "$validate" "$schema"
    case $got in *keyword* | *'$ref'*) fail "$schema: $got" ;; esac
    [ "$status" = 1 ] || fail "$schema admits {}"
done
