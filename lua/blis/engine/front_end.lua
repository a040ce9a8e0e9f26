--- The API server before the scheduler of an instance.
local errors = require "blis.errors"

local front_end = {}

-- The fixed delay by endpoint, microseconds. Fits of the composed model: completions to 246 runs of
-- InferenceX, chat to 36 runs of GPUStack (vLLM 0.11 to 0.13).
local delay_us = { completions = 3998, chat = 45600 }

-- The same fit: 1/296 s per request, and this per prompt token.
local default_rate, default_token_us = 296, 3.449

local function check_unused(values, path)
  for _, name in ipairs { "frontend_rate", "frontend_us_per_token" } do
    if values[name] then
      errors.invalid("%s.%s has no effect without a front end; set %s.frontend to completions or "
        .. "chat", path, name, path)
    end
  end
end

--- Sets values.front_end, which the core takes, from the options of a cluster.
---@param values table
---@param path string
function front_end.apply(values, path)
  local kind = values.frontend
    or (values.latency_model == "composed" and "completions" or "none")
  if kind == "none" then
    check_unused(values, path)
    return
  end
  values.front_end = {
    servers = values.api_servers,
    request_us = 1e6 / (values.frontend_rate or default_rate),
    token_us = values.frontend_us_per_token or default_token_us,
    delay_us = delay_us[kind],
  }
end

return front_end
