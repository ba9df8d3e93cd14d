# e.vars beside what gdb prints of all variables, at many instructions of a program: `make test-vars` does the same with five of Debian's programs.
. tests/cli/tap.sh

for program in gdb python3 objdump setarch; do
    command -v $program >/dev/null && continue
    skip "there is no $program here"
    done_testing
    exit
done

for level in 0 2; do
    VARIABLES_DIR=$D STOPS=40 run tests/debugger/variables/run build/targets/variables-fixed-O$level
    is "$status" 0 "at -O$level all that gdb prints is equal, or refused with the reason" || printf '%s\n%s\n' "$out" "$err" | sed 's/^/#   /' >&2
    like "$out" "* at [1-9][0-9] stops, *" '… at many stops'
done
done_testing
