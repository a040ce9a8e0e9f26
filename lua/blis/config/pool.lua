--- The options of a cluster that describe the instances of a pool: prefill_tp, decode_tp, ...
local pool = {}

--- Options of each pool, by their names in a group.
pool.options = { "tp", "hardware", "max_model_len", "latency_model", "nic_gb_s" }

--- The options that are set, by their names in a cluster, in a fixed order.
---@param cluster table
---@return string[]
function pool.given(cluster)
  local given = {}
  for _, prefix in ipairs { "prefill_", "decode_" } do
    for _, name in ipairs(pool.options) do
      if cluster[prefix .. name] ~= nil then given[#given + 1] = prefix .. name end
    end
  end
  return given
end

return pool
