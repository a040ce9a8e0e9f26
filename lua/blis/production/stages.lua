--- Policies of stages in a cluster that may not have these stages.
local stages = {}

--- The disaggregation options that apply to a cluster; nil without pools.
---@param disaggregation any in the form of an experiment
---@param cluster table
---@return any
function stages.fitting(disaggregation, cluster)
  if not cluster.prefill_instances then return nil end
  if type(disaggregation) ~= "table" or cluster.encode_instances then return disaggregation end
  local fitting = {}
  for key, value in pairs(disaggregation) do
    if not tostring(key):match "^encode_" then fitting[key] = value end
  end
  return fitting
end

return stages
