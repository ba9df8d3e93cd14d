/* The operations of the IR: OP(NAME, "its name in a listing"), a macro of whoever includes this. */
OP(CONSTANT, "constant")   /* .constant */
OP(EVENT, "event")         /* the handler's parameter */
OP(ARGUMENTS, "arguments") /* e.args; where NUMBER is not 0, e.vars */
OP(REGISTERS, "registers") /* e.regs */
OP(CELL, "cell")           /* args: key; .object: an aggregation's element, such as n[key] */
OP(METHOD, "method")       /* args: receiver; .name: bound, as in receiver:name() */
OP(PHI, "phi")
OP(PRESENT, "present") /* args: value; the same value where it is known not to be nil */
OP(ABSENT, "absent")   /* args: value; the same value where it is known to be nil or false */

OP(EVENT_FIELD, "event_field") /* .name, .event; .number: of a register, its offset in the context */
OP(USTACK, "ustack")
OP(KSTACK, "kstack") /* .number: depth */
OP(STACK, "stack")   /* args: the kernel's stack, the user's; the one below the other */
OP(ADD, "add")       /* to IR_CAST in a row, as switches name groups by their ends */
OP(SUB, "sub")
OP(MUL, "mul")
OP(DIV, "div")
OP(MOD, "mod")
OP(NEG, "neg")
OP(AND, "and")
OP(OR, "or")
OP(XOR, "xor")
OP(SHL, "shl")
OP(SHR, "shr")
OP(SAR, "sar")
OP(BNOT, "bnot")
OP(CAST, "cast") /* args: value; .number: bits, negative if signed */
OP(EQ, "eq")
OP(LT, "lt")
OP(LE, "le")             /* boolean */
OP(NOT, "not")           /* args: value; boolean, Lua's truth */
OP(TRUTH, "truth")       /* args: value; boolean, Lua's truth */
OP(READ, "read")         /* args: address; .number: bits, negative if signed; nil if unreadable */
OP(STRING, "string")     /* args: address; .number: bytes with the NUL, negative: the kernel's; nil if unreadable */
OP(BUFFER, "buffer")     /* args: address, size; .number: the most bytes kept, as of STRING; nil if unreadable */
OP(LENGTH, "length")     /* args: string; a num */
OP(STARTS, "starts")     /* args: string, prefix; boolean */
OP(FIND, "find")         /* args: string, constant; .number: where to begin, from 1 on; where the constant is, or nil */
OP(FIND_END, "find_end") /* args: IR_FIND; .number: bytes behind its first; where it ends, or nil */
OP(POINTER, "pointer")   /* args: address; .type.ctype: what up.cast makes of it; nil if 0 */

OP(RECORD, "record")           /* a new record; its shape is .type.record */
OP(GET_FIELD, "get_field")     /* args: record or pointer; .name or .number (tuple, element); .access: of a pointer */
OP(GET_ELEMENT, "get_element") /* args: pointer, index; .access */
OP(SET_FIELD, "set_field")     /* args: record, value */
OP(SET_ELEMENT, "set_element") /* args: record, value, index */
OP(COPY, "copy")               /* args: record; up.copy */

OP(MAP_GET, "map_get")       /* args: key; .object; nil if absent */
OP(MAP_SET, "map_set")       /* args: key, value */
OP(MAP_DELETE, "map_delete") /* args: key; boolean: it was there */
/* args: key, delta; an absent entry counts as 0; what was there before, nil if there is no room */
OP(MAP_FETCH_ADD, "map_fetch_add")
/* args: key, delta, and the read just before, if its entry is to be used; .number: 1 if an absent entry is inserted, 0
 * if it is an error */
OP(MAP_ADD, "map_add")
OP(FIELD_ADD, "field_add") /* args: record, delta; field as IR_GET_FIELD: one atomic add in place */
OP(AGGREGATE, "aggregate") /* args: value, key or none; .object: count, sum, hist */
OP(VAR_GET, "var_get")
OP(VAR_SET, "var_set")
OP(VAR_ADD, "var_add") /* args: none or value; .object */
OP(EMIT, "emit")       /* args: record, then what must not be nil; .object; .number: variant; .print; boolean */
OP(STOP, "stop")       /* no args: stops the process as SIGSTOP does; for uplua's own handlers */
OP(EXIT, "exit")       /* args: status or none; .object: ends the run; the handler's end follows */

OP(LOOP, "loop")     /* a round of a loop: counts against the handler's budget; each way back to a header passes one */
OP(JUMP, "jump")     /* .block->next[0] */
OP(BRANCH, "branch") /* args: condition (boolean); next[0] if true, next[1] if false */
OP(RETURN, "return")
