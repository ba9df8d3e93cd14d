#!/bin/sh
# The rules of the house that a compiler does not check: who may use what (tools/folders.lua), and what must be documented.
set -u
bad=0
complain() {
    echo "lint: $1" >&2
    echo "$2" | sed 's/^/    /' >&2
    bad=1
}
# forbid MESSAGE PATTERN FILE...
forbid() {
    message=$1 pattern=$2
    shift 2
    # Comments may say anything: lines that begin or continue one are passed over, except for words of unfinished work.
    case $message in
    unfinished*) found=$(grep -nHE "$pattern" "$@" 2>/dev/null) ;;
    *) found=$(grep -nHE "$pattern" "$@" 2>/dev/null | grep -vE '^[^:]*:[0-9]+: *(/\*|\*|//)') ;;
    esac
    [ -z "$found" ] || complain "$message" "$found"
}

c_files=$(find src -name '*.[ch]')
outside_lua=$(echo "$c_files" | grep -v '^src/lua/')
outside_sys=$(echo "$c_files" | grep -v '^src/sys/')

# The kinds of probes, and who may know them by name (doc/internals.md, "A probe kind is one provider").
kinds=$(sed -n 's/^ *ROW(\([a-z_]*\)).*/\1/p' src/compile/providers/providers.h | paste -sd'|' -)
outside_c_providers=$(echo "$c_files" | grep -v '^src/compile/providers/')
outside_lua_providers=$(find lua scripts -name '*.lua' | grep -v '^lua/uplua/probe/providers/')

# shellcheck disable=SC2086
{
    forbid 'only src/lua includes the headers of Lua' '#include *[<"](lua|lauxlib|lualib|luajit)\.h' $outside_lua
    forbid 'only src/sys makes bpf() and perf_event_open calls' '__NR_(bpf|perf_event_open)|SYS_(bpf|perf_event_open)' $outside_sys
    forbid 'only src/sys knows tracefs' '"/sys/kernel/(debug/)?tracing' $outside_sys
    forbid 'src/lua makes no system calls' \
        '(^|[^a-z_."])(syscall|open|openat|dup|isatty|read|write|mmap|ioctl|fork|execve?|waitpid|kill|epoll_(create1|ctl|wait)|signalfd|timerfd_(create|settime)|sigaction|tcsetattr|pidfd_open|mkdir|readlink) *\(' \
        src/lua/*.c
    # What is found by symbols is not found in a file without them.
    forbid 'Lua finds functions of C in uplua.contract.C' 'ffi\.C\.[a-z_]' $(find lua -name '*.lua')
    forbid 'bpf/ knows nothing of Lua' '[^a-z]lua_|luajit' bpf/*.[ch]
    forbid 'only a provider asks of which kind a probe is' \
        "[~=]= *\"($kinds)\"|\"($kinds)\" *[~=]=|provider(\.name)? *[~=]=" $outside_lua_providers
    forbid 'only a provider asks of which kind a probe is' \
        "strn?cmp\([^)]*\"($kinds)\"|\bprovider_($kinds)\b|provider(->name)? *[!=]= *[^ N]|\bHANDLER_[A-Z]" $outside_c_providers
    forbid 'unfinished work' '\b(TODO|FIXME|XXX|HACK)\b' $c_files $(find lua bpf scripts tests -name '*.lua' -o -name '*.[ch]')
}

# A public function has a comment above it, or above the run of declarations that it belongs to.
for header in $(find src -name '*.h'); do
    found=$(awk -v file="$header" '
        /^ *\/\// || /^ *\/\*/ || /\*\/ *$/ || /^ \*/ { commented = 1; next }
        /^$/ || /^[}#]/ { commented = 0; next }
        /^[a-z].*\(.*[,;]( *\/\*.*)?$/ && !/^typedef/ && !/^static/ && !/^struct [a-z_]+ \{/ {
            if (!commented && $0 !~ /(_free|_close|_new)\(/ && $0 !~ /\/\*/) print file ":" FNR ": " $0
        }' "$header")
    [ -z "$found" ] || complain 'a public function without a comment' "$found"
done

# The arrows between the folders of lua/uplua.
"${LUAJIT:-luajit}" tools/folders.lua || bad=1

# The manual: short table cells, and questions whose files and functions exist.
"${LUAJIT:-luajit}" tools/manual.lua || bad=1

# The API: what is public is declared in lua/uplua/api/, from which doc/api.md is made, and nothing else is used.
found=$("${LUAJIT:-luajit}" tools/api/page.lua | diff doc/api.md - | head -20)
[ -z "$found" ] || complain 'doc/api.md is not what lua/uplua/api/ says: change that, and run make doc' "$found"
./uplua tools/api/check.lua || bad=1

# The form of the sources: clang-format's for C, 120 columns for all, and a banner that says what a file is.
lua_sources=$(find lua scripts tests examples tools/api -name '*.lua')
c_sources=$(find src bpf tests examples -name '*.[ch]')
case $(clang-format --version 2>/dev/null) in
*'version 14.'*)
    found=$(echo "$c_sources" | xargs -P 2 -n 300 clang-format -n -Werror 2>&1 | grep 'error:')
    [ -z "$found" ] || complain 'C is not as clang-format -i leaves it' "$found"
    ;;
*) complain 'the form of C cannot be checked' 'clang-format 14 is missing: make deps' ;;
esac
# shellcheck disable=SC2086
found=$(perl -CSD -ne 'chomp; print "$ARGV:$.: ", length, " characters\n" if length > 120; close ARGV if eof' $lua_sources $c_sources)
[ -z "$found" ] || complain 'a line of more than 120 characters' "$found"
# shellcheck disable=SC2086
"${LUAJIT:-luajit}" tools/sizes.lua $lua_sources $c_sources || bad=1
# shellcheck disable=SC2046
"${LUAJIT:-luajit}" tools/globals.lua $(find lua scripts -name '*.lua') || bad=1
# shellcheck disable=SC2086
found=$(awk 'FNR == 1 { first = 1 } FNR == 1 && /^#!/ { next } first { first = 0; if (!/^--/) print FILENAME } ' $lua_sources
    find src bpf tests examples -name '*.c' -exec awk 'FNR == 1 && !/^\/[*\/]/ { print FILENAME }' {} +)
[ -z "$found" ] || complain 'a file that does not begin with a comment that says what it is' "$found"

exit $bad
