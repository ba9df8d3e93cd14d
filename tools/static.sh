#!/bin/sh
# tools/static.sh FILE [OTHER]   what `make static` has made: that FILE needs no other file, how large it is, and, where OTHER is given, how
#                                long both take to start. Fails above 6 MB, and where FILE takes 5 ms longer.
set -eu
file=$1 other=${2:-}
most=6000000

bad() {
    echo "tools/static.sh: $file $1" >&2
    exit 1
}

headers=$(LC_ALL=C readelf -W -l -d -S "$file")
case $headers in
*INTERP* | *'(NEEDED)'*) bad 'asks for a dynamic linker or for libraries' ;;
*.symtab* | *.debug_*) bad 'is not stripped' ;;
esac
size=$(stat -c %s "$file")
[ "$size" -le $most ] || bad "has $size bytes, more than $most"
printf '  %-5s %s: %d bytes' SIZE "$file" "$size"

# The median time of a script that does nothing, from exec to exit, in us: the two take turns.
if [ -n "$other" ]; then
    # shellcheck disable=SC2016
    times=$(perl -MTime::HiRes=time -e '
        my %took;
        for (1 .. 41) {
            for my $program (@ARGV) {
                my $begin = time;
                system($program, "-e", "") == 0 or die "$program does not run\n";
                push @{$took{$program}}, time - $begin;
            }
        }
        print join(" ", map { int(1e6 * (sort { $a <=> $b } @{$took{$_}})[20]) } @ARGV), "\n"' "$file" "$other")
    printf '; starts in %d us, %s in %d us' "${times% *}" "$other" "${times#* }"
    [ "${times% *}" -le $((${times#* } + 5000)) ] || { echo; bad 'takes 5 ms longer to start'; }
fi
echo
