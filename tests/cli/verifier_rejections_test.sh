# What the kernel's verifier refuses: a bug of uplua is told as one, with the line of the script, and the object is kept for a report; where a
# handler is too complex for it, the message says which limit it has met, and where. The command never begins.
. tests/cli/tap.sh

mkdir "$D/tmp"
export TMPDIR="$D/tmp"
kept() { find "$D/tmp" -type f; }

cat >"$D/bug.lua" <<'END'
local up = require "uplua"
local m = up.hash()
local function store(x, y)
  m[x] = (m[y] or 0) + x
end
up.uprobe("./build/targets/calls:add3", function(e)
  local x = e.arg0 + 1
  store(x, e.arg1)
end)
END
run env LD_PRELOAD="$PWD/build/targets/libmiscompile.so" "$uplua" "$D/bug.lua" -- ./build/targets/calls 1
object=$(kept)
is "$status $out" '1 ' 'a handler that was compiled wrongly is refused, and the command never begins'
is "$err" "uplua: $D/bug.lua:4: \`m[x] = (m[y] or 0) + x\`: the kernel's verifier refuses the compiled handler: invalid func unknown#32767
This is a bug of uplua: please report it with the script and $object" 'the message has the line, the reason, and what to do'
is "$(stat -c %a "$object")" 600 'the object is kept for a report'
like "$(readelf -hS "$object")" '*REL (Relocatable file)*Linux BPF*.BTF*' 'as a file that can be looked into'
rm "$object"
run "$uplua" "$D/bug.lua" -- ./build/targets/calls 1
is "$status $err" '0 ' 'as it really is, the handler runs'

# 8,300 comparisons, one on each line from line 5 on: the verifier gives up at the 8,192nd branch, the first of which ask who is traced and whether the probe is awake.
{
    echo 'local up = require "uplua" local n = up.sum()'
    echo 'up.uprobe("./build/targets/calls:add3", function(e)'
    echo '  local x = e.arg0'
    echo '  if false'
    seq 8300 | sed 's/.*/ or x == -& - 1/'
    echo '  then n:add(1) end end)'
} >"$D/branches.lua"
run "$uplua" "$D/branches.lua" -- ./build/targets/calls 1
is "$status $out" '1 ' 'a handler of more branches than the verifier follows is refused'
is "$err" "uplua: $D/branches.lua:8194: \`or x == -8190 - 1\`: here the handler becomes too complex for the kernel's verifier, which can have 8,192 \
branches before it whose other edge it has still to follow; make it shorter, split it into two probes, or \`ring:emit\` what it reads, and compute with that and print it in the script" 'with the limit, and where it was met'
is "$(kept)" '' 'that is no bug: no object is kept'
sed -i 200,400d "$D/branches.lua"
run "$uplua" "$D/branches.lua" -- ./build/targets/calls 1
is "$status $err" '0 ' 'one of fewer runs'

done_testing
