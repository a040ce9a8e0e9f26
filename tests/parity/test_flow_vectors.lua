-- Runs of BLIS in Go with a queue of the gateway: the same times of every request, metrics and
-- counts.
local core = require "blis.core"
local run = require "blis.cmd.run"
local support = require "tests.parity.support"

local folder = support.shared .. "/vectors/cli2"
local first, last = 60, 149

--- Cases of other kinds, and those that have prefill and decode apart beside a queue.
local function is_wanted(case)
  if case.kind ~= "fc" and case.kind ~= "combined" then return false end
  for _, argument in ipairs(case.args) do
    if argument == "--flow-control" then
      return not table.concat(case.args, " "):find "decode%-inst"
    end
  end
  return false
end

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

--- The first metric that is neither what was recorded nor what is right instead of it.
local function compare_metrics(case, got)
  local other = case.alt and case.alt.metrics or {}
  for key, value in pairs(case.expected.metrics) do
    if type(value) == "number" and not is_near(got[key], value)
      and not is_near(got[key], other[key])
    then
      return support.differ("metric", key, value, got[key])
    end
  end
end

local function compare_sections(case, text)
  local got = support.sections_of(text)
  for title, lines in pairs(case.expected.sections) do
    local own = got[title] and table.concat(got[title], "\n")
    if own ~= table.concat(lines, "\n") then
      return support.differ("section", title, table.concat(lines, "\n"), own)
    end
  end
end

local function difference(case, place)
  local text, problem = support.call(run, arguments_of(case, place))
  if not text then return problem end
  local got = core.json_read(support.read_file(place .. "metrics.json"))
  return support.compare_requests(case.expected.requests, got.requests)
    or compare_metrics(case, got) or compare_sections(case, text)
end

local function main()
  local place = os.tmpname()
  local total, different = 0, 0
  for number = first, last do
    local name = ("%03d"):format(number)
    local text = support.read_file(("%s/%s.json"):format(folder, name))
    local case = text and core.json_read(text, name .. ".json")
    if case and is_wanted(case) then
      total = total + 1
      local problem = difference(case, place .. ".")
      if problem then
        different = different + 1
        print(name .. ": " .. problem)
      end
    end
  end
  for _, rest in ipairs { "", ".metrics.json", ".spec.yaml", ".bundle.yaml" } do
    os.remove(place .. rest)
  end
  if total == 0 then
    print("no recorded cases in " .. folder)
    os.exit(77)
  end
  print(("cases with a queue: %d equal of %d"):format(total - different, total))
  os.exit(different == 0 and 0 or 1)
end

main()
