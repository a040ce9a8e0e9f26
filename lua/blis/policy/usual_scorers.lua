--- The scorers of routing policies for which a script says none.
local usual_scorers = {}

local design = {
  weighted = "prefix-affinity:3,queue-depth:2,kv-utilization:2",
  ["weighted-stateless"] = "queue-depth:2,kv-utilization:2,load-balance:1",
}
local go_blis = { weighted = "precise-prefix-cache:2,queue-depth:1,kv-utilization:1" }

--- "prefix-affinity:3,queue-depth:2,...": as the core has them; nil of policies without.
---@param name string of the routing policy
---@param is_go_blis? boolean under that profile
---@return string?
function usual_scorers.of(name, is_go_blis)
  return is_go_blis and go_blis[name] or design[name]
end

return usual_scorers
