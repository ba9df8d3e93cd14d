-- What the interpreter is run with: some of all that it has.
local words = {}
for i = 1, 50 do words[#words + 1] = ("word%d"):format(i) .. string.rep("x", i % 7) end
table.sort(words, function(a, b) return #a < #b or #a == #b and a < b end)
local text = table.concat(words, " ", 1, 40)
print(#text, text:gsub("%w+", string.upper), text:find("word9", 1, true), text:byte(1, 5), text:match "(%a+)(%d+)")
local meta =
  setmetatable({},
    { __index = function(_, k) return k .. "!" end, __call = function(_, ...) return select("#", ...) end,
      __len = function() return 7 end,
  __add = function(a, b) return type(a) .. type(b) end, __eq = function() return true end,
    __lt = function() return false end, __close = function() end, __gc = function() end })
print(meta.a, meta(1, 2, 3), #meta, meta + 1, meta == setmetatable({}, getmetatable(meta)), meta < meta)
local co = coroutine.wrap(function(a) for i = 1, 3 do a = coroutine.yield(a + i) end error { "end" } end)
print(pcall(co, 1), co(2), co(3), pcall(co, 4))
print(pcall(load, "return 1 +"), load("return 1 + 2 * 3 ^ 2 // 1 % 5 << 2 | 1")(), math.type(3 // 1), 7 // 2, 7.5 // 2,
  -7 % 3, 2 ^ 0.5)
print(string.pack(">i4z", 100, "ab"):byte(1, -1), utf8.char(228, 8364), utf8.len "äöü", tostring(1e15),
  tonumber "0x1p4", math.tointeger(3.0))
local weak = setmetatable({}, { __mode = "k" })
for i = 1, 20 do weak[{}] = i end
collectgarbage() collectgarbage "incremental" collectgarbage "generational" collectgarbage "step"
goto done
do local x <close> = meta end
::done::
for k, v in pairs { 1, 2, x = 3, y = { z = 4 } } do print(k, type(v)) end
local chunk = string.dump(function(a, ...) local t = { ... } return function() a = a + 1 return a, #t end end)
print(load(chunk, "chunk", "b")(1, 2, 3)())
print(os.time { year = 2000, month = 1, day = 1, hour = 12 } > 0, os.getenv "HOME", select(-1, 1, 2, 3), next {},
  rawlen { 1 }, rawequal(1, 1))
print(debug.traceback "here", debug.getinfo(1, "Sl").currentline, xpcall(error, function(m) return m end, "message"))
local file = io.tmpfile()
file:write("a line\n", 42, "\n") file:seek "set"
for line in file:lines "L" do io.write(line) end
file:close()
