#!/bin/sh
# tools/results.sh FILE   prints what tools/harness.pl wrote to FILE: what was skipped and why, what failed, and the numbers of all
#
# The last line is "N passed, N failed, N skipped". The exit status is 1 if anything failed, or if nothing passed.
awk -F '\t' '
    $1 == "passed" { passed += $2 }
    $1 == "failed" { names[failed++] = $2 }
    $1 == "skipped" { skipped++; if (!seen[$0]++) list[lines++] = $2 ": " $3 }
    END {
        for (i = 0; i < lines; i++) print "# skipped: " list[i]
        for (i = 0; i < failed; i++) print "# failed: " names[i]
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed > 0 || !passed
    }' "$1"
