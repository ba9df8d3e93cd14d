-- A letter means the same option in every script: who knows one script knows the others. systrace.lua alone has
-- strace's letters, for those who know that.
local core = require "uplua.core"
local tap = require "tap"
local target = require "target"

local SAME = { ["by-caller"] = "callers", events = "event", stack = "stacks" }

local meanings, scripts = {}, 0
for _, name in ipairs(core.system.names "scripts") do
  if name:find "%.lua$" and name ~= "systrace.lua" then
    scripts = scripts + 1
    for letter, option in target.uplua(name .. " --help").out:gmatch "%f[^\n%z] *%-(%a), %-%-([%w-]+)" do
      option = SAME[option] or option
      meanings[letter] = meanings[letter] or {}
      meanings[letter][option] = (meanings[letter][option] and meanings[letter][option] .. ", " or "") .. name
    end
  end
end
tap.ok(scripts > 30, "all scripts", scripts)

local sorted = {}
for letter in pairs(meanings) do sorted[#sorted + 1] = letter end
table.sort(sorted)
for _, letter in ipairs(sorted) do
  local options = meanings[letter]
  local list = {}
  for option, names in pairs(options) do list[#list + 1] = ("--%s in %s"):format(option, names) end
  table.sort(list)
  tap.is(#list, 1, ("-%s is one option: %s"):format(letter, #list > 1 and table.concat(list, "; ") or next(options)))
end
tap.ok(#sorted > 20, "letters", #sorted)

target.done()
tap.done_testing()
