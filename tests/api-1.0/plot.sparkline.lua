-- plot.sparkline in 1.0
print(#require "uplua.plot".sparkline { 1, 5, 22 } >= 3)
--> true
