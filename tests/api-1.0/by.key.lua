-- by.key in 1.0
local by = require "uplua.by"
print(by.key[1], by.key[2], by.key[3], by.key.several)
--> key,k	[NAME=]EXPR	string	true
