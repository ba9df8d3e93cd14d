#!/bin/bash
# tools/packages.sh CPU SUITE DIR PACKAGE…   downloads Debian's packages for CPU (amd64, arm64) into DIR, with all that they depend on
#
# SUITE is Debian's (bookworm, trixie); "-": what this machine's apt-get has for that CPU. The package "kernel" is the newest cloud kernel,
# by itself. Nothing is installed: apt-get has lists and a state of its own in DIR.apt, as on a machine of that CPU without any package. So
# this asks for no rights, needs no `dpkg --add-architecture`, and takes no care of the versions that the libraries of this machine have.
set -euo pipefail

[ $# -gt 3 ] || { echo "usage: tools/packages.sh CPU SUITE DIR PACKAGE..." >&2; exit 2; }
CPU=$1 SUITE=$2 DIR=$3
shift 3

mkdir -p "$DIR" "$DIR.apt"/{lists,cache/archives}
APT=$(realpath "$DIR.apt")
: >"$APT/status"
SOURCES=
if [ "$SUITE" != - ]; then
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $SUITE main" >"$APT/sources.list"
    SOURCES="-o Dir::Etc::sourcelist=$APT/sources.list -o Dir::Etc::sourceparts=/dev/null"
fi
apt() {
    # shellcheck disable=SC2086
    apt-get -q -o APT::Architecture=$CPU -o APT::Architectures::=$CPU -o Dir::State="$APT" -o Dir::State::lists="$APT/lists" \
        -o Dir::State::status="$APT/status" -o Dir::Cache="$APT/cache" -o APT::Sandbox::User="$(id -un)" \
        -o Debug::NoLocking=1 -o APT::Install-Recommends=0 $SOURCES "$@"
}
failed() {
    tail -n 20 "$APT/log" >&2
    echo "tools/packages.sh: cannot fetch Debian's packages for $CPU ($SUITE): $*" >&2
    exit 1
}

apt update >"$APT/log" 2>&1 || failed "their lists"
packages=()
for package; do
    if [ "$package" = kernel ]; then
        # What the package that stands for the newest depends on.
        kernel=$(apt -s install linux-image-cloud-$CPU 2>>"$APT/log" | sed -n 's/^Inst \(linux-image-[0-9][^ ]*\) .*/\1/p')
        [ -n "$kernel" ] || failed "linux-image-cloud-$CPU"
        (cd "$APT/cache/archives" && apt download "$kernel") >>"$APT/log" 2>&1 || failed "$kernel"
    else
        packages+=("$package")
    fi
done
[ ${#packages[@]} = 0 ] || apt -y --download-only install "${packages[@]}" >>"$APT/log" 2>&1 || failed "${packages[*]}"
mv "$APT"/cache/archives/*.deb "$DIR"
rm -rf "$APT"
