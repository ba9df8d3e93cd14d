-- What Lua shares with C and BPF comes from their headers (tools/contract): whatever Lua asks it for is there, and a
-- changed header changes it or ends the build.
local tap = require "tap"
local target = require "target"
local contract = require "uplua.contract"
local ffi = require "ffi"

local function lines_of(command)
  local out, list = io.popen("{ " .. command .. "; } 2>&1"), {}
  for line in out:lines() do list[#list + 1] = line end
  out:close()
  return list
end

-- --- what Lua takes from it ---

local unknown, uses = {}, 0
for _, path in ipairs(lines_of "find lua -name '*.lua'") do
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  local short = text:find "\nlocal c = contract" and "%f[%w_]c%.([%w_]+)" or "%f[%w_]contract%.([%w_]+)"
  for _, pattern in ipairs { "%f[%w_]contract%.([%w_]+)", short } do
    for name in text:gsub("uplua%.contract", ""):gmatch(pattern) do
      uses = uses + 1
      if rawget(contract, name) == nil then unknown[#unknown + 1] = path .. ": " .. name end
    end
  end
end
tap.is(table.concat(unknown, "\n"), "", "every name that Lua asks for is there")
tap.is(uses > 50, true, "… and many were found")

-- The functions of C that Lua calls are members of one table.
local missing, calls = {}, 0
for _, path in ipairs(lines_of "find lua -name '*.lua'") do
  for line in io.lines(path) do
    for name in line:gsub("%-%-.*", ""):gmatch "%f[%w_]C%.([%a_][%w_]*)" do
      calls = calls + 1
      if not ffi.offsetof("struct uplua_natives", name) then missing[#missing + 1] = path .. ": " .. name end
    end
  end
end
tap.is(table.concat(missing, "\n"), "", "every function of C that Lua calls is in the table")
tap.is(calls > 20, true, "… and many were found")
tap.is(contract.C.strnlen("uplua", 3), 3ULL, "one is called")
tap.is(select(2, pcall(function() return contract.C.map_opened end)):match "map_opened", "map_opened",
  "another name is an error")
tap.is(select(2, pcall(function() return contract.STACK_FRAME end)):match "no contract has STACK_FRAME",
  "no contract has STACK_FRAME", "another name is an error")

-- Each cause of a loss has its text in the ledger.
local source = assert(io.open "lua/uplua/probe/ledger.lua"):read "*a"
local causes = 0
for name in pairs(contract) do
  if name:find "_LOST_" and not name:find "_COUNT$" then
    causes = causes + 1
    tap.is(source:find("[contract." .. name .. "]", 1, true) ~= nil, true, "the ledger tells of " .. name)
  end
end
tap.is(causes, contract.STACK_LOST_COUNT + contract.AGGREGATE_LOST_COUNT, "all causes are known")

-- Numbers that are the kernel's, as its documentation has them; the layout of what is in the maps.
tap.is(contract.BPF_RINGBUF_HDR_SZ, 8, "the head of a ring's record")
tap.is(ffi.offsetof("struct uplua_stack", "frames"), 16, "the frames of a stack")
tap.is(ffi.sizeof "struct uplua_distribution", 32, "a distribution")

-- --- what a changed header does ---

-- The module that is made with the headers in copies of bpf/ and src/, after CHANGE(folder); or the messages.
local folder = target.folder()
local function made(change)
  os.execute(("rm -rf %s/copy && mkdir -p %s/copy && cp -r bpf src tools %s/copy"):format(folder, folder, folder))
  local top = folder .. "/copy"
  change(top)
  local flags = "-std=gnu11 -O1 -D_GNU_SOURCE -DUPLUA_VERSION='\"\"' -Isrc -I" .. io.popen("pwd"):read "*l" .. "/build"
  local out = lines_of(("cd %s && %s %s $(pkg-config --cflags luajit libelf) -S -o c.s tools/contract/contract.c && " ..
    "%s %s $(pkg-config --cflags luajit libelf) -E -P -o c.i tools/contract/contract.c && " ..
    "luajit tools/contract/generate.lua c.s c.i"):format(top, "cc", flags, "cc", flags))
  os.execute("rm -rf " .. top)
  return table.concat(out, "\n")
end

local function edit(file, from, to)
  return function(top)
    local path = top .. "/" .. file
    local handle = assert(io.open(path))
    local text = handle:read "*a"
    handle:close()
    local changed, count = text:gsub(from, to)
    assert(count > 0, file .. " has no " .. from)
    handle = assert(io.open(path, "w"))
    handle:write(changed)
    handle:close()
  end
end

if #lines_of "for c in cc luajit pkg-config; do command -v $c; done" < 3 then
  tap.skip "needs a C compiler and luajit"
else
  local same = made(function() end)
  tap.is(same, (assert(io.open "build/lua/uplua/contract.lua"):read "*a":gsub("\n$", "")), "the same headers: the same")
  local moved = made(edit("bpf/stack.h", "(    __u16 end;[^\n]*\n)", "%1    __u32 added;\n"))
  tap.is(moved:match "struct uplua_stack { (.-) };",
    "uint32_t tgid; uint16_t count; uint16_t end; uint32_t added; uint64_t program; uint64_t frames[127];",
    "another layout: Lua has it, too")
  local deeper = made(edit("bpf/stack.h", "#define STACK_FRAMES 127", "#define STACK_FRAMES 63"))
  tap.is(deeper:match "STACK_FRAMES = (%d+)", "63", "another number, too")
  local renamed = made(edit("bpf/stack.h", "STACK_UNMAPPED,", "STACK_NO_MAPPING,"))
  tap.is(renamed:match "STACK_UNMAPPED.- undeclared" ~= nil, true, "a name that is gone ends the build")
  local gone = made(edit("src/map/ring.h", "ring_batch%(", "ring_records("))
  tap.is(gone:match "contract: there is no function ring_batch", "contract: there is no function ring_batch",
    "so does a function")
end

target.done()
tap.done_testing()
