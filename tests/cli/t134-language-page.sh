#!/bin/sh
# What docs/language.md shows is so: its example, its mistake, its limits.
. "$(dirname "$0")/lib.sh"
"$HONE" help language >page.md

# fenced N: the Nth block between ``` lines.
fenced() {
    awk -v n="$1" '/^```/ { inside = !inside; i += inside; next } inside && i == n' page.md
}
fenced 1 >first.hone
expect_match 0 'problem scaled_softmax' "$HONE" check first.hone
expect 0 '' "$HONE" fmt --check first.hone
expect_match 0 'y\.max' "$HONE" check -v first.hone

printf 'problem f\nin x : f32[8]\nout y : f32[8]\n\n\ny = softmx(x)\n' >f.hone
expect 1 "$(awk '/^f\.hone:/ { on = 1 } /^```/ { on = 0 } on' page.md)" "$HONE" check f.hone

# Promotion, literals and division are three sentences.
for word in Promotion Literals Division; do
    line=$(awk -v start="^- [*]${word}[*]: " '$0 ~ start { on = 1; print; next } /^($|- )/ { on = 0 } on' page.md |
        tr -s '\n ' '  ' | sed 's/ $//')
    [ -n "$line" ] || fail "nothing about $word"
    case $line in
    *'. '*) fail "more than a sentence: $line" ;;
    *.) ;;
    *) fail "no sentence: $line" ;;
    esac
done

# types EXPRESSION TYPE: what the page promises of operands of two types.
types() {
    printf 'problem p\nin b : u8[4]\nin i : i32[4]\nin l : i64[4]\nin h : f16[4]\nin x : f32[4]\n' >t.hone
    printf 'in d : f64[4]\nout y : %s[4]\nout z : f64[4]\n' "$2" >>t.hone
    printf 'z = b + i + l + h + x + d\nw = %s\ny = w\n' "$1" >>t.hone
    expect_match 0 "^w : $2\[4\]" "$HONE" check -v t.hone
}
types 'h + h' f32
types 'x + d' f64
types 'b + b' i32
types 'b + l' i64
types 'i + h' f32
types 'l + d' f64
types 'i * 2' i32
types 'i * 2.0' f32
types 'l * 1e3' f32
types 'd * 0.1' f64
types 'i / i' f32
types 'l / 2' f32
types 'i // 2' i32
types 'b % 3' i32
types 'x // 2' f32

# The loop that the page shows, and what it says of it.
awk '/^problem rnn/ { on = 1 } /^```/ { on = 0 } on' page.md >loop.hone
expect_match 0 'problem rnn' "$HONE" check loop.hone
expect 0 '' "$HONE" fmt --check loop.hone
expect_match 0 'y : f32\[B, T, H\] = recur .* along 512 steps, each y at axis 1' "$HONE" check -v loop.hone
expect_match 0 '^// stage .*last.* : nest' "$HONE" emit loop.hone
printf 'kernel for rnn on cpu\nstage y, last : nest\n' >>loop.hone
expect_match 0 ': ok: problem rnn' "$HONE" check loop.hone
sed 's/h = tanh/h = cumsum/' loop.hone >scan.hone
expect 3 "hone: problem rnn: 'h.next' is a cumsum in a loop, and no kernel is made of that yet" "$HONE" emit scan.hone
