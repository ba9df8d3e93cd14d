-- specs.counted in 1.0
local specs = require "uplua.specs"
print(specs.counted "perf:page-faults", specs.counted "perf:page-faults:100", specs.counted "libc:malloc")
--> page-faults	nil	nil
