-- up.require_version in 1.0
local up = require "uplua"
up.require_version "1.0"
print "goes on"
--> goes on
