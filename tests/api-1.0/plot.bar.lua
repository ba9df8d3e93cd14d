-- plot.bar in 1.0
print("|" .. require "uplua.plot".bar(0.5, 10) .. "|")
--> |@@@@@     |
