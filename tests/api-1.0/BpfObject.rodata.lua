-- BpfObject.rodata in 1.0
local up = require "uplua"
local tool = up.bpf_object "../objects/guest.bpf.o"
tool.rodata.limit = 9
print(tool.rodata.limit)
up.exit()
--> 9
