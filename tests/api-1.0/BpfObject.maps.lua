-- BpfObject.maps in 1.0
local up = require "uplua"
local tool = up.bpf_object "../objects/guest.bpf.o"
print(tostring(tool.maps.counts) ~= nil, tool.maps.values ~= nil)
up.exit()
--> true	true
