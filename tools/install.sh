#!/bin/sh
# tools/install.sh install ROOT PREFIX     puts what `make` and `make manual` have built below ROOT/PREFIX
# tools/install.sh uninstall ROOT PREFIX   takes the same files away, and folders that are uplua's own
#
# One list serves both, so that nothing that is installed is left behind. Scripts that users have put beside uplua's stay.
set -eu
action=$1 base=$2$3

# put MODE FOLDER FILE …
put()
{
    mode=$1 folder=$base/$2
    shift 2
    case $action in
    install)
        install -d "$folder"
        install -m "$mode" "$@" "$folder"
        ;;
    uninstall)
        for file; do rm -f "$folder/$(basename "$file")"; done
        ;;
    esac
}

own="share/uplua/scripts share/uplua/luacats/uplua share/uplua/luacats share/uplua share/doc/uplua/doc/scripts share/doc/uplua/doc/cases
    share/doc/uplua/doc
    share/doc/uplua/examples/library/shop share/doc/uplua/examples/library/scripts
    share/doc/uplua/examples/library/tests share/doc/uplua/examples/library
    share/doc/uplua/examples share/doc/uplua/scripts share/doc/uplua/contrib share/doc/uplua"

put 755 bin uplua
put 644 share/uplua/scripts scripts/*.lua
put 644 share/uplua/luacats build/luacats/uplua.lua
put 644 share/uplua/luacats/uplua build/luacats/uplua/*.lua
put 644 share/man/man1 build/manual/*.1
put 644 share/man/man3 build/manual/*.3lua
put 644 share/man/man7 build/manual/*.7
put 644 share/bash-completion/completions tools/completion/uplua
put 644 share/zsh/site-functions tools/completion/_uplua
# The folders of the manual are those of the source, by which its links lead from page to page.
put 644 share/doc/uplua README.md build/manual/README.html LICENSE
put 644 share/doc/uplua/doc doc/*.md doc/*.json doc/style.css build/manual/doc/*.html
put 644 share/doc/uplua/doc/cases doc/cases/*.md build/manual/doc/cases/*.html
put 644 share/doc/uplua/doc/scripts doc/scripts/*.md build/manual/doc/scripts/*.html
put 644 share/doc/uplua/examples examples/*.*
put 644 share/doc/uplua/examples/library examples/library/*.*
put 644 share/doc/uplua/examples/library/shop examples/library/shop/*
put 644 share/doc/uplua/examples/library/scripts examples/library/scripts/*
put 644 share/doc/uplua/examples/library/tests examples/library/tests/*
put 644 share/doc/uplua/scripts scripts/*.lua
put 644 share/doc/uplua/contrib contrib/*.yaml
put 644 lib/systemd/system contrib/*.service

if [ "$action" = uninstall ]; then
    for folder in $own; do
        [ ! -d "$base/$folder" ] || rmdir --ignore-fail-on-non-empty "$base/$folder"
    done
fi
