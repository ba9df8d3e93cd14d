-- Modules that need more rights, while the run lasts, than a service keeps (uplua.service.rights).
local privilege = {}

local reason

-- keep(why): WHY the rights that the run began with are needed, for people; to be called when the module is loaded.
function privilege.keep(why) reason = why end

-- kept() → that; nil where nobody needs them.
function privilege.kept() return reason end

return privilege
