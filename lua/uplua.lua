-- The public API. `require "uplua"` returns this table; in `-e` code and at the prompt its functions are globals.
--
-- Each name belongs to a module, which is loaded when the name is first used: a script that counts calls does not pay for
-- histograms.
local home = {
  -- shared objects
  hash = "hash", lru = "hash", array = "hash", percpu_hash = "hash",
  count = "count", sum = "count", min = "count", max = "count", stats = "count",
  hist = "hist", lhist = "hist", hdr = "hist",
  var = "var", ring = "ring", copy = "record",

  -- probes
  uprobe = "setup", uretprobe = "setup",

  -- the run
  every = "loop", after = "loop", at_stop = "loop", at_exit = "loop", exit = "loop",

  -- text
  printf = "text", clock = "text", now = "text", sorted = "order",

  -- the script's own options
  args = "args",
}

local up = {}

return setmetatable(up, {
  __index = function(_, name)
    local module = home[name]
    local value
    if module then
      value = require("uplua." .. module)[name]
    end
    up[name] = value
    return value
  end,
})
