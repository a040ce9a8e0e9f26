--- Energy and carbon of a run: flags that have no effect while no power draw is known.

---@type blis.Feature
local energy = {}

local idle = { "--gpu-idle-watts", "--mixed-step-power", "--pue", "--carbon-g-per-kwh" }

local function has_draw(given)
  return given.gpu_watts or given.gpu_prefill_watts or given.gpu_decode_watts
    or given.gpu_step_watts or given.watts
end

--- The flags themselves are options of the cluster.
function energy.flag_groups() return {} end

function energy.flags(spec, cli)
  if has_draw(spec.cluster) then return end
  for _, group in ipairs(spec.cluster.groups or {}) do
    if has_draw(group) then return end
  end
  for _, flag in ipairs(idle) do
    if cli.given[flag] then
      cli.talk("%s has no effect without --gpu-watts, or --gpu-prefill-watts and "
        .. "--gpu-decode-watts", flag)
    end
  end
end

return energy
