--- The description of a configuration: the rows that pages show under "Configuration", besides the
--- instances and the policies of every run. Features add rows of their own; every other option that
--- decides the run gets a row if it differs from its default.
local catalogue = require "blis.policy.catalogue"
local features = require "blis.feature"
local options = require "blis.config.option_text"
local settings = require "blis.results.asked_settings"
local show = require "blis.show"
local usual_scorers = require "blis.policy.usual_scorers"

local asked = {}

---@class blis.results.Asked
---@field name string
---@field text string

--- The descriptions of all groups without repetition. Several descriptions have group numbers.
local function of_groups(cluster, text_of)
  local texts, numbers, groups = {}, {}, cluster.groups or { cluster }
  for i, group in ipairs(groups) do
    local text = text_of(group)
    if text and not numbers[text] then
      texts[#texts + 1], numbers[text] = text, {}
    end
    if text then table.insert(numbers[text], tostring(i)) end
  end
  for i, text in ipairs(texts) do
    if #numbers[text] < #groups then
      texts[i] = ("group%s %s: %s"):format(#numbers[text] > 1 and "s" or "",
        table.concat(numbers[text], ", "), text)
    end
  end
  return #texts > 0 and table.concat(texts, "; ") or nil
end

local function targets_text(targets)
  local words = {}
  for i, target in ipairs(targets) do
    local limits = {}
    for _, time in ipairs { { "ttft_ms", "TTFT" }, { "itl_ms", "ITL" }, { "e2e_ms", "E2E" } } do
      local limit = target[time[1]]
      limits[#limits + 1] = limit
        and ("%s at most %s ms"):format(time[2], options.number(limit)) or nil
    end
    words[i] = ("%s: %s"):format(target.slo_class, table.concat(limits, ", "))
  end
  return table.concat(words, "; ")
end

--- The scorers of a routing policy that were not given.
local function scorers_text(config)
  local usual = not config.routing.scorers and usual_scorers.of(config.routing.name, config.go_blis)
  return usual and (usual:gsub(",", ", ")) .. ", as usual" or nil
end

--- An admission policy with its parameters; nil for one without.
local function admission_text(policy)
  local text = policy and options.of_policy(policy, catalogue.admissions)
  return text and text ~= (policy.label or policy.name) and text or nil
end

--- The rows of an experiment, or nil.
---@param config table as the core takes it
---@return blis.results.Asked[]?
function asked.list(config)
  local rows, cluster = {}, config.cluster
  local function add(name, text)
    if text then rows[#rows + 1] = { name = name, text = text } end
  end
  if cluster.horizon_us < math.maxinteger then add("horizon", options.time(cluster.horizon_us)) end
  add("scorers", scorers_text(config))
  add("admission", admission_text(config.admission))
  add("SLO targets", config.slo_targets and targets_text(config.slo_targets))
  features.describe(config, add, of_groups)
  settings.add(config, of_groups, add)
  return #rows > 0 and show.figures(rows) or nil
end

return asked
