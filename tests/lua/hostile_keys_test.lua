-- Keys that the target chose: names of methods, control characters, what is no UTF-8, NULs; as strings and as buffers,
-- of every object with keys. `:get(key)` and `:pairs()` tell each apart. On build/targets/names, which calls
-- name(s, size, n) 23 + n times for the nth text.
local tap = require "tap"
local target = require "target"

local NAMES = { "top", "get", "set", "pairs", "size", "clear", "delete", "take", "kind", "id", "options", "name",
  "queued", "read", "count", "sum", "avg", "percentile", "bind", "__index", "nil", "inc", "add", "", "\27[2J",
  "\255\254", "a\nb", "\226\130", "abc", "abc…", "1", "a\0b", "a\0c", "\0", "\0\255\0" }

local quoted = {}
for i, name in ipairs(NAMES) do quoted[i] = ("%q"):format(name):gsub("\n", "n"):gsub("%z", "\\0") end
local names = "{ " .. table.concat(quoted, ", ") .. " }"

-- KEY: the handler's expression, of strings or buffers; the objects that it is a key of, and what to add where. Returns
-- for each object "ok" or what was wrong.
local script = [[
local up = require "uplua"
local NAMES, AS_BUFFERS = %s, %s
local function read(e) return %s end

local objects = {
  hash = up.hash(), lru_hash = up.lru_hash(), percpu_hash = up.percpu_hash(),
  declared = up.hash { key = %s, value = "u64" },
  count = up.count(), sum = up.sum(), min = up.min(), max = up.max(), stats = up.stats(), hist = up.hist(),
  lhist = up.lhist(0, 100, 10), hdr = up.hdr(2),
}
local hash, lru_hash, percpu_hash, declared = objects.hash, objects.lru_hash, objects.percpu_hash, objects.declared
local count, sum, min, max, stats = objects.count, objects.sum, objects.min, objects.max, objects.stats
local hist, lhist, hdr = objects.hist, objects.lhist, objects.hdr
up.uprobe("./build/targets/names:name", function(e)
  local k = read(e)
  if not k then return end
  hash[k] = (hash[k] or 0) + 1
  lru_hash[k] = (lru_hash[k] or 0) + 1
  percpu_hash[k] = (percpu_hash[k] or 0) + 1
  declared[k] = (declared[k] or 0) + 1
  count[k]:inc() sum[k]:add(1) min[k]:add(e.arg2) max[k]:add(e.arg2) stats[k]:add(1)
  hist[k]:add(1) lhist[k]:add(1) hdr[k]:add(1)
end)

-- How often a key was hit, by what an object has for it.
local function hits(kind, v)
  if v == nil then return nil end
  if kind == "percpu_hash" then
    local sum = v[0]
    for cpu = 1, #v do sum = sum + v[cpu] end
    return sum
  end
  if kind == "min" or kind == "max" then return 23 + v end
  return type(v) == "number" and v or v.count
end

-- What a string of the kernel is: it ends at the first NUL.
local wanted, distinct = {}, 0
for i, name in ipairs(NAMES) do
  local text = AS_BUFFERS and name or name:match "^%%Z*"
  if not wanted[text] then distinct = distinct + 1 end
  wanted[text] = wanted[text] or {}
  table.insert(wanted[text], 22 + i)
end

local function want(kind, list)
  local sum = 0
  for _, n in ipairs(list) do sum = sum + n end
  return kind == "min" and list[1] or kind == "max" and list[#list] or sum
end

local function check(kind, o, name)
  local seen, bad = 0, nil
  for key, value in o:pairs() do
    local text = AS_BUFFERS and key:bytes() or key
    seen = seen + 1
    if not wanted[text] or hits(name, value) ~= want(name, wanted[text]) then bad = ("pairs: %%q"):format(text) end
  end
  if seen ~= distinct then bad = ("pairs: %%d keys"):format(seen) end
  for text, list in pairs(wanted) do
    if hits(name, o:get(text)) ~= want(name, list) then bad = ("get: %%q"):format(text) end
  end
  local none = o:get "a\0bc"
  if none ~= nil and hits(name, none) and hits(name, none) ~= 0 then bad = "there is what is not" end
  if o:get(("x"):rep(5000)) ~= nil and kind ~= "aggregation" then bad = "there is what is too long" end
  if name ~= "percpu_hash" and (select(2, o:top(1, name ~= "min" and name ~= "max" and type(o:get "1") == "table" and
      "count" or nil)())) == nil then bad = "top" end
  local printed = tostring(o)
  if printed:find "[%%z\1-\9\11-\31\127]" or printed:find "\255" then bad = "prints what it should escape" end
  return bad or "ok"
end

up.at_exit(function()
  for name, o in up.sorted(objects) do
    local kind = (name:find "hash" or name == "declared") and "map" or "aggregation"
    print(name, check(kind, o, name))
    if kind == "aggregation" then print(name .. ":take()", check(kind, o:take(), name)) end
  end
  local deleted = hash:delete "top" and hash:delete "get" and not hash:delete "a\0bc" and
    not hash:delete(("x"):rep(5000))
  print("delete", deleted and hash:get "top" == nil and hash:size() == distinct - 2)
  hash:set("top", 5)
  print("set", hash:get "top")
end)
]]

local OBJECTS = { "hash", "lru_hash", "percpu_hash", "declared", "count", "sum", "min", "max", "stats", "hist", "lhist",
  "hdr" }

for _, case in ipairs {
  { "strings", "false", "up.str(e.arg0, 24)", '"string[24]"' },
  { "buffers", "true", "up.buf(e.arg0, e.arg1, 24)", '"bytes[24]"' },
} do
  local run = target.script(script:format(names, unpack(case, 2)), "-- ./build/targets/names")
  tap.is(run.err, "", case[1] .. ": nothing is lost")
  local results = {}
  for name, result in run.out:gmatch "([^\t\n]+)\t([^\n]*)" do results[name] = result end
  for _, name in ipairs(OBJECTS) do
    tap.is(results[name], "ok", ("%s as keys of %s"):format(case[1], name))
    if results[name .. ":take()"] then
      tap.is(results[name .. ":take()"], "ok", ("%s as keys of what %s:take() gives"):format(case[1], name))
    end
  end
  tap.is(results.delete, "true", case[1] .. " are deleted")
  tap.is(results.set, "5", case[1] .. " are set")
end

-- A script that the target's names reach.
local run = target.uplua("top.lua -k 'up.str(e.arg0)' -s e.arg1 -n 100 ./build/targets/names:name " ..
  "-- ./build/targets/names")
tap.like(run.out, "\n%s*top%s+23%s+[%d,]+%s+69\n", "top.lua shows a key called top, and its sum: 23 of 3 bytes")
target.done()
tap.done_testing()
