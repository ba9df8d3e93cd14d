-- by.container in 1.0
local by = require "uplua.by"
print(by.container("/docker-" .. ("3f4e5a6b"):rep(8) .. ".scope"), by.container "/system.slice/cron.service")
--> docker-3f4e5a6b3f4e	nil
