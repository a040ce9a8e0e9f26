--- Trials of a sweep for external execution: reserve trials and record their outcomes.
local claims = require "blis.sweep.claims"
local errors = require "blis.errors"
local plan = require "blis.sweep.plan"
local record = require "blis.sweep.record"
local runner = require "blis.sweep.runner"

local asking = {}

---@class blis.sweep.Asked
---@field id string of the claim: the trial's key and which claim of it this is
---@field trial blis.sweep.Trial
---@field until_s integer

--- Calls visit(trial) for the trials that have no result and are needed as far as is known; stops
--- where it returns true.
local function each_open(self, known, visit)
  for point = 1, #self.points do
    for r = 1, runner.wanted(self, known, point) do
      local trial = self.trials[plan.index(self, point, r)]
      if not known[trial.key] and visit(trial) then return end
    end
  end
end

--- Reserves up to count unreserved trials.
---@param folder string
---@param self blis.sweep.Plan
---@param known table<string, blis.sweep.Record>
---@param count integer
---@param lease_s integer how long they are kept from others
---@return blis.sweep.Asked[]
---@return integer others trials that others are at
function asking.ask(folder, self, known, count, lease_s)
  claims.prepare(folder)
  local all, list, others = claims.all(folder), {}, 0
  each_open(self, known, function(trial)
    local last = all[trial.key]
    local claim = not claims.holds(last) and claims.take(folder, trial.key, last, lease_s)
    if claim then
      list[#list + 1] = { id = ("%s.%d"):format(trial.key, claim.number), trial = trial,
        until_s = claim.until_s }
    else
      others = others + 1
    end
    return #list == count
  end)
  return list, others
end

--- Reserved trials without a result, and overdue ones.
---@param folder string
---@param self blis.sweep.Plan
---@param known table<string, blis.sweep.Record>
---@return integer held
---@return integer overdue
function asking.count(folder, self, known)
  local all, held, overdue = claims.all(folder), 0, 0
  for _, trial in ipairs(self.trials) do
    local claim = all[trial.key]
    if claim and not known[trial.key] then
      if claims.holds(claim) then held = held + 1 else overdue = overdue + 1 end
    end
  end
  return held, overdue
end

--- The trial and the claim of an id; raises unless the sweep has it.
---@param self blis.sweep.Plan
---@param id string
---@return blis.sweep.Trial
---@return integer number
function asking.trial_of(self, id)
  local key, number = id:match "^(%x+)%.(%d+)$"
  number = math.tointeger(tonumber(number))
  for _, trial in ipairs(number and self.trials or {}) do
    if trial.key == key then return trial, number end
  end
  errors.invalid("id: '%s' is not a trial of this sweep; 'blis sweep ask' prints ids, which change "
    .. "with the script and the version of blis", id)
end

--- Records the outcome of a trial, and ends its reservation. The first result counts.
---@param folder string
---@param self blis.sweep.Plan
---@param opened blis.sweep.Store
---@param writer { append: fun(line: string) }
---@param id string
---@param told { values?: table|number, reason?: string } neither: the trial is given back
---@return "kept"|"known"|"released"
function asking.tell(folder, self, opened, writer, id, told)
  local trial, number = asking.trial_of(self, id)
  local before = opened.known[trial.key]
  if before and (told.values or told.reason) then return "known" end
  if told.values then
    writer.append(record.of_outcome(self, trial, told.values, { notes = "" }))
  elseif told.reason then
    writer.append(record.of_failure(self, trial, "error", told.reason))
  end
  claims.drop(folder, trial.key, number)
  return (told.values or told.reason) and "kept" or "released"
end

return asking
