#!/bin/bash
# tools/sysroot.sh aarch64 DIR   unpacks into DIR what Debian has for another CPU and what the build for it and its machine in
#                                `make test-vm` need: libraries with their headers, programs, and the kernel in DIR/boot
set -euo pipefail

[ $# = 2 ] && [ "$1" = aarch64 ] || { echo "usage: tools/sysroot.sh aarch64 DIR" >&2; exit 2; }
DIR=$2

LIBRARIES="libc6-dev libstdc++-12-dev libgcc-12-dev libluajit-5.1-dev libbpf-dev libelf-dev libdw-dev libtraceevent-dev libzydis-dev
    libreadline-dev libncurses-dev libiberty-dev zlib1g-dev liblzma-dev libbz2-dev libzycore-dev musl-dev"
PROGRAMS="bash dash coreutils grep sed binutils busybox-static util-linux mount procps"

rm -rf "$DIR" "$DIR.packages"
# shellcheck disable=SC2086
"$(dirname "$0")"/packages.sh arm64 - "$DIR.packages" kernel $LIBRARIES $PROGRAMS

# As installed systems are, with one folder for /lib and /usr/lib.
mkdir -p "$DIR"/usr/{bin,sbin,lib}
(cd "$DIR" && for dir in bin sbin lib; do ln -s usr/$dir $dir; done)
for package in "$DIR.packages"/*.deb; do
    dpkg --fsys-tarfile "$package" | tar -x -C "$DIR" --keep-directory-symlink --no-same-owner --exclude='./lib/modules/*' --exclude='./usr/share/*'
done
rm -r "$DIR.packages"
# Links to /lib/… mean the sysroot's.
find "$DIR/usr" -type l -lname '/*' | while read -r link; do
    ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$DIR$(readlink "$link")")" "$link"
done
# gcc's options for musl, with the sysroot's folders.
sed "s|/usr/|$(realpath "$DIR")/usr/|g" "$DIR"/usr/lib/aarch64-linux-musl/musl-gcc.specs >"$DIR"/musl.specs
