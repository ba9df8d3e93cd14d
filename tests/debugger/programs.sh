# Programs of Debian's sources that are compared with gdb, for the scripts beside this one: how they are built, and what they are given. $D is the folder for what is made.
PROGRAMS=tests/debugger/arguments

# build_PROGRAM SOURCE RESULT FLAGS…: with $C and $X, the compilers.
build_zlib() { $C "${@:3}" -w -DHAVE_UNISTD_H -DHAVE_STDARG_H -I"$1" "$1"/*.c "$1/test/example.c" -o "$2"; }
build_bzip2() { $C "${@:3}" -w "$1"/{blocksort,huffman,crctable,randtable,compress,decompress,bzlib,bzip2}.c -o "$2"; }
build_lua5.4() { # the time seeds its hashes and random numbers
    echo 'long __wrap_time(long *time) { return time ? *time = 1 : 1; }' >"$D/time.c"
    echo "#define DEB_HOST_MULTIARCH \"$(gcc -print-multiarch)\"" >"$1/src/lua5.4-deb-multiarch.h"
    $C "${@:3}" -w -DLUA_USE_POSIX '-Dluai_makeseed(L)=1' $(ls "$1"/src/*.c | grep -v /luac.c) "$D/time.c" -Wl,--wrap=time -o "$2" -lm
}
build_sqlite3() {
    [ -e "$1/sqlite3.c" ] || (cd "$1" && ./configure && make sqlite3.c shell.c) >"$D/log" 2>&1
    $C "${@:3}" -w -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION "$1/sqlite3.c" "$1/shell.c" -o "$2" -lm
}
build_leveldb() {
    $X "${@:3}" -w -std=c++17 -pthread -DLEVELDB_PLATFORM_POSIX=1 -I"$1" -I"$1/include" "$PROGRAMS/leveldb.cc" \
        $(ls "$1"/{db,table,util}/*.cc "$1"/helpers/memenv/memenv.cc | grep -v -e _test.cc -e _bench -e leveldbutil.cc -e env_windows -e testutil) -o "$2"
}
inputs() { # the program's arguments; its input is in $D/input
    : >"$D/input"
    case $1 in
    lua5.4) cp "$PROGRAMS/input.lua" "$D/input"; echo - ;;
    bzip2) cp "$PROGRAMS/input.sql" "$D/input"; echo -c ;;
    sqlite3) cp "$PROGRAMS/input.sql" "$D/input"; echo :memory: ;;
    esac
}
