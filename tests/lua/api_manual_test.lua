-- What lua/uplua/api/ declares of the public names reaches who asks: help() by any way of naming them, and editors by
-- definitions that are Lua, and whose annotations are LuaCATS.
local help   = require "uplua.api.help"
local tap    = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

-- --- help ---

local function first_line(name) return (help.of(name) or ""):match "^[^\n]*" end
is(first_line "uprobe", "up.uprobe(spec: Specs, options?: UprobeOptions, handler: Handler): Probe", "a function")
is(first_line "up.now", "up.now(): ns", "with up.")
is(first_line "hist.percentile", "h:percentile(p: number): integer?, string?", "a method, by its constructor")
is(first_line "hist.take", "a:take(): Snapshot", "one that all aggregations have")
is(first_line "Probe:detach", "p:detach(): Probe", "by its class")
is(first_line "uprobe.detach", "p:detach(): Probe", "by the constructor of a probe")
is(first_line "e.pid", "e.pid: integer", "a field of events")
is(first_line "flame.write":match "^[^(]*", "flame.write", "a function of a module")
like(help.of "e.elapsed", "of: uretprobe, kretprobe, sysreturn\n", "the kinds of probes that have a field")
like(help.of "lhist", 'raises: [^\n]+\n  DistributionOptions: .*\n  since 1%.0; doc/api%.md, "Shared objects"$',
     "errors, options, version, chapter")
is(select(2, help.of "string.format"), "there is no 'string.format'", "which is no 'str'")
is(select(2, help.of "uprob"), "there is no 'uprob'; did you mean 'uprobe'?", "a suggestion")
is(help.of "nothing.at.all", nil, "nothing for what is none")
for _, name in ipairs(help.names()) do
  local text = help.of(name)
  if not text or #(text:match "\n  ([^\n]*)" or "") < 5 then ok(false, "help says something of " .. name) end
end

-- --- the fields of events, by kind of probe ---

-- The fields that the compiler names where a handler of CODE, "probe(…, %s)", asks for one that there is not; nil
-- where the kernel has no such probe.
local function fields_of(code)
  local one = "up." .. code:format "function(e) local x = e.nope end"
  local script = target.quote('local up = require "uplua" ' .. one)
  local run = target.uplua(("--explain -e %s -- build/examples/shop"):format(script))
  local list = run.err:match "'nope'; it has ([^\n]*)"
  if not list then return nil end
  local there = {}
  if list:find "those of e.arg0" then list = list .. ", arg0, arg1, arg2, arg3, arg4, arg5" end
  for word in list:gsub(" and ", ", "):gmatch "[^,]+" do
    local field = word:gsub("^ *e[.:]", ""):match "^ *([%w_]+)[%(%)]*$"
    if field then there[field] = true end
  end
  return there
end

local PROBES = {
  uprobe = 'uprobe("build/examples/shop:sell", %s)', uretprobe = 'uretprobe("build/examples/shop:sell", %s)',
  kprobe = 'kprobe("ksys_write", %s)', kretprobe = 'kretprobe("ksys_write", %s)',
  fentry = 'fentry("ksys_write", %s)', fexit = 'fexit("ksys_write", %s)',
  profile = "profile(99, %s)", interval = 'interval("1s", %s)', perf = 'perf("page-faults", 1, %s)',
  watch = 'watch("build/examples/shop:last[0]", { "w", size = 8 }, %s)',
  usdt = 'usdt("build/examples/shop:shop:sold", %s)',
  tracepoint = 'tracepoint("sched:sched_switch", %s)', raw_tracepoint = 'raw_tracepoint("sched_switch", %s)',
  syscall = 'syscall("write", %s)', sysreturn = 'sysreturn("write", %s)',
}

local function kinds_declared(kind)
  local declared = { vars = true }
  for _, name in ipairs(help.names()) do
    local one = help.find(name)
    if one.class == "Event" and (not one.kinds or (" " .. one.kinds .. " "):find(" " .. kind .. " ", 1, true)) then
      declared[one.path:match "^e[.:]([%w_]+)"] = true
    end
  end
  return declared
end

for kind, code in pairs(PROBES) do
  local there, wrong = fields_of(code), {}
  if there then
    local declared = kinds_declared(kind)
    for name in pairs(there) do wrong[#wrong + 1] = not declared[name] and "no e." .. name or nil end
    declared.vars, declared.arg6, declared.arg7 = nil, nil, nil -- not named there, or not on each CPU
    for name in pairs(declared) do wrong[#wrong + 1] = not there[name] and "e." .. name or nil end
  end
  is(table.concat(wrong, " "), "", "events of " .. kind .. " have the fields that the manual says they have")
end

-- --- the definitions for editors ---

-- A parser of LuaCATS types that goes over TEXT from AT and returns where the type ends; nil: it is none.
local parse

local function list(text, at, close, item)
  while true do
    at = text:match("^%s*()", at)
    if text:sub(at, at) == close then return at + 1 end
    at = item(text, at)
    if not at then return nil end
    at = text:match("^%s*,()", at) or at
  end
end

local function field(text, at)
  local from = text:match("^[%w_.]+%??:%s*()", at) or text:match('^%["[%w_]+"%]%??:%s*()', at)
    or text:match("^%[string%]:%s*()", at)
  return from and parse(text, from)
end

local function primary(text, at)
  local to = text:match("^fun%(()", at)
  if to then
    to = list(text, to, ")", field)
    local result = to and text:match("^:%s*()", to)
    while result do
      to = parse(text, result)
      result = to and text:match("^,%s*()", to)
    end
    return to
  end
  to = text:match("^table<()", at)
  if to then return list(text, to, ">", function(...) return parse(...) end) end
  to = text:match("^{()", at)
  if to then return list(text, to, "}", field) end
  return text:match('^"[^"]*"()', at) or text:match("^%d+()", at) or text:match("^[%a_][%w_.]*()", at)
end

function parse(text, at)
  repeat
    at = primary(text, at)
    while at and text:find("^[?%[]", at) do at = text:match("^%?()", at) or text:match("^%[%]()", at) end
    local more = at and text:match("^|()", at)
    at = more or at
  until not at or not more
  return at
end

-- Whether the annotation LINE is well-formed, and the classes and aliases that it uses are of KNOWN.
local function is_annotation(line, known)
  local kind, rest = line:match "^%-%-%-@(%w+) ?(.*)$"
  local from = 1
  if kind == "meta" or kind == "class" then return rest:find "^[%w_.]+:? ?[%w_.]*$" ~= nil end
  if kind == "alias" or kind == "param" then from = rest:match "^[%w_.]+%?? ()" end
  if kind == "field" then from = rest:match "^[%w_]+%?? ()" or rest:match "^%[any%] ()" end
  local to = from and parse(rest, from)
  for name in rest:gmatch "uplua%.[%w_]+" do
    if not known[name] then return false end
  end
  return to ~= nil and (kind == "field" and rest:find("^ ?", to) or to == #rest + 1)
end

local folder = target.folder()
local make = ("mkdir -p %s/uplua && luajit tools/api/luacats.lua %s"):format(folder, folder)
is(os.execute(make), 0, "definitions are made")
local known, files = {}, {}
for path in io.popen(("find %s -name '*.lua'"):format(folder)):lines() do
  files[#files + 1] = path
  for name in target.read(path):gmatch "%-%-%-@%l+ (uplua%.[%w_]+)" do known[name] = true end
end
ok(#files >= 8, "one file for each public module: " .. #files)
local annotations, functions = 0, 0
for _, path in ipairs(files) do
  ok(loadfile(path), path:match "[^/]*$" .. " is Lua")
  for line in target.read(path):gmatch "[^\n]+" do
    if line:find "^%-%-%-@" then
      annotations = annotations + 1
      if not is_annotation(line, known) then ok(false, "an annotation: " .. line) end
    end
    functions = functions + (line:find "^function " and 1 or 0)
  end
end
ok(annotations > 400 and functions > 150, ("annotations %d, functions %d"):format(annotations, functions))
ok(not is_annotation("---@param x { a: integer", known) and not is_annotation("---@return uplua.Nosuch", known),
   "what is none is found")
target.done()
tap.done_testing()
