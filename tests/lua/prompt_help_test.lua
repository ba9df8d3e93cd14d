-- help() at the prompt has a page for each name of the manual, and finds values of each kind there.
local api = require "uplua.api.help"
local help = require "uplua.prompt.help"
local tap = require "tap"
local up = require "uplua"
local is, like = tap.is, tap.like

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
