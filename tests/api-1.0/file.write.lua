-- file.write in 1.0
local file = require "uplua.file"
local path = os.tmpname()
print(file.write(path, "text"), (file.write("/nonexistent/x", "text")))
os.remove(path)
--> true	nil
