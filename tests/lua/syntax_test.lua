-- What other languages have and Lua's parser refuses: the message says what to write.
local syntax = require "uplua.base.syntax"
local tap    = require "tap"
local target = require "target"

local function said(source)
  local _, message = load(source, "=-e")
  return syntax.explained(message, source)
end

for source, want in pairs {
  ["n += 1"] = "-e:1: '=' expected near '+'; Lua has no +=: say n:add(x) of a count or sum, a = a + x of a variable",
  ["local a\nn[k]++"] = "-e:2: '=' expected near '+'; Lua has no ++: say n:inc() of a count, x = x + 1 of a variable",
  ["n *= 2"] = "-e:1: '=' expected near '*'; Lua has no -= and its like: say a = a - x",
  ["if a != 1 then end"] = "-e:1: 'then' expected near '!'; \"is not\" is ~= in Lua",
  ["if a && b then end"] = "-e:1: 'then' expected near '&'; \"and\" is a word in Lua: a and b",
  ["if a || b then end"] = "-e:1: 'then' expected near '|'; \"or\" is a word in Lua: a or b",
  ["if !a then end"] = "-e:1: unexpected symbol near '!'; \"not\" is a word in Lua: not a",
  ["@[comm] = count()"] =
    "-e:1: unexpected symbol near '@'; a map is an object in Lua: n = up.count(), and n[key]:inc() in the handler",
  ["$x = 1"] = "-e:1: unexpected symbol near '$'; variables have no $ in Lua: local x = e.arg0",
  -- Where it is something else, nothing is added.
  ["x = = 1 -- n += 1"] = "-e:1: unexpected symbol near '='",
  ["print('a != b'"] = "-e:1: ')' expected near '<eof>'",
} do
  tap.is(said(source), want, source)
end

local WANT = "; Lua has no +=: say n:add(x) of a count or sum, a = a + x of a variable\n"
local run = target.uplua "-e 'n += 1'"
tap.is(run.status .. run.err, "1uplua: -e:1: '=' expected near '+'" .. WANT, "-e")
run = target.script("n += 1", "")
tap.is(run.err:match "script.lua:(.*)$", "1: '=' expected near '+'" .. WANT, "a file")
if io.open "/dev/stdin" then
  run = target.shell("echo 'n += 1' | timeout 60 ./uplua /dev/stdin 2>\"$D/err\"")
  tap.is(run.err, "uplua: /dev/stdin:1: '=' expected near '+'\n", "a pipe is not read twice")
else
  tap.skip "there is no /dev/stdin"
end
tap.is(target.shell("echo 'n += 1' | ./uplua - 2>\"$D/err\"").err, "uplua: stdin:1: '=' expected near '+'" .. WANT,
  "standard input")

target.done()
tap.done_testing()
