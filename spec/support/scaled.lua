--- Experiments with autoscalers, whose worked numbers rest on the defaults of 1.0-rc1.
local blis = require "spec.support.old_defaults"

local scaled = {}

--- One instance, and requests enough for two and more.
function scaled.experiment(more)
  local spec = {
    defaults = blis.version,
    cluster = { model = "qwen3-14b", tp = 1, instances = 1, max_num_seqs = 16 },
    workload = { rate = 12, requests = 400, prompt_tokens = 400, output_tokens = 200 },
    routing = "least-loaded",
  }
  for key, value in pairs(more) do spec[key] = value end
  if spec.profile == "go-blis" then spec.defaults = nil end
  return spec
end

function scaled.run(more) return blis.run(scaled.experiment(more)) end

--- An autoscaler that says one number after the other, and the last one from then on.
function scaled.plan(...)
  local targets = { ... }
  return blis.autoscaler { name = "plan", new = function()
    local looks = 0
    return { interval_us = blis.seconds(5), decide = function()
      looks = looks + 1
      return targets[math.min(looks, #targets)]
    end }
  end }
end

return scaled
