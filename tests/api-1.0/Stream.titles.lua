-- Stream.titles in 1.0
local view = require "uplua.view"
view.stream { { "name", "Name", "text", 6 }, { "count", "Count", "count", 7 } }:titles()
--> Name     Count
