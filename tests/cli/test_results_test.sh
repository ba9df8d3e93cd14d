# What the tests' own tools say of tests: all stages run, one line has the numbers of all, and nothing that failed or was skipped goes unnamed.
. tests/cli/tap.sh

# tap FILE LINE...: what a test has printed
tap() {
    file=$D/$1.tap
    shift
    printf '%s\n' "$@" >"$file"
}
tap good 'ok 1 - a' 'ok 2 - b' '1..2'
tap bad 'ok 1 - a' 'not ok 2 - the sum' '1..2'
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
3 passed, 1 failed, 1 skipped' 'a check that fails is named, and a test that is skipped'
results short
like "$status $out" '1 # failed: short.tap: Bad plan.*
1 passed, 1 failed, 0 skipped' 'so is a test that ends early'
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
is "$status $out" '1 one

# inner: 0 min 0 s
4 passed, 0 failed, 0 skipped

# first: 0 min 0 s
# second: 0 min 0 s
# third: 0 min 0 s
# fourth: 0 min 0 s
# failed: first: exit status 3
# failed: x: 1 - sum
11 passed, 2 failed, 0 skipped' 'stages go on behind one that fails, and add up'
done_testing
