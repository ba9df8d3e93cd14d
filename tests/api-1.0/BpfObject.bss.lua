-- BpfObject.bss in 1.0
local up = require "uplua"
local tool = up.bpf_object "../objects/guest.bpf.o"
print(tool.bss.total)
up.exit()
--> 0
