--- Differences between two results, by metric and by request.
local errors = require "blis.errors"
local figures = require "blis.results.figures"
local format = require "blis.format"
local result = require "blis.results.result"
local show = require "blis.show"

local diff = {}

-- Compared fields of a request.
local request_fields = { "state", "instance", "ttft_us", "e2e_us", "frontend_us",
  "scheduling_delay_us", "end_us", "itl_sum_us", "reason" }
diff.request_fields = request_fields

---@class blis.MetricDiff
---@field name string "ttft_ms.p99"
---@field a number?
---@field b number?
---@field change number? b - a
---@field relative number? change / a; nil for a = 0

---@class blis.RequestDiff one request that is not the same in both
---@field id string
---@field a table
---@field b table
---@field fields string[] that differ

---@class blis.RequestsDiff
---@field common integer requests with the same id in both
---@field changed blis.RequestDiff[] of these, in order of arrival
---@field only_a string[] ids
---@field only_b string[]
---@field by_field table<string, integer> in how many of the changed ones each field differs

---@class blis.Diff prints as a table
---@field is_equal boolean all compared metrics and requests
---@field metrics blis.MetricDiff[] all rows
---@field requests blis.RequestsDiff? nil if a result has no records

local function metric(name, a, b)
  local one = { name = name, a = a, b = b }
  if a and b then
    one.change = b - a
    if a ~= 0 then one.relative = one.change / a end
  end
  return one
end

--- All numbers, except metrics that are computed from requests when they are first read.
local function compare_metrics(a, b)
  local list = {}
  for _, path in ipairs(figures.paths "Result") do
    local figure = figures.of_result[path]
    if not (figure and figure.of) then
      local _, of_a = figures.find(path, a)
      local _, of_b = figures.find(path, b)
      if of_a or of_b then list[#list + 1] = metric(path, of_a, of_b) end
    end
  end
  return list
end

local function changed_fields(a, b)
  local fields = {}
  for _, name in ipairs(request_fields) do
    if a[name] ~= b[name] then fields[#fields + 1] = name end
  end
  return fields
end

local function compare_requests(a, b)
  local place_in_b = {}
  for i = 1, #b do place_in_b[b[i].id] = i end
  local found = { common = 0, changed = {}, only_a = {}, only_b = {}, by_field = {} }
  for i = 1, #a do
    local one = a[i]
    local place = place_in_b[one.id]
    if not place then
      found.only_a[#found.only_a + 1] = one.id
    else
      place_in_b[one.id] = nil
      found.common = found.common + 1
      local other = b[place]
      local fields = changed_fields(one, other)
      if #fields > 0 then
        found.changed[#found.changed + 1] = { id = one.id, a = one, b = other, fields = fields }
      end
      for _, name in ipairs(fields) do found.by_field[name] = (found.by_field[name] or 0) + 1 end
    end
  end
  for i = 1, #b do
    if place_in_b[b[i].id] then found.only_b[#found.only_b + 1] = b[i].id end
  end
  return found
end

local function number_text(x)
  if x == nil then return "-" end
  return math.type(x) == "integer" and format.count(x) or format.number(x, 3)
end

local function signed(x, text)
  return x and x > 0 and "+" .. text or text
end

local function metric_lines(list)
  local rows = {}
  for _, one in ipairs(list) do
    if one.change ~= 0 then
      rows[#rows + 1] = { one.name, number_text(one.a), number_text(one.b),
        signed(one.change, number_text(one.change)),
        signed(one.relative, format.percent(one.relative)) }
    end
  end
  if #rows == 0 then return "no metric differs" end
  return format.table({ "figure", "A", "B", "B - A", "relative" }, rows)
end

local function ms(us)
  return us and us / 1000
end

--- The changed requests whose latency has changed most.
local function largest(changed, limit)
  local list = table.move(changed, 1, #changed, 1, {})
  local size = {}
  for i, one in ipairs(list) do
    local a, b = one.a.e2e_us, one.b.e2e_us
    size[one] = { a and b and math.abs(b - a) or math.huge, i }
  end
  table.sort(list, function(x, y)
    if size[x][1] ~= size[y][1] then return size[x][1] > size[y][1] end
    return size[x][2] < size[y][2]
  end)
  return table.move(list, 1, limit, 1, {})
end

local function request_rows(changed, limit)
  local rows = {}
  for i, one in ipairs(largest(changed, limit)) do
    local a, b = one.a, one.b
    local change = a.e2e_us and b.e2e_us and ms(b.e2e_us - a.e2e_us)
    rows[i] = { one.id, a.state == b.state and a.state or a.state .. " -> " .. b.state,
      a.instance == b.instance and (a.instance or "-")
        or ("%s -> %s"):format(a.instance or "-", b.instance or "-"),
      number_text(ms(a.ttft_us)), number_text(ms(b.ttft_us)), number_text(ms(a.e2e_us)),
      number_text(ms(b.e2e_us)),
      signed(change, number_text(change)) }
  end
  return format.table({ "request", "state", "instance", "TTFT A", "B", "E2E A", "B (ms)", "B - A" },
    rows, nil, { [2] = true, [3] = true })
end

local function request_lines(requests, limit)
  if not requests then return "requests: not compared, because a result has no records" end
  local lines = { ("requests: %s in both, %s of them different; %s only in A, %s only in B"):format(
    format.count(requests.common), format.count(#requests.changed), format.count(#requests.only_a),
    format.count(#requests.only_b)) }
  local parts = {}
  for _, name in ipairs(request_fields) do
    local n = requests.by_field[name]
    if n then parts[#parts + 1] = ("%s %s"):format(name, format.count(n)) end
  end
  if #parts > 0 then
    lines[2] = "differences by field: " .. table.concat(parts, ", ")
    lines[3] = ""
    lines[4] = request_rows(requests.changed, limit)
  end
  return table.concat(lines, "\n")
end

local diff_meta = {
  __name = "blis.diff",
  __tostring = function(self) return self:text() end,
  __index = {
    --- The printed tables, with this many of the requests that changed most.
    text = function(self, limit)
      return metric_lines(self.metrics) .. "\n\n" .. request_lines(self.requests, limit or 10)
    end,
  },
}

local function read(given, name)
  if type(given) == "string" then return result.load(given) end
  if type(given) ~= "table" or rawget(given, "hash") == nil then
    errors.invalid("diff: %s: %s: expected a result or the path of a result file", name,
      errors.invalid_value(given))
  end
  return given
end

--- Compares two results, or files of results. Requests are the same when their ids are.
---@param a blis.Result|string
---@param b blis.Result|string
---@return blis.Diff
function diff.compare(a, b)
  a, b = read(a, "A"), read(b, "B")
  local found = { metrics = show.figures(compare_metrics(a, b)) }
  if a.keeps_records and b.keeps_records then
    found.requests = show.figures(compare_requests(a.requests, b.requests))
  end
  found.is_equal = a.hash == b.hash
  for _, one in ipairs(found.metrics) do
    if one.change ~= 0 then found.is_equal = false end
  end
  return setmetatable(found, diff_meta)
end

return diff
