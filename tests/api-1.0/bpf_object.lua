-- up.bpf_object in 1.0
local up = require "uplua"
local tool = up.bpf_object "../objects/guest.bpf.o"
print(tostring(tool):match "program on_twice")
up.exit()
--> program on_twice
