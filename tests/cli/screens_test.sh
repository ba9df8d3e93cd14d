# The prompt and live views as a person sees them: tmux types the sessions of tests/cli/screens, and what then stands on the
# screen is what the session says. UPDATE=1 writes what stands there into the sessions, to be read before it is committed.
#
# A session's lines:
#   size 80 24      columns and rows of the terminal; the first line
#   run ARGUMENT…   starts ./uplua with these, split as a shell does; the second
#   start ARGUMENT… the same of a script without a prompt
#   resize 40 12    gives the terminal another size
#   > text          types text, and Enter; waits until the prompt is back, or asks for another line
#   - text          types text
#   ^ C-c Up Tab    presses these keys, by tmux's names
#   until TEXT      waits until the screen shows TEXT, ten seconds at most
#   screen          what the screen shows, line by line, each behind "| "; numbers that differ from run to run stand as #
# Numbers are masked by the lines `mask PATTERN`, where PATTERN is sed's extended one with the number in parentheses.
. tests/cli/tap.sh

command -v tmux >/dev/null || {
    skip 'there is no tmux here (package tmux)'
    done_testing
    exit
}
has_terminal || { done_testing; exit; }
export HOME="$D/home" LC_ALL=C.UTF-8
export UPLUA_CACHE=
mkdir -p "$HOME" "$D/top/build/targets"
ln -s "$uplua" "$D/top/uplua"
cp build/targets/calls build/targets/ticker build/targets/busy "$D/top/build/targets" # nobody else runs these
cp tests/cli/screens/*.lua "$D/top"
socket=$D/tmux terminals=0
tmux() { command tmux -S "$socket" -f /dev/null "$@"; }

# What stands on the screen, without what differs from run to run: masks are in $D/masks.
shown() { tmux capture-pane -p | sed -E -f "$D/masks" | sed -e 's/[[:space:]]*$//' | sed -e ':a' -e '/^\n*$/{$d;N;ba' -e '}'; }

until_shown() {
    for _ in $(seq 1200); do
        case $(tmux capture-pane -p) in *"$1"*) return 0 ;; esac
        sleep 0.05
    done
    echo "# the screen never showed: $1" >&2
    return 1
}

until_prompt() {
    for _ in $(seq 1200); do
        case $(tmux capture-pane -p | grep . | tail -n 1) in '>' | '>>') return 0 ;; esac
        sleep 0.05
    done
    echo '# the prompt never came' >&2
    return 1
}

# The screen once it has not changed for a while.
settled() {
    before=
    for _ in $(seq 100); do
        now=$(shown)
        [ "$now" != "$before" ] || break
        before=$now
        sleep 0.25
    done
    printf '%s\n' "$now"
}

# start ARGUMENTS: in a new terminal
start() {
    [ ! -S "$socket" ] || tmux kill-server 2>/dev/null
    terminals=$((terminals + 1)) socket=$D/tmux$terminals # a server that is ending would take the new session with it
    tmux new-session -d -x "$width" -y "$height" "cd '$D/top' && ./uplua$1; echo \"status \$?\"; exec cat" \; set status off
}

# play FILE: checks each screen of the session
play() {
    file=$1 session=$(basename "$1" .txt) number=0 expected='' in_screen=
    sed -n 's/^mask \(.*\)$/\1/p' "$file" | sed 's/.*/s\x01&\x01#\x01g/' >"$D/masks"
    : >"$D/updated"
    while IFS= read -r line || [ -n "$line" ]; do
        if [ "$in_screen" ]; then
            case $line in "|"*)
                expected=$expected${line#|}$nl
                continue
                ;;
            esac
            finish_screen
        fi
        printf '%s\n' "$line" >>"$D/updated"
        case $line in
        size*)
            size=${line#size }
            width=${size% *} height=${size#* }
            ;;
        run*)
            start "${line#run}"
            until_prompt
            ;;
        start*) start "${line#start}" ;;
        'resize '*) tmux resize-window -x "$(echo "${line#resize }" | cut -d' ' -f1)" -y "${line##* }" ;;
        '> '*) tmux send-keys -l "${line#> }" && tmux send-keys Enter && until_prompt ;;
        '- '*) tmux send-keys -l "${line#- }" ;;
        '^ '*) tmux send-keys ${line#^ } ;;
        'until '*) ok "$session: ${line#until } comes" until_shown "${line#until }" ;;
        screen) in_screen=1 expected='' ;;
        mask* | '' | '#'*) ;;
        *) ok "$session: a step that there is: $line" false ;;
        esac
    done <"$file"
    [ -z "$in_screen" ] || finish_screen
    tmux kill-server 2>/dev/null
    [ -z "${UPDATE:-}" ] || cp "$D/updated" "$file"
}

# A machine that is busy may let a screen stand still before it is whole: it is waited for, up to half a minute.
finish_screen() {
    in_screen= number=$((number + 1))
    for _ in $(seq 60); do
        got=$(settled | sed 's/^/ /' | sed 's/^ $//')
        [ -z "${UPDATE:-}" ] && [ "$got" != "${expected%"$nl"}" ] || break
        sleep 0.25
    done
    printf '%s\n' "$got" | sed 's/^/|/' >>"$D/updated"
    [ "${UPDATE:-}" ] || is "$got" "${expected%"$nl"}" "$session: screen $number"
}

nl='
'
for one in ${SCREENS:-tests/cli/screens/*.txt}; do play "$one"; done
done_testing
