#!/bin/sh
# The manual as HTML, as it is installed, in a browser: from its first page each link leads to a page, and to a place on it, that is there; no
# page is out of reach. Needs Chromium (`make test-browser` installs it).
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh

make -s install DESTDIR="$D/root" PREFIX=/usr >/dev/null || exit 1
top=$D/root/usr/share/doc/uplua
mkdir "$D/pages"

# The file in which what the browser made of PAGE is kept.
kept() { echo "$D/pages/$(echo "${1#"$top"/}" | tr / _)"; }

# Loads PAGE in the browser, as it stands after its scripts have run.
load() {
    chromium --headless --no-sandbox --disable-gpu --user-data-dir="$D/profile" --dump-dom "file://$1" 2>>"$D/log" >"$(kept "$1")"
    grep -q '<h1' "$(kept "$1")"
}

# What the attribute NAME of the elements of PAGE says, a line each.
attributes() { grep -o "$2=\"[^\"]*\"" "$(kept "$1")" | sed 's/^[^"]*"//; s/"$//; s/&amp;/\&/g' | sort -u; }

echo "$top/README.html" >"$D/queue"
: >"$D/places"
while read -r page; do
    [ ! -e "$(kept "$page")" ] || continue
    ok "${page#"$top"/} opens" load "$page" || continue
    attributes "$page" href >"$D/links"
    while read -r link; do
        case $link in
        http://* | https://* | mailto:*) continue ;;
        '#'*) to=$page ;;
        *) to=$(realpath -m "$(dirname "$page")/${link%%#*}") ;;
        esac
        case $link in *'#'*) echo "$page $to ${link#*#}" >>"$D/places" ;; esac
        [ -e "$to" ] || ok "${page#"$top"/}: $link leads somewhere" false
        case $to in "$top"/*.html) echo "$to" >>"$D/queue" ;; esac
    done <"$D/links"
done <"$D/queue"
sort -u "$D/places" | while read -r page to place; do
    attributes "$to" id | grep -qxF -- "$place" || echo "${page#"$top"/}: ${to#"$top"/}#$place"
done >"$D/lost"
is "$(cat "$D/lost")" '' "each of $(sort -u "$D/places" | wc -l) links to a place on a page finds it"
for page in $(find "$top" -name '*.html' | sort); do
    [ -e "$(kept "$page")" ] || ok "${page#"$top"/} is reached from README.html" false
done
ok 'the manual has more than twenty pages' [ "$(ls "$D/pages" | wc -l)" -gt 20 ]
done_testing
