-- uplua --explain: the handlers beside their Lua lines, without attaching; and --emit: an object that other tools read.
local golden = require "golden"
local tap = require "tap"
local target = require "target"

local ADD3 = "./build/targets/calls:add3"

local function write(name, code)
  local path = target.folder() .. "-" .. name
  local file = assert(io.open(path, "w"))
  file:write(code)
  file:close()
  return path
end

local path = write("explain.lua", [[
local up = require "uplua"
local sizes, live = up.count(), up.hash { max = 101 }

local function class(bytes)
  if bytes < 256 then return "small" end
  return "large"
end

up.uprobe("./build/targets/calls:add3", function(e)
	sizes[class(e.arg0)]:inc()
end)

up.uretprobe("./build/targets/calls:negative", function(e)
  -- a line that is longer than its column: it goes on below, beside the instructions that it became
  if e.ret ~= 0 and e.ret ~= -1 and e.arg0 > 23 then ]] ..
  "live[e.ret] = { bytes = e.arg0, stack = e:ustack(), at = e.time } end\nend)\n")

-- ./uplua ARGUMENTS with these kernel features, whatever this kernel has.
local function uplua_for(features, arguments)
  return target.shell(('unset UPLUA_WITHOUT; %s ./uplua %s >"$D/out" 2>"$D/err"'):format(features, arguments))
end

local run = uplua_for("UPLUA_WITH=all", "--self --explain " .. path)
tap.is(run.status, 0, "it ends well")
tap.is(run.err, "", "and says nothing else")
tap.like(run.out, "^for a kernel with uprobe_multi[^\n]*session[^\n]*\n\n",
  "UPLUA_WITH=all shows what the newest kernel gets")
local shown = run.out:gsub(path:gsub("%p", "%%%0"), "explain.lua"):gsub("at( +)[^\n]*/calls:(%w+), offset 0x%x+",
  "at%1calls:%2")
golden.is(shown:gsub("^[^\n]*\n\n", ""), "explain.txt", "the report")
local widest = 0
for line in run.out:gmatch "[^\n]+" do widest = math.max(widest, #line:gsub("[\128-\191]", "")) end
tap.ok(widest <= 100, "in 100 columns")

local older = uplua_for("UPLUA_WITHOUT=all", "--explain " .. path).out
tap.like(older, "^for a kernel without uprobe_multi", "UPLUA_WITHOUT=all shows what Linux 6.1 gets")
tap.like(older, "uretprobe %./build/targets/calls:negative %(at the function's entry, for the handler at its return%)",
  "a return handler's entry half is a program of its own there")


local code = target.uplua(([[--explain -e 'n = count()' -e 'uprobe("%s", function(e) n:inc() end)']]):format(ADD3)).out
tap.like(code, '\n    2 uprobe%("' .. ADD3:gsub("%p", "%%%0") .. '",', "the lines of -e CODE are quoted")
tap.is(target.uplua("--explain examples/args.lua " .. ADD3).out:match "uretprobe [^ ]+", "uretprobe " .. ADD3,
  "what follows the script's name is the script's")
tap.is(target.uplua("--explain -e 'print(1)'").out, "1\n", "a script without probes has nothing to explain")
tap.is(target.uplua("--explain -e 'nothing.at_all()'").status, 1, "an error of the script is an error")

local user = target.shell([[
  [ "$(id -u)" = 0 ] || exit 77
  chmod 755 "$D"; cp uplua build/targets/calls examples/args.lua "$D"
  cd "$D" && setpriv --reuid 65534 --regid 65534 --clear-groups ./uplua --explain ./args.lua ./calls:add3 >out 2>err
]])
if user.status ~= 77 then
  tap.like(user.out, "^for a kernel without [^\n]*\nwhat this one has could not be tried without CAP_BPF",
    "it needs no privilege")
  tap.like(user.out, "\n    7 up%.uretprobe[^\n]* 0  ", "and shows the code then too")
end

-- Each instruction of OUT by program, without names: what follows call, and maps and counters.
local function plain(text)
  return (text:gsub("call .*", "call"):gsub("= map%[.*", "= 0 ll"):gsub("= &%S+ %+ (%d+)", "= %1 ll"):gsub(" <.*", ""))
end

local object = target.folder() .. "-explain.o"
local both = target.shell(('./uplua --self --explain --emit %s %s >"$D/out" 2>"$D/err"'):format(object, path))
tap.is(both.err, "", "--explain and --emit together")
local ours = {}
for line in both.out:gmatch "[^\n]+" do
  local at, text = line:match "^.-  +(%d+)  (%S.*)$"
  if at and #line > 50 then ours[#ours + 1] = at .. " " .. plain(text) end
end
local theirs = {}
local dump = target.shell(("llvm-objdump -d --no-show-raw-insn %s >$D/out"):format(object)).out
for section in dump:gmatch "section handler/[^\n]*(.-)\nDisassembly" do
  for at, text in section:gmatch "\n +(%d+):\t([^\n]+)" do theirs[#theirs + 1] = at .. " " .. plain(text) end
end
local compared, different = 0, nil
for i, line in ipairs(theirs) do
  -- llvm-objdump 14 does not know stores of constants.
  if not line:find "unknown" then
    compared = compared + 1
    if line ~= ours[i] then different = different or ("%s, here %s"):format(line, ours[i]) end
  end
end
tap.is(#theirs, #ours, "llvm-objdump -d finds the same number of instructions in the object")
tap.ok(compared > 50, "knows nearly all of them")
tap.is(different, nil, "and shows them in the same words")

-- bpftool keeps what it loads in files of a bpffs; where there is none it would mount one for good.
local loads =
  target.shell 'mkdir "$D/bpf"; mount -t bpf bpf "$D/bpf" && umount "$D/bpf"; status=$?; rmdir "$D/bpf"; exit $status'
if loads.status ~= 0 then
  tap.skip("no bpffs can be mounted: " .. loads.noise)
elseif tap.has "bpftool" then
  local listing = target.shell(([[
    PATH=$PATH:/usr/sbin
    mkdir "$D/bpf" && mount -t bpf bpf "$D/bpf" || exit
    trap 'umount "$D/bpf"; rmdir "$D/bpf"' EXIT
    UPLUA_WITHOUT=uprobe_multi,session ./uplua --emit %s %s || exit
    bpftool prog loadall %s "$D/bpf/programs" type kprobe || exit
    bpftool prog dump xlated pinned "$D/bpf/programs/uplua_handler0" linum >$D/out
    bpftool map show | grep -o 'name sizes' | head -n 1 >>$D/out
  ]]):format(object, path, object)).out
  tap.like(listing, "; sizes%[class%(e%.arg0%)%]:inc%(%) %[file:[^\n]*explain%.lua line_num:10 ",
    "bpftool loads it; its line information quotes the Lua")
  tap.like(listing, '; return "large" %[file:[^\n]*explain%.lua line_num:6 ', "also that of functions called")
  tap.like(listing, "name sizes\n$", "maps have the names of the script's variables")
end

os.remove(object)
os.remove(path)
target.done()
tap.done_testing()
