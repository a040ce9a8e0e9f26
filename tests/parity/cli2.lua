-- The second set of runs of BLIS in Go recorded with their flags: reading, running and comparing
-- its cases.
local core = require "blis.core"
local replay = require "blis.cmd.replay"
local run = require "blis.cmd.run"
local support = require "tests.parity.support"

local cli2 = { folder = support.shared .. "/vectors/cli2" }

--- The case of a name, or nil.
local function read(name)
  local text = support.read_file(("%s/%s.json"):format(cli2.folder, name))
  return text and core.json_read(text, name .. ".json")
end

--- Whether a case has a flag; the name may be a pattern.
function cli2.has_flag(case, pattern)
  for _, argument in ipairs(case.args) do
    if argument:find("^%-%-" .. pattern .. "$") then return true end
  end
  return false
end

--- Whether prefill and decode have instances of their own, or share some.
function cli2.has_pools(case)
  return cli2.has_flag(case, "prefill%-instances") or cli2.has_flag(case, "[%l-]*decode%-instances")
end

--- The arguments of a case; its files are written beside a place.
local function arguments_of(case, place)
  local arguments = { "--profile", "go-blis", "--quiet", "--metrics-path", place .. "metrics.json" }
  for _, argument in ipairs(case.args) do
    local file = case.files and case.files[argument]
    if file then
      argument = place .. argument
      support.write_file(argument, file)
    end
    arguments[#arguments + 1] = argument
  end
  return arguments
end

local function is_near(a, b)
  return type(a) == "number" and type(b) == "number" and math.abs(a - b) <= 1e-9 * math.abs(b)
end

--- A set of what a case leaves out, because what is right there was not recorded.
local function left_out(case, what)
  local set = {}
  for _, name in ipairs(case.except and case.except[what] or {}) do set[name] = true end
  return set
end

--- The rows, or the requests of the results, whose id is not left out.
local function without(rows, id, out)
  local rest = {}
  for _, row in ipairs(rows) do
    if not out[row[id]] then rest[#rest + 1] = row end
  end
  return rest
end

local function compare_requests(case, got)
  local out = left_out(case, "requests")
  return support.compare_requests(without(case.expected.requests, 1, out),
    without(got.requests, "requestID", out))
end

--- The keys of a table in order, so that the first difference is always the same.
local function sorted_keys(of)
  local keys = {}
  for key in pairs(of) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

--- The numbers of a tree by their paths, such as per_class.critical.count.
local function numbers_of(tree, path, into)
  for key, value in pairs(tree) do
    if type(value) == "table" then
      numbers_of(value, path .. key .. ".", into)
    elseif type(value) == "number" then
      into[path .. key] = value
    end
  end
  return into
end

--- The first metric that is neither what was recorded nor what is right instead of it.
local function compare_metrics(case, got)
  local other, out = case.alt and case.alt.metrics or {}, left_out(case, "metrics")
  local expected, own = numbers_of(case.expected.metrics, "", {}), numbers_of(got, "", {})
  for _, key in ipairs(sorted_keys(expected)) do
    if not out[key] and not is_near(own[key], expected[key]) and not is_near(own[key], other[key])
    then
      return support.differ("metric", key, expected[key], own[key])
    end
  end
end

--- Whether a printed line is what was recorded or what is right instead of it.
local function is_right(line, recorded, case)
  if line == recorded then return true end
  local other = case.alt and case.alt.lines
  if line and other and other[recorded] == line then return true end
  for start in pairs(left_out(case, "lines")) do
    if line and recorded and line:find(start, 1, true) == 1 and recorded:find(start, 1, true) == 1
    then
      return true
    end
  end
  return false
end

local function compare_sections(case, text)
  local got, out = support.sections_of(text), left_out(case, "sections")
  for _, title in ipairs(sorted_keys(case.expected.sections)) do
    local lines = case.expected.sections[title]
    local own = not out[title] and (got[title] or {}) or lines
    for i = 1, math.max(#lines, #own) do
      if not is_right(own[i], lines[i], case) then
        return support.differ("section " .. title, "line " .. i, lines[i], own[i])
      end
    end
  end
end

--- The first instance whose figures differ, of a case that has them recorded.
local function compare_instances(case, text)
  local rows, at = case.expected.instances or {}, 0
  for object in text:gmatch("=== Simulation Metrics ===\n(%b{})") do
    local got = core.json_read(object)
    local row = rows[at + 1]
    if got.instance_id == "cluster" then break end
    at = at + 1
    local own = { got.instance_id, got.completed_requests, got.total_input_tokens,
      got.total_output_tokens, got.vllm_estimated_duration_s }
    for i = 1, row and #own or 0 do
      if own[i] ~= row[i] then return support.differ(own[1], "value " .. i, row[i], own[i]) end
    end
  end
  if case.expected.instances and at ~= #rows then
    return support.differ("number of", "instances", #rows, at)
  end
end

--- What is different in a case; nil when nothing is.
local function difference(case, place)
  local command = case.command == "replay" and replay or run
  local text, problem = support.call(command, arguments_of(case, place))
  if not text then return problem end
  local got = core.json_read(support.read_file(place .. "metrics.json"))
  return compare_requests(case, got)
    or compare_metrics(case, got) or compare_sections(case, text)
    or compare_instances(case, text)
end

--- Calls what with the name of every case from first to last that is_wanted picks, and what is
--- different in it, nil when nothing is. Returns the number of cases.
function cli2.each(first, last, is_wanted, what)
  local place = os.tmpname()
  local total = 0
  for number = first, last do
    local name = ("%03d"):format(number)
    local case = read(name)
    if case and is_wanted(case) then
      total = total + 1
      what(name, difference(case, place .. "."))
    end
  end
  local names = { "", ".metrics.json", ".spec.yaml", ".bundle.yaml", ".t.yaml", ".t.csv" }
  for _, rest in ipairs(names) do os.remove(place .. rest) end
  return total
end

--- The reasons by the name of a case; each gets a list of the cases that it was seen in.
local function listed_of(differs)
  local listed = {}
  for _, reason in ipairs(differs) do
    reason.cases = {}
    for name in reason[2]:gmatch("%S+") do listed[name] = reason end
  end
  return listed
end

--- What is wrong about a case that has a problem, or none, for this reason; nil: nothing.
local function remark_on(name, problem, reason)
  if not problem then
    return reason and "is equal now: take it off the list (" .. reason[1] .. ")"
  elseif not reason then
    return problem
  elseif not problem:find(reason.text, 1, true) then
    return ("is listed for %q, not for: %s"):format(reason.text, problem)
  end
  table.insert(reason.cases, name)
end

--- Compares the cases of asked.first to asked.last that asked.is_wanted picks and prints what is
--- found. asked.differs is a list of { reason, "names of cases", text = "part of the problem" }.
--- Returns the status to exit with.
function cli2.judge(asked)
  local listed, equal, failures = listed_of(asked.differs), 0, 0
  local total = cli2.each(asked.first, asked.last, asked.is_wanted, function(name, problem)
    local remark = remark_on(name, problem, listed[name])
    if not problem then equal = equal + 1 end
    if remark then
      failures = failures + 1
      print(name .. ": " .. remark)
    end
  end)
  if total == 0 then
    print("no recorded cases in " .. cli2.folder)
    return 77
  end
  for _, reason in ipairs(asked.differs) do
    if #reason.cases > 0 then
      print(("differs: %s: %d cases (%s)"):format(reason[1], #reason.cases,
        table.concat(reason.cases, " ")))
    end
  end
  print(("%s: %d equal of %d, %d listed as different"):format(asked.title, equal, total,
    total - equal))
  return failures == 0 and 0 or 1
end

return cli2
