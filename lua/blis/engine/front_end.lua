--- The API server before the scheduler of an instance.
local errors = require "blis.errors"

local front_end = {}

-- Fits of the composed model. The fixed delay by endpoint, microseconds: completions to 246 runs of
-- InferenceX and, with tables, to 56 stages of the accuracy study of inference-sim; chat to 36 runs
-- of GPUStack (vLLM 0.11 to 0.13). A request takes 1 / rate, and token_us per prompt token. Kernel
-- tables change the step times, and so this fit.
local closed_form = {
  rate = 296, token_us = 3.449, delay_us = { completions = 3998, chat = 45600 },
}
local with_tables = {
  rate = 248, token_us = 3.4, delay_us = { completions = 2400, chat = 45600 },
}

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
  local fit = values.uses_kernel_tables and with_tables or closed_form
  values.front_end = {
    servers = values.api_servers,
    request_us = 1e6 / (values.frontend_rate or fit.rate),
    token_us = values.frontend_us_per_token or fit.token_us,
    delay_us = fit.delay_us[kind],
  }
end

return front_end
