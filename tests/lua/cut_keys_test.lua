-- Keys with texts that are longer than what is kept of them: whatever is stored under such a key is counted, and
-- nothing else is. On build/targets/strings, which calls text(s, n) 23 times for each n: texts of letters, of the
-- lengths below, that begin alike.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local LENGTHS = { 5000, 7, 8, 9, 15, 16, 62, 63, 64, 65, 4094, 4095, 4096 }

-- How many hits have a text of more than MOST bytes.
local function longer(most)
  local n = 0
  for _, length in ipairs(LENGTHS) do n = n + (length > most and 23 or 0) end
  return n
end

local CASES = { -- what is declared as O, what a handler does with s, a text, and how often its key is cut
  { "a value that is set", "up.hash()", "O[s] = e.arg1", longer(63) },
  { "… in a map that gives up the oldest", "up.lru_hash()", "O[s] = e.arg1", longer(63) },
  { "a number that is added to", "up.hash()", "O[s] = (O[s] or 0) + 1", longer(63) },
  { "… where it is there", "up.hash()", "if O[s] then O[s] = O[s] + 1 else O[s] = 1 end", longer(63) },
  { "… by CPU", "up.percpu_hash()", "O[s] = (O[s] or 0) + 1", longer(63) },
  { "a count", "up.count()", "O[s]:inc()", longer(63) },
  { "a sum", "up.sum()", "O[s]:add(2)", longer(63) },
  { "a histogram", "up.hdr(1)", "O[s]:add(e.arg1)", longer(63) },
  { "a tuple", "up.count()", "O[{ e.comm, s, e.tid }]:inc()", longer(63) },
  { "a record in a tuple", "up.count()", "O[{ e.pid, { text = s, n = 1 } }]:inc()", longer(63) },
  { "two texts, of which one or both are cut", "up.count()", "O[{ up.str(e.arg0, 8), s }]:inc()", longer(7) },
  { "a text that may be nil", "up.count()", "O[{ 1, e.arg1 > 2 and s or nil }]:inc()", longer(63) - 23 },
  { "a buffer", "up.count()", "O[up.buf(e.arg0, #s, 62)]:inc()", longer(62) },
  { "a buffer in a tuple", "up.count()", "O[{ up.buf(e.arg0, #s, 20), 1 }]:inc()", longer(20) },
  { "a map that is declared shorter", [[up.hash { key = "string[16]", value = "u64" }]], "O[s] = 1", longer(15) },
  { "a map that is declared longer", [[up.hash { key = "string[200]", value = "u64" }]], "O[s] = 1", longer(63) },
  { "more of the text", "up.hash { max = 64 }", "O[up.str(e.arg0, 256)] = 1", longer(255) },
  { "a name of a thread", "up.count()", "O[e.comm]:inc()", 0 },
  { "the function's name", "up.count()", "O[e.func]:inc()", 0 },
  { "a constant", "up.count()", "O['" .. ("x"):rep(200) .. "']:inc()", 0 },
  { "one of two constants", "up.count()", "O[e.arg1 > 7 and 'long' or 'short']:inc()", 0 },
  { "the text as a value", "up.hash()", "O[e.arg1] = s", 0 },
  { "a whole buffer", "up.count()", "O[up.buf(e.arg0, 5)]:inc()", 0 },
  { "texts that fit", "up.count()", "if #s < 63 then O[s]:inc() end", 0 },
}

local script = { [[local up = require "uplua"]] }
for i, case in ipairs(CASES) do
  local o = ("object_%d"):format(i)
  script[#script + 1] = ("local %s = %s"):format(o, case[2])
  script[#script + 1] = ([[up.uprobe("./build/targets/strings:text", function(e)
    if e.arg1 < 2 or e.arg1 > 14 then return end
    local s = up.str(e.arg0)
    %s
  end)]]):format(case[3]:gsub("%f[%w]O%f[%W]", o))
end
script[#script + 1] = [[up.at_exit(function() print("keys", object_1:size(), object_17:size()) end)]]

local run = target.script(table.concat(script, "\n"), "-- ./build/targets/strings")
local counted = {}
for n, o in run.err:gmatch "([%d,]+) × a key of 'object_(%d+)' was cut: keys that begin with the same text are one" do
  o, n = tonumber(o), tonumber((n:gsub(",", "")))
  counted[o] = (counted[o] or 0) + n
end
is(run.status, 0, "all are traced")
for i, case in ipairs(CASES) do is(counted[i] or 0, case[4], case[1]) end
like(run.out, "keys\t8\t10\n", "six texts are one key of 64 bytes, and four of 256")

-- --- spans and states ---

run = target.script([[
  local up   = require "uplua"
  local span = require "uplua.span"
  local function name(e) return up.str(e.arg1, 8) end
  local cut = span.new { from = { "usdt:app:queued", key = name }, to = { "usdt:app:answered", key = name } }
  local nested = span.new { from = { "usdt:app:queued", key = name }, to = { "usdt:app:answered", key = name },
                            wins = "nested" }
  local whole = span.new { from = { "usdt:app:queued", key = function(e) return up.str(e.arg1, 16) end },
                           to = { "usdt:app:answered", key = function(e) return up.str(e.arg1, 16) end } }
  up.at_exit(function()
    print("cut", cut:counts().cut, nested:counts().cut, whole:counts().cut)
    print(cut)
  end)
]], "-- build/targets/requests 101")
like(run.out, "cut\t101\t101\t0\n", "each begin of a span whose key was cut")
like(run.out, "\n  101 begun with a key that was cut: those that begin alike are one\n", "which is said with the span")
like(run.err, "101 × a key of 'open_spans' was cut", "and in the ledger")

run = target.script([[
  local up = require "uplua"
  local texts = require "uplua.states".new { names = { "short", "long" } }
  up.uprobe("./build/targets/strings:text", function(e)
    if e.arg1 >= 2 and e.arg1 <= 14 then texts:enter(up.str(e.arg0, 16), e.arg1 > 7 and "long" or "short") end
  end)
]], "-- ./build/targets/strings")
like(run.err, " 1 × a key of 'states_now' was cut: keys that begin with the same text are one\n", "a key of states")

target.done()
tap.done_testing()
