-- Random handlers on strings (read into buffers of many sizes, chosen, compared, measured, stored, taken out of maps
-- and records) leave what the same operations give in Lua on pairs of a text and whether it was cut. On
-- build/targets/strings, each handler for its 23 texts. RANDOM_SEED=N repeats a run, RANDOM_COUNT=N makes so many
-- handlers.
local tap = require "tap"
local target = require "target"

local seed = tonumber(os.getenv "RANDOM_SEED" or os.getenv "UPLUA_LONG" and os.time() % 1000000 or 101)
local count = tonumber(os.getenv "RANDOM_COUNT" or tap.fewer(40, 10))
print("# seed " .. seed)
math.randomseed(seed)
local random = math.random

local alphabet = ("abcdefghijklmnopqrstuvwxyz"):rep(200)
local texts = { [0] = "", "uplua-23" }
for i, length in ipairs { 5000, 7, 8, 9, 15, 16, 62, 63, 64, 65, 4094, 4095, 4096 } do
  texts[1 + i] = alphabet:sub(1, length)
end
texts[15] = "\27[2J\7\255\15531m\194\155\n\226\130"
texts[18] = "end of page"
texts[20], texts[21], texts[22] = "a page of a file", "from one page to another", "from one page to another"

-- --- the model ---

local function text(t, cut) return { text = t, cut = cut or false } end

-- Text N read into SIZE bytes; nil if it cannot be. Text 19 has no end: behind its 11 bytes is nothing.
local function read(n, size)
  local t = texts[n]
  if n == 19 then
    if size > 11 then return nil end
    t = "end of page"
  end
  if not t then return nil end
  return #t < size and text(t) or text(t:sub(1, size - 1), true)
end

local function equal(a, b)
  if a == nil or b == nil then return a == b end
  return a.text == b.text and a.cut == b.cut
end

local function starts(a, b) return a.text:sub(1, #b.text) == b.text end
local function shown(a) return a and a.text .. (a.cut and "…" or "") end

-- --- the generator: a list of steps, each its source and what it does to the variables of the model ---

local sizes = { 1, 2, 7, 8, 9, 15, 16, 17, 24, 40, 63, 64, 65, 72, 100, 200, 700, 1000 }
local constants = { "", "a", "abcdefg", "abcdefgh", "uplua-23", "end of page", "strings", alphabet:sub(1, 63),
  alphabet:sub(1, 64) }
local SOUGHT = { "a", "z", "lua", "-23", "page", "hijklmn", "hijklmno", "pqrstuvwxyzabcdefghij", "yza", "[2J", "\255",
  "\194\155", "m one page to anoth", "uplua-23", "r", "s" }
local small = true -- few large buffers: a handler has 16 KB

local function a_size() return sizes[random(small and 14 or #sizes)] end

local function a_constant()
  local t = constants[random(#constants)]
  return ("%q"):format(t), function() return text(t) end
end

-- An expression for a string that is never nil: source, model.
local function expression(names)
  local kind = random(7)
  if kind <= 3 or #names < 2 then
    local size = a_size()
    return ('(up.str(e.arg0, %d) or "nil")'):format(size), function(env) return read(env.n, size) or text "nil" end
  elseif kind == 4 then
    return a_constant()
  elseif kind == 5 then
    return "e.comm", function() return text "strings" end
  elseif kind == 6 then
    local name = names[random(#names)]
    return ("same(%s)"):format(name), function(env) return env[name] end
  end
  local a, b, bound = names[random(#names)], names[random(#names)], random(22)
  return ("choose(e.arg1 < %d, %s, %s)"):format(bound, a, b), function(env)
    return env.n < bound and env[a] or env[b]
  end
end

-- A handler on the maps `texts`, `numbers` and `kept`: its source, and a function from n to what it leaves there.
local function handler()
  local lines, steps, names, places = {}, {}, {}, 0
  local function add(source, step) lines[#lines + 1], steps[#steps + 1] = source, step end
  local function leave(map, source, value)
    places = places + 1
    local place = places
    add(("%s[{ e.arg1, %d }] = %s"):format(map, place, source), function(env) env.out[place] = value(env) end)
  end
  local function a_name() return names[random(#names)] end
  for i = 1, random(2, 6) do
    local source, value = expression(names)
    local name = "s" .. i
    add(("local %s = %s"):format(name, source), function(env) env[name] = value(env) end)
    names[i] = name
  end
  for _ = 1, random(3, 8) do
    local kind, a, b = random(10), a_name(), a_name()
    if kind == 1 then
      leave("numbers", ("#%s"):format(a), function(env) return #env[a].text end)
    elseif kind == 2 then
      leave("numbers", ("%s == %s and 1 or 0"):format(a, b), function(env) return equal(env[a], env[b]) and 1 or 0 end)
    elseif kind == 3 then
      leave("numbers", ("%s:starts(%s) and 1 or 0"):format(a, b), function(env)
        return starts(env[a], env[b]) and 1 or 0
      end)
    elseif kind == 4 then
      local source, value = a_constant()
      leave("numbers", ("(%s ~= %s and 2 or 0) + (%s:starts(%s) and 1 or 0)"):format(a, source, a, source),
        function(env)
        return (equal(env[a], value()) and 0 or 2) + (starts(env[a], value()) and 1 or 0)
      end)
    elseif kind == 5 then
      leave("texts", a, function(env) return shown(env[a]) end)
    elseif kind == 6 then -- through a map
      add(("kept[e.arg1] = %s"):format(a), function() end)
      leave("numbers", ("kept[e.arg1] == %s and 1 or 0"):format(b),
        function(env) return equal(env[a], env[b]) and 1 or 0 end)
    elseif kind == 7 then -- through a record, perhaps nil
      local size = a_size()
      add(("local r = { a = %s, b = up.str(e.arg0, %d) }"):format(a, size), function() end)
      leave("numbers", ("(r.b == %s and 1 or 0) + (r.b == nil and 2 or 0) + (r.a == %s and 4 or 0)"):format(b, b),
        function(env)
        local value = read(env.n, size)
        return (equal(value, env[b]) and 1 or 0) + (value == nil and 2 or 0) + (equal(env[a], env[b]) and 4 or 0)
      end)
      lines[#lines - 1] = "do " .. lines[#lines - 1]
      lines[#lines] = lines[#lines] .. " end"
    elseif kind == 8 then -- variables that change places
      local c, rounds = a_name(), random(4)
      add(("for i = 1, e.arg1 %% %d do %s, %s, %s = %s, %s, %s end"):format(rounds, a, b, c, b, c, a), function(env)
        for _ = 1, env.n % rounds do env[a], env[b], env[c] = env[b], env[c], env[a] end
      end)
    elseif kind == 9 and small then
      local sought, start = SOUGHT[random(#SOUGHT)], random(3) == 1 and random(70) or 1
      add(("local from, to = %s:find(%q, %d, true)"):format(a, sought, start), function() end)
      leave("numbers", "(from or 0) * 10000 + (to or 0)", function(env)
        local from, to = env[a].text:find(sought, start, true)
        return (from or 0) * 10000 + (to or 0)
      end)
      lines[#lines - 1] = "do " .. lines[#lines - 1]
      lines[#lines] = lines[#lines] .. " end"
    else -- a variable that changes
      local bound, other = random(22), a_name()
      add(("if e.arg1 >= %d then %s = %s end"):format(bound, a, other),
        function(env) if env.n >= bound then env[a] = env[other] end end)
    end
  end
  leave("texts", a_name() and names[#names], function(env) return shown(env[names[#names]]) end)
  return "function(e)\n  " .. table.concat(lines, "\n  ") .. "\nend", function(n)
    local env = { n = n, out = {} }
    for _, step in ipairs(steps) do step(env) end
    return env.out
  end
end

-- --- the run ---

local preamble = [[
local up = require "uplua"
local function same(s) return s end
local function choose(condition, a, b) if condition then return a end return b end
local all = {}
]]
local script, models = { preamble }, {}
for i = 1, count do
  small = random(4) > 1
  local source, model = handler()
  script[#script + 1] = ([[
do
  local texts, numbers, kept = up.hash(), up.hash(), up.hash()
  kept:set(-1, "")
  up.uprobe("./build/targets/strings:text", %s)
  all[%d] = { texts, numbers }
end]]):format(source, i)
  models[i] = model
end
script[#script + 1] = [[
up.at_exit(function()
  for i, maps in ipairs(all) do
    for _, map in ipairs(maps) do
      for k, v in map:pairs() do
        io.write(("%d %d %d %s\n"):format(i, k[1], k[2], (tostring(v):gsub("[%c\128-\255]", "?")))) end
    end
  end
end)
]]
local path = target.folder() .. "-random-strings.lua"
local file = assert(io.open(path, "w"))
file:write(table.concat(script, "\n"))
file:close()
local run = target.uplua(path .. " -- ./build/targets/strings")
if run.status ~= 0 then io.stderr:write(run.err, path, "\n") else os.remove(path) end
tap.is(run.status, 0, "the handlers run")
local losses = run.err:gsub("uplua: not everything was seen:\n",
  ""):gsub("  [%d,]+ × unreadable memory read as nil, [^\n]*:%d+\n", "")
tap.is(losses, "", "nothing is lost but what cannot be read")

local got = {}
for line in run.out:gmatch "[^\n]+" do
  local where, value = line:match "^(%d+ %d+ %d+) (.*)$"
  if where then got[where] = value end
end
local left = 0
for _ in pairs(got) do left = left + 1 end
for i, model in ipairs(models) do
  local different
  for n = 0, 22 do
    for place, value in pairs(model(n)) do
      local where = ("%d %d %d"):format(i, n, place)
      local want = tostring(value):gsub("[%c\128-\255]", "?")
      if got[where] ~= want then
        different = different or ("%s: got %s, want %s"):format(where, tostring(got[where]), want)
      end
      left = left - 1
    end
  end
  if not tap.ok(not different, "handler " .. i) then io.stderr:write("# ", different, "\n", script[i + 1], "\n") end
end
tap.is(left, 0, "every value that handlers left was expected")
target.done()
tap.done_testing()
