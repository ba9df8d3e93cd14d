-- Watchpoints where the machine's debug registers do harm or see nothing: a trial finds it, `watch` is refused with the
-- numbers, an option accepts it, the verdict is kept for the boot and believed only where it is sound, and --info says
-- the same.
-- Runs once: no older kernel's way differs.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local PROGRAM = "./build/targets/watched"
local HARM = "hardware breakpoints end the traced program on this machine: 3 of 4 trial programs were killed by " ..
             "SIGTRAP"
local BLIND = "hardware breakpoints are not reported on this machine: 0 of 100,000 accesses of a trial program were " ..
              "seen"
local ALL_THE_SAME = "--trust-watchpoints attaches all the same"

-- ./uplua OPTIONS with a trial that is forced to end as WORD says ("": a real one), its verdict kept in $FOLDER/state.
local FOLDER = target.folder() .. "-state"
local function uplua(word, options, environment)
  return target.shell(([[
    export UPLUA_CACHE=%s UPLUA_WATCH_TRIAL=%s
    unset UPLUA_WITH UPLUA_WITHOUT
    %s ./uplua %s >"$D/out" 2>"$D/err" </dev/null]]):format(FOLDER, word, environment or "", options))
end

local function watching(spec, access, on)
  return ("-e 'n = count() watch(%s, %s, function(e) n:inc() end)' -- %s"):format(spec, access, on or PROGRAM)
end

-- --- refused, with the reason and what answers without ---

local COUNTER = ('"%s:counter"'):format(PROGRAM)
local LINES = ("a uprobe on the lines that %%s it (%s:FILE:LINE, with e.vars) answers without"):format(PROGRAM)
local function refused(word, spec, access, want, what, on)
  local run = uplua(word, watching(spec, access, on))
  is(run.err, ("uplua: -e:1: watch %s; %s\n  -e:1: in the main chunk\n"):format(want, ALL_THE_SAME), what)
  is(run.status .. run.out, "1", "… before the command has begun")
end
refused("harmful", COUNTER, '"w"', ("%s:counter: %s; %s"):format(PROGRAM, HARM, LINES:format "write"),
  "where programs are ended")
refused("blind", COUNTER, '"w"', ("%s:counter: %s; %s"):format(PROGRAM, BLIND, LINES:format "write"),
  "where nothing is seen")
refused("harmful", COUNTER, '"rw"', ("%s:counter: %s; %s"):format(PROGRAM, HARM, LINES:format "access"),
  "reads and writes")
refused("blind", ('"%s:main"'):format(PROGRAM), '"x"',
  ('%s:main: %s; a uprobe answers without: uprobe("%s:main", …)'):format(PROGRAM, BLIND, PROGRAM), "executions")
refused("harmful", "0x601040", '{ "w", size = 8 }',
  ("0x601040: %s; a uprobe on the lines that access it (./app:FILE:LINE) answers without"):format(HARM), "an address")
local everywhere = uplua("harmful", [[-e 'watch(0x230000001000, { "w", size = 1 }, function(e) end)']])
like(everywhere.err, "^uplua: %-e:1: watch 0x230000001000: hardware breakpoints end ", "an address in all processes")
for _, script in ipairs { "watchpoint.lua " .. PROGRAM .. ":counter", "funccount.lua watch:" .. PROGRAM .. ":counter",
                          "trace.lua watch:" .. PROGRAM .. ":counter:w:8" } do
  local run = uplua("harmful", script .. " -- " .. PROGRAM)
  like(run.err, "watch " .. PROGRAM:gsub("%p", "%%%0") .. ":counter: hardware breakpoints end the traced program",
    script)
  is(run.status .. run.out:gsub("[^\n]*Time[^\n]*\n", ""), "1", "… before the command has begun")
end

-- --- what needs no trial, and what accepts its verdict ---

for _, option in ipairs { "--check", "--explain" } do
  local run = uplua("harmful", option .. " " .. watching(COUNTER, '"w"'))
  is(run.status .. run.err, "0", option .. " attaches nothing")
end
local run = uplua("", watching(COUNTER, '"w"'), "UPLUA_WITHOUT=watchpoint")
is(run.err, ("uplua: -e:1: watch %s:counter: hardware breakpoints are not used: UPLUA_WITHOUT says so; %s\n" ..
  "  -e:1: in the main chunk\n"):format(PROGRAM, LINES:format "write"), "UPLUA_WITHOUT=watchpoint")

-- On a program that is hit once and no more: a machine that does harm now and then ends it seldom.
local function accepted(word, warning)
  local main = ('"%s:main"'):format(PROGRAM)
  local run = uplua(word, ([[--trust-watchpoints -e 'n = count()
    watch(%s, "x", function(e) n:inc() end) watch(%s, "x", function(e) end)' -- %s]]):format(main, main, PROGRAM))
  is(run.err, "uplua: --trust-watchpoints: " .. warning .. "\n", word .. ": the option attaches, and warns once")
  like(run.out, "^done 161\nn: [01]\n$", "… and the run is as any other")
end
accepted("harmful", HARM .. ": the target may be ended by that signal, too, and accesses are missed")
accepted("blind", BLIND .. ": accesses are missed")

-- --- the verdict is kept for the boot ---

local function path(access) return ("%s/watchpoint.%s"):format(FOLDER, access) end
local function write(access, text)
  local file = assert(io.open(path(access), "w"))
  file:write(text)
  file:close()
end
local kept = target.read(path "x")
local boot = target.read "/proc/sys/kernel/random/boot_id":match "%S+"
is(kept, ("uplua watchpoints 1, boot %s, blind trial: 4 programs, 0 ended by signal 0, 100000 accesses, 0 seen\n")
  :format(boot), "a line of text")
is(target.shell("stat -c %a " .. path "x" .. [[ >"$D/out"]]).out, "600\n", "… that nobody else can write")
local function told(word, text)
  write("x", text)
  return uplua(word, watching(('"%s:main"'):format(PROGRAM), '"x"')).err
end
like(told("blind", kept:gsub("0 seen", "23 seen")), ": 23 of 100,000 accesses", "a second run makes no trial: it reads")
like(told("blind", kept:gsub("0 ended by signal 0", "1 ended by signal 5")),
     "1 of 4 trial programs were killed by SIGTRAP", "… what has ended programs")
for what, damaged in pairs {
  ["another boot's"] = kept:gsub("boot %x", function(of) return of == "boot 0" and "boot 1" or "boot 0" end),
  ["another version's"] = kept:gsub("points 1", "points 2"),
  ["that of another trial"] = kept:gsub("blind", "harmful"),
  ["one that is cut off"] = kept:sub(1, -8),
  ["one with more behind"] = kept .. kept,
  ["one with too many accesses"] = kept:gsub("100000", "100001"),
  ["one with other spaces"] = kept:gsub(": 4", ":  4"),
  ["one without programs"] = kept:gsub("4 programs", "0 programs"),
  ["an empty one"] = "",
  ["zeros"] = ("\0"):rep(200),
} do
  like(told("blind", damaged), ": 0 of 100,000 accesses", what .. " is not believed")
  is(target.read(path "x"), kept, "… and is replaced")
end
write("x", (kept:gsub("0 seen", "23 seen")))
os.execute("chmod 666 " .. path "x")
like(uplua("blind", watching(('"%s:main"'):format(PROGRAM), '"x"')).err, ": 0 of 100,000 accesses",
  "nor is what others can write")
write("x", (kept:gsub("0 seen", "23 seen")))
os.execute("chmod 600 " .. path "x" .. "; chmod 777 " .. FOLDER)
like(uplua("blind", watching(('"%s:main"'):format(PROGRAM), '"x"')).err, ": 0 of 100,000 accesses",
  "nor what stands in a folder that others can write")
os.execute("chmod 700 " .. FOLDER)
run = uplua("blind", watching(('"%s:main"'):format(PROGRAM), '"x"'), "UPLUA_CACHE=")
like(run.err, ": 0 of 100,000 accesses", "without a folder each run makes its trial")

-- --- --info, and the machine itself ---

like(uplua("harmful", "--info").out, "\n  no   watchpoint +[^\n]*: " .. HARM:gsub("%p", "%%%0") .. "\n",
  "--info says what ends programs")
like(uplua("blind", "--info").out, "\n  watch +not here: no watchpoint: " .. BLIND:gsub("%p", "%%%0") .. "\n?",
  "… and that probes of this kind are not here")
local said = uplua("harmful", "--info --json").out:match '{"name":"watchpoint".-}' or
             uplua("harmful", "--info --json").out:match '{[^{]*"name":"watchpoint"[^}]*}'
like(said, '"available":false', "… as JSON")
run = uplua("", "--info")
local here = target.has "watchpoint"
ok(run.out:find(here and "\n  yes  watchpoint" or "\n  no   watchpoint") ~= nil, "of this machine, too")
like(target.shell('UPLUA_CACHE= UPLUA_WATCH_TRIAL=both ./uplua --info >"$D/out" 2>"$D/err"').err,
  "^uplua: UPLUA_WATCH_TRIAL is harmful or blind, not 'both'\n$", "another word")

-- The kernel alone, without uplua: 8 programs with 20,000 writes each.
local alone = target.shell [[build/targets/breakpoints >"$D/out" 2>"$D/err"]]
local programs, ended, made, counted = alone.out:match "(%d+) programs, (%d+) ended, (%d+) writes, (%d+) counted"
if ok(programs, "the kernel alone says", alone.out .. alone.err) then
  local trusted = ended == "0" and made == counted
  local verdict = target.watch_problem()
  is(verdict == nil, trusted, ("the trial says what the kernel alone does: %s"):format(verdict or "trusted"))
end

os.execute("rm -rf " .. FOLDER)
target.done()
tap.done_testing()
