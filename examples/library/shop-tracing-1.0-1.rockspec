-- A script library as LuaRocks installs it: `luarocks --lua-version 5.1 make --local` here, and `uplua shop_deliveries.lua`
-- runs from anywhere. Modules are for `require`, scripts/ is run by name.
rockspec_format = "3.0"
package = "shop-tracing"
version = "1.0-1"
source = { url = "git+file://." }
description = {
  summary = "What a shop's program does, by uplua",
  license = "GPL-3.0-or-later",
}
dependencies = { "lua == 5.1" }
build = {
  type = "builtin",
  modules = { ["shop.streets"] = "shop/streets.lua" },
  copy_directories = { "scripts" },
}
