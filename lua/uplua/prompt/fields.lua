-- What a handler may write behind a structure that it reads: the fields of e.args.config.inner, of e.task.mm.
local types = require "uplua.types"

local fields = {}

-- The structure that TYPE is or points to; nil: it has no fields.
local function structure(type)
  if type and type.kind == "pointer" then type = type:target() end
  return type and type.kind == "struct" and type or nil
end

-- Adds the fields of TYPE, and of its parts without a name, to LIST, name → type. Handlers have no floating point.
local function collect(type, list)
  for _, field in ipairs(type:fields()) do
    local inner = field.type
    if field.name and field.name ~= "" then
      if inner and inner.kind ~= "float" then list[field.name] = inner end
    elseif structure(inner) and inner.kind ~= "pointer" then
      collect(inner, list)
    end
  end
  return list
end

-- The type that PATH, "args.config" or "task", begins with, of the event of a probe of KIND at SPEC, and what of PATH
-- is behind that; nil: nobody knows.
local function start(path, kind, spec)
  local rest = path:match "^task%f[^%w_](.*)$"
  if rest then return types.kernel "struct task_struct", rest end
  local name
  name, rest = path:match "^args%.([%w_]+)(.*)$"
  if not (name and kind and spec) then return nil end
  return types.argument(("%s:%s"):format(kind, spec), name), rest
end

-- of(path, kind, spec): the fields of what "e." .. PATH is, name → type, in a handler of a probe of KIND at SPEC;
-- empty where it has none.
function fields.of(path, kind, spec)
  local ok, found = pcall(function()
    local type, rest = start(path, kind, spec)
    for name in (rest or ""):gmatch "[%w_]+" do
      type = structure(type)
      type = type and collect(type, {})[name]
    end
    type = structure(type)
    return type and collect(type, {})
  end)
  return ok and found or {}
end

return fields
