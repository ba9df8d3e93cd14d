# The file of `make static` in a new root of Debian 11, with nothing installed that a bare system lacks.
[ -n "${STATIC_NAMESPACE:-}" ] || STATIC_NAMESPACE=1 exec unshare --mount --propagation private sh "$0"
. tests/cli/tap.sh
. tests/static/roots.sh
. tests/static/debian.sh

try_debian bullseye
done_testing
