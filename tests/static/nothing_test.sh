# The file of `make static` in a root with nothing else but what it traces, /proc and /sys.
[ -n "${STATIC_NAMESPACE:-}" ] || STATIC_NAMESPACE=1 exec unshare --mount --propagation private sh "$0"
. tests/cli/tap.sh
. tests/static/roots.sh

furnish
try_all
done_testing
