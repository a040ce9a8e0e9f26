--- The models that the instances of a cluster serve.
local served = {}

--- Returns the models that are served, each once. Case does not matter.
---@param cluster table as blis.engine returns it
---@return string[]
function served.models_of(cluster)
  local models, is_known = {}, {}
  for _, group in ipairs(cluster.groups or { cluster }) do
    if not is_known[group.model:lower()] then models[#models + 1] = group.model end
    is_known[group.model:lower()] = true
  end
  return models
end

local function differ_by_owner(a, b)
  local a_name, b_name = a:match "/([^/]*)$", b:match "/([^/]*)$"
  return not b_name and a_name == b or not a_name and b_name == a
end

--- Returns the served models that a name means, as the core finds them: the model of that name,
--- otherwise all models that differ from it only by the owner.
---@param model string
---@param models string[] as models_of returns them
---@return string[]
function served.find(model, models)
  local found = {}
  for _, known in ipairs(models) do
    if known:lower() == model:lower() then return { known } end
    if differ_by_owner(known:lower(), model:lower()) then found[#found + 1] = known end
  end
  return found
end

return served
