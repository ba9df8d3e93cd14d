#!/bin/bash
# tools/sources.sh DIR PACKAGE…   unpacks the sources of Debian's packages into DIR, each into a folder that is called as the package
#
# From where this machine gets its packages: apt-get has lists and a state of its own in DIR.apt, in which each source of packages is one of
# sources. Nothing is installed, and no rights are needed.
set -euo pipefail

[ $# -gt 1 ] || { echo "usage: tools/sources.sh DIR PACKAGE..." >&2; exit 2; }
DIR=$1
shift

mkdir -p "$DIR" "$DIR.apt"/{lists,cache/archives,sources}
APT=$(realpath "$DIR.apt")
: >"$APT/status"
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ ! -f "$file" ] || sed -n 's/^deb\(-src\)\?[[:blank:]]/deb-src /p' "$file" >>"$APT/sources/machine.list"
done
for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$APT/sources/${file##*/}"
done
apt() {
    apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$APT/sources" -o Dir::State="$APT" -o Dir::State::lists="$APT/lists" \
        -o Dir::State::status="$APT/status" -o Dir::Cache="$APT/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}
failed() {
    tail -n 20 "$APT/log" >&2
    echo "tools/sources.sh: cannot fetch the sources of $*" >&2
    exit 1
}

apt update >"$APT/log" 2>&1 || failed "$*: their lists"
for package; do
    [ ! -d "$DIR/$package" ] || continue
    mkdir -p "$APT/$package"
    (cd "$APT/$package" && apt source --only-source "$package") >>"$APT/log" 2>&1 || failed "$package"
    mv "$APT/$package"/*/ "$DIR/$package"
done
rm -rf "$APT"
