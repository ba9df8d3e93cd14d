-- Where probes of functions' entries are put, they see every call, in the state of the entry. objdump is the oracle of
-- the sites.
local core = require "uplua.core"
local tap = require "tap"
local target = require "target"

local SITES = "./build/targets/sites"

local function machine()
  local pipe = io.popen "uname -m"
  local name = pipe:read "*l"
  pipe:close()
  return name
end
local X86 = machine() == "x86_64"

-- --- --- exact counts, arguments, addresses and stacks: slid, at the first instruction, and lossy ---

local SCRIPT = [[
local up = require "uplua"
local S, options = "./build/targets/sites:", OPTIONS
local calls, second, ips, frames = up.count(), up.sum(), up.count(), up.count()
local names = { "tested", "looping", "two_ways", "switched", "plain" }
for _, name in ipairs(names) do
  up.uprobe(S .. name, options, function(e)
    calls[name]:inc()
    if name == "plain" then second:add(e.arg0 * 100 + e.arg1 * 10 + e.arg2) end
    ips[{ name, e.ip }]:inc()
    frames[{ name, e:ustack(2) }]:inc()
  end)
end
up.uprobe(S .. "t[ew]*", options, function(e) -- tested and two_ways, which do not slide alike
  ips[{ "pattern", e.ip }]:inc()
  frames[{ "pattern", e:ustack(2) }]:inc()
end)
local frees, blocks, returned, caller = up.count(), up.count(), up.count(), up.count()
up.uprobe("libc:free", options, function(e) frees[e.arg0 == 0]:inc() end)
up.uretprobe("libc:malloc", options, function(e) if e.arg0 == 12347 and e.ret ~= 0 then blocks:inc() end end)
up.uretprobe(S .. "tested", options, function(e) returned[{ e.arg0 == 0, e.ret }]:inc() end)
up.uprobe(S .. "plain", options, function(e) caller[e.caller]:inc() end)
up.at_exit(function()
  for _, name in ipairs(names) do print("calls", name, calls[name]) end
  for key, n in ips:pairs() do print("ip", key[1], ("%#x"):format(tonumber(key[2])), n) end
  for key, n in frames:pairs() do print("frame", key[1], tostring(key[2]):gsub("\n *", " "), n) end
  for key, n in returned:pairs() do print("returned", key[1], tonumber(key[2]), n) end
  for _, n in caller:pairs() do print("caller", n) end
  print("sum", second:get())
  print("free(NULL)", frees[true] or 0)
  print("malloc", blocks:get())
end)
]]

local function lines_of(out, word)
  local list = {}
  for line in out:gmatch "[^\n]+" do
    if line:match "^(%S+)\t" == word then list[#list + 1] = line end
  end
  table.sort(list)
  return table.concat(list, "\n")
end

local function trace(options)
  local path = target.folder() .. "-slide.lua"
  local file = assert(io.open(path, "w"))
  file:write((SCRIPT:gsub("OPTIONS", options)))
  file:close()
  local r = target.uplua(("%s -- %s"):format(path, SITES))
  os.remove(path)
  return r
end

-- What lossy probes miss depends on what the compiler made of the functions: known for one CPU.
for _, options in ipairs { "{}", "{ slide = true }", "{ slide = false }", X86 and '{ slide = "lossy" }' or nil } do
  local r = trace(options)
  local function check(got, want, name) tap.is(got, want, options .. ": " .. name) end
  -- Lossy: what jumps away at once is not seen, which is tested(NULL), free(NULL) and switched's default.
  local lossy = options:find "lossy"
  local tested, switched, null = lossy and 101 or 124, lossy and 6 or 23, lossy and 0 or 23
  check(r.err:gsub("^uplua: tracing[^\n]*\n", ""), "", "nothing else is said")
  check(lines_of(r.out, "calls"),
    ("calls\tlooping\t23\ncalls\tplain\t101\ncalls\tswitched\t%d\ncalls\ttested\t%d\ncalls\ttwo_ways\t23")
    :format(switched, tested), "every call, and none twice")
  check(lines_of(r.out, "sum"), "sum\t" .. 123 * 101, "the arguments")
  local at = {}
  for name, address in r.out:match("\ntested 0x[^\n]+"):gmatch "(%w+) (0x%x+)" do at[name] = address end
  at.two_ways = r.out:match "two_ways (0x%x+)"
  local want = {}
  for name, n in pairs { tested = tested, looping = 23, two_ways = 23, switched = switched, plain = 101 } do
    want[#want + 1] = ("ip\t%s\t%s\t%d"):format(name, at[name], n)
  end
  want[#want + 1] = ("ip\tpattern\t%s\t%d"):format(at.tested, tested)
  want[#want + 1] = ("ip\tpattern\t%s\t23"):format(at.two_ways)
  table.sort(want)
  check(lines_of(r.out, "ip"), table.concat(want, "\n"), "e.ip is the function's address")
  local frames = 0
  for name, first, second in r.out:gmatch "frame\t(%S+)\t *(%S+) +(%S+)" do
    frames = frames + 1
    if name == "pattern" then name = first:match "^tested%+" and "tested" or "two_ways" end
    check(first, name .. "+0x0", name .. "'s stack begins at its entry")
    tap.like(second, "^main%+0x%x+$", "and goes on in its caller")
  end
  check(frames >= 7, true, "of each function")
  check(lines_of(r.out, "returned"),
    (lossy and "" or "returned\ttrue\t0\t23\n"):gsub("^", "returned\tfalse\t33\t101\n"):gsub("\n$", ""), "returns")
  check(lines_of(r.out, "caller"), "caller\t101", "one caller")
  check(lines_of(r.out, "free(NULL)"), ("free(NULL)\t%d"):format(null), "free(NULL)")
  check(lines_of(r.out, "malloc"), "malloc\t101", "malloc")
end

-- --- --- what --explain tells ---

local function explain(code)
  return (target.uplua(("--explain -e '%s'"):format(code)).out:gsub("\n +", " "))
end

if X86 then
  tap.like(explain 'uprobe("libc:free", function(e) end)',
    "libc%.so%.6:free%+0x3, offset 0x%x+ the function's first instruction would be stepped",
      "--explain tells why free is probed at its third byte")
  tap.like(explain 'uprobe("libc:free", { slide = false }, function(e) end)',
    "libc%.so%.6:free, offset 0x%x+ its first instruction is stepped, "
    .. "at ten times the price %(slide = false%)", "and what it costs not to")
  tap.like(explain 'uprobe("./build/targets/sites:looping", function(e) end)',
    "sites:looping, offset 0x%x+ its first instruction is stepped[^:]*: "
    .. "other code jumps to the instruction after it", "or why it has to be")
  tap.like(explain 'uprobe("./build/targets/sites:two_ways", function(e) end)',
    "sites:two_ways, offset 0x%x+ its first[^:]*: other code jumps", "also when that is another function's")
  tap.like(explain 'uprobe("./build/targets/sites:tested", { slide = "lossy" }, function(e) end)',
    "sites:tested%+0x5, offset 0x%x+ calls that "
    .. "jump away before that are not seen", "and what is lost")
end

-- --- --- every function of two libraries, by objdump ---

-- The instructions of PATH by address: { text, next address }; and the set of addresses that direct jumps and calls go
-- to.
local function disassemble(path)
  local code, targets, last = {}, {}, nil
  local pipe = io.popen("objdump -d --no-show-raw-insn " .. path)
  for line in pipe:lines() do
    local address, text = line:match "^ *(%x+):\t(.*)$"
    if address then
      address = tonumber(address, 16)
      code[address] = { text = text }
      if last then last.next = address end
      last = code[address]
      local to = text:match "^[a-z ,]*[jcl][a-z]+ +(%x+) <" or text:match "^[a-z ,]*[jcl][a-z]+,p[nt] +(%x+) <"
      if to then targets[tonumber(to, 16)] = true end
    end
  end
  pipe:close()
  return code, targets
end

-- Whether the instruction TEXT may be passed, by rules for objdump's words: it surely ends, and what it reads or writes
-- is the frame's, the file's or the thread's own. BASES: registers that are known to lead to one of these.
local NEVER = {}
for name in ("div idiv ret syscall ud int hlt cpuid rdtsc rep repz repnz lock pop leave enter call jmp"):gmatch "%a+" do
  NEVER[name] = true
end

local function may_pass(text, bases)
  text = text:gsub(" +#.*", ""):gsub(" +<[^>]*>", "")
  local operation, destination = text:match "^(%S+) *.-([^ ,]*)$"
  if NEVER[operation] or NEVER[operation:gsub("[bwlq23]$", "")] or operation:find "^v" then return false end
  if text:find "^endbr64" or text:find "nop" or text:find "^xchg +%%ax,%%ax" then return true end
  local memory = text:match "%%fs:[^, ]*" or text:match "%-?[x%x]*%(%%[^)]*%)"
  local base = memory and memory:match "%(%%([^,)]+)%)$"
  local known = not memory or base and bases[base] or memory:find "^%%fs:0x%x+$"
  local is_address = operation:find "^lea" or text:find "^mov +%%rsp," or memory and memory:find "%(%%rip%)$"
  local register = destination:match "^%%(%w+)$"
  if register then bases[register] = is_address and (not memory or base and bases[base]) or register == "rsp" or nil end
  return operation:find "^lea" ~= nil or known ~= nil and known ~= false
end

local function is_emulated(text)
  text = text:gsub("^bnd ", "")
  if text:find "^push +%%" then return not text:find "%%[fgcdes]s" end
  return text == "nop" or text:find "^j%l+ +%x+ <" ~= nil or text:find "^jmp +%x+ <" ~= nil
    or text:find "^call +%x+ <" ~= nil
end

local function examine(module)
  local ok, sites = pcall(core.probe.resolve, module .. ":*", "exact")
  if not ok or not X86 or os.getenv "UPLUA_WITHOUT" or os.execute "command -v objdump >/dev/null" ~= 0 then return end
  sites = sites:list()
  local path = sites[1].path
  local code, targets = disassemble(path)
  local wrong, slid, emulated = {}, 0, 0
  for _, site in ipairs(sites) do
    local entry = site.address - site.slid
    local at, first, bases = entry, entry, { rsp = true, rip = true }
    local function bad(why) wrong[#wrong + 1] = ("%s+%#x: %s"):format(site["function"], site.slid, why) end
    while at < site.address do
      local instruction = code[at]
      if not instruction then bad "no instruction starts there" break end
      -- where the kernel puts no probe, from the entry on
      local refused = at == first and (instruction.text:find "^lock " or instruction.text:find "^v")
      if not refused and not may_pass(instruction.text, bases) then bad("it passes " .. instruction.text) end
      at = instruction.next
      if refused then first = at end
    end
    if at ~= site.address or not code[at] then bad "not at the start of an instruction" end
    if site.slid > 0 then
      slid = slid + 1
      if first ~= at and not is_emulated(code[at].text) then bad("it stands on " .. code[at].text) end
      for between = entry + 1, site.address do
        if targets[between] then bad(("something jumps to %#x"):format(between)) end
      end
    end
    if code[at] and is_emulated(code[at].text) then emulated = emulated + 1 end
  end
  tap.is(table.concat(wrong, "\n"), "", ("%d sites of %s stand where objdump says they may"):format(#sites, module))
  tap.ok(slid * 20 > #sites and #sites > 500, ("%d of them slid, %d are emulated"):format(slid, emulated))
end

examine "libc"
examine "libcrypto"

tap.like(target.uplua([[-e 'uprobe("libc:free", { slide = 1 }, function(e) end)']]).err,
  'it is true, false or "lossy"', "another value is refused")

target.done()
tap.done_testing()
