#!/bin/bash
# tools/sysroot.sh aarch64 DIR   unpacks into DIR what Debian has for another CPU and what the build for it and its machine in
#                                `make test-vm` need: libraries with their headers, programs, and the kernel in DIR/boot
#
# Nothing is installed, and apt-get has lists and a state of its own in DIR.apt, as on a machine of that CPU without any package: so this
# asks for no rights, needs no `dpkg --add-architecture`, and takes no care of the versions that the libraries of this machine have.
set -euo pipefail

[ $# = 2 ] && [ "$1" = aarch64 ] || { echo "usage: tools/sysroot.sh aarch64 DIR" >&2; exit 2; }
DIR=$2
CPU=arm64

LIBRARIES="libc6-dev libstdc++-12-dev libgcc-12-dev libluajit-5.1-dev libbpf-dev libelf-dev libdw-dev libtraceevent-dev libzydis-dev
    libreadline-dev libiberty-dev zlib1g-dev liblzma-dev musl-dev"
PROGRAMS="bash dash coreutils grep sed binutils busybox-static util-linux procps"

mkdir -p "$DIR.apt"/{lists,cache/archives,etc}
APT=$(realpath "$DIR.apt")
: >"$APT/status"
apt() {
    apt-get -q -o APT::Architecture=$CPU -o APT::Architectures::=$CPU -o Dir::State="$APT" -o Dir::State::lists="$APT/lists" \
        -o Dir::State::status="$APT/status" -o Dir::Cache="$APT/cache" -o APT::Sandbox::User="$(id -un)" \
        -o Debug::NoLocking=1 -o APT::Install-Recommends=0 "$@"
}
failed() {
    tail -n 20 "$APT/log" >&2
    echo "tools/sysroot.sh: cannot fetch Debian's packages for $CPU" >&2
    exit 1
}

apt update >"$APT/log" 2>&1 || failed
# The newest of Debian's cloud kernels, by what its package depends on.
kernel=$(apt -s install linux-image-cloud-$CPU 2>>"$APT/log" | sed -n 's/^Inst \(linux-image-[0-9][^ ]*\) .*/\1/p')
[ -n "$kernel" ] || failed
# shellcheck disable=SC2086
apt -y --download-only install $LIBRARIES $PROGRAMS >>"$APT/log" 2>&1 || failed
(cd "$APT/cache/archives" && apt download "$kernel") >>"$APT/log" 2>&1 || failed

# As installed systems are, with one folder for /lib and /usr/lib.
rm -rf "$DIR"
mkdir -p "$DIR"/usr/{bin,sbin,lib}
(cd "$DIR" && for dir in bin sbin lib; do ln -s usr/$dir $dir; done)
for package in "$APT"/cache/archives/*.deb; do
    dpkg --fsys-tarfile "$package" | tar -x -C "$DIR" --keep-directory-symlink --no-same-owner --exclude='./lib/modules/*' --exclude='./usr/share/*'
done
# Links to /lib/… mean the sysroot's.
find "$DIR/usr" -type l -lname '/*' | while read -r link; do
    ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$DIR$(readlink "$link")")" "$link"
done
# gcc's options for musl, with the sysroot's folders.
sed "s|/usr/|$(realpath "$DIR")/usr/|g" "$DIR"/usr/lib/aarch64-linux-musl/musl-gcc.specs >"$DIR"/musl.specs
rm -rf "$DIR.apt"
