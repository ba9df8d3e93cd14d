-- Arguments of Rust's unoptimised functions that follow what debug information leaves out, or has without a value; and
-- whose allocations those are that Rust's standard library makes.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

if not tap.has "rustc" then
  tap.skip "there is no rustc here (package rustc)"
  tap.done_testing()
  os.exit(0)
end

local program = target.folder() .. "-unsized"
is(os.execute(("rustc --edition 2021 -g -o %s tests/targets/unsized.rs"):format(program)), 0, "rustc")

-- The arguments that trace.lua shows of the functions that match, in order, without addresses.
local function traced(name)
  local run = target.uplua(("trace.lua '%s:%s' -- %s"):format(program, name, program))
  local list = {}
  for arguments in run.out:gmatch "unsized::[^\n(]*(%([^\n]*%))" do list[#list + 1] = arguments:gsub("0x%x+", "0x") end
  return list
end

local closures = traced "*::main::{{closure}}"
is(#closures, 46, "two closures are called 23 times each")
is(closures[1], "(x=?)", "what one that captures something is called with is not known")
is(closures[2], "(arg0=?, y=0)", "that of one that captures nothing is")
is(closures[46], "(arg0=?, y=22)", "  … each time")
local applied = traced "*::apply*"
is(#applied, 23, "a function that is a parameter")
is(applied[23], "(f=?, n=?, m=?)", "  … may be none that is passed, so that the others may be anywhere")
local pointed = traced "*::pointer"
is(pointed[23], "(f=?, n=?)", "  … nor is that known of a pointer")

local run = target.uplua("mallocleak.lua --by function -- " .. program)
like(run.out, "\n115,000 +23 [^\n]* unsized::lost +", "who allocates by vec! is the program's function")
like(run.out, "\n +736 +23 [^\n]* unsized::pushed +", "  … and by push")

os.remove(program)
target.done()
tap.done_testing()
