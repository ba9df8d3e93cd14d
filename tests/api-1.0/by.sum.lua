-- by.sum in 1.0
local by = require "uplua.by"
print(by.sum[1], by.sum[2], by.sum[3], by.sum.several)
--> sum,s	[NAME=]EXPR	string	true
