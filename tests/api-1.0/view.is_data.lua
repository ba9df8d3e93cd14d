-- view.is_data in 1.0
print(require "uplua.view".is_data())
--> false
