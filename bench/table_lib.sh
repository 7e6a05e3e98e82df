#!/bin/bash
# For scripts that search tables of measured blocks (docs/tables.md).

# slow_block TABLE K FACTOR: the K-th (in some fixed order) of the blocks that take at least FACTOR times the least.
slow_block() {
    awk -v k="$2" -v factor="$3" '
    /^shape / { shapes[n_shapes++] = substr($0, 7) }
    /^[0-9]+ .* = [0-9.]+ / { rows[n] = $0; split($0, half, " = "); split(half[2], t, " "); times[n++] = t[1]
                              if (!best || t[1] < best) best = t[1] }
    END {
        for (i = 0; i < n; i++) if (times[i] >= factor * best) slow[n_slow++] = i
        if (!n_slow) exit 1
        split(rows[slow[(k * 7919 + 13) % n_slow]], half, " = ")
        m = split(half[1], word, " "); text = shapes[word[1]]
        for (i = 2; i <= m; i++) sub(/[?]/, word[i], text)
        gsub(/[|]/, "\n", text)
        print text
    }' "$1"
}
