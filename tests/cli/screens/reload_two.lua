-- A second version.
a = uprobe("./build/targets/calls:six", function(e) return end)
b = uprobe("./build/targets/calls:name", function(e) return end)
