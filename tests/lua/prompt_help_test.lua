-- help() at the prompt has a page for each name of the manual, and finds values of each kind there.
local api = require "uplua.api.help"
local help = require "uplua.prompt.help"
local tap = require "tap"
local up = require "uplua"
local is, like, ok = tap.is, tap.like, tap.ok

local missing, wrong = {}, {}
for _, name in ipairs(api.names()) do
  if not help.text(name):find(api.signature(api.find(name)), 1, true) then missing[#missing + 1] = name end
end
is(table.concat(missing, " "), "", "each name has its page")
for name in pairs(getmetatable(up).names) do
  if type(up[name]) == "function" and help.text(up[name]) ~= help.text(name) then wrong[#wrong + 1] = name end
end
is(table.concat(wrong, " "), "", "… and so has each function")

local listed = help.text()
local unlisted = {}
for _, chapter in ipairs(api.chapters()) do
  for _, name in ipairs(chapter.names) do
    if not listed:find("%f[^%s]" .. name:gsub("%p", "%%%0") .. "%f[%s]") then unlisted[#unlisted + 1] = name end
  end
end
is(table.concat(unlisted, " "), "", "all of them are listed")

local flat = listed:gsub("%s+", " ")
for _, order in ipairs {
  "e.arg0 e.arg1 e.arg2 e.arg3 e.arg4 e.arg5 e.arg6 e.arg7 e.nargs", "i8 i16 i32 i64 u8 u16 u32 u64 read_i8 read_i16",
} do
  ok(flat:find(order, 1, true), "in the order in which one counts: " .. order)
end
is(listed:match "\n(Begin with\n.*)$", [[
Begin with
  n = count()
  p = uprobe("libc:malloc", function(e) n[e.comm]:inc() end)
  n
help "uprobe", or ?uprobe, tells of a name; Ctrl-D ends, with a report]], "… and at the end, what to begin with")

local options = [[
DistributionOptions: of stats, hist, lhist and hdr
  max?: integer
      room for so many keys (65536 otherwise); what finds none is counted
  key?: DeclaredType
      the type of the keys, which the handlers tell otherwise
  unit?: "ns"|"bytes"|"count"
      what its numbers are shown as: times, sizes, or plain numbers
  name?: string
      what messages and reports call it, otherwise its variable
  option?: string
      the option of the script by which its user makes room, for messages: "--max"]]
is(help.text "DistributionOptions", options, "the options of a type, one by one")
ok(help.text(up.hist):find("  " .. options:gsub("\n", "\n  "), 1, true), "… also with the function that takes them")
is(help.text "Specs", "Specs: one spec, or a list of specs\n  string|string[]", "what a type stands for")
local undescribed, described = {}, 0
for _, one in ipairs((require "uplua.api.entries".types())) do
  for _, field in ipairs(one.keys and api.fields(one[1]) or {}) do
    described = described + 1
    if not field.text then undescribed[#undescribed + 1] = one[1] .. "." .. field.name end
  end
  for name in pairs(one.keys or {}) do
    if not api.keys(one[1])[name] then undescribed[#undescribed + 1] = "no " .. one[1] .. "." .. name end
  end
end
is(table.concat(undescribed, " "), "", "what is said of some options of a function is said of all, and of no others")
ok(described > 30, "… of " .. described)

like(help.text(up.hist()), "^Histogram: .*h:percentile", "a shared object")
like(help.text(up.var(0)), "^Variable: .*v:set", "… a variable")
like(help.text(require "uplua.flame"), "^flame\n.*flame%.write", "a module")
like(help.text "Event", "e%.comm: string", "a class")
like(help.text "probes", "probes%[2%].*up%.probes%(%): Probe%[%]", "what is more at the prompt")
is(help.text "qqqqqqq", "there is no 'qqqqqqq'; help() lists all names", "no page, no guess")
is(help.text "percentile", "there is no 'percentile'; there is Histogram:percentile", "a method without its class")
is(help.text "e.elapse", "there is no 'e.elapse'; did you mean 'e.elapsed'?; help() lists all names", "a near name")
like(help.text {}, "^the manual has nothing of this table", "what nobody wrote about")
is(help.text "  ", listed, "no name: everything")
tap.done_testing()
