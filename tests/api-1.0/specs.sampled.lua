-- specs.sampled in 1.0
local specs = require "uplua.specs"
print(specs.sampled("cpu-clock:u", 99), specs.sampled("page-faults", 99), specs.sampled("libc:malloc", 99))
--> perf:cpu-clock:u@99	perf:page-faults	nil
