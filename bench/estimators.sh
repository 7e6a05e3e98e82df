#!/bin/sh
# bench/estimators.sh [FILE...]: which estimate of a speed-up errs least? On kept samples of kernels
# beside themselves (tests/fixtures/timing), where the truth is 1: root mean square error in percent
# over all runs of 8, 40 and 100 neighbouring pairs. Rows of docs/results/judge.md.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || set -- "$root"/tests/fixtures/timing/*.txt
echo '| samples | pairs | median of ratios | ratio of medians | ratio of 10% quantiles | ratio of minima | trimmed mean |'
echo '|---|---|---|---|---|---|---|'
for file; do
    grep -v '^#' "$file" | awk -v name="$(basename "$file" .txt)" '
    function sorted(from, n, to,    i, j, v) {
        for (i = 1; i <= n; i++) {
            v = from[i]
            for (j = i - 1; j > 0 && to[j] > v; j--) to[j + 1] = to[j]
            to[j + 1] = v
        }
    }
    function middle(v, n) { return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2 }
    function square(x) { return (x - 1) * (x - 1) }
    { s[NR] = $1; r[NR] = $2 }
    END {
        split("8 40 100", sizes, " ")
        for (k = 1; k <= 3; k++) {
            n = sizes[k]; m = 0; cut = int(n / 5); low = int(n / 10) + 1
            for (e = 1; e <= 5; e++) sum[e] = 0
            for (at = 0; at + n <= NR; at += 2) {
                for (i = 1; i <= n; i++) { a[i] = s[at + i]; b[i] = r[at + i]; q[i] = b[i] / a[i] }
                sorted(a, n, x); sorted(b, n, y); sorted(q, n, z)
                mean = 0
                for (i = cut + 1; i <= n - cut; i++) mean += log(z[i]) / (n - 2 * cut)
                sum[1] += square(middle(z, n)); sum[2] += square(middle(y, n) / middle(x, n))
                sum[3] += square(y[low] / x[low]); sum[4] += square(y[1] / x[1])
                sum[5] += square(exp(mean)); m++
            }
            printf "| %s | %d", name, n
            for (e = 1; e <= 5; e++) printf " | %.2f", 100 * sqrt(sum[e] / m)
            print " |"
        }
    }'
done
