-- BpfObject.data in 1.0
local up = require "uplua"
local tool = up.bpf_object "../objects/guest.bpf.o"
tool.data.started = 24
print(tool.data.started)
up.exit()
--> 24
