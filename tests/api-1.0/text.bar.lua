-- text.bar in 1.0
local text = require "uplua.text"
print("|" .. text.bar(0.5, 4) .. "|")
--> |@@  |
