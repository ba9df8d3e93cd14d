-- specs.where in 1.0
local where = require "uplua.specs".where
print(where[1], where[2], where[3], where.of_argument)
--> where,w	EXPR	string	true
