--- What a recommendation prints.
local answer = require "blis.capacity.answer"
local basis = require "blis.capacity.basis"
local between = require "blis.results.between"
local drawing = require "blis.drawing"
local format = require "blis.format"

local report = {}

local stderr = io.stderr

---@type table, fun(found: table): blis.Recommendation
local Recommendation, new = answer.class "blis.recommendation"
report.new = new

--- A line of progress on standard error.
---@param search { quiet: boolean }
function report.tell(search, text, ...)
  if not search.quiet then stderr:write("blis: ", text:format(...), "\n") end
end

--- True if a layout stays overloaded after a surge.
---@param layout blis.recommend.Layout
---@return boolean
function report.stays_overloaded(layout)
  return layout.surge ~= nil and not layout.surge.recovers
end

local function interval_text(layout)
  if not layout.is_measured then return "not screened" end
  local text = layout.is_confirmed and "" or (", %d seeds"):format(layout.screened_seeds)
  if report.stays_overloaded(layout) then text = ", surge" end
  if layout.low and layout.high then
    return ("%.4g to %.4g%s"):format(layout.low, layout.high, text)
  end
  if layout.high then return ("below %.4g%s"):format(layout.high, text) end
  return layout.low and ("at least %.4g%s"):format(layout.low, text) or "unknown"
end

local function row_of(layout)
  local rate = layout.is_confirmed and layout.goodput or nil
  return {
    (layout.on_front and "* " or "  ") .. layout.name, format.count(layout.gpus),
    rate and ("%.4g"):format(rate) or layout.is_confirmed and "-"
      or ("< %.4g"):format(layout.bound),
    interval_text(layout), format.number(layout.per_gpu, 3), format.number(layout.per_usd, 0),
    format.number(layout.usd_per_hour, 2),
  }
end

--- "8 x TP 2: 3 copies take 40 requests/s: 48 GPUs, 168.00 USD/h"
local function copies_text(layout, rate)
  local range = layout.copies_low and layout.copies_low < layout.copies_high
    and ("; %s to %s copies over the model's error"):format(
      format.count(layout.copies_low), format.count(layout.copies_high)) or ""
  return ("%s: %s %.6g requests/s: %s GPUs%s%s"):format(layout.name, layout.copies == 1
    and "1 copy takes" or format.count(layout.copies) .. " copies take", rate,
    format.count(layout.rate_gpus), layout.rate_usd_per_hour
    and (", %s USD/h"):format(format.number(layout.rate_usd_per_hour, 2)) or "", range)
end

--- The basis of each confirmed layout, and copies for the requested rate.
local function basis_lines(self)
  local lines = {}
  for _, layout in ipairs(self.layouts) do
    if layout.basis then
      lines[#lines + 1] = ("%s at %.4g requests/s: %s; %s"):format(layout.name,
        layout.basis.value, basis.text(layout.basis), basis.accuracy(layout.basis, "rate"))
    end
  end
  for _, layout in ipairs(self.layouts) do
    if layout.copies then lines[#lines + 1] = copies_text(layout, self.rate) end
  end
  return lines
end

--- How many layouts without confirmation are shown.
local shown_unconfirmed = 5

--- The layouts, a row each, those on the front with a star.
---@return string
function Recommendation:table()
  local rows, unconfirmed = {}, 0
  for _, layout in ipairs(self.layouts) do
    unconfirmed = unconfirmed + (layout.is_confirmed and 0 or 1)
    if unconfirmed <= shown_unconfirmed then rows[#rows + 1] = row_of(layout) end
  end
  local text = format.table({ "layout", "GPUs", "requests/s", "interval", "per GPU", "per USD",
    "USD/h" }, rows)
  if unconfirmed > shown_unconfirmed then
    text = text .. ("\n  and %d more, with lower bounds"):format(unconfirmed - shown_unconfirmed)
  end
  return text
end

--- Writes an HTML report: the best layout, all others, and why some are infeasible. One file,
--- without network access.
---@param path string
function Recommendation:report(path)
  drawing.search_page.write_recommendation(path, self, basis.accuracy)
end

--- The best confirmed layout of a kind; nil = none.
---@param kind "aggregated"|"disaggregated"
---@return blis.RecommendedLayout?
function Recommendation:best(kind)
  for _, layout in ipairs(self.layouts) do
    if layout.is_confirmed and layout.kind == kind then return layout end
  end
end

local function name_of(layout)
  return ("%s (%s)"):format(layout.name, layout.kind)
end

--- "; inside the error of the model between these setups (13%)" for loads with this quotient.
local function model_note(better, other, quotient)
  local limit, error_basis = between.error_of("requests_per_sec", better.subject, other.subject)
  local note = between.note(quotient - 1, limit, error_basis)
  return note == "" and "" or "; " .. note
end

local function why_unsure(a, b)
  local is_stuck = report.stays_overloaded(a) or report.stays_overloaded(b)
  return is_stuck and "one of them does not recover from a surge" or "their intervals overlap"
end

--- How much more the better of two takes: by their goodputs, or else what is sure of it.
local function comparison(better, other)
  local is_sure = better.low and other.high
    and better.low / better.gpus > other.high / other.gpus
  if better.goodput and other.goodput then
    local quotient = better.per_gpu / other.per_gpu
    return ("%s sustains %.2f times the load of %s per GPU%s%s"):format(name_of(better), quotient,
      name_of(other), is_sure and "" or "; " .. why_unsure(better, other),
      model_note(better, other, quotient))
  elseif is_sure then
    local quotient = better.low / better.gpus / (other.high / other.gpus)
    return ("%s sustains at least %.2f times the load of %s per GPU%s"):format(name_of(better),
      quotient, name_of(other), model_note(better, other, quotient))
  end
  return ("%s seems to sustain more load per GPU than %s, but %s"):format(
    name_of(better), name_of(other), why_unsure(better, other))
end

--- Whether disaggregation is worth it, in one line.
---@return string
function Recommendation:headline()
  local together, apart = self:best "aggregated", self:best "disaggregated"
  if #self.layouts == 0 then return "no layout meets the targets" end
  if not together or not apart then
    local only = together or apart
    return ("%s meets the targets best"):format(only.name)
  end
  local better, other = apart, together
  if (together.per_gpu or 0) > (apart.per_gpu or 0) then better, other = together, apart end
  return comparison(better, other)
end

--- Layouts with the same reason are listed together, up to this many by name.
local shown_infeasible = 3

--- Reasons with the layouts they hold for, in the order of the first of these.
local function infeasible_lines(list)
  local lines, reasons, of_reason = {}, {}, {}
  for _, one in ipairs(list) do
    if not of_reason[one.reason] then
      reasons[#reasons + 1], of_reason[one.reason] = one.reason, {}
    end
    table.insert(of_reason[one.reason], one.name)
  end
  for i, reason in ipairs(reasons) do
    local names = of_reason[reason]
    local text = table.concat(names, ", ", 1, math.min(#names, shown_infeasible))
    if #names > shown_infeasible then
      text = ("%s and %d more"):format(text, #names - shown_infeasible)
    end
    lines[i] = ("  %s: %s"):format(text, reason)
  end
  return lines
end

--- What print(recommendation) shows.
function Recommendation:__tostring()
  local asked = ("%d GPUs; %s; %d seeds; * = no other is significantly better"):format(self.gpus,
    table.concat(self.targets, ", "), self.seeds)
  local more, reasons = basis_lines(self), infeasible_lines(self.infeasible)
  if #reasons > 0 then more[#more + 1] = "infeasible:" end
  table.move(reasons, 1, #reasons, #more + 1, more)
  return answer.text(self, asked, more)
end

return report
