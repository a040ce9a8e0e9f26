--- Old names of metrics. Files of earlier versions contain them, and paths of metrics accept them
--- until 2.0.0.
local notices = require "blis.notices"

local renamed = {}

-- { old path, new path }. Only the last name of a path changes. A row applies to the paths that the
-- rows above return.
local rows = {
  { "cache_belief", "cache_prediction" },
  { "cache_prediction.believed_tokens", "cache_prediction.predicted_tokens" },
  { "cache_prediction.believed_hit_rate", "cache_prediction.predicted_hit_rate" },
  { "presence", "instance_counts" },
  { "scaling.phases.short", "scaling.phases.under_provisioned" },
  { "scaling.phases.surplus", "scaling.phases.over_provisioned" },
  { "timeline_log.whole_until_us", "timeline_log.complete_until_us" },
}

--- The path of a metric under its current names.
---@param path string
---@return string
function renamed.current(path)
  for _, row in ipairs(rows) do
    local old = row[1]
    local is_below = path:sub(1, #old + 1) == old .. "."
    if path == old or is_below then path = row[2] .. path:sub(#old + 1) end
  end
  return path
end

--- As renamed.current; prints a note for an old name.
---@param path string
---@return string
function renamed.accept(path)
  local current = renamed.current(path)
  if current ~= path then
    notices.tell(("metric '%s' is deprecated and will be removed in blis 2.0.0; use '%s'"):format(
      path, current))
  end
  return current
end

--- Renames the old keys of a result, in place.
---@param values table
function renamed.update(values)
  for _, row in ipairs(rows) do
    local parent_path, old = row[1]:match "^(.-)%.?([^.]+)$"
    local parent = values
    for name in parent_path:gmatch "[^.]+" do
      parent = type(parent) == "table" and parent[name] or nil
    end
    local new = row[2]:match "[^.]+$"
    if type(parent) == "table" and parent[old] ~= nil and parent[new] == nil then
      parent[new], parent[old] = parent[old], nil
    end
  end
end

return renamed
