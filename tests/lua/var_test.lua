-- var: one word that the script and handlers share.
local ffi = require "ffi"
local tap = require "tap"
local kernel = require "kernel"
local var = require "uplua.var"
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
flag:bind { fd = fd, type = "array", max = 1, value = kernel.scalar "bool" }
is(flag:get(), false, "a boolean var")
flag:set(true)
is(flag:get(), true, "set to true")

for _, wrong in ipairs { "x", 1.5, {} } do
  local good, message = pcall(function() v:set(wrong) end)
  like(message, "var_test.lua:%d+: var: it holds an integer or a boolean", "it does not hold " .. type(wrong))
end
local good, message = pcall(function() v.value = 1 end)
like(message, "v:set%(x%)", "a var has no fields")
good, message = pcall(var.var, "x")
ok(not good, "nor strings from the start")
tap.done_testing()
