-- Functions that choose an implementation when they are first used: the one that the target uses is probed, under the
-- function's name.
local core = require "uplua.core"
local tap = require "tap"
local target = require "target"

-- libc has no indirect functions on some CPUs.
local _, skipped = core.probe.resolve("libc:*", "exact"):list()
local ok = pcall(core.probe.resolve, "libc:strlen")
tap.ok(ok, "strlen can be probed without a process, by what this one uses")

local CODE = [[-e 'n = count() after(0, function() io.stderr:write "tracing\n" end)
  uretprobe("%s:strlen", function(e) if e.ret == 2311 then n[e.func]:inc() end end)
  uprobe({ "%s:memcpy", "%s:memcp?" }, function(e) if e.arg2 == 2311 then n[e.func]:inc() end end)']]

local function code_for(binary) return CODE:format(binary, binary, binary) end

local WANT = "n:\nmemcpy  101\nstrlen   23\n"

-- In the order of the keys, since what a run prints first is the larger.
tap.is(target.attached("./build/targets/sites wait", code_for "libc").out, WANT, "of a process that runs, exact counts")
tap.like(target.uplua(code_for "libc" .. " -- ./build/targets/sites").out, "\nmemcpy  101\nstrlen   23\n$",
  "of a command that is started")
tap.is(target.attached("./build/targets/sites-static wait", code_for "./build/targets/sites-static").out, WANT,
  "of a static program that runs")
local refused = target.uplua(code_for "./build/targets/sites-static" .. " -- ./build/targets/sites-static")
if refused.status ~= 0 then
  tap.like(refused.err, "strlen chooses one of several implementations when it is first used %(an " ..
                        "IFUNC%)[^\n]*\nattach to a process that runs, or probe",
    "of one that is still to be started it is not known: the remedies are named")
end
tap.is(target.attached("./build/targets/sites wait", [[-e 'n = count()
  after(0, function() io.stderr:write "tracing\n" end)
  uprobe({ "libc:mem*", "libc:__mem*" }, function(e) if e.arg2 == 2311 and e.arg1 ~= 33 then n:inc() end end)']])
  .out:match "n: (%d+)", "101", "and of all functions on memory one has it, whatever its names")
local unknown = 0
for _, one in ipairs(skipped) do
  if one.why:find("IFUNC", 1, true) then unknown = unknown + 1 end
end
tap.ok(unknown < 20, ("%d indirect functions of libc are left out"):format(unknown))

target.done()
tap.done_testing()
