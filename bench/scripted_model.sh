#!/bin/sh
# bench/scripted_model.sh: answers the questions of hone's planner, coder and debugger by a fixed rule, for
# --llm exec:bench/scripted_model.sh (docs/llm.md). It is no model: it stands where a model would stand, so that what a
# policy does with such a mind (a plan of up to four changes for the node that the policy chose, each written by a second
# question) can be measured on tables without one. bench/policies.sh has such a comparison.
#
# The plan: of the single steps that the question lists as not tried four are drawn by a hash of the node's text and the
# step, so the same question has the same answer; steps that change knobs, not those that change stages or emitters. The
# code: the kernel block of the question with that step made. Where no step is left it has no answer that can be used.
exec awk '
function hash(text,    i, h) {
    h = 7
    for (i = 1; i <= length(text); i++) h = (h * 31 + index(letters, substr(text, i, 1))) % 2147483647
    for (i = 0; i < 3; i++) h = (h * 16807 + 12345) % 2147483647
    return h
}
BEGIN { letters = " !#$%&()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_abcdefghijklmnopqrstuvwxyz{|}~" }
/^You plan / { plans = 1 }
/^## / { section = $0 }
section == "## Single steps that nobody tried" && NF && !/^## / { steps = steps (steps ? "; " : "") $0 }
section == "## The node" && /^ *[0-9]+\| stage / { line = $0; sub(/^ *[0-9]+\| /, "", line); node = node line "\n" }
section == "## What to do" && /^Change: / { change = substr($0, 9) }
section == "## What to do" && /^ *([0-9]+\| )?kernel for / { block = ""; in_block = 1 }
in_block { line = $0; sub(/^ *[0-9]+\| /, "", line)
           if (line ~ /^(kernel for|stage) /) block = block line "\n"; else in_block = 0 }
END {
    if (plans) {
        n = split(steps, step, "; ")
        for (i = 1; i <= n; i++)
            if (step[i] ~ /^[^:]+: [a-z]+ [^ ]+ -> [^ ,]+(, [a-z]+ [^ ,]+( -> [^ ,]+)?)*$/) { m++; list[m] = step[i]; key[m] = hash(node step[i]) }
        printf "{\"hypotheses\": ["
        for (k = 0; k < 4 && k < m; k++) {
            best = 0
            for (i = 1; i <= m; i++) if (!(i in taken) && (!best || key[i] < key[best])) best = i
            taken[best]
            printf "%s{\"cause\": \"not tried\", \"finding\": 0, \"change\": \"%s\", \"form\": \"kernel\", \"spans\": [], \"speedup\": 1.1, \"risk_implementation\": 1, \"risk_performance\": 1}", k ? ", " : "", list[best]
        }
        printf "]}\n"
        exit
    }
    n = split(block, lines, "\n")
    stage = change; sub(/: .*/, "", stage)
    sub(/^[^:]*: /, "", change)
    m = split(change, parts, ", ")
    printf "```\n"
    for (i = 1; i < n; i++) {
        if (index(lines[i], "stage " stage " :") == 1)
            for (j = 1; j <= m; j++)
                if ((k = split(parts[j], w, " ")) == 4 || k == 2)  # "vec 4 -> 8", "vec 8"
                    if (match(lines[i] " ", " " w[1] " [^ ]+ "))
                        lines[i] = substr(lines[i], 1, RSTART) w[1] " " w[k] substr(lines[i], RSTART + RLENGTH - 1)
        print lines[i]
    }
    printf "```\n"
}'
