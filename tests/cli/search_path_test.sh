# Where scripts and modules come from, and what must not be able to replace them.
. tests/cli/tap.sh

export HOME="$D/home"
mkdir -p "$D/cwd/uplua" "$D/path/sub" "$HOME/.local/share/uplua/scripts" "$D/inst/bin" "$D/inst/share/uplua/scripts" "$D/other"
cp "$uplua" "$D/inst/bin/uplua"
installed=$D/inst/bin/uplua

say() { echo "print '$1'" >"$2"; }
cd "$D/cwd" || exit 1
say cwd shipped.lua
say cwd only_here.lua
say installed "$D/inst/share/uplua/scripts/shipped.lua"

run "$installed" shipped.lua
is "$out" installed 'a file in the current folder does not replace an installed script'
run "$installed" ./shipped.lua
is "$out" cwd 'a name with a slash is a path'
run "$installed" only_here.lua
is "$out" cwd 'the current folder comes last'
say home "$HOME/.local/share/uplua/scripts/shipped.lua"
run "$installed" shipped.lua
is "$out" home "the user's scripts come before the installed ones"
say path "$D/path/shipped.lua"
UPLUA_PATH="relative:$D/path" run "$installed" shipped.lua
is "$out" path 'UPLUA_PATH comes first'
UPLUA_PATH=. run "$installed" shipped.lua
is "$out" home 'its relative entries are left out'
is "$err" "uplua: UPLUA_PATH: '.' is left out: only absolute folders are searched
uplua: shipped.lua is $HOME/.local/share/uplua/scripts/shipped.lua here, not uplua's own $D/inst/share/uplua/scripts/shipped.lua" \
    "… and named; so is a script that stands before uplua's own"
run "$installed" only_here
is "$out" cwd 'a name without .lua'

say 'wrong module' module.lua
say 'LUA_PATH module' "$D/other/module.lua"
echo 'require "module"' >"$D/path/user.lua"
LUA_PATH="$D/other/?.lua" LUA_INIT='print "LUA_INIT"' run "$installed" "$D/path/user.lua"
is "$status $out" '1 ' 'no module from the current folder or LUA_PATH, no LUA_INIT'
echo 'return { name = "beside" }' >"$D/path/module.lua"
ln -s "$D/path/user2.lua" link.lua
echo 'print(require "module".name)' >"$D/path/user2.lua"
run "$installed" link.lua
is "$out" beside 'modules are found beside the script, through links'
echo 'print(require "sub.deep".name)' >"$D/path/user3.lua"
echo 'return { name = "deep" }' >"$D/path/sub/deep.lua"
UPLUA_PATH="$D/path" run "$installed" user3.lua
is "$out" deep 'and in folders below'
UPLUA_PATH="$D/path" run "$installed" -e 'print(require "module".name)'
is "$out" beside 'and in the script folders for -e'
say 'false text' "$D/path/uplua.lua"
mkdir -p "$D/path/uplua"
say 'false text' "$D/path/uplua/text.lua"
say 'false text' uplua.lua
say 'false text' uplua/text.lua
UPLUA_PATH="$D/path" run "$installed" -e 'print(type(require "uplua".printf), package.path:find("%./") or "no ./", package.cpath:find("%./") or "no ./")'
is "$out" 'function	no ./	no ./' "uplua's own modules cannot be replaced"
echo 'error "x"' >uplua/trap.lua
run "$installed" uplua/trap.lua
is "$err" 'uplua: ./uplua/trap.lua:1: x
  ./uplua/trap.lua:1: in the main chunk' 'a folder named uplua is not taken for uplua itself'

luajit -b -e 'print "bytecode"' "$D/path/code.lua"
run "$installed" "$D/path/code.lua"
is "$status $err" "1 uplua: $D/path/code.lua: this is LuaJIT bytecode; uplua runs scripts from their source text only" \
    'a script of bytecode is refused'
UPLUA_PATH="$D/path" run "$installed" -e 'print(pcall(require, "code"))'
like "$out" 'false*wrong mode*' 'and a module'
run "$installed" -e '
    local code = string.dump(function() return 1 end)
    print(load(code), load(code, "x", "b"), loadstring(code), loadfile(arg[1]), (pcall(dofile, arg[1])))
    print(load("return 5", "=five")(), loadstring("return 6")(), load("return x", "x", "t", { x = 7 })())' "$D/path/code.lua"
is "$out" 'nil	nil	nil	nil	false
5	6	7' 'and by every function that loads'

done_testing
