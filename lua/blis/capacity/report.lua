--- What a search for capacity prints: a line while it runs, and the answer with what is behind it.
local answer = require "blis.capacity.answer"
local basis = require "blis.capacity.basis"
local core = require "blis.core"
local drawing = require "blis.drawing"
local format = require "blis.format"

local report = {}

local stderr = io.stderr

---@type table, fun(found: table): blis.Capacity
local Capacity, new = answer.class "blis.capacity"
report.new = new

--- 27.202 or 4: rates have fractions.
local function value_text(value)
  if not value then return "-" end
  local integer = math.tointeger(value)
  return integer and format.count(integer) or ("%.4g"):format(value)
end

local units = { rate = " requests/s" }

local function with_unit(self, value)
  local unit = units[self.parameter]
  if unit then return value_text(value) .. unit end
  return ("%s = %s"):format(self.parameter, value_text(value))
end

--- The line of a search on standard error; it goes away when it is closed.
---@param search blis.capacity.Search
function report.progress(search)
  local columns = not search.quiet and core.terminal_size()
  local function update(tried)
    if search.quiet then return end
    local values, runs = {}, 0
    for i, value in ipairs(tried) do values[i] = value_text(value) end
    for _, seen in pairs(search.seen) do
      for _, one in ipairs(seen) do runs = runs + one.runs end
    end
    local text = ("%s: %d runs judged, last %s = %s"):format(search.label, runs, search.parameter,
      table.concat(values, " "))
    if columns then
      stderr:write("\r", text:sub(1, columns - 1), "\27[K")
    else
      stderr:write("blis: ", text, "\n")
    end
  end
  return setmetatable({ update = update },
    { __close = function() if columns then stderr:write("\r\27[K") end end })
end

--- "49.3 to 50.8"
local function interval_of(self)
  if self.low == self.high then return value_text(self.low) end
  return ("%s to %s"):format(value_text(self.low), value_text(self.high))
end

--- Beyond what is known, nothing is where runs were too short.
local function unsettled_text(self, where)
  return self.is_unsettled and (", and %s that runs are too short to tell"):format(where) or ""
end

--- The answer in one line.
---@return string
function Capacity:headline()
  local is_most = self.objective == "max"
  local has_both = self.low and self.high
  if self.value and self.surge and not self.surge.recovers and not self.surge.recovers_at then
    return ("%s (%s)"):format(with_unit(self, self.value), self.interval)
  elseif is_most and self.high and not self.low and self.high <= self.from then
    return ("targets missed at %s, where the search started"):format(with_unit(self, self.from))
  elseif self.value and has_both then
    return ("%s (%s, %s)"):format(with_unit(self, self.value), interval_of(self), self.interval)
  elseif has_both then
    return ("somewhere from %s to %s%s: %s (%s)"):format(value_text(self.low),
      value_text(self.high), units[self.parameter] or "", self.is_unsettled
      and "runs are too short to converge in between" or "too close to call", self.interval)
  elseif self.low and is_most then
    return ("at least %s%s (%s)"):format(with_unit(self, self.low), unsettled_text(self, "above"),
      self.interval)
  elseif self.high then
    return ("at most %s%s (%s)"):format(with_unit(self, self.high), unsettled_text(self, "below"),
      self.interval)
  elseif self.is_unsettled then
    return "unknown: runs are too short to converge"
  elseif is_most then
    return ("inconclusive at %s, where the search started"):format(with_unit(self, self.from))
  end
  local last = self.curve[#self.curve]
  return ("%s up to %s, where the search ended"):format(
    last.verdict == "missed" and "targets missed" or "inconclusive", with_unit(self, self.to))
end

local verdicts = { "met", "missed", "overloaded", "unsettled" }

local function is_seen(self, verdict)
  for _, point in ipairs(self.curve) do
    if point[verdict] > 0 then return true end
  end
  return false
end

--- What was tried, a row for each value.
---@return string
function Capacity:table()
  local shown, header, rows = {}, { self.parameter, "verdict" }, {}
  for _, verdict in ipairs(verdicts) do
    if is_seen(self, verdict) then shown[#shown + 1] = verdict end
  end
  for _, name in ipairs(shown) do header[#header + 1] = name end
  local has_requests = self.curve[1] and self.curve[1].requests
  if has_requests then table.move({ "requests", "not served" }, 1, 2, #header + 1, header) end
  for _, name in ipairs(self.figures) do header[#header + 1] = name end
  for i, point in ipairs(self.curve) do
    local row = { value_text(point.value), point.verdict }
    for _, name in ipairs(shown) do row[#row + 1] = format.count(point[name]) end
    if has_requests then
      row[#row + 1] = format.count(point.requests)
      row[#row + 1] = format.percent(point.missed_share)
    end
    for _, name in ipairs(self.figures) do row[#row + 1] = format.number(point.figures[name], 2) end
    rows[i] = row
  end
  return format.table(header, rows)
end

--- Writes an HTML report: the answer, and the metrics over what was tried. One file, without
--- network access.
---@param path string
function Capacity:report(path)
  drawing.search_page.write_capacity(path, self, basis.accuracy)
end

--- The range of the answer over the model's error, or why there is none; nil without an answer.
---@return string?
function Capacity:accuracy()
  if self.basis then return basis.accuracy(self.basis, self.parameter) end
  return self.low and self.high
    and "no range over the model's error: the trial returns numbers" or nil
end

--- What print(capacity) shows.
function Capacity:__tostring()
  local more = self.basis and { ("at %s: %s"):format(with_unit(self, self.basis.value),
    basis.text(self.basis)) }
  return answer.text(self, ("%s; unserved requests: at most %s"):format(
    table.concat(self.targets, ", "), format.percent(self.max_missed)), more)
end

return report
