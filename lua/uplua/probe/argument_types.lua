-- What --list and trace say of arguments: the types that handlers see.
local argument_types = {}

-- "i32": of ARGUMENT (uplua.probe.handler), a number.
function argument_types.of(argument)
  if argument.place == "nowhere" then return "?" end
  return (argument.bits < 0 and "i" or "u") .. math.abs(argument.bits)
end

-- Of ARGUMENTS those that handlers can use: { { name, type, source = their types in the kernel's code }, … }.
function argument_types.list(arguments)
  local list = {}
  for _, argument in ipairs(arguments) do
    if argument.place ~= "nowhere" then
      local array = ("%s[%d]"):format(argument.bits and argument_types.of(argument) or "", argument.size or 0)
      local types = { string = "string", boolean = "boolean", array = array }
      local type = types[argument.kind] or argument_types.of(argument)
      list[#list + 1] = { name = argument.name, type = type, source = argument.type }
    end
  end
  return list
end

return argument_types
