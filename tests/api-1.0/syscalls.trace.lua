-- syscalls.trace in 1.0, on the shop
require "uplua.syscalls".trace("write,exit_group", { strings = 100 }, function(call)
  local first = call.arguments[1]
  if call.ret then print(call.name, first.name, first.text, call.ret > 0, call.elapsed > 0, #call.arguments) end
  if not call.ret then print(call.line, call.result) end
end)
--> write	fd	1	true	true	3
--> exit_group(error_code=0) = ?	?
