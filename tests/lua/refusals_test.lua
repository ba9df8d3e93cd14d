-- What a handler cannot do is refused when it is compiled: with the file and line, what it is, and what to write
-- instead. Nothing is attached, and the status is 1. Runs once: nothing of it comes to the kernel.
local tap = require "tap"
local target = require "target"

-- { the handler's body, a pattern that the message has }
local patterns = {
  { [[for i = 1, 9, e.comm do m[i] = 1 end]], "strings have no order in a handler" },
  { [[for i = 1, 9, 0.5 do m[i] = 1 end]], "0.5 is not an integer: handlers compute with integers" },
  { [[for i = 1, 9, nil do m[i] = 1 end]], "arithmetic or comparison on a value that is always nil" },
  { [[for i = e.arg0, 9, up.u64(2) do m[i] = 1 end]],
    "a variable is an integer on one path to here and an unsigned integer on another" },
  { [[local last for i = 1, 9 do local r = { n = i } if last then m[i] = last.n end last = r end]],
    "a record made in a loop cannot be kept for its next round" },
  { [[m[1] = { n = 1 } local r = m[1] if r then for i = 1, 9 do q[i] = r.n m[i] = { n = i } end end]],
    "this record was read from 'm' at line 4, and 'm' has been assigned to since" },
  { "m[1] = { n = 1 } local old for i = 1, 9 do local r = m[i] " ..
    "if old then q[i] = old.n end m[5] = { n = i } old = r end",
    "this record was read from 'm' at line 4, and 'm' has been assigned to since" },
  { [[m[1] = { n = 1 } local r = m[1] if r then for i = 1, 9 do m[i] = r end end]],
    "this record was read from 'm' at line 4" },
  { [[local r = { n = 1 } for i = 1, 9 do r.n = i m[i] = r end]], "this record was stored at line 4, which copied it" },
  { [[m[1] = "a" .. e.comm]], "cannot build strings; emit the parts and join them in the ring's callback" },
  { [[if e.arg0 then m[1] = 1 end]], "always true: an integer is never nil or false; did you mean ~= 0%?" },
  { [[m[e:stack(5)] = 1]],
    "e:stack%(%) is whole and takes no depth; a tuple of parts does: { e:ustack%(8%), e:kstack%(8%) }" },
  { [[m[e.foo] = 1]], "no field 'foo'; it has time, pid.*, e%.args, e%.vars, e%.regs" },
  { [[m[e.foo] = 1]], require "ffi".arch == "x64" and "arg5, e.args" or "arg7, e.args" }, -- those that are in registers
  { [[m[e.ret] = 1]], "e.ret is known when the function returns: use uretprobe" },
  { [[m[e.args.size] = 1]], "uprobe .* has no argument .size.; it has a, b, c" },
  { [[e.arg0 = 1]], "the event's fields cannot be assigned to; use a local" },
  { [[mm[e.arg0] = 1]], "'mm' is nil: it is not set when the handler is compiled" },
  { [[nothing(e.arg0)]], "'nothing' is nil when the handler is compiled: there is no such function" },
  { [[m[e.arg0] = 1 m[e.comm] = 2]], "the key of 'm' is a string here, and an integer at .-%.lua:4" },
  { [[m[e.arg0] = e.comm m[1] = 2]], "the value of 'm' is an integer here, and a string at .-%.lua:4" },
  { [[m[1] = 1 m[1].x = 2]], "an integer has no fields" },
  { [[m[1] = { a = 1 } local r = m[1] m[2] = { a = e.comm }]],
    "the field 'a' of the records of 'm' is a string at .-%.lua:4, and an integer at .-%.lua:4" },
  { [[outside = e.arg0]],
    "a handler cannot assign to 'outside', a variable outside of it; have outside = up.var%(0%) outside, and " ..
    "outside:set%(value%) or outside:add%(n%) here\n" },
  { [[upvalue = e.arg0]],
    "a handler cannot assign to 'upvalue', a variable outside of it; have upvalue = up.var%(0%) outside, and " ..
    "upvalue:set%(value%) or upvalue:add%(n%) here\n" },
  { [[upvalue = 1]], "a handler cannot assign to 'upvalue', a variable" },
  { [[upvalue = "x"]], "a handler cannot assign to 'upvalue', a variable" },
  { [[upvalue = nil]], "a handler cannot assign to 'upvalue', a variable" },
  { [[keep({ e.arg0 })]], "a handler cannot assign to 'upvalue', a variable outside of it; .*called at .-%.lua:%d" },
  { [[up.printf(e.comm)]], "printf: the format is a string that is known when the handler is compiled" },
  { [[up.printf("%d\n", e.comm)]], "printf: %%d needs an integer, argument 2 is a string" },
  { [[up.printf("%s %x\n", e.comm, e.arg0 > 1)]], "printf: %%x needs an integer, argument 3 is a boolean" },
  { [[up.printf("%d\n", "5")]], "printf: %%d needs an integer, argument 2 is a string" },
  { [[up.printf("%d\n", nil)]], "printf: %%d needs an integer, argument 2 is always nil" },
  { [[up.printf("%q\n", e.arg0)]], "printf: %%q needs a string, argument 2 is an integer" },
  { [[up.printf("%d %d\n", e.arg0)]], "printf: the format has 2 conversions, but there is 1 value" },
  { [[up.printf("%d\n", e.arg0, e.arg1)]], "printf: the format has 1 conversion, but there are 2 values" },
  { [[up.printf("%y\n", e.arg0)]], "printf: '%%y' is no conversion; there are %%s, %%q, %%d" },
  { [[up.printf("%100d\n", e.arg0)]], "printf: '%%100d' is no conversion; .* with widths of two digits" },
  { [[up.printf("100%", e.arg0)]], "printf: '%%' is no conversion" },
  { [[up.printf("%s\n", m)]],
    "printf: argument 2 is a shared object; a handler prints integers, strings, booleans, stacks and records" },
  { [[up.printf("%s\n", constants)]], "printf: argument 2 is a table of the script" },
  { [[up.exit(256)]], "exit: the status is an integer from 0 to 255" },
  { [[up.exit(-1)]], "exit: the status is an integer from 0 to 255" },
  { [[up.exit("1")]], "exit: the status is an integer from 0 to 255" },
  { [[up.exit(e.comm)]], "exit: the status is an integer from 0 to 255, not a string" },
  { [[print("hi")]], "cannot call print: use up.printf" },
  { [[m[1] = 0.5]], "0.5 is not an integer: handlers compute with integers" },
  { [[m[1] = 1 / 3]], "0.33333333333333 is not an integer: handlers compute with integers" },
  { [[m[1] = 2 ^ e.arg0]], "'^' on values of the kernel" },
  { [[m[1] = #e.arg0]], "the length operator '#' is for strings, and this is an integer" },
  { [[m[1] = #constants]], "in a handler only strings have a length" },
  { [[m[1] = up.str()]], "up.str takes an address and perhaps a size: up.str%(e.arg0, 256%)" },
  { [[m[1] = up.str(e.arg0, e.arg1)]], "the size in up.str%(address, size%) is a constant from 1 to 4096 bytes" },
  { [[m[1] = up.str(e.arg0, 4097)]], "is a constant from 1 to 4096 bytes" },
  { [[m[1] = up.kstr(e.arg0, 0)]], "the size in up.kstr%(address, size%) is a constant from 1 to 4096 bytes" },
  { [[m[1] = up.str(e.comm)]], "up.str takes an address, such as e.arg0, not a string" },
  { [[m[1] = up.kstr(true)]], "up.kstr takes an address, such as e.arg0, not a boolean" },
  { [[m[1] = up.read_u64("x")]], "up.read_u64 takes an address, such as e.arg0, not a string" },
  { [[m[1] = up.read_i8(m)]], "up.read_i8 takes an address, such as e.arg0, not a shared object" },
  { [[m[1] = up.i32(e.comm)]], "up.i32 takes a number, not a string" },
  { [[m[1] = e.comm:upper()]], "cannot build strings; emit the parts and join them in the ring's callback" },
  { [[m[1] = ("x"):rep(9)]],
    "cannot call :rep%(…%): call it outside of the handler, which takes the result as a constant" },
  { [[m[up.sym(e.comm)] = 1]], "up.sym takes an address, such as e.caller, not a string" },
  { [[m[1] = ("x"):rep(e.arg0)]], "cannot build strings; emit the parts and join them in the ring's callback" },
  { [[m[1] = ("%d"):format(e.arg0)]], "cannot build strings; emit the parts and join them in the ring's callback" },
  { [[m[1] = e.comm:match("x")]],
    "cannot call string.match: a handler compares strings by ==, ~= and s:starts%(prefix%) and looks into them by " ..
    's:find%("text", 1, true%)' },
  { [[m[1] = e.comm:find("x", true)]], 'write s:find%("text", 1, true%)' },
  { [[m[1] = e.comm:find("a.c")]], [['%.' has a meaning in Lua's patterns, .* write s:find%(text, 1, true%)]] },
  { [[m[1] = e.comm:find(e.comm)]], "the text is a constant in a handler" },
  { [[m[1] = e.comm:find("x", -1)]], "begins at a constant place from 1 to 4096" },
  { [[m[1] = e.comm:find("x", e.pid)]], "begins at a constant place from 1 to 4096" },
  { [[m[1] = e.comm:find("x", 1, e.pid == 1)]], "plain is true or false when the handler is compiled" },
  { [[m[1] = e.comm:find("")]], "look for some text" },
  { [[m[1] = e.comm:find()]], "takes a constant string" },
  { [[m[1] = e.pid:find("x")]], ":find%(text%) is for strings, and this is an integer" },
  { [[m[1] = up.str(e.arg0, 2048):find("x", 1, true)]],
    "looks through a string of up to 2047 bytes; it can look through 1023: read fewer, as by " ..
    "up.str%(address, 1024%)" },
  { [[m[1] = e.comm:len()]], "cannot call string.len: use #s" },
  { [[m[1] = up.buf(e.arg0)]], "up%.buf takes an address, a size and perhaps the most bytes to keep" },
  { [[m[1] = up.buf(e.arg0, -1)]], "up%.buf%(address, size%): a size is not negative" },
  { [[m[1] = up.buf(e.arg0, e.arg1, e.arg2)]], "the most bytes to keep are a constant from 1 to 8192" },
  { [[m[1] = up.kbuf(e.arg0, e.arg1, 8193)]], "up%.kbuf.* the most bytes to keep are a constant from 1 to 8192" },
  { [[m[1] = up.buf(e.arg0, e.arg1, 0)]], "the most bytes to keep are a constant from 1 to 8192" },
  { [[m[1] = up.buf(e.comm, 4)]], "up%.buf takes an address, such as e%.arg0, not a string" },
  { [[m[1] = up.buf(e.arg0, e.comm)]], "up%.buf%(address, size%): the size is a number of bytes, not a string" },
  { [[m[1] = up.buf(e.arg0, 4) == "ELF"]], 'compares a buffer with a string: write #b == 3 and b:starts "abc"' },
  { [[local b = up.buf(e.arg0, 4) m[1] = b and b:starts(e.comm)]], "b:starts%(prefix%) of a buffer takes a constant" },
  { [[local b = up.buf(e.arg0, 4) m[1] = e.comm:starts(b)]], "b:starts%(prefix%) of a buffer takes a constant" },
  { [[m[e.comm] = 1 m[up.buf(e.arg0, 4)] = 2]], "the key of 'm' is a buffer here, and a string at" },
  { [[m[1] = up.buf(e.arg0, 4) + 1]], "arithmetic or order comparison on a buffer" },
  { [[up.printf("%q", up.buf(e.arg0, 4))]], "%%q needs a string, argument 2 is a buffer" },
  { [[m[1] = up.hex(e.comm)]], "a handler cannot call up.hex: texts are made in user space" },
  { [[m[1] = e.comm:ends("x")]],
    "cannot call :ends%(…%); of strings it knows s:starts%(prefix%), s:find%(text%), #s, == and ~=" },
  { [[if e.comm:starts(5) then m[1] = 1 end]], ":starts%(prefix%) is for strings, and this is a number" },
  { [[if e.comm:starts() then m[1] = 1 end]], "s:starts%(prefix%) takes one argument, a string" },
  { [[m["a\0b"] = 1]], "a string with a NUL byte cannot be used in a handler, where it would end there" },
  { [[if e.comm == "a\0b" then m[1] = 1 end]], "a string with a NUL byte" },
  { [[m[1] = { ["a\0b"] = 1 }]], "the name of a record's field contains a NUL byte" },
  { [[if big[1] and big[1].n == 5 then m[1] = 1 end]],
    "a value of 'big' takes 20%d%d%d bytes, with what the script has stored there" },
  { [[local s = "0123456789abcdef" s = s .. s .. s .. s s = s .. s .. s .. s
    s = s .. s .. s .. s s = s .. s .. s .. s m[1] = s]],
    "a string of 4096 bytes is too long for a handler" },
  { "m[1] = '" .. ("x"):rep(4096) .. "'", "a string of 4096 bytes is too long for a handler, where up to 4095 fit" },
  { [[local function f() end f()]], "cannot create functions; define the function outside and call it" },
  { [[recursive(e.arg0)]], "functions that call themselves cannot run in a handler.*called at .-%.lua:4" },
  { [[n[e.arg0] = 1]], "'n' is no map" },
  { [[n:inc() n[1]:inc()]],
    "%.lua:4: 'n' has no key here, and has one at %S+%.lua:4: give it one in both places, or use two of them\n" },
  { [[n.inc()]], "call it with a colon: object:inc" },
  { [[n:ink()]], "a count has no :ink%(%); a handler adds to it by :inc%(%) and :add%(value%)\n" },
  { [[n.ink()]], "a count has no :ink%(%); a handler adds" },
  { [[h:ink()]], "this aggregation has no :ink%(%); a handler adds to it by :add%(value%)\n" },
  { [[m:ink()]], "a map has no :ink%(%) in a handler: m%[key%] reads it, m%[key%] = value writes it" },
  { [[m[1]()]], "known when it is compiled; 'this' is none" },
  { [[m[1] = n[1]:get()]], "can only be added to in a handler" },
  { [[m[1] = m:get(1)]], "is for the script side: in a handler write m%[key%]" },
  { [[m[1] = m]], "a shared object cannot be stored in a map" },
  { [[local v = q[1] m[1] = v.n]], "indexes a value that is always nil: nothing ever stores into that map" },
  { [[if e.comm == 5 then m[1] = 1 end]], "compares a string with a number: they are never equal" },
  { [[if e.comm < "x" then m[1] = 1 end]],
    "strings have no order in a handler: compare them with ==, ~= or s:starts%(prefix%)" },
  { [[a.x = 1]], "'a' is an array: its keys are integers from 0 on, not a string" },
  { [[for k, v in pairs(m) do end]], "cannot " },
  { [[m[1] = select("#", ...)]], "'...' is not available in a handler" },
  { [[m[1] = { n = 1 } local r = m[1] if r then m[2] = nil r.n = 2 end]],
    "read from 'm' at line 4, and 'm' has been assigned to since" },
  { [[m[1] = { n = 1 } local r = m[1] if r then if e.arg0 > 1 then m[2] = { n = 2 } end q[1] = r.n end]],
    "this record was read from 'm'" },
  { [[local r = { n = 1 } m[1] = r r.n = 2]], "this record was stored at line 4, which copied it" },
  { [[constants.x = 1]], "a handler cannot assign to 'constants.x' in a table of the script; " ..
                         "have constants.x = up.var%(0%) outside, and constants.x:set%(value%) or " ..
                         "constants.x:add%(n%) here, or up.hash" },
  { [[constants.sub.x = 1]], "a handler cannot assign to 'constants.sub.x' in a table of the script" },
  { [[constants[e.arg0] = 1]],
    "cannot change 'constants', which belongs to the script; use up.var%(%) or up.hash%(%)" },
  { [[local s = up.cast("struct s *", e.arg0) m[1] = s.lenght]], "'struct s' has no field 'lenght'" },
  { [[local s = up.cast("strct s *", e.arg0)]],
    'up.cast%("strct s %*"%): declaration specifier expected near .strct.' },
  { [[local s = up.cast("struct missing *", e.arg0)]],
    'up.cast%("struct missing %*"%): undeclared or implicit tag .missing.' },
  { [[local s = up.cast("struct s", e.arg0)]],
    "up.cast makes pointers and integers, no 'struct s': write up.cast%(\"struct s %*\", address%)" },
  { [[local s = up.cast(e.comm, e.arg0)]],
    "up.cast takes a C type that is known when the handler is compiled and an address" },
  { [[local s = up.cast("struct s *", e.comm)]], "up.cast takes an address, such as e.arg0, not a string" },
  { [[m[1] = up.cast("struct s *", e.arg0).ratio]],
    "the field 'ratio' of 'struct s' is a double, which handlers cannot compute with" },
  { [[m[1] = up.cast("struct s *", e.arg0).wide]],
    "the field 'wide' of 'struct s' cannot be read in a handler: cannot convert 'long double'" },
  { [[m[1] = up.cast("double *", e.arg0)[0] ]],
    "the elements of 'double %*' are of type 'double', which handlers cannot compute with" },
  { [[m[1] = up.cast("struct s *", e.arg0).unknown.x]],
    "the type that a 'struct unknown %*' points to is not defined: give its definition to ffi.cdef" },
  { [[m[1] = up.cast("struct s *", e.arg0).nothing[0] ]], "a 'void %*' does not say what it points to: up.cast" },
  { [[m[1] = up.cast("struct s *", e.arg0).call.x]], "a 'int %(%*%)%(%)' points to code" },
  { [[m[1] = up.cast("struct s **", e.arg0).len]], "a 'struct s %*%*' has no fields; %[0%] is what it points to" },
  { [[m[1] = up.cast("struct s *", e.arg0).list.len]], "a 'int %[4%]' has no fields; %[0%] is its first element" },
  { [[m[1] = up.cast("struct s *", e.arg0).inner[0] ]], "a 'struct inner' has fields, no elements" },
  { [[m[1] = up.cast("struct s *", e.arg0).list[4] ]], "the index 4 is outside of 'int %[4%]'" },
  { [[m[1] = up.cast("struct s *", e.arg0).list[-1] ]], "the index %-1 is outside of 'int %[4%]'" },
  { [[m[1] = up.cast("struct s *", e.arg0).inner]],
    "a 'struct inner' of the traced program cannot be stored in a map: store what it holds, or its address" },
  { [[up.cast("struct s *", e.arg0).len = 1]], "a handler cannot write to traced memory" },
  { [[up.cast("int *", e.arg0)[e.arg1] = 1]], "cannot write to traced memory" },
  { [[m[1] = up.cast("int *", e.arg0) + 1]],
    "arithmetic or order comparison on a 'int %*'; index it, as in p%[1%], or compute with its address: up.u64%(p%)" },
  { [[if up.cast("int *", e.arg0) == e.arg0 then m[1] = 1 end]],
    "compares a 'int %*' with an integer: they are never equal; an address is up.u64%(p%)" },
  { [[if up.cast("struct s *", e.arg0).text == "x" then m[1] = 1 end]],
    "compares a 'char %*' with a string: they are never equal; up.str%(p%) reads a string" },
  { [[m[1] = #up.cast("struct s *", e.arg0).text]],
    "the length operator '#' is for strings, and this is a 'char %*'; up.str%(p%) reads one" },
  { [[m[1] = up.cast("struct s *", e.arg0).long_name]],
    "a 'char %[4096%]' of the traced program cannot be stored in a map: store what it holds" },
  { [[m[1] = package.loaded.ffi.C.NOTHING]], "ffi.C.NOTHING, which is no constant of C" },
  { [[local p = up.cast("int *", e.arg0) if e.arg1 > 2 then p = up.cast("char *", e.arg0) end m[1] = p[0] ]],
    "a variable is a 'int %*' on one path to here and a 'char %*' on another" },
  { [[local p = up.cast("int *", e.arg0) or 0 m[1] = p]],
    "a variable is a 'int %*' on one path to here and a number on another" },
  { [[local r = { x = 1 } m[1] = r[e.arg0] ]],
    "a record's fields have constant names; for keys computed in the handler use a map: up.hash" },
  { [[local r = { 1, 2 } m[1] = r[e.comm] ]],
    "a record's fields have constant names; for keys computed in the handler use a map: up.hash" },
  { [[local t = {} t[e.arg0] = 1 m[1] = t]],
    "which of a table's elements are written has to be seen from the key, .* the first 64: for i = 1, 8 do" },
  { [[local t = {} for i = 1, 65 do t[i] = 1 end m[1] = t]], "has to be seen from the key, .* the first 64" },
  { [[local t = {} for i = 0, 8 do t[i] = 1 end m[1] = t]], "has to be seen from the key, .* the first 64" },
  { [[local t, n = {}, 0 while n < 8 do n = n + 1 t[n] = 1 end m[1] = t]], "has to be seen from the key" },
  { [[local t = {} for i = 1, e.arg0 do t[i] = 1 end m[1] = t]], "has to be seen from the key" },
  { [[local t = {} for i = 1, 8 do t[i] = e.comm end m[1] = t]],
    "a table whose keys are computed holds integers, not a string: emit a record for each" },
  { [[local t = { "x" } for i = 2, 8 do t[i] = 5 end m[1] = t]],
    "the field '%[1%]' is an integer here, and a string at" },
  { [[local t = {} t[0] = 7 for i = 1, 8 do t[i] = 5 end m[1] = t]],
    "the elements of a table whose keys are computed are numbered from 1 on, and this one has %[0%]" },
  { [[local t = {} t[70] = 7 for i = 1, 8 do t[i] = 5 end m[1] = t]],
    "a table whose keys are computed has up to 64 elements, and this one has %[70%]" },
  { [[local t = {} for i = 1, 8 do t[i] = 5 end m[1] = #t]], "count its elements in a variable" },
}

-- { the handler's body, the whole message without the file and line 4; FILE where it is told with another line }
local messages = {
  { [[coroutine.yield(1)]], "a handler cannot use coroutines: it runs from its beginning to its end" },
  { [[local co = coroutine.create(recursive)]],
    "a handler cannot use coroutines: it runs from its beginning to its end" },
  { [[m[1] = thread]], "a thread cannot be stored in a map by a handler" },
  { [[local t = setmetatable({ x = 1 }, constants)]],
    "a handler cannot use metatables: its records have fields alone" },
  { [[getmetatable(constants)]], "a handler cannot use metatables: its records have fields alone" },
  { [[with_metatable(1)]],
    "a handler calls Lua functions that are known when it is compiled; 'with_metatable' is none" },
  { [[m[1] = string.format("%d", e.arg0)]],
    "a handler cannot build strings; emit the parts and join them in the ring's callback" },
  { [[m[1] = string.sub(e.comm, 1)]],
    "a handler cannot build strings; emit the parts and join them in the ring's callback" },
  { [[m[1] = tostring(e.arg0)]],
    "a handler cannot build strings; emit the parts and join them in the ring's callback" },
  { [[m[1] = table.concat({ "a" })]],
    "a handler cannot build strings; emit the parts and join them in the ring's callback" },
  { [[m[1] = string.len(e.comm)]], "a handler cannot call string.len: use #s" },
  { [[m[1] = string.find(e.comm, "x")]],
    'a handler cannot call string.find: write s:find("text", 1, true)' },
  { [[m[1] = string.match(e.comm, "x")]],
    "a handler cannot call string.match: a handler compares strings by ==, ~= and s:starts(prefix) and looks into " ..
    [[them by s:find("text", 1, true); do the rest in user space, in the ring's callback]] },
  { [[for k, v in ipairs(constants) do m[k] = v end]],
    "a handler cannot use the generic for; iterate in user space, with m:pairs()" },
  { [[for k, v in pairs(constants) do end]],
    "a handler cannot use the generic for; iterate in user space, with m:pairs()" },
  { [[for k, v in next, constants do end]],
    "a handler cannot use the generic for; iterate in user space, with m:pairs()" },
  { [[for k, v in m:pairs() do end]],
    "'m:pairs' is for the script side: in a handler write m[key], m[key] = value or m[key] = nil" },
  { [[mutual(e.arg0)]],
    [[FILE:2: functions that call themselves cannot run in a handler (line 2)
  called at FILE:2
  called at FILE:4]] },
  { [[local x = n[1] m[1] = x]],
    "a handler cannot read the aggregation 'n', it only adds to it; " ..
    "use an up.hash() or up.var() for values that handlers read" },
  { [[m[1] = n[1] + 1]],
    "a handler cannot read the aggregation 'n', it only adds to it; " ..
    "use an up.hash() or up.var() for values that handlers read" },
  { [[if n[1] > 5 then m[1] = 1 end]],
    "a handler cannot read the aggregation 'n', it only adds to it; " ..
    "use an up.hash() or up.var() for values that handlers read" },
  { [[if n[1] then m[1] = 1 end]],
    "a handler cannot read the aggregation 'n', it only adds to it; " ..
    "use an up.hash() or up.var() for values that handlers read" },
  { [[if n[1] == 5 then m[1] = 1 end]],
    "a handler cannot read the aggregation 'n', it only adds to it; " ..
    "use an up.hash() or up.var() for values that handlers read" },
  { [[m[1] = n + 1]], "arithmetic or order comparison on a shared object" },
  { [[m[1] = n:get()]], "'n:get' is for the script side: a handler only adds to an aggregation" },
  { [[m[1] = h:percentile(99)]], "'h:percentile' is for the script side: a handler only adds to an aggregation" },
  { [[if e.comm then m[1] = 1 end]], "this condition is always true: a string is never nil or false" },
  { [[if e:ustack() then m[1] = 1 end]], "this condition is always true: a stack is never nil or false" },
  { [[local r = { e.arg0 } m[1] = r[1] and 1 or 2 if r[1] then m[2] = 1 end]],
    "this condition is always true: an integer is never nil or false; did you mean ~= 0?" },
  { [[m[1] = 0.5 * e.arg0]],
    "0.5 is not an integer: handlers compute with integers; up.i64(a) / b cuts the fraction off" },
  { [[m[1] = e.arg0 / 0.5]],
    "0.5 is not an integer: handlers compute with integers; up.i64(a) / b cuts the fraction off" },
  { [[m[1] = bit.lshift(1, 31)]],
    "on Lua numbers this bit operation has 32 bits in Lua, " ..
    "and another result than with the 64 of a handler: write up.i64(1)" },
  { [[m[1] = bit.rshift(-1, 1)]],
    "on Lua numbers this bit operation has 32 bits in Lua, " ..
    "and another result than with the 64 of a handler: write up.i64(-1)" },
  { [[for i = 0, 3 do m[1] = bit.lshift(1, i) end]],
    "on Lua numbers bit.lshift has 32 bits in Lua, and 64 in a handler: write bit.lshift(up.i64(1), n)" },
  { [[for i = 0, 3 do m[1] = bit.band(i, 5) end]],
    "on Lua numbers bit.band has 32 bits in Lua, and 64 in a handler: write bit.band(up.i64(i), 5)" },
  { [[for i = 0, 3 do m[1] = bit.bnot(i) end]],
    "on Lua numbers bit.bnot has 32 bits in Lua, and 64 in a handler: write bit.bnot(up.i64(i))" },
  { [[for i = 0, 3 do m[1] = i / 2 end]], "a fraction in Lua: up.i64(i) / 2 cuts it off" },
  { [[for i = -1, 3 do m[1] = i % 3 end]],
    "% of a Lua number that may be negative, or by one that may be 0, has another result in Lua: write up.i64(i) % 3" },
  { [[for i = 3, -1, -1 do m[1] = i % 3 end]],
    "% of a Lua number that may be negative, or by one that may be 0, has another result in Lua: write up.i64(i) % 3" },
  { [[for i = 0, 3 do m[1] = 7 % i end]],
    "% of a Lua number that may be negative, or by one that may be 0, has another result in Lua: write up.i64(7) % n" },
  { [[n[e.arg0][e.arg1]:inc()]], "'n' has one key: for two write n[{ a, b }]" },
  { [[h[1][e.arg1]:add(1)]], "'h' has one key: for two write h[{ a, b }]" },
  { [[m[e.arg0][e.arg1] = 1]], "'m' has one key: for two write m[{ a, b }]" },
  { [[m[1] = 2 m[2] = m[e.arg0][e.arg1] ]], "'m' has one key: for two write m[{ a, b }]" },
  { [[m[1] = { x = 1 } m[1][e.arg0] = 2]], "'m' has one key: for two write m[{ a, b }]" },
  { [[up.printf("%s", up.cast("char **", e.arg0)[0])]],
    "printf: argument 2 is a 'char *', an address: up.str(p) is the text there" },
  { [[printf("x")]], "'printf' is nil when the handler is compiled: there is no such function: " ..
                     "say up.printf, of local up = require \"uplua\"" },
  { [[m[1] = bit.bswap(3)]], "bit.bswap of a Lua number swaps 4 bytes in Lua, and 8 in a handler: write up.i64(x)" },
  { [[m[1] = e.arg0 ^ 2]], "'^' on values of the kernel is not available in a handler; multiply" },
  { [[m[1] = bit.tohex(e.arg0)]], [[a handler cannot call bit.tohex: up.printf("%x", x) prints it]] },
  { [[local x m[1] = x + 1]], "arithmetic or comparison on a value that is always nil" },
  { [[local x m[1] = x.y]], "'x' is nil: it is not set when the handler is compiled" },
  { [[local x x()]], "'x' is nil when the handler is compiled: there is no such function" },
  { [[m[nil] = 1]], "the key of 'm' is always nil here" },
  { [[m[1] = -nil]], "arithmetic or comparison on a value that is always nil" },
  { [[pcall(mutual, 1)]], "a handler cannot raise or catch errors: return ends it, up.exit() ends the run" },
  { [[error("x")]], "a handler cannot raise or catch errors: return ends it, up.exit() ends the run" },
  { [[assert(e.arg0 > 0)]], "a handler cannot raise or catch errors: return ends it, up.exit() ends the run" },
  { [[if type(e.arg0) == "number" then m[1] = 1 end]],
    "a handler cannot call type: the type of each value is known when the handler is compiled" },
  { [[m[1] = tonumber(e.comm)]],
    "a handler cannot call tonumber: emit the string and convert it in the ring's callback" },
  { [[m[1] = select(2, 1, 2)]],
    "a handler cannot call select: a handler has as many values as are written there: " ..
    "name them, a tuple's are t[1], t[2]" },
  { [[m[1] = unpack(constants)]],
    "a handler cannot call unpack: a handler has as many values as are written there: " ..
    "name them, a tuple's are t[1], t[2]" },
  { [[m[1] = math.floor(e.arg0 / 2)]],
    "a handler cannot call math.floor: a handler computes with integers, which have no fraction: / cuts it off" },
  { [[m[1] = math.max(e.arg0, 3)]], "a handler cannot call math.max: write a > b and a or b" },
  { [[m[1] = math.min(e.arg0, 3)]], "a handler cannot call math.min: write a < b and a or b" },
  { [[m[1] = math.abs(e.arg0)]], "a handler cannot call math.abs: write x < 0 and -x or x" },
  { [[m[1] = math.random()]],
    "a handler cannot call math.random: a handler computes with integers: + - * / % and bit.*" },
  { [[io.write("x")]], "a handler cannot call io.write: use up.printf(format, …)" },
  { [[io.open("x")]],
    "a handler cannot call io.open: files are for user space: up.printf() prints, a ring's callback can write" },
  { [[m[1] = os.time()]],
    "a handler cannot call os.time: use e.time, which up.clock() shows as the wall clock's in user space" },
  { [[os.execute("x")]], "a handler cannot call os.execute: it is for user space" },
  { [[print(e.arg0)]], "a handler cannot call print: use up.printf(format, …)" },
  { [[rawget(constants, 1)]], "a handler cannot call rawget: use t[key]" },
  { [[require "x"]], "a handler cannot call require: load it outside: a handler can use what it gives" },
  { [[load("x")]], "a handler cannot call load: load it outside: a handler can use what it gives" },
  { [[table.insert(constants, 1)]],
    "a handler cannot call table.insert: a handler's records have the fields that they are written with; " ..
    "use up.hash() for what grows" },
  { [[ffi.cast("int", 1)]],
    "a handler cannot call ffi.cast: up.cast(\"struct name *\", address) reads structures, " ..
    "up.read_u64(address) and its kin words, up.str(address) strings, up.buf(address, size) bytes" },
  { [[m[1] = constants]], "a table of the script cannot be stored in a map by a handler" },
  { [[m[1] = e]], "the event cannot be stored in a map by a handler" },
  { [[m[1] = recursive]], "a function cannot be stored in a map by a handler" },
  { [[m[e] = 1]], "the event cannot be stored as a key by a handler" },
  { [[m[1] = { f = recursive }]], "a function cannot be stored in a record by a handler" },
  { [[m[1] = function() end]],
    "a handler cannot create functions; define the function outside and call it: it is inlined" },
  { [[r:emit(e.arg0)]], "a ring takes records: r:emit { name = value }, not an integer" },
  { [[r:emit(constants)]], "a ring takes records: r:emit { name = value }, not a table of the script" },
  { [[r:emit(nil)]], "emits a value that is always nil" },
  { [[r:each(print)]], "a handler can only :emit { … } into a ring" },
  { [[v:set("x")]], "the var 'v' was made for an integer, and is set to a string here" },
  { [[v:clear()]], "a handler can only :get(), :set(x) and :add(n) a var" },
  { [[m:set(1, 1)]], "'m:set' is for the script side: in a handler write m[key], m[key] = value or m[key] = nil" },
  { [[n:add("x")]], ":add(value) takes an integer, not a string" },
  { [[h:add(e.comm)]], ":add(value) takes an integer, not a string" },
  { [[up.every(1, print)]],
    "a handler cannot call up.every: probes and callbacks are declared by the script, not by handlers" },
  { [[up.now()]], "a handler cannot call up.now: use e.time" },
  { [[up.hash()]], "a handler cannot call up.hash: make it outside of the handler, which can use it then" },
  { [[up.clock(e.time)]],
    "a handler cannot call up.clock: texts are made in user space, in the ring's callback; up.printf() prints" },
  { [[up.site("x")]], "a handler cannot call up.site: it is for user space" },
  { [[m[1] = e.comm + 1]], "arithmetic or order comparison on a string" },
  { [[m[1] = {} == {}]], "records cannot be compared in a handler; compare fields" },
  { [[m[1] = {} < {}]], "arithmetic or order comparison on a record { }" },
  { [[inlined(e.arg0)]],
    [[FILE:2: a handler cannot build strings; emit the parts and join them in the ring's callback, ]] ..
    [[or take them as a key: { "name", e.arg0 }
  called at FILE:4]] },
  { [[dies(m[1])]],
    "FILE:2: this record was read from 'm' at line 4, and 'm' has been assigned to since, at line 2: " ..
    "take what you need before that, or keep up.copy(record)\n  called at FILE:4" },
}

-- What handlers find: lines 1 and 2 of each script, as what calls itself there is told with its line.
local OBJECTS = ([[
local up, ffi = require "uplua", require "ffi"
ffi.cdef "struct inner { int x; }; struct s { int len; double ratio; long double wide; struct unknown *unknown;
  void *nothing; int (*call)(int); int list[4]; struct inner inner; char *text, long_name[4096]; };"
local m, n, q, a, h = up.hash(), up.count(), up.hash(), up.array(), up.hist()
local v, r, big, constants, upvalue = up.var(0), up.ring(), up.hash(), { sub = {} }, 1
big:set(1, { a = ("x"):rep(20000), n = 5 })]]):gsub("\n", " ")
local FUNCTIONS = ([[
local function keep(x) upvalue = x end
local function recursive(x) return recursive(x) + 1 end
local mutual
local function other(x) return mutual(x) end
function mutual(x) return other(x) end
local function inlined(x) local s = x .. "" end
local function dies(r) m[2] = { n = 1 } r.n = 2 end
local with_metatable, thread = setmetatable({}, { __call = print }), coroutine.create(print)]]):gsub("\n", " ")

-- What a run says whose handler has BODY, as line 4.
local path = target.folder() .. "-refused.lua"
local function refused(body)
  local file = assert(io.open(path, "w"))
  file:write(OBJECTS, "\n", FUNCTIONS, "\n", ([[
up.uprobe("./build/targets/calls:add3", function(%s)
  %s
end)
]]):format(body:find("...", 1, true) and "e, ..." or "e", body))
  file:close()
  local run = target.uplua(path .. " -- ./build/targets/calls 1")
  os.remove(path)
  return run
end

local function is_error(run)
  tap.ok(run.status == 1 and run.err:find("%.lua:%d:") and not run.out:find "add3",
    "  … with its line; status 1, the target never ran")
end

for _, case in ipairs(patterns) do
  local run = refused(case[1])
  tap.like(run.err, case[2], case[1])
  is_error(run)
end

for _, case in ipairs(messages) do
  local run = refused(case[1])
  local want = case[2]:find("FILE", 1, true) and case[2] or "FILE:4: " .. case[2]
  tap.is(run.err, "uplua: " .. want:gsub("FILE", path) .. "\n", case[1])
  is_error(run)
end

-- The second instruction of add3, wherever that is: no register and no fixed place on the stack has the return address
-- there.
local inside, why = 0
repeat
  inside = inside + 1
  why = target.uplua(([[-e 'n = count() uprobe("./build/targets/calls:add3+%d", function(e) n[e.caller]:inc()
    end)' -- ./build/targets/calls 1]]):format(inside)).err
until inside == 15 or not why:find "no instruction starts"
tap.like(why, "%-e:1: e.caller is only known at a function's first instruction\n", "e.caller inside of a function")

-- A verifier would stop here if the compiler did not: nothing stays attached after a failure.
local run = target.uplua(
  [[-e 'n = count() uprobe("./build/targets/calls:add3", function(e) n:inc() end) error("stop")']] ..
  " -- ./build/targets/calls 1")
tap.is(run.status, 1, "an error in the main chunk ends the run")
tap.like(run.err, "%-e:1: stop", "… with its line")

-- Names that are globals of -e code alone.
local outside = target.script("local up = require 'uplua'\nlocal n = count()", "")
tap.like(outside.err,
  "script.lua:2: attempt to call global 'count' %(a nil value%): say up.count, of local up = require \"uplua\"\n",
  "in a file without up.")
outside = target.script("cuont()", "")
tap.like(outside.err, "script.lua:1: attempt to call global 'cuont' %(a nil value%); did you mean 'up.count'%?\n",
  "a slip in a name, in a file")
outside = target.uplua "-e 'n = cuont()'"
tap.like(outside.err, "%-e:1: attempt to call global 'cuont' %(a nil value%); did you mean 'count'%?\n", "in -e")
outside = target.script("nobody()", "")
tap.like(outside.err, "script.lua:1: attempt to call global 'nobody' %(a nil value%)\n",
  "what is no function of uplua's")
outside = target.script("local up = require 'uplua'\nup.uprbe('libc:malloc', print)", "")
tap.like(outside.err, "script.lua:2: attempt to call field 'uprbe' %(a nil value%); did you mean 'uprobe'%?\n",
  "what is nearly one")
outside = target.script("local up = require 'uplua'\nif not up.uprbe then ({}).uprbe2() end", "")
tap.like(outside.err, "script.lua:2: attempt to call field 'uprbe2' %(a nil value%)\n", "and what is not")
target.done()
tap.done_testing()
