-- up.hex in 1.0
local up = require "uplua"
print(up.hex("\127ELF"), up.hex("\1\2", " "))
--> 7f454c46	01 02
