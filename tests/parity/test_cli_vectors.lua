-- Runs of BLIS in Go, recorded with their flags: `blis run` with the same flags and --profile
-- go-blis gives the same metrics and the same times of every request, to the last bit.
local core = require "blis.core"
local run = require "blis.cmd.run"
local support = require "tests.parity.support"

local differ = support.differ
local folder = support.shared .. "/vectors/cli"

-- What the cases need that cannot be run yet, or, with differs, are not right yet. Every other case
-- must be equal.
local features = {
  { "preemptions and drops where a request decodes elsewhere than it was prefilled", "033",
    differs = true },
}

local missing = {}
for _, feature in ipairs(features) do
  feature.cases = {}
  for name in feature[2]:gmatch("%S+") do missing[name] = feature end
end

--- The arguments of a case with its files in a folder.
local function arguments_of(case, place)
  local arguments = { "--profile", "go-blis", "--quiet" }
  for _, argument in ipairs(case.args) do
    if case.files and case.files[argument] then
      local path = place .. argument
      support.write_file(path, case.files[argument])
      argument = path
    end
    arguments[#arguments + 1] = argument
  end
  return arguments
end

local function compare_sections(expected, text)
  local got = support.sections_of(text)
  for title, lines in pairs(expected) do
    local own = got[title] and table.concat(got[title], "\n")
    if own ~= table.concat(lines, "\n") then
      return differ("section", title, table.concat(lines, "\n"), own)
    end
  end
end

--- What is different in a case; nil when nothing is.
local function difference(case, place)
  local metrics_path = place .. "metrics.json"
  local arguments = arguments_of(case, place)
  table.move({ "--metrics-path", metrics_path }, 1, 2, #arguments + 1, arguments)
  local text, problem = support.call(run, arguments)
  if not text then return problem, true end
  local got = core.json_read(support.read_file(metrics_path))
  os.remove(metrics_path)
  return support.compare_metrics(case.expected.metrics, got)
    or support.compare_requests(case.expected.requests, got.requests)
    or compare_sections(case.expected.sections, text)
end

--- Runs one case; returns "equal", "missing" or "different", and what there is to say.
local function judge(name, case, place)
  local problem, is_refused = difference(case, place)
  if not problem then
    return "equal", missing[name] and "equal, although listed as missing: " .. missing[name][1]
  elseif missing[name] and (is_refused or missing[name].differs) then
    table.insert(missing[name].cases, name)
    return "missing"
  end
  return "different", problem
end

local function main()
  local place = os.tmpname()
  local total, counts = 0, { equal = 0, missing = 0, different = 0 }
  for number = 0, 999 do
    local name = ("%03d"):format(number)
    local text = support.read_file(("%s/%s.json"):format(folder, name))
    if not text then break end
    total = total + 1
    local verdict, remark = judge(name, core.json_read(text, name .. ".json"), place .. ".")
    counts[verdict] = counts[verdict] + 1
    if remark then print(("%s: %s: %s"):format(name, verdict, remark)) end
  end
  os.remove(place)
  os.remove(place .. ".spec.yaml")
  if total == 0 then
    print("no recorded cases in " .. folder)
    os.exit(77)
  end
  for _, feature in ipairs(features) do
    if #feature.cases > 0 then
      print(("missing: %s: %d cases (%s)"):format(feature[1], #feature.cases,
        table.concat(feature.cases, " ")))
    end
  end
  print(("CLI cases: %d equal of %d, %d need what is missing"):format(counts.equal, total,
    counts.missing))
  os.exit(counts.different == 0 and 0 or 1)
end

main()
