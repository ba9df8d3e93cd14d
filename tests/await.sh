# Waiting, for the shell parts of all tests: tests/cli/tap.sh sources this, tests/lua/target.lua puts it before each script. Files are in $D.
# A wait that is not bounded, or a sleep in its place, stands nowhere else.

# await CONDITION [PID…]: waits until the shell's CONDITION holds, and looks fifty times a second. In vain after half a minute of looks,
# or when one of these processes has ended: then it says in $D/waited and on standard error what it waited for, and ends the script with 99.
await() {
    awaited=$1
    shift
    looks=0
    while [ $looks -lt 1500 ]; do
        looks=$((looks + 1)) ended=
        for of in "$@"; do kill -0 "$of" 2>/dev/null || ended=$of; done
        eval "$awaited" && return 0
        [ -z "$ended" ] || break
        sleep 0.02
    done
    echo "waited in vain${ended:+, process $ended has ended,} for: $awaited" | tee -a "$D/waited" >&2
    exit 99
}

# await_end PID…: waits until none of these processes is left but as a zombie, which only its parent can wait for.
await_end() {
    for of in "$@"; do await "! grep -qs '^State:.[^ZX]' /proc/$of/status"; done
}
