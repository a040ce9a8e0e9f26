--- Measurements of a real deployment, from whatever file people have.
local descriptions = require "blis.catalogue.descriptions"
local errors = require "blis.errors"
local reports = require "blis.calibrate.reports"
local tables = require "blis.calibrate.tables"

local observed = {}

---@class blis.Observed
---@field path string
---@field format string
---@field requests blis.ObservedRequests? request by request
---@field means blis.ObservedMeans[]? or one row per run

--- Reads CSV tables of requests or of means, TraceV2 (its CSV file), and the JSON reports of vLLM
--- bench serve, GuideLLM and inference-perf. Raises when a file is neither, or contradicts itself.
---@param path string
---@return blis.Observed
function observed.read(path)
  errors.check_path("observed", path)
  local text = descriptions.read(path)
  local first = text:match "^%s*(%S?)"
  local found
  if first == "{" or first == "[" then
    found = reports.read(path, text)
  elseif first == "" then
    errors.raise("parse", path .. ": it is empty")
  else
    found = tables.read(path)
  end
  found.path = path
  return found
end

return observed
