-- The longest times in each state, with who ended them: the handlers tell of those alone that are longer than the
-- shortest of these, and of what the script wants to hear of.
local text = require "uplua.base.text"

local longest = {}
local Longest = {}
Longest.__index = Longest

-- Sets what the handlers compare with: from so many ns on they tell of times in STATE.
local function set_least(self, state)
  local kept = self.kept[state]
  local least = self.most > 0 and (#kept < self.most and 0 or kept[#kept].elapsed + 1) or nil
  for _, listener in ipairs(self.listeners[state]) do
    if not least or listener.least < least then least = listener.least end
  end
  if least ~= self.least[state] then
    self.least[state] = least
    self.over:set(state, least)
  end
end

local function keep(self, s)
  local kept = self.kept[s.state]
  local i = #kept
  while i > 0 and kept[i].elapsed < s.elapsed do i = i - 1 end
  if i >= self.most then return end
  table.insert(kept, i + 1, s)
  kept[self.most + 1] = nil
  set_least(self, s.state)
end

-- tell(state, least, fn): fn(s) for times of STATE, a number, of LEAST ns or more.
function Longest:tell(state, least, fn)
  table.insert(self.listeners[state], { least = least, fn = fn })
  set_least(self, state)
end

-- of(state): the longest of STATE, a number, the longest first.
function Longest:of(state) return self.kept[state] end

-- clear(): begins anew; what `of` has returned stays as it is.
function Longest:clear()
  for state = 1, #self.kept do
    self.kept[state] = {}
    set_least(self, state)
  end
end

-- new(owner, most): the longest of OWNER, MOST for each state.
function longest.new(owner, most)
  local up = require "uplua"
  local self = setmetatable({ most = most, over = owner.over, kept = {}, listeners = {}, least = {} }, Longest)
  for state = 1, #owner.names do
    self.kept[state], self.listeners[state] = {}, {}
    owner.over:set(state, most > 0 and 0 or 2 ^ 53)
  end
  owner.long:each(function(record)
    local r = up.copy(record)
    local s = { state = r.state, name = owner.names[r.state], key = r.key, since = r.since, elapsed = r.elapsed,
                cause = r.cause, pid = r.pid, tid = r.tid, comm = r.comm, stack = r.stack }
    if self.most > 0 then keep(self, s) end
    for _, listener in ipairs(self.listeners[s.state]) do
      if s.elapsed >= listener.least then listener.fn(s) end
    end
  end)
  return self
end

return longest
