#!/bin/sh
# tools/results.sh FILE   prints what tools/harness.pl wrote to FILE: what was skipped and why, what was unstable or failed and what it said,
# and the numbers of all
#
# The last line is "N passed, N failed, N skipped". The exit status is 1 if anything failed, if nothing passed, or if more than three tests
# were unstable: a few may be the machine's doing, though each is looked into; more are uplua's.
awk -F '\t' '
    function say(line, i, n, part) {
        n = split(line, part, "\t")
        print "# " part[1] ": " part[2]
        if (detailed[part[1]]++ < 12) for (i = 3; i <= n; i++) print "    " part[i]
    }
    $1 == "passed" { passed += $2 }
    $1 == "failed" { names[failed++] = $0 }
    $1 == "unstable" { shaky[checks++] = $0; test = $2; sub(/: .*/, "", test); if (!known[test]++) unstable++ }
    $1 == "skipped" { skipped++; if (!seen[$0]++) list[lines++] = $2 ": " $3 }
    END {
        for (i = 0; i < lines; i++) print "# skipped: " list[i]
        for (i = 0; i < checks; i++) say(shaky[i])
        for (i = 0; i < failed; i++) say(names[i])
        if (unstable > 3) printf "# %d tests were unstable, three are taken\n", unstable
        else if (unstable) printf "# %d unstable, which passed alone\n", unstable
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed > 0 || !passed || unstable > 3
    }' "$1"
