-- What handlers mean: each construct does in the kernel what the reference interpreter (tests/reference) and LuaJIT do.
package.path = "./tests/reference/?.lua;" .. package.path
local corpus = require "corpus"
local differential = require "differential"
local tap = require "tap"

local names = {}
for i, name in ipairs(corpus.names) do names[i] = ("%s = %s"):format(name, name) end
local programs = {}
for i, case in ipairs(corpus.cases) do
  local events = {}
  for k = 1, case.events or #corpus.events do events[k] = { 1, corpus.events[k] } end
  programs[i] = {
    name = ("case%d"):format(i), events = events,
    source = ("local up = ...\n%s\n%s\nreturn { function(e)\n%s\nend }, { %s }"):format(corpus.objects, case[3] or "",
      case[2], table.concat(names, ", ")),
  }
end
for i, result in ipairs(differential.check(programs)) do
  local case = corpus.cases[i]
  tap.is(result[1] == "equal" and result[1] or table.concat(result, "\n"), "equal", case[1])
  if result[1] == "equal" then tap.is(result[2], case[4], "  … where it differs from LuaJIT") end
end
tap.done_testing()
