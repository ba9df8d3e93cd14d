-- BpfObject:attach in 1.0, on the shop
local up = require "uplua"
local tool = up.bpf_object "../objects/guest.bpf.o"
tool.rodata.enabled = true
tool:attach("on_others", "./shop:sell", { slide = false })
up.at_exit(function() print(tool.bss.total) end)
--> 101
