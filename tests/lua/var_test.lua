-- var: one word that the script and handlers share.
local ffi = require "ffi"
local tap = require "tap"
local kernel = require "kernel"
local var = require "uplua.objects.var"
local ok, is, like = tap.ok, tap.is, tap.like

local v = var.var(23)
is(v:get(), 23, "a var has its initial value")
v:set(100)
v:add(1)
is(v:get(), 101, "an unbound var can be set and added to")
is(tostring(v), "101", "and printed")

local MMAPABLE = 1024
local fd = kernel.map("array", 4, 8, 1, MMAPABLE)
v:bind { fd = fd, type = "array", max = 1, value = kernel.scalar "i64" }
is(v:get(), 101, "bind keeps the value")
local word, zero = ffi.new "int64_t[1]", ffi.new "uint32_t[1]"
kernel.bpf.bpf_map_lookup_elem(fd, zero, word)
is(tonumber(word[0]), 101, "the kernel has it")
kernel.update(fd, 0, { -7 })
is(v:get(), -7, "what the kernel writes is read")
v:add(-3)
v:add(5LL)
is(v:get(), -5, "add")
v:set(9007199254740993LL)
ok(v:get() == 9007199254740993LL, "64 bits")

local flag = var.var(false)
fd = kernel.map("array", 4, 8, 1, MMAPABLE)
flag:bind { fd = fd }
is(flag:get(), false, "a boolean var")
flag:set(true)
is(flag:get(), true, "set to true")

for _, wrong in ipairs { "x", 1.5, {} } do
  local good, message = pcall(function() v:set(wrong) end)
  like(message, "var_test.lua:%d+: var: .*integer", "an integer's does not hold " .. type(wrong))
end
local good, message = pcall(function() v.value = 1 end)
like(message, "v:set%(x%)", "a var has no fields")
for _, case in ipairs {
  { function() var.var({}) end, "var_test.lua:%d+: var: it holds a number, a boolean or a string, not a table" },
  { function() var.var(1.5) end, "var_test.lua:%d+: var: 1.5 is not an integer" },
  { function() var.var(300, "u8") end, "var_test.lua:%d+: var: 300 is not in 0 … 255" },
  { function() var.var("x", "u8") end, "var_test.lua:%d+: var: an integer is expected, not a string" },
  { function() var.var(("x"):rep(4096)) end, "var_test.lua:%d+: var: a string has up to 4095 bytes" },
  { function() var.var(0, "int") end, "var_test.lua:%d+: var: option 'type': 'int' is not a type; write" },
  { function() var.var(nil, { type = { n = "u8" } }) end,
    "var_test.lua:%d+: var: option 'type': it holds a number, a boolean or a string" },
  { function() var.var("x"):add(1) end, "var_test.lua:%d+: var: a string cannot be added to" },
  { function() flag:add(1) end, "var_test.lua:%d+: var: a boolean cannot be added to" },
  { function() v:add("x") end, "var_test.lua:%d+: var: an integer is expected, not a string" },
  { function() v:add(0.5) end, "var_test.lua:%d+: var: 0.5 is not an integer" },
} do
  good, message = pcall(case[1])
  ok(not good, "refused")
  like(message, case[2], "… with this message")
end
is(var.var(nil, "bool"):get(), false, "a declared boolean begins false")
is(var.var(nil, "string[8]"):get(), "", "a string empty")
is(var.var():get(), 0, "and all else at 0")

-- Strings and declared widths, unbound and bound, and in handlers.
local setup = require "uplua.probe.setup"
local test_run = require "uplua.probe.providers.testrun"
local up = require "uplua"
local who, short = up.var("nobody"), up.var("x", "string[8]")
local u32, i8, u64, wide = up.var(4294967290, "u32"), up.var(-100, "i8"), up.var(1ULL), up.var(5)
local on, limit, n, bytes = up.var(true), up.var(3), up.count(), up.count()
u32:add(4)
is(u32:get(), 4294967294, "an unbound var adds")
i8:add(-30)
is(i8:get(), 126, "and wraps at its width")
i8:set(-100)
who:set("somebody")
local run = test_run.handler("run", function(e)
  if on:get() then n.on:inc() end
  if who:get() == "somebody" then n.named:inc() end
  who:set(e.comm)
  short:set(e.arg0 > 5 and "seven77" or "eight888")
  u32:add(e.arg0)
  wide:add(-e.arg0)
  bytes[i8:get()]:inc()
  i8:set(up.i8(e.arg0))
  u64:set(u64:get() * 2)
  if u64:get() > 100 then n.large:inc() end
  on:set(e.arg0 > 5)
end)
setup.commit()
run { 7 }
is(who:get(), "uplua", "a handler sets a string")
is(short:get(), "seven77", "one of a declared size")
is(n.on, 1, "a boolean in a condition")
is(n.named, 1, "a string in a comparison, as the script had set it")
is(u32:get(), 5, "an addition wraps at 32 bits")
is(wide:get(), -2, "64 bits")
is(bytes[-100], 1, "a signed byte is read with its sign")
is(i8:get(), 7, "and set")
is(on:get(), true, "a boolean set by a handler")
on:set(false)
who:set("somebody else")
run { 2 }
is(n.on, 1, "what the script sets, a handler sees")
is(n.named, 1, "a string too")
is(short:get(), "eight88…", "a string that is too long is cut, and shows it")
u64:set(0xffffffffffffff00ULL)
run { 1 }
ok(u64:get() == 0xfffffffffffffe00ULL, "a u64 keeps its bits")
is(n.large, 1, "and is compared as unsigned")
is(tostring(who), "uplua", "print")
local loop = test_run.handler("loop", function(e)
  for _ = 1, e.arg0 do wide:add(1) end
  while limit:get() > 0 do limit:add(-1) n.rounds:inc() end
end)
setup.commit()
wide:set(0)
loop { 101 }
is(wide:get(), 101, "a var in a loop, in a later setup")
is(limit:get(), 0, "which it ends")
is(n.rounds, 3, "when it should")
is(#setup.ledger(), 0, "nothing is lost")
setup.discard()
for _, case in ipairs {
  { function(e) wide:set(e.comm) end, "the var 'wide' was made for an integer, and is set to a string here" },
  { function(e) on:set(1) end, "the var 'on' was made for bool, and is set to an integer here" },
  { function(e) i8:set(e.arg0) end,
    "the var 'i8' was made for i8, and is set to an integer here: say up.i8%(x%) to cut it" },
  { function(e) who:set(5) end, "the var 'who' was made for a string, and is set to an integer here" },
  { function(e) who:add(1) end, "'who' holds a string, which cannot be added to" },
  { function(e) on:add(1) end, "'on' holds a boolean, which cannot be added to" },
  { function(e) i8:add(1) end, "'i8' has too few bits for an addition that loses nothing: declare it as u32 or i64" },
  { function(e) wide:add(e.comm) end, ":add%(value%) takes an integer, not" },
} do
  test_run.handler("refused", case[1])
  local compiled, why = pcall(setup.commit)
  ok(not compiled, "refused")
  like(why, "var_test.lua:%d+: .*" .. case[2], "… with this message")
  setup.discard()
end
setup.close()
tap.done_testing()
