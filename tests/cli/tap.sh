# The Test Anything Protocol for tests in shell. Sourced; the tests run in the top folder, with $D for their files.
D=$(mktemp -d) || exit 1
trap 'rm -rf "$D"' EXIT
uplua=$(pwd)/uplua
pty=$(pwd)/build/targets/pty
. tests/await.sh
checks=0 failures=0

# ok NAME COMMAND...: COMMAND succeeds
ok() {
    name=$1
    shift
    checks=$((checks + 1))
    if "$@"; then
        echo "ok $checks - $name"
    else
        failures=$((failures + 1))
        echo "not ok $checks - $name"
        return 1
    fi
}

# is GOT WANT NAME
is() {
    ok "$3" [ "$1" = "$2" ] || printf 'got:\n%s\nwant:\n%s\n' "$1" "$2" | sed 's/^/#   /' >&2
}

# like GOT PATTERN NAME: PATTERN is the shell's
like() {
    # shellcheck disable=SC2254
    case $1 in
    $2) ok "$3" true ;;
    *) ok "$3" false || printf 'got:\n%s\nwant something like:\n%s\n' "$1" "$2" | sed 's/^/#   /' >&2 ;;
    esac
}

# skip REASON: what comes next is not asked here; REASON is what this environment lacks. One that says "package NAME" is a failure in CI where
# `make deps` installs that package.
skip() {
    checks=$((checks + 1))
    echo "ok $checks # SKIP $1"
}

# has_terminal: whether one can be opened, which needs a devpts at /dev/pts; if not, that is said as a skipped check
has_terminal() {
    "$pty" true </dev/null >"$D/out" 2>"$D/err" || { skip "no terminal can be opened: $(cat "$D/err")"; false; }
}

# run COMMAND...: sets $status, $out and $err
run() {
    "$@" >"$D/out" 2>"$D/err"
    status=$?
    out=$(cat "$D/out") err=$(cat "$D/err")
}

# start COMMAND...: in the background, with SIGINT as in a terminal (a shell's background jobs ignore it). Sets $pid.
start() {
    : >"$D/out" # what an earlier program printed there is nothing to wait for
    env --default-signal=INT "$@" >"$D/out" 2>"$D/err" &
    pid=$!
}

# finish: waits for what start began; sets $status, $out and $err
finish() {
    wait "$pid"
    status=$?
    out=$(cat "$D/out") err=$(cat "$D/err")
}

# until_output TEXT: waits until the program that start began has printed TEXT
until_output() {
    said=$1
    await 'grep -qF -- "$said" "$D/out"' "$pid"
}

# own_copy PROGRAM: copies it to $D, by a name that no other program has, and prints its path: what traces the whole
# machine does not see there what other tests run
own_copy() {
    copies=$(ls "$D" | grep -c '^own-')
    own=$D/own-$copies-${D##*[!A-Za-z0-9]}
    cp "$1" "$own" && printf '%s\n' "$own"
}

done_testing() {
    echo "1..$checks"
    [ "$failures" = 0 ] || exit 1
}
