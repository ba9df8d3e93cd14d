-- plot.heat in 1.0
print(require "uplua.plot".heat({ { 1, 2 }, { 0, 9 } }, { "low", "high" }):match "high")
--> high
