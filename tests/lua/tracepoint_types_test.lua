-- The fields of tracepoints as the kernel's types have them, which --check takes without rights, are those that tracefs
-- tells: all tracepoints of this kernel of which both tell.
local core = require "uplua.core"
local tap = require "tap"
local tracepoint = require "uplua.probe.providers.tracepoint"

local ok, names = pcall(core.tracepoint.match, "*:*")
if not ok then tap.skip_rest(tostring(names)) end

-- What the argument is to a handler: whether a text's characters are signed is nothing to it.
local function shown(argument)
  local bits = argument.kind ~= "string" and argument.bits
  return ("%s at %d: %s %s %s %s"):format(argument.name, argument.offset or -1, argument.place, tostring(argument.kind),
    tostring(bits), tostring(argument.size))
end

local compared, fields, bytes = 0, 0, 0
for _, spec in ipairs(names) do
  local types = not spec:find "^syscalls:" and core.tracepoint.of_types(spec)
  if types then
    compared = compared + 1
    local want = core.tracepoint.find(spec):fields()
    local a = tracepoint.arguments(types:fields())
    local b = tracepoint.arguments(want)
    tap.is(#a, #b, spec .. " has so many fields")
    for i = 1, math.min(#a, #b) do
      fields = fields + 1
      if want[i].where ~= "here" and not want[i].type:find "char" then
        bytes = bytes + 1 -- the types do not tell characters from others
      elseif shown(a[i]) ~= shown(b[i]) then
        local name = spec .. "." .. want[i].name
        tap.is(shown(a[i]) .. " " .. types:fields()[i].type, shown(b[i]) .. " " .. want[i].type, name)
      end
    end
  end
end
print(("# %d tracepoints, %d fields, of which %d are of no characters"):format(compared, fields, bytes))
tap.ok(compared > 100, "the types tell of many: " .. compared)
tap.is(core.tracepoint.of_types "sched:no_such", nil, "of one that is not there they do not")
tap.is(core.tracepoint.of_types "sched_switch", nil, "nor of a name without a system")
tap.done_testing()
