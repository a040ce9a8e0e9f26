--- Flags of energy that mean nothing where no draw is known.
local command = require "blis.cli.command"

local power_flags = {}

local idle = { "--gpu-idle-watts", "--mixed-step-power", "--pue", "--carbon-g-per-kwh" }

local function has_draw(given)
  return given.gpu_watts or given.gpu_prefill_watts or given.gpu_decode_watts
    or given.gpu_step_watts or given.watts
end

--- Says which flags have no effect.
---@param parsed blis.cli.Parsed
---@param cluster table as blis.run takes it
function power_flags.tell(parsed, cluster)
  if has_draw(cluster) then return end
  for _, group in ipairs(cluster.groups or {}) do
    if has_draw(group) then return end
  end
  for _, flag in ipairs(idle) do
    if parsed.given[flag] then
      command.talk(parsed, "%s has no effect without --gpu-watts, or --gpu-prefill-watts and "
        .. "--gpu-decode-watts", flag)
    end
  end
end

return power_flags
