-- A first version.
p = uprobe("./build/targets/calls:name", function(e) return end)
