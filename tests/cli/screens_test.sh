# The prompt and live views as a person sees them: tmux types the sessions of tests/cli/screens, and what then stands on the
# screen is what the session says. UPDATE=1 writes what stands there into the sessions, to be read before it is committed.
# Limit: 240 s
#
# A session's lines:
#   size 80 24      columns and rows of the terminal; the first line
#   run ARGUMENT…   starts ./uplua with these, split as a shell does; the second
#   start ARGUMENT… the same of a script without a prompt
#   resize 40 12    gives the terminal another size
#   > text          types text, and Enter; waits until the prompt is back, or asks for another line
#   - text          types text
#   ^ C-c Up Tab    presses these keys, by tmux's names
#   until TEXT      waits until the screen shows TEXT
#   make FILE       makes the file, which what is traced may wait for
#   screen          what the screen shows, line by line, each behind "| "; numbers that differ from run to run stand as #
# Numbers are masked by the lines `mask PATTERN`, where PATTERN is sed's extended one with the number in parentheses. Lines
# that need not be there are named by `drop PATTERN`.
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

nl='
'
# look: $screen is what stands on the screen, $shown that without what differs from run to run, for which the masks are
# in $D/masks. False where it is the same as the last time: what is made of it is not made anew at each look.
look() {
    screen=$(tmux capture-pane -p)
    [ "$screen" != "$looked" ] || return 1
    looked=$screen
    shown=$(printf '%s\n' "$screen" | sed -E -f "$D/masks" | sed -e 's/[[:space:]]*$//' -e 's/^./ &/')
}

until_shown() {
    said=$1
    await 'case $(tmux capture-pane -p) in *"$said"*) ;; *) false ;; esac'
}

# The prompt has something behind it: else the one that is there would be taken for the one that comes.
until_typed() { await 'case $nl$(tmux capture-pane -p) in *"$nl>" | *"$nl>>") false ;; esac'; }

until_prompt() { await 'case $nl$(tmux capture-pane -p) in *"$nl>" | *"$nl>>") ;; *) false ;; esac'; }

# start ARGUMENTS: in a new terminal
start() {
    [ ! -S "$socket" ] || tmux kill-server 2>/dev/null
    terminals=$((terminals + 1)) socket=$D/tmux$terminals # a server that is ending would take the new session with it
    tmux new-session -d -x "$width" -y "$height" "cd '$D/top' && ./uplua$1; echo \"status \$?\"; exec cat" \; set status off
}

# resize WIDTH HEIGHT; a live view has drawn itself anew then: its last line is the terminal's
resize() {
    tmux resize-window -x "$1" -y "$2"
    last=$(($2 - 1))
    [ "$(tmux display-message -p '#{alternate_on}')" = 0 ] || await '[ "$(tmux capture-pane -p -S "$last")" ]'
}

# play FILE: checks each screen of the session
play() {
    file=$1 session=$(basename "$1" .txt) number=0 expected='' in_screen=
    sed -n -e 's/^drop \(.*\)$/\/\1\/d/p' -e 's/^mask \(.*\)$/s\x01\1\x01#\x01g/p' "$file" >"$D/masks"
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
        'resize '*) resize ${line#resize } ;;
        '> '*)
            tmux send-keys -l "${line#> }" && until_typed
            tmux send-keys Enter && until_prompt
            ;;
        '- '*) tmux send-keys -l "${line#- }" ;;
        '^ '*) tmux send-keys ${line#^ } ;;
        'until '*) ok "$session: ${line#until } comes" until_shown "${line#until }" ;;
        'make '*) : >"$D/top/${line#make }" ;;
        screen) in_screen=1 expected='' ;;
        mask* | drop* | '' | '#'*) ;;
        *) ok "$session: a step that there is: $line" false ;;
        esac
    done <"$file"
    [ -z "$in_screen" ] || finish_screen
    tmux kill-server 2>/dev/null
    [ -z "${UPDATE:-}" ] || cp "$D/updated" "$file"
}

# The screen is waited for. What then stands there instead is told.
finish_screen() {
    in_screen= number=$((number + 1))
    looked=
    if [ "${UPDATE:-}" ]; then
        sleep 2
        look
        printf '%s\n' "$shown" | sed 's/^/|/' >>"$D/updated"
    else
        if (await 'look && [ "$shown" = "${expected%"$nl"}" ]'); then
            ok "$session: screen $number" true
        else
            look
            is "$shown" "${expected%"$nl"}" "$session: screen $number"
        fi
    fi
}

for one in ${SCREENS:-tests/cli/screens/*.txt}; do play "$one"; done
done_testing
