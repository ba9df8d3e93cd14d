-- A failing program made small: what can be left out while it still fails in the same way is left out.
local differential = require "differential"
local generate = require "generate"

local PATIENCE, SECONDS = 400, 60 -- tries, and how long

-- What failed in RESULT: of a refusal its text, but for names and numbers; of a difference what was left by whom, but
-- for keys and values.
local function kinds_of(result)
  if result[1] == "refused" then return { [result[2]:match "[^\n]*":gsub("%d+", ""):gsub("'[^']*'", "")] = true } end
  local kinds = {}
  for line in tostring(result[2]):gmatch "[^\n]+" do
    kinds[line:match "^%S+%s+lost %S+" or line:match "^%S+%s+%w+" or ""] = true
  end
  return kinds
end

-- True if RESULT fails in a way in which WANTED, the kinds of another, does, and in no other way.
local function fails_alike(result, wanted)
  local any = false
  for kind in pairs(kinds_of(result)) do
    if not wanted[kind] then return false end
    any = true
  end
  return any
end

-- All lists of statements in TREE, outer ones first.
local function lists_of(tree)
  local lists = {}
  local function visit(list)
    lists[#lists + 1] = list
    for _, node in ipairs(list) do
      for _, inner in ipairs(node.blocks or {}) do visit(inner) end
    end
  end
  for _, list in ipairs(tree) do visit(list) end
  return lists
end

local function replace(list, at, count, by)
  local before = { unpack(list) }
  for i = #list, 1, -1 do list[i] = nil end
  for i, node in ipairs(before) do
    if i == at then
      for _, other in ipairs(by) do list[#list + 1] = other end
    end
    if i < at or i >= at + count then list[#list + 1] = node end
  end
  return function()
    for i = #list, 1, -1 do list[i] = nil end
    for i, node in ipairs(before) do list[i] = node end
  end
end

-- Three ways to make PROGRAM smaller. TRY(undo) tells whether it still fails, and undoes the step if not.

local function drop_statements(program, try)
  local any = false
  for _, list in ipairs(lists_of(program.tree)) do
    local size = #list
    while size >= 1 do
      local at = 1
      while at + size - 1 <= #list do
        if try(replace(list, at, size, {})) then any = true else at = at + size end
      end
      size = math.floor(size / 2)
    end
    for at = #list, 1, -1 do
      for _, inner in ipairs(list[at] and not list[at].is_function and list[at].blocks or {}) do
        if try(replace(list, at, 1, inner)) then
          any = true
          break
        end
      end
    end
  end
  return any
end

local function drop_events(program, try)
  for i = #program.events, 1, -1 do
    local event = table.remove(program.events, i)
    try(function() table.insert(program.events, i, event) end)
  end
end

-- An expression in brackets becomes one of those in it, or a constant.
local function simplify(program, try)
  local any = false
  local function text(owner, name)
    local at = 1
    while true do
      local before = owner[name]
      local from, to = before:find("%b()", at)
      if not from then return end
      local group, done = before:sub(from, to), false
      local candidates = { "1LL", "0" }
      for inner in group:sub(2, -2):gmatch "%b()" do candidates[#candidates + 1] = inner end
      for word in group:gmatch "[%w_]+%.[%w_]+" do candidates[#candidates + 1] = word end
      for word in group:gmatch "%f[%w][%a_][%w_]*%f[^%w_%.:%(%[]" do candidates[#candidates + 1] = word end
      for _, candidate in ipairs(candidates) do
        if candidate ~= group and #candidate < #group then
          owner[name] = before:sub(1, from - 1) .. "(" .. candidate:gsub("^%((.*)%)$", "%1") .. ")" ..
            before:sub(to + 1)
          if owner[name] ~= before and #owner[name] < #before and try(function() owner[name] = before end) then
            any, done = true, true
            break
          end
          owner[name] = before
        end
      end
      if not done then at = from + 1 end
    end
  end
  for _, list in ipairs(lists_of(program.tree)) do
    for _, node in ipairs(list) do
      if node[1] then text(node, 1) end
      if node.head then text(node, "head") end
      if node.tail then text(node, "tail") end
    end
  end
  return any
end

-- PROGRAM's smallest source that fails as RESULT does, and how.
return function(program, result)
  local wanted, tries, details, stop = kinds_of(result), 0, result[2], os.time() + SECONDS
  local function fails()
    tries = tries + 1
    program.source = generate.source(program)
    if tries > PATIENCE or os.time() > stop or not load(program.source) then return false end
    local now = differential.check({ program })[1]
    if now[1] ~= result[1] or not fails_alike(now, wanted) then return false end
    details = now[2]
    return true
  end
  -- Tries to leave out, or to put a simpler thing in place; returns whether that fails as well.
  local function try(undo)
    if fails() then return true end
    undo()
    return false
  end

  if fails() then
    repeat
      drop_events(program, try)
      local any = drop_statements(program, try)
      any = simplify(program, try) or any
    until not any or tries > PATIENCE or os.time() > stop
  else
    details = details .. "\n(it does not fail when it is run alone)"
  end
  program.source = generate.source(program)
  local events = {}
  for i, event in ipairs(program.events) do
    local words = {}
    for k, word in ipairs(event[2]) do words[k] = tostring(word) end
    events[i] = ("-- handler %d on { %s }"):format(event[1], table.concat(words, ", "))
  end
  return { program.source:match "\n\n(.*)" or program.source, table.concat(events, "\n") .. "\n" .. tostring(details) }
end
