-- All scripts on bad input: options that there are not, values that are missing, probes that match nothing, expressions
-- that do not compile, readers that go away, narrow terminals, and a target whose names are made to drive the terminal
-- (tests/targets/hostile.c). Runs once: what is printed and refused here depends on no way to set probes; scripts_test
-- has the scripts' handlers on older kernels.
local tap    = require "tap"
local target = require "target"
local text   = require "uplua.base.text"
local is, like, ok = tap.is, tap.like, tap.ok

local HOSTILE = "./build/targets/hostile"
local TOUCH, NAME = HOSTILE .. ":touch", [[\x1b[7m\xff<&"'\x9b;\x0a]]
local STRACE_NAME = [[\33[7m\377<&\"'\233;\n]] -- the same in strace's notation

-- Of each script: arguments for the target HOSTILE; an option, misspelt, with what is meant; one that needs a value; of
-- those that take specs, where one goes; options that are expressions; what its output has of the target's names.
local SCRIPTS = {
  { "trace", "%s -r syscall:openat", near = { "--retrun", "--return" }, value = "--where EXPR", spec = "%s",
    expressions = { "--where" }, name = true, path = true },
  { "funccount", "-p %s", near = { "--by-proces", "--by-process" }, value = "--top N", spec = "%s", name = true },
  { "stackcount", "-p %s", near = { "--foldet", "--folded" }, value = "--flame FILE", spec = "%s", name = true,
    stacks = true },
  { "argdist", "%s -k '{ e.comm, up.str(e.arg0) }'", near = { "--valu", "--value" },
    value = "--key [NAME=]EXPR", spec = "%s",
    expressions = { "--key", "--value", "--where" }, name = true, path = true },
  { "funclatency", "-p -H %s", near = { "--histogramm", "--histogram" }, value = "--interval TIME", spec = "%s",
    name = true },
  { "funcslower", "-m 0 %s", near = { "--mim", "--min" }, value = "--min TIME", spec = "%s",
    expressions = { "--where" }, name = true },
  { "syscalls", "-p", near = { "--error", "--errors" }, value = "--top N", name = true },
  { "systrace", "", near = { "--fialed", "--failed" }, value = "--strings N", spec = "--call %s", name = true,
    path = true },
  { "stat", "%s", near = { "--cuont", "--count" }, value = "--interval TIME", spec = "%s" },
  { "top", "%s", near = { "--intervall", "--interval" }, value = "--sum [NAME=]EXPR", spec = "%s",
    expressions = { "--key", "--sum" }, name = true },
  { "profile", ("-F %d -b thread"):format(target.hertz(997)), near = { "--herz", "--hertz" }, value = "--by WHAT",
    name = true, stacks = true },
  { "offcputime", "", near = { "--blocket", "--blocked" }, value = "--min TIME", name = true, stacks = true },
  { "runqlat", "-p -H", near = { "--by-prozess", "--by-process" }, value = "--top N" },
  { "execsnoop", "-x", near = { "--exit", "--exits" }, value = "--name TEXT" },
  { "opensnoop", "", near = { "--nam", "--name" }, value = "--name TEXT", name = true, path = true },
  { "usdt", "count ./build/examples/shop:shop:sold", near = { "--wehre", "--where" }, value = "--where EXPR",
    spec = "trace %s", expressions = { "--where" }, on = "./build/examples/shop" },
}

local function run_of(script, arguments) return target.uplua(("scripts/%s.lua %s"):format(script, arguments)) end

-- What is printed can be printed: nothing in it drives a terminal.
local function is_harmless(s) return text.escape(s, "\n\t") == s end

for _, s in ipairs(SCRIPTS) do
  local name = s[1]
  local run = run_of(name, s.near[1])
  is(run.err, ("%s.lua: unknown option '%s'; did you mean '%s'? See --help\n"):format(name, s.near[1], s.near[2]),
    name .. ": the nearest option is suggested")
  is(run.status, 2, "status 2")
  run = run_of(name, s.value:match "%S+")
  is(run.err, ("%s.lua: option '%s' needs a value: %s; see --help\n"):format(name, s.value:match "%S+", s.value),
    name .. ": a value is missing")
  is(run.status, 2, "status 2")
end

-- A command that must not begin, since what is asked for is not there.
local function refused(arguments, want)
  local run = target.shell(("./uplua scripts/%s -- sh -c 'touch \"$D/begun\"' >\"$D/out\" 2>\"$D/err\" </dev/null; " ..
                            "status=$?; [ ! -e \"$D/begun\" ] || status=99; exit $status")
    :format(arguments))
  is(run.status, 1, arguments)
  like(run.err, want, "… is told")
  ok(not run.err:find "%.lua:%d", "… without lines of the script's")
end

for _, s in ipairs(SCRIPTS) do
  if s.spec and s[1] ~= "systrace" and s[1] ~= "usdt" then
    refused(("%s.lua " .. s.spec):format(s[1], "'libc:nosuch*'"),
      "^uplua: u%a+ libc:nosuch%*: no such function in /[^\n]*libc.so.6\n")
    refused(("%s.lua " .. s.spec):format(s[1], "syscall:opnat"),
      "^uplua: sys%a+ opnat: the kernel has no such system call; did you mean openat")
  end
  for _, option in ipairs(s.expressions or {}) do
    local on = s[1] == "usdt" and "count ./build/examples/shop:shop:sold" or "syscall:read"
    refused(("%s.lua %s %s 'e.arg0 /'"):format(s[1], on, option), "^uplua: " .. option:gsub("%-", "%%-") ..
      " 'e.arg0 /': unexpected symbol near '<eof>'\n$")
    refused(("%s.lua %s %s 'e.argo'"):format(s[1], on, option), "^uplua: " .. option:gsub("%-", "%%-") ..
      " 'e.argo': the event of a %a+ has no field 'argo'; it has [^\n]*\n$")
    refused(("%s.lua %s %s 'arg0'"):format(s[1], on, option), "^uplua: " .. option:gsub("%-", "%%-") ..
      " 'arg0': there is no 'arg0' here; fields of the event begin with e: e.arg0, e.comm\n$")
    if option == "--where" then
      refused(("%s.lua %s --where e.tid"):format(s[1], on),
              "^uplua: %-%-where 'e.tid': this condition is always true: " ..
              "an integer is never nil or false; did you mean ~= 0%?\n$")
    elseif option ~= "--key" then
      refused(("%s.lua %s %s e.comm"):format(s[1], on, option), "^uplua: " .. option:gsub("%-", "%%-") ..
        " 'e.comm': arithmetic or order comparison on a string\n$")
    end
    if s[1] ~= "funcslower" and s[1] ~= "usdt" then -- which is at the return; which has none
      refused(("%s.lua %s %s e.ret==1"):format(s[1], on, option), "^uplua: " .. option:gsub("%-", "%%-") ..
        " 'e.ret==1': e.ret is known when the call returns: give %-%-return\n$")
      refused(("%s.lua libc:malloc %s e.elapsed==1"):format(s[1], option),
        "^uplua: [^\n]*: e.elapsed is known when the function returns: give %-%-return\n$")
    end
  end
end
for _, name in ipairs { "funccount", "funclatency" } do
  local all = run_of(name, "'syscall:*' -- true")
  is(all.err, name .. ".lua: syscall:'*' is one probe of all calls, which does not know their names; " ..
                      "syscalls.lua tells them apart; see --help\n", name .. " of all calls")
end
refused("systrace.lua --call nosuch", "^uplua: syscall nosuch: the kernel has no such system call")
for _, action in ipairs { "trace", "count" } do
  refused("usdt.lua " .. action .. " libc:nosuch:'*'",
    "^uplua: usdt libc:nosuch:%*: there are no USDT probes in %S+: it was built without them\n$")
end
refused("funccount.lua tracepoint:nosuch:'*'",
  "^uplua: tracepoint nosuch:%*: the kernel has no tracepoint that matches\n$")
local run = run_of("stat", "perf:page-fault -- true")
is(run.err, "stat.lua: counter page-fault: no such event; did you mean 'page-faults'? See --help\n",
  "an event that there is not")

-- A target with such names, no terminal anywhere.
local files = target.folder() .. "-files"
for _, s in ipairs(SCRIPTS) do
  local more = s.stacks and (" --folded %s.folded --flame %s.svg"):format(files, files) or ""
  run = target.shell(
    ("setsid -w ./uplua scripts/%s.lua %s%s -- %s 100 2>\"$D/err\" </dev/null | cat >\"$D/out\""):format(s[1],
    s[2]:format(TOUCH), more, s.on or HOSTILE))
  ok(#run.out > 0 and is_harmless(run.out), s[1] .. ": names from the target are escaped")
  ok(is_harmless(run.err), "… in messages, too")
  if s.name then ok(run.out:find(NAME, 1, true), "… and stand there, on one line") end
  if s.path then
    local path = s[1] == "systrace" and STRACE_NAME or NAME:gsub('"', s[1] == "trace" and '\\"' or '"')
    ok(run.out:find("/nowhere/" .. path, 1, true), "the file's, too")
  end
  if s.stacks then
    for _, path in ipairs { files .. ".folded", files .. ".svg" } do
      local content = target.read(path)
      ok(is_harmless(content) and content:find([[\x1b[7m\xff]], 1, true), "… in " .. path:match "%a+$")
      os.remove(path)
    end
  end
end
run = run_of("execsnoop", "-- " .. HOSTILE)
ok(run.out:find([[  true '\x1b[7m\xff<&"'\''\x9b;\x0a']] .. "\n", 1, true), "execsnoop: an argument")

-- Readers that go away: uplua ends, silently, and with it the command that it has started, which would not end by
-- itself.
local ENDLESS = [[sh -c 'echo $$ >"$D/pid"; while :; do %s; done']]
for _, arguments in ipairs {
  "funccount.lua -i 0.05 syscall:wait4", "argdist.lua -i 0.05 syscall:wait4", "funclatency.lua -i 0.05 syscall:wait4",
  "funcslower.lua -m 0 syscall:wait4",
  "trace.lua syscall:wait4", "syscalls.lua -i 0.05", "systrace.lua", "stat.lua -i 0.05 syscall:wait4",
  "top.lua -i 0.05 syscall:wait4", "runqlat.lua -i 0.05", "opensnoop.lua",
  "execsnoop.lua", "usdt.lua trace ./build/examples/shop:shop:sold",
} do
  local is_usdt = arguments:find "^usdt"
  run = target.shell(([[
    { ./uplua %s scripts/%s -- %s 2>"$D/err" </dev/null; echo $? >"$D/target"; } | head -n 2 >"$D/out"
    kill -0 $(cat "$D/pid") 2>/dev/null && echo "the command goes on" >>"$D/target"
  ]]):format((arguments:find "snoop" or is_usdt) and "--follow" or "", arguments,
             ENDLESS:format(is_usdt and "./build/examples/shop >/dev/null" or "/bin/true")))
  is(run.err, "", arguments .. " | head")
  is(select(2, run.out:gsub("\n", "")), 2, "shows what was wanted")
  is(run.target, "141\n", "and ends as by SIGPIPE, with the command")
end

-- What is printed at the end, when the reader has gone before: head has, once the pipe that it makes is told of.
for _, arguments in ipairs { "stackcount.lua %s", ("profile.lua -F %d"):format(target.hertz(997)), "offcputime.lua" } do
  run = target.shell(([[
    mkfifo "$D/gone"
    { cat "$D/gone" >/dev/null; ./uplua scripts/%s -- %s 100 2>"$D/err" </dev/null;
      echo $? >"$D/target"; } | { exec <&-; : >"$D/gone"; }
  ]]):format(arguments:format(TOUCH), HOSTILE))
  -- of a process's first moments, before the command is executed, too; and of its last ones, in what gcc adds to it
  local told = run.err:gsub("  %d+ × stack incomplete: [^\n]*\n", "")
  told = told:gsub("  %d+ × stack with frames marked as guessed: [^\n]*\n", "")
  told = told:gsub("  [1-5] × frame of a process that has exited: nothing is known of its mappings\n", "")
  told = told:gsub("^uplua: not everything was seen:\n$", "")
  is(told, "", arguments .. ", whose reader is gone")
  is(run.target, "141\n", "ends as by SIGPIPE")
end

-- Terminals of 20 and 200 columns: tables and histograms stay within them. What a histogram is of stands above it,
-- whole; so are lines of single events, and of stacks, which the terminal wraps.
local WHOLE = { trace = true, stackcount = true, funcslower = true, systrace = true, stat = true, profile = true,
  offcputime = true, execsnoop = true, opensnoop = true }
local on_terminal = { { "argdist", "%s -v 'e.arg0'" }, { "syscalls", "-p --errors" } }
for _, s in ipairs(SCRIPTS) do on_terminal[#on_terminal + 1] = s end
local function check_width(s, columns)
  run = target.shell(([[
    cat >"$D/s" <<'END'
stty rows 40 cols %d; ./uplua scripts/%s.lua %s -- %s 100; echo $? >"$D/target"
END
    TERM=xterm LC_ALL=C.UTF-8 D=$D script -qec "sh $D/s" /dev/null >"$D/out" 2>"$D/err" </dev/null
  ]]):format(columns, s[1], s[2]:format(TOUCH), s.on or HOSTILE))
  local widest, count, said = 0, 0, run.out:gsub("\r", ""):gsub("\27%[[%d;]*%a", "")
  for line in said:gsub("101 orders, [^\n]*\n", ""):gsub("Times of functions are [^\n]*\n", ""):gmatch "[^\n]+" do
    local titles = line:find " in %S+$" or line:find "%(pid %d+%)$" or line:find ", ns$"
    if not titles then widest, count = math.max(widest, text.width(line)), count + 1 end
  end
  is(run.target, "0\n", ("%s on a terminal of %d columns"):format(s[1], columns))
  ok(count > 1 and (WHOLE[s[1]] or widest <= columns),
    ("%s %s: %d lines, the widest of %d columns"):format(s[1], s[2], count, widest))
  ok(is_harmless(said), "… which drive nothing")
  return widest
end
for _, s in ipairs(target.has_terminal() and on_terminal or {}) do
  local narrow, wide = check_width(s, 20), check_width(s, 200)
  -- lines that are not cut are as wide as the times in them
  ok(WHOLE[s[1]] or wide >= narrow,
    ("%s %s: %d columns where there is room, %d where there is not"):format(s[1], s[2], wide, narrow))
end
target.done()

tap.done_testing()
