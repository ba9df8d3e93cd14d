-- Names of C++ functions with brackets that hold no parameters: V::operator(), (anonymous namespace)::f, lambdas.
local tap = require "tap"
local target = require "target"

local PROGRAM = "./build/targets/brackets"

-- A name, and what is counted of it: each function is called 23 times.
for _, case in ipairs {
  { "Scale::operator()", "Scale::operator()(int) const 23, Scale::operator()(int, int) const 23" },
  { "Scale::operator()(int) const", "Scale::operator()(int) const 23" },
  { "Scale::operator[]", "Scale::operator[](int) const 23" },
  { "(anonymous namespace)::hidden", "(anonymous namespace)::hidden(int) 23" },
  { "(anonymous namespace)::hidden(int)", "(anonymous namespace)::hidden(int) 23" },
  { "main::{lambda(int)#1}::operator()", "main::{lambda(int)#1}::operator()(int) const 23" },
} do
  local run = target.script(([[
    local up = require "uplua"
    local n = up.count()
    up.uprobe(%q, function(e) n[e.func]:inc() end)
    up.at_exit(function()
      local seen = {}
      for name, calls in n:pairs() do seen[#seen + 1] = name .. " " .. calls end
      table.sort(seen)
      print("seen", table.concat(seen, ", "))
    end)]]):format(PROGRAM .. ":" .. case[1]), "-- " .. PROGRAM)
  tap.is(run.out:match "seen\t([^\n]*)", case[2], case[1])
  if run.status ~= 0 then io.stderr:write(run.err) end
end
target.done()
tap.done_testing()
