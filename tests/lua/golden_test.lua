-- Every handler of the scripts, the examples and the manual: how many instructions and bytes of stack it takes,
-- compared with tests/golden/handlers.txt, so that a change of the generated code is seen in review.
-- Runs once: it says itself which kernels the code is for.
local examples = require "examples"
local golden = require "golden"
local tap = require "tap"
local target = require "target"

-- What a script is given to declare its probes, one or more times; the others nothing.
local ARGUMENTS = {
  ["scripts/mallocleak.lua"] = {
    "-- ./build/targets/allocator-glibc", "-- ./build/targets/allocator",
    "--sample 10 --min-size 23 -- ./build/targets/allocator-glibc", "--peak --prove -- ./build/targets/allocator-glibc",
  },
  ["scripts/heapscan.lua"] = {}, -- it has no handlers
  ["scripts/argdist.lua"] = { "./build/targets/calls:add3 -k e.arg0", "-r -v e.ret ./build/targets/calls:add3" },
  ["scripts/funccount.lua"] = { "./build/targets/calls:add3", "-p ./build/targets/calls:add3" },
  ["scripts/funclatency.lua"] = { "./build/targets/calls:add3", "-c ./build/targets/calls:add3" },
  ["scripts/funcslower.lua"] = { "-S ./build/targets/calls:add3" },
  ["scripts/hrcount.lua"] = { "./build/targets/calls:add3" },
  ["scripts/hrtimer.lua"] = { "--above 1 ./build/targets/calls:add3" },
  ["scripts/watchpoint.lua"] = { "./build/targets/watched:counter" },
  ["scripts/numdist.lua"] = { "-v e.arg0 ./build/targets/calls:add3" },
  ["scripts/timeline.lua"] = { "-o /dev/null -C --marks --calls ./build/targets/calls:add3" },
  ["scripts/profile.lua"] = { "", "-U -b cpu" },
  ["scripts/stackcount.lua"] = { "./build/targets/calls:add3", "-K -p ./build/targets/calls:add3" },
  ["scripts/spans.lua"] = { "--from syscall:futex --to syscall:nanosleep -k e.tid" },
  ["scripts/stat.lua"] = { "./build/targets/calls:add3" },
  ["scripts/top.lua"] = { "./build/targets/calls:add3", "-k e.arg0 -s e.arg1 ./build/targets/calls:add3" },
  ["scripts/heapmetrics.lua"] = { "-- ./build/targets/allocator-glibc" },
  ["scripts/sslmetrics.lua"] = {}, -- its handlers are those of the libssl that is installed
  ["scripts/trace.lua"] = { "./build/targets/calls:add3", "-r syscall:openat" },
  ["scripts/usdt.lua"] = { "trace ./build/targets/usdt:app:widths", "count ./build/targets/usdt:app:widths" },
  ["examples/alloc_rate.lua"] = { "-- ./build/targets/allocator-glibc" },
  ["examples/args.lua"] = { "./build/targets/calls:add3" },
  ["examples/requests.lua"] = { "-- ./build/targets/requests" },
  ["examples/usdt_count.lua"] = { "./build/targets/usdt:app:counter" },
}

-- The code does not depend on the kernel that the test runs on: with all features that uplua knows, and with none.
local KERNELS = { "UPLUA_WITH=all", "UPLUA_WITHOUT=all" }

-- Runs `uplua --explain ARGUMENTS` in FOLDER for the kernel: { { "uretprobe malloc", { "57 48", "24 16" } }, … }: of
-- each program of the handler instructions and bytes of stack. nil and the reason if that fails.
local function explain(kernel, folder, arguments)
  local run = target.shell(([[
    uplua=$PWD/uplua
    unset UPLUA_WITH UPLUA_WITHOUT
    cd %s && %s $uplua --explain %s >"$D/out" 2>"$D/err"
  ]]):format(folder, kernel, arguments))
  if run.status ~= 0 then return nil, run.err end
  local handlers, last = {}, nil
  for kind, spec, body in ("\n" .. run.out):gmatch "\n([%l_]+) (%S+)([^\n]*\n  at [^\n]*.-\n\n)" do
    local name = kind .. " " .. spec:match "[^:]+$":gsub(",$", "") -- of a list the first
    local size = ("%3d %3d"):format(body:match "takes +(%d+) instructions?, (%d+) bytes? of stack")
    if body:match "^[^\n]*for the handler at its return" or body:match "^[^\n]*the rounds of its loops" then
      table.insert(last[2], size)
    else
      last = { name, { size } }
      handlers[#handlers + 1] = last
    end
  end
  return handlers
end

local lines = {
  "# Instructions and bytes of stack of each handler: on a kernel with all features that uplua knows, " ..
  "and on Linux 6.1, where a return",
  "# handler may have a program of its own at the entry, " ..
  "and one with loops has a function for their rounds. `make golden` writes this file.",
}
local refused = {}

-- Adds what is called NAME.
local function add(name, folder, arguments)
  local newest, message = explain(KERNELS[1], folder, arguments)
  local oldest = explain(KERNELS[2], folder, arguments)
  if not newest then refused[#refused + 1] = name .. ": " .. message end
  if not newest or #newest == 0 then return end
  lines[#lines + 1] = ""
  lines[#lines + 1] = name
  for i, handler in ipairs(newest) do
    local older = oldest and table.concat(oldest[i][2], " + ") or "refused"
    lines[#lines + 1] = ("  %-32s %s     %s"):format(handler[1], handler[2][1], older)
  end
end

local function list(pattern)
  local pipe = io.popen("LC_ALL=C ls " .. pattern .. " 2>/dev/null")
  local text = pipe:read "*a"
  pipe:close()
  return text:gmatch "[^\n]+"
end

for _, pattern in ipairs { "scripts/*.lua", "examples/*.lua", "tests/bench/handlers/*.lua" } do
  for path in list(pattern) do
    for _, arguments in ipairs(ARGUMENTS[path] or { "" }) do
      local command = (path .. " " .. arguments):match "^(.-)%s*$"
      add(command, ".", command)
    end
  end
end
local seen = {}
for _, example in ipairs(examples.of "doc/handlers.md") do
  local name = "doc/handlers.md, " .. example.heading
  seen[name] = (seen[name] or 0) + 1
  add(("%s (%d)"):format(name, seen[name]), "build/examples", "-e " .. target.quote(example.code))
end

tap.is(table.concat(refused), "", "every handler of the scripts, the examples and the manual compiles")
golden.is(table.concat(lines, "\n") .. "\n", "handlers.txt", "and is as long, and as deep, as it was")
target.done()
tap.done_testing()
