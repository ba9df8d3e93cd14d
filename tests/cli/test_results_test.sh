# What the tests' own tools say of tests: all stages run, one line has the numbers of all, and nothing that failed or was skipped goes unnamed.
. tests/cli/tap.sh

# tap FILE LINE...: what a test has printed
tap() {
    file=$D/$1.tap
    shift
    printf '%s\n' "$@" >"$file"
}
tap good 'ok 1 - a' 'ok 2 - b' '1..2'
tap bad 'ok 1 - a' 'not ok 2 - the sum' '#   got 3, want 4' '1..2'
tap short 'ok 1 - a' '1..2'
tap lacks 'ok 1 - a' 'ok 2 # SKIP there is no gcc here (package gcc)' '1..2'
tap other '1..0 # SKIP the target is for another CPU'

# results TEST...: what is said of these
results() {
    : >"$D/results"
    for test; do
        set -- "$@" "$D/$test.tap"
        shift
    done
    TEST_RESULTS="$D/results" perl tools/harness.pl 1 "$@" >"$D/said" 2>&1
    run tools/results.sh "$D/results"
    out=$(echo "$out" | sed "s|$D/||")
}
results good
is "$status $out" '0 2 passed, 0 failed, 0 skipped' 'what passes'
results good bad other
is "$status $out" '1 # skipped: other.tap: the target is for another CPU
# failed: bad.tap: 2 - the sum
    #   got 3, want 4
3 passed, 1 failed, 1 skipped' 'a check that fails is named, and a test that is skipped'
results short
like "$status $out" '1 # failed: short.tap: Bad plan*
    ok 1 - a
    1..2
1 passed, 1 failed, 0 skipped' 'so is a test that ends early, with what it said last'

# A second time, which is alone.
again() { tap "$1" 'not ok 1 - a' "#   got $1" '1..1' && tap "$1" 'ok 1 - a' '1..1' && mv "$D/$1.tap" "$D/$1.tap.again" && tap "$1" 'not ok 1 - a' "#   got $1" '1..1'; }
for test in one two three four; do again $test; done
results good one two three
is "$status $out" '0 # unstable: one.tap: 1 - a
    #   got one
# unstable: three.tap: 1 - a
    #   got three
# unstable: two.tap: 1 - a
    #   got two
# 3 unstable, which passed alone
5 passed, 0 failed, 0 skipped' 'three tests that pass the second time are named and taken'
results good one two three four
like "$status $out" '1 # unstable: four.tap: 1 - a*
# 4 tests were unstable, three are taken
6 passed, 0 failed, 0 skipped' 'a fourth is not'
mv "$D/one.tap" "$D/one.tap.again"
tap one 'not ok 1 - a' "#   got other" '1..1'
results good one
is "$status $out" '1 # failed: one.tap: 1 - a
    #   got other
2 passed, 1 failed, 0 skipped' 'what fails twice has failed'

# Tests that run: $D/x_test.sh is BODY, for which there are so many seconds.
body() {
    printf '%s\n' "# Limit: ${3:-60} s" '. tests/cli/tap.sh' "$2" 'done_testing' >"$D/$1_test.sh"
}
mkdir "$D/left"
export LEFT="$D/left"
body hangs 'ok begun true; echo waiting for a friend >&2; sleep 1000 & echo $! >"$LEFT/hangs"; wait' 1
body leaves 'ok begun true; setsid sleep 1000 & echo $! >"$LEFT/leaves"'
body dies 'ok begun true; echo last words; kill -SEGV $$'
body once 'is "$(cat "$LEFT/once" 2>&1)" again "passes the second time"; echo again >"$LEFT/once"'
body always 'is 1 2 sum'
body good 'ok fine true'
# ran TEST…: runs these; $out is what is said of them at the end
ran() {
    : >"$D/results"
    for test; do
        set -- "$@" "$D/${test}_test.sh"
        shift
    done
    env -u TEST_SECONDS -u UPLUA_LONG TEST_RESULTS="$D/results" perl tools/harness.pl 2 --exec tools/test-one.sh "$@" >"$D/said" 2>&1
    run tools/results.sh "$D/results"
    out=$(echo "$out" | sed "s|$D/||; s/pid [0-9]*/pid N/; s|/[^ ]*/||")
}
ran good once
like "$status $out" '0 # unstable: once_test.sh: 1 - passes the second time
    #   got:
*
# 1 unstable, which passed alone
2 passed, 0 failed, 0 skipped' 'a test that fails once is unstable, and does not fail'
ran good always
is "$status $out" '1 # failed: always_test.sh: 1 - sum
    #   got:
    #   1
    #   want:
    #   2
1 passed, 1 failed, 0 skipped' 'one that fails always does'
ran good hangs
like "$status $out" '1 # failed: hangs_test.sh: *exit status 124
    ok 1 - begun
    waiting for a friend
    # ended after 1 s; its processes:
    #   sh (pid N), S*: sh *hangs_test.sh
    #   sleep (pid N), S*: sleep 1000
2 passed, 1 failed, 0 skipped' 'one that hangs is ended, with what it waits in'
ok '… and all that it has started' sh -c '! kill -0 "$(cat "$LEFT/hangs")" 2>/dev/null'
ran good leaves
like "$status $out" '1 # failed: leaves_test.sh: *exit status 125
    ok 1 - begun
    1..1
    # the test has ended, and left behind:
    #   sleep (pid N), S*: sleep 1000
2 passed, 1 failed, 0 skipped' 'one that leaves a process behind fails'
ok '… which is ended' sh -c '! kill -0 "$(cat "$LEFT/leaves")" 2>/dev/null'
ran good dies
like "$status $out" '1 # failed: dies_test.sh: *
    ok 1 - begun
    last words
    # ended by signal 11, Segmentation fault
2 passed, 1 failed, 0 skipped' 'one that dies says by what'
CI=
export CI
results lacks
is "$status $out" '0 # skipped: lacks.tap: there is no gcc here (package gcc)
1 passed, 0 failed, 1 skipped' 'a package that is missing'
CI=true
results lacks
is "$status $out" '1 # failed: lacks.tap: skipped for want of the package gcc, which `make deps` installs
1 passed, 1 failed, 0 skipped' '… fails in CI, where it would have been installed'
results other
is "$status $out" '1 # skipped: other.tap: the target is for another CPU
0 passed, 0 failed, 1 skipped' 'where nothing passed, nothing was tested'

unset TEST_RESULTS
run tools/stages.sh first 'echo one; exit 3' second "printf 'passed\t7\n' >>\$TEST_RESULTS" \
    third "printf 'failed\tx: 1 - sum\n' >>\$TEST_RESULTS; exit 1" fourth "tools/stages.sh inner 'printf \"passed\t4\n\" >>\$TEST_RESULTS'"
out=$(echo "$out" | sed 's/[0-9]* min [0-9]* s/0 min 0 s/') # a busy machine takes longer
out=$(echo "$out" | sed '/^# machine: /,/^# watchpoint: /c # machine')
is "$status $out" '1 one

# inner: 0 min 0 s
4 passed, 0 failed, 0 skipped

# first: 0 min 0 s
# second: 0 min 0 s
# third: 0 min 0 s
# fourth: 0 min 0 s
# machine
# failed: first: exit status 3
# failed: x: 1 - sum
11 passed, 2 failed, 0 skipped' 'stages go on behind one that fails, and add up'
done_testing
