# What `make install` installs is whole, works where it stands, and goes by `make uninstall`; completion in bash and zsh.
# Runs once: nothing of it has to do with the kernel.
. tests/cli/tap.sh

root=$D/root
run make --no-print-directory -s install DESTDIR="$root" PREFIX=/usr
is "$status $err" '0 ' 'make install'

# --- what is there ---

missing=
for file in bin/uplua share/uplua/scripts/trace.lua share/uplua/luacats/uplua.lua share/man/man1/uplua.1 share/man/man3/uplua-api.3lua \
    share/man/man7/uplua-handlers.7 share/man/man7/uplua-prompt.7 share/bash-completion/completions/uplua \
    share/zsh/site-functions/_uplua share/doc/uplua/LICENSE share/doc/uplua/doc/api.html; do
    [ -f "$root/usr/$file" ] || missing="$missing $file"
done
for script in scripts/*.lua; do
    page=uplua-$(basename "$script" .lua).1
    [ -f "$root/usr/share/man/man1/$page" ] || missing="$missing $page"
done
is "$missing" '' 'every part, and a man page for each script'
cd "$root" || exit 1
run usr/bin/uplua --scripts
like "$out" '*mallocleak.lua *which call stacks*' 'the installed program finds its scripts'
run usr/bin/uplua funccount.lua libc:getppid -- /bin/true
is "$status" 0 'and runs one'
cd "$OLDPWD" || exit 1

# Links of the manual that lead nowhere; in HTML those of all pages, in Markdown too.
broken()
{
    find "$root/usr/share/doc/uplua" -name "*.$1" | while read -r page; do
        grep -oE "$2" "$page" | sed -E "s/$2/\\2/; s/#.*//" | sort -u | while read -r link; do
            case $link in
            '' | *:*) ;;
            *) [ -e "$(dirname "$page")/$link" ] || echo "${page##*/}: $link" ;;
            esac
        done
    done
}
is "$(broken html '(href=")([^"]*)"')" '' 'no link of the HTML leads nowhere'
is "$(broken md '(\]\()([^)# ]*)[)#]')" '' 'nor one of the pages that it is made of'

# --- man pages ---

page() { MANWIDTH=200 man -l "$root/usr/share/man/$1" 2>&1 | col -bx | tr -s ' '; }
if command -v man >/dev/null && command -v col >/dev/null; then
    text=$(page man1/uplua-trace.1)
    like "$text" '*NAME*uplua-trace - what happens, one line each?*SYNOPSIS*uplua trace.lua *options* SPEC*-r, --return *' 'the page of a script'
    like "$text" "*libc:malloc, 'libc:str\*', syscall:'open\*', kprobe:vfs_read*" 'with its characters as they are'
    like "$text" '*uplua-funclatency(1)*SEE ALSO*uplua(1), *uplua-api(3lua)*' 'and links to others by their names'
    like "$(page man3/uplua-api.3lua)" '*uplua-api - the functions of scripts*up.uprobe(spec*' 'the page of the API'
else
    skip 'there is no man or col here'
fi

# --- completion ---

complete()
{
    PATH=$root/usr/bin:$PATH bash -c '
        . "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _uplua; printf "%s\n" "${COMPREPLY[@]}" | sort' \
        "$root/usr/share/bash-completion/completions/uplua" "$@" 2>&1
}
if command -v bash >/dev/null; then
    is "$(complete uplua --dur)" '--duration' 'an option'
    is "$(complete uplua mall)" 'mallocleak.lua' 'a script'
    is "$(complete uplua trace.lua --ret)" '--return' 'an option of a script'
    is "$(complete uplua trace.lua sys)" "$(printf 'syscall:\nsysreturn:')" 'kinds of probes'
    is "$(complete uplua trace.lua uprobe:libc:getppi)" uprobe:libc:getppid 'what there is to probe'
    sleep 600 &
    sleeper=$!
    is "$(complete uplua --pid $sleeper | sed "s/^\($sleeper\)  .*/\1/" | grep -x $sleeper)" $sleeper 'a process'
    is "$(complete uplua trace.lua -- "" | grep "^$sleeper  ")" "$sleeper  (sleep)" 'processes behind --, with their names'
    is "$(complete uplua trace.lua -- bash | sort -u | grep -x bash)" bash 'and commands'
    is "$(complete uplua 'mall?"; touch "$D/x')" '' 'what is typed is never run'
    kill $sleeper
else
    skip 'there is no bash here'
fi

# typed KEYS: types KEYS, and Tab, in zsh at a terminal. Then prints what the terminal showed, and what stood on the line: "[uplua …]".
typed()
{
    PATH=$root/usr/bin:$PATH TERM=vt100 timeout 60 zsh -fc '
        zmodload zsh/zpty
        zpty z zsh -fi
        zpty -w z "PS1=; unsetopt PROMPT_CR PROMPT_SP; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; print be\"\"gin"
        zpty -r z said "*begin*2004h*" # its line editor reads from then on
        zpty -n -w z "$2"$'"'\t\001print -r -- \"[\005]\"\n'"'
        zpty -r z said "*[[]uplua*\\]$(print "\r")"
        print -r -- $said' - "$root/usr/share/zsh/site-functions" "$1" | tr -d '\r\0'
}
line() { typed "$1" | sed -n 's/^\[\(uplua.*\)\]$/\1/p'; }
if ! command -v zsh >/dev/null; then
    skip 'there is no zsh here (package zsh)'
elif has_terminal; then
    sleep 600 &
    sleeper=$!
    is "$(line 'uplua --dur')" 'uplua --duration' 'zsh: an option'
    is "$(line 'uplua mall')" 'uplua mallocleak.lua' 'a script'
    is "$(line 'uplua trace.lua --stac')" 'uplua trace.lua --stack' 'an option of a script'
    is "$(line 'uplua trace.lua fen')" 'uplua trace.lua fentry:' 'a kind of probe'
    is "$(line 'uplua trace.lua uprobe:libc:getppi')" 'uplua trace.lua uprobe:libc:getppid' 'what there is to probe'
    is "$(line 'uplua trace.lua usdt:/usr/lib/nothing:')" 'uplua trace.lua usdt:/usr/lib/nothing:' 'nothing where there is nothing'
    is "$(line "uplua --pid $sleeper")" "uplua --pid $sleeper" 'a process'
    like "$(typed "uplua trace.lua -- $(printf '%s\004' "$sleeper")")" "*$sleeper  *-- sleep*" 'processes behind --, with their names'
    is "$(line 'uplua trace.lua -- mkfif')" 'uplua trace.lua -- mkfifo' 'and commands'
    is "$(line "uplua 'mall; touch $D/x; ")$(ls "$D/x" 2>/dev/null)" "uplua 'mall; touch $D/x; " 'what is typed is never run'
    kill $sleeper
fi

# --- uninstall ---

touch "$root/usr/share/uplua/scripts/mine.lua" "$root/usr/bin/another"
run make --no-print-directory -s uninstall DESTDIR="$root" PREFIX=/usr
is "$status $err" '0 ' 'make uninstall'
is "$(cd "$root" && find . -type f | sort | tr '\n' ' ')" './usr/bin/another ./usr/share/uplua/scripts/mine.lua ' \
    "leaves nothing behind but what is others'"
rm "$root/usr/share/uplua/scripts/mine.lua"
run make --no-print-directory -s uninstall DESTDIR="$root" PREFIX=/usr
is "$(find "$root" -name '*uplua*')" '' 'and no folder of its own'

done_testing
