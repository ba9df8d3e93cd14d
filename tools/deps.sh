#!/bin/sh
# tools/deps.sh check [WHAT]     names the packages of WHAT that are missing; fails if there are any
# tools/deps.sh install [WHAT]   installs them (apt-get; with sudo if not root)
# WHAT is `build`, what uplua is built with; `manual`, what its pages are made with, too; or nothing, what the tests need, too; or this and more: `bench` what `make bench` and `make
# test-neighbours` compare with; `vm` what `make test-vm` boots another kernel with; `browser`, `debugger`, `arguments`, `long`, `slide`, `deb`
# and `fresh` what `make test-browser` and the others so named need; `aarch64` what builds with ARCH=aarch64 need, and `vm-aarch64` what boots
# such a machine; `static` and `static-aarch64` what `make static` needs.
# tools/deps.sh packages  names those that `install` installs where they are missing
# Each row: Debian package, then what must be there. "cmd X": X in $PATH. "h X": the compiler finds the header X. "f X": the file X.
# "lua X": LuaJIT finds the module X.
set -u
for_what=${2:-}
CC=${CC:-cc}
LUAJIT=${LUAJIT:-luajit}

rows() {
    cat <<END
gcc                 cmd gcc
libc6-dev           h   stdio.h
pkg-config          cmd pkg-config
luajit              cmd $LUAJIT
libluajit-5.1-dev   h   luajit.h
libbpf-dev          h   bpf/libbpf.h
libelf-dev          h   gelf.h
libdw-dev           h   elfutils/libdw.h
libtraceevent-dev   h   traceevent/event-parse.h
libzydis-dev        h   Zydis/Zydis.h
libreadline-dev     h   readline/readline.h
libiberty-dev       h   libiberty/demangle.h
lua-cjson           lua cjson
zlib1g-dev          h   zlib.h
liblzma-dev         h   lzma.h
clang               cmd clang
END
    [ "$for_what" != manual ] || echo "lowdown cmd lowdown"
    case $for_what in
    build | manual) return 0 ;;
    esac
    cat <<END
lowdown             cmd lowdown
luarocks            cmd luarocks
g++                 cmd g++
gfortran            cmd gfortran
musl-tools          cmd musl-gcc
libc6-arm64-cross   f   /usr/aarch64-linux-gnu/lib/libc.so.6
llvm                cmd llvm-strip
clang-format        cmd clang-format
perl                cmd prove
xz-utils            cmd xz
tmux                cmd tmux
zsh                 cmd zsh
strace              cmd strace
elfutils            cmd eu-addr2line
python3             f   /usr/bin/python3.11
dwz                 cmd dwz
protobuf-compiler   cmd protoc
bpftool             f   /usr/sbin/bpftool
libc6-dbg           f   /usr/share/doc/libc6-dbg
libmicrohttpd12     f   /usr/share/doc/libmicrohttpd12
libcurl4            f   /usr/share/doc/libcurl4
libjemalloc2        f   /usr/share/doc/libjemalloc2
libtcmalloc-minimal4 f  /usr/share/doc/libtcmalloc-minimal4
libmimalloc2.0      f   /usr/share/doc/libmimalloc2.0
END
    [ "$for_what" != bench ] || printf '%s cmd %s\n' bpftrace bpftrace strace strace linux-perf perf redis-server redis-server \
        redis-tools redis-benchmark gdb gdb libbpf-tools /usr/sbin/opensnoop golang-go go sqlite3 sqlite3 ruby ruby openssl openssl \
        bpfcc-tools /usr/sbin/trace-bpfcc
    [ "$for_what" != bench ] || echo "linux-headers-cloud-amd64 f /usr/share/doc/linux-headers-cloud-amd64"
    [ "$for_what" != bench ] || echo "python3-jsonschema f /usr/share/doc/python3-jsonschema"
    [ "$for_what" != debugger ] || printf '%s cmd %s\n' gdb gdb python3 /usr/bin/python3 redis-server redis-server redis-tools redis-benchmark \
        sqlite3 sqlite3 postgresql psql git git openssl openssl procps pgrep
    [ "$for_what" != arguments ] || printf '%s cmd %s\n' gdb gdb clang clang++ python3 /usr/bin/python3 dpkg-dev dpkg-source tcl tclsh make make util-linux setarch
    [ "$for_what" != slide ] || printf '%s cmd %s\n' gdb gdb python3 /usr/bin/python3 redis-server redis-server redis-tools redis-cli sqlite3 sqlite3 \
        openssl openssl perl perl cmake cmake gcc gcc findutils find
    [ "$for_what" != long ] || printf '%s cmd %s\n' redis-server redis-server redis-tools redis-benchmark postgresql psql sqlite3 sqlite3 \
        strace strace openssl openssl curl curl nginx-light nginx ruby ruby gzip gzip valgrind valgrind
    [ "$for_what" != prometheus ] || printf '%s cmd %s\n' prometheus prometheus redis-server redis-server redis-tools redis-benchmark curl curl
    [ "$for_what" != deb ] || printf '%s %s %s\n' debhelper f /usr/bin/dh dpkg-dev cmd dpkg-buildpackage lintian cmd lintian
    case $for_what in
    static*) printf '%s %s %s\n' dpkg-dev cmd dpkg-source libbz2-dev h bzlib.h libncurses-dev h curses.h libzycore-dev h Zycore/Types.h ;;
    esac
    [ "$for_what" != fresh ] || echo "debootstrap f /usr/sbin/debootstrap"
    [ "$for_what" != browser ] || echo "chromium cmd chromium"
    case $for_what in
    *aarch64*) printf '%s cmd %s\n' gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc g++-aarch64-linux-gnu aarch64-linux-gnu-g++ ;;
    esac
    [ "$for_what" != vm-aarch64 ] || printf '%s cmd %s\n' qemu-system-arm qemu-system-aarch64 cpio cpio
    [ "$for_what" != vm ] || printf '%s cmd %s\n' qemu-system-x86 qemu-system-x86_64 busybox-static busybox cpio cpio
}

there() {
    case $1 in
    cmd) command -v "$2" >/dev/null ;;
    f) [ -e "$2" ] ;;
    lua) "$LUAJIT" -e "require '$2'" >/dev/null 2>&1 ;;
    h) echo "#include <stddef.h>
             #include <stdint.h>
             #include <stdio.h>
             #include <$2>" |
        "${CC%% *}" -E $(pkg-config --cflags luajit 2>/dev/null) - >/dev/null 2>&1 ;;
    esac
}

missing() {
    rows | while read -r package kind what; do
        there "$kind" "$what" || printf ' %s' "$package"
    done
}

if [ "${1:-}" = packages ]; then
    rows | cut -d ' ' -f 1
    exit
fi

packages=$(missing)
[ -z "$packages" ] && exit 0

case ${1:-check} in
check)
    how=
    [ "$for_what" != aarch64 ] || how=' ARCH=aarch64'
    echo "uplua needs packages that are missing here. Install them, and those of the tests, with \`make$how deps\`, or:" >&2
    echo "    apt-get install --no-install-recommends$packages" >&2
    exit 1
    ;;
install)
    if ! command -v apt-get >/dev/null; then
        echo "There is no apt-get here; install the equivalents of these Debian packages:$packages" >&2
        exit 1
    fi
    root=
    if [ "$(id -u)" != 0 ]; then
        root=sudo
        if ! command -v sudo >/dev/null; then
            echo "Neither root nor sudo; as root run: apt-get install --no-install-recommends$packages" >&2
            exit 1
        fi
    fi
    echo "  APT  $packages"
    get() { $root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"; }
    # The lists of a fresh machine are empty, those of an old one name versions that are gone: update when needed.
    log=$(mktemp) || exit 1
    trap 'rm -f "$log"' EXIT
    # shellcheck disable=SC2086
    if ! get -y install --no-install-recommends $packages >"$log" 2>&1; then
        if ! { get update && get -y install --no-install-recommends $packages; } >>"$log" 2>&1; then
            tail -n 20 "$log" >&2
            exit 1
        fi
    fi
    packages=$(missing)
    if [ -n "$packages" ]; then
        echo "These are installed, but what uplua needs of them is still not found:$packages" >&2
        exit 1
    fi
    ;;
*)
    echo "usage: tools/deps.sh check | install | packages" >&2
    exit 2
    ;;
esac
