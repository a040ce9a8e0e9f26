--- The latency model of a cluster that names none. The defaults name one; coefficients of the user,
--- which only one model reads, name another one.
local core = require "blis.core"

local usual_latency = {}

-- The model that reads coefficients.
local with_coefficients = "calibrated"

--- Returns the user's file that has coefficients of the engine, or nil.
local function own_file(values)
  if values.catalogue == nil then return nil end
  local is_known, file = pcall(core.own_coefficients, values, with_coefficients)
  return is_known and file or nil
end

--- Returns why the coefficients of the user select the latency model; nil if they do not.
local function reason_of(values)
  if values.alpha_coeffs or values.beta_coeffs then return "coefficients are set" end
  local file = own_file(values)
  return file and file .. " has coefficients of this engine" or nil
end

--- Sets values.latency_model, and values.latency_note if the model is not the default.
---@param values table options of a cluster, with their catalogue
---@param is_set boolean the user names the latency model
function usual_latency.apply(values, is_set)
  if is_set or values.latency_model == with_coefficients then return end
  local reason = reason_of(values)
  if not reason then return end
  values.latency_note = ("latency model %s, not %s: %s"):format(with_coefficients,
    values.latency_model, reason)
  values.latency_model = with_coefficients
end

return usual_latency
