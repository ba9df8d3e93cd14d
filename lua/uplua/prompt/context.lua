-- Where the cursor stands in Lua that is not complete yet: in a string, in which call, in which function. For
-- completion, which has to make sense of what no compiler would take.
local context = {}

local OPENS = { ["function"] = true, ["do"] = true, ["if"] = true, ["repeat"] = true }
local CLOSES = { ["end"] = true, ["until"] = true }
local KEYWORDS = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true
               until while]]):gmatch "%a+" do KEYWORDS[word] = true end
local CLOSING = { ["("] = ")", ["{"] = "}", ["["] = "]" }

local Reader = {}
Reader.__index = Reader

local function push(self, frame)
  self.stack[#self.stack + 1] = frame
  self.path = nil
end

-- Takes frames off, up to one that OPENED what now closes; nothing where there is none.
local function pop(self, opened)
  for i = #self.stack, 1, -1 do
    local frame = self.stack[i]
    if opened(frame) then
      for k = #self.stack, i, -1 do self.stack[k] = nil end
      self.path = nil
      return frame
    end
  end
end

-- The string that begins at AT with QUOTE: where it ends, or nil.
local function string_end(source, at, quote)
  local i = at + 1
  while i <= #source do
    local c = source:sub(i, i)
    if c == "\\" then i = i + 1 elseif c == quote then return i elseif c == "\n" then return i end
    i = i + 1
  end
end

-- Notes TEXT, a whole string: an argument of the call that it stands in, or the only one of what stands before it.
local function note_string(self, text)
  local top = self.stack[#self.stack]
  if not self.path and top and top.strings then table.insert(top.strings, text) end
  self.path = nil
end

-- Reads what begins at AT; returns where the next thing begins, or nil where the source ends inside of it.
function Reader:read(at)
  local source = self.source
  local space = source:match("^%s+()", at)
  if space then return space end
  if source:find("^%-%-", at) then
    local level = source:match("^%-%-%[(=*)%[", at)
    local stop = level and select(2, source:find("]" .. level .. "]", at, true)) or source:find("\n", at, true)
    self.comment = not stop
    return stop and stop + 1
  end
  local level = source:match("^%[(=*)%[", at)
  if level then
    local _, stop = source:find("]" .. level .. "]", at, true)
    return stop and stop + 1
  end
  local quote = source:match("^[\"']", at)
  if quote then
    local stop = string_end(source, at, quote)
    if not stop then
      self.typed = source:sub(at + 1)
      return nil
    end
    note_string(self, source:sub(at + 1, stop - 1))
    return stop + 1
  end
  local word, after = source:match("^([%a_][%w_]*)()", at)
  if word then
    self:word(word)
    return after
  end
  self:punctuation(source:sub(at, at))
  return at + 1
end

function Reader:word(word)
  if OPENS[word] then
    local parent = self.stack[#self.stack]
    push(self, { block = word, call = parent and parent.called and parent or nil, names = {} })
    self.declares = word == "function"
  elseif CLOSES[word] then
    pop(self, function(frame) return frame.block end)
  elseif KEYWORDS[word] then
    self.path = nil
  elseif self.parameters then
    table.insert(self.parameters, word)
  else
    self.path = self.separator and self.path and self.path .. self.separator .. word or word
  end
  self.separator = nil
end

function Reader:punctuation(c)
  if (c == "." or c == ":") and self.path and not self.separator then
    self.separator = c
    return
  end
  self.separator = nil
  if CLOSING[c] then
    if self.declares and c == "(" then
      self.parameters = self.stack[#self.stack].names
      self.declares = false
      push(self, { open = c })
    else
      local parent = self.stack[#self.stack]
      local called = self.path or c == "{" and parent and parent.called or nil
      local strings = not self.path and parent and parent.called == called and parent.strings or {}
      push(self, { open = c, called = c ~= "[" and called or nil, strings = strings, options = c == "{",
                   argument = 1 })
    end
  elseif c == ")" or c == "}" or c == "]" then
    pop(self, function(frame) return frame.open and CLOSING[frame.open] == c end)
    self.parameters = nil
  else
    self.path = nil
    local top = self.stack[#self.stack]
    if c == "," and top and top.argument then top.argument = top.argument + 1 end
  end
end

-- at(source) → of its end: typed = the string that is open, or nil; called = the name of the function, "uprobe",
-- "p:replace", in whose arguments it stands, or nil; argument = which of them, a number; options = true in a table
-- there; strings = the strings before it there; handler(name) → the call, { called, strings }, of whose argument, a
-- function, NAME is the first parameter; comment = true in a comment.
function context.at(source)
  local self = setmetatable({ source = source, stack = {} }, Reader)
  local at = 1
  while at and at <= #source do at = self:read(at) end
  local top = self.stack[#self.stack] or {}
  local result = {
    typed = self.typed, comment = self.comment, called = self.typed and self.path or top.called,
    argument = top.argument, options = top.options, strings = top.strings or {},
  }
  function result.handler(name)
    for i = #self.stack, 1, -1 do
      local frame = self.stack[i]
      if frame.names and frame.names[1] == name then return frame.call end
    end
  end
  return result
end

return context
