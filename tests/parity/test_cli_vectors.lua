-- Runs of BLIS in Go, recorded with their flags: `blis run` with the same flags and --profile
-- go-blis gives the same metrics and the same times of every request, to the last bit. A few cases
-- are in tests/data/parity; all of them, with the printed text, are in the shared folder.
local core = require "blis.core"
local run = require "blis.cmd.run"
local support = require "tests.parity.support"

local differ = support.differ
local folder = support.shared .. "/vectors/cli"

-- What is recorded of a case but wrong, because BLIS (Go) counts requests that were dropped at the
-- start of their transfer as completed.
local dropped_at_transfer = {
  metrics = { "e2e_mean_ms", "e2e_p90_ms", "e2e_p95_ms", "e2e_p99_ms", "ttft_mean_ms",
    "ttft_p90_ms", "ttft_p95_ms", "ttft_p99_ms" },
  sections = { "Per-Tenant Metrics", "Per-SLO Metrics", "Fitness Evaluation", "PD Metrics" },
  -- It ended when its transfer was to start, at the start of its only step.
  is_wrong_row = function(row) return row[4] == row[5] end,
}

-- By the name of a case. Every other case must be equal as a whole.
local corrected = { ["033"] = dropped_at_transfer }

--- What is recorded of a case without what is wrong.
local function right_of(name, expected)
  local wrong = corrected[name]
  if not wrong then return expected end
  for _, metric in ipairs(wrong.metrics) do expected.metrics[metric] = nil end
  for _, title in ipairs(wrong.sections) do expected.sections[title] = nil end
  local rows = {}
  for _, row in ipairs(expected.requests) do
    if not wrong.is_wrong_row(row) then rows[#rows + 1] = row end
  end
  expected.requests = rows
  return expected
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
local function difference(name, case, place)
  local metrics_path = place .. "metrics.json"
  local arguments = arguments_of(case, place)
  table.move({ "--metrics-path", metrics_path }, 1, 2, #arguments + 1, arguments)
  local text, problem = support.call(run, arguments)
  if not text then return problem end
  local got = core.json_read(support.read_file(metrics_path))
  os.remove(metrics_path)
  local expected = right_of(name, case.expected)
  return support.compare_metrics(expected.metrics, got)
    or support.compare_requests(expected.requests, got.requests)
    or compare_sections(expected.sections, text)
end

--- Counts cases, and those that are equal, in the repository: metrics and requests of a few.
local function compare_own(place)
  local total, equal = 0, 0
  for line in io.lines "tests/data/parity/cli.jsonl" do
    local case = core.json_read(line, "cli.jsonl")
    total = total + 1
    local problem = difference(case.name, case, place)
    if problem then
      print(("%s of the repository: different: %s"):format(case.name, problem))
    else
      equal = equal + 1
    end
  end
  print(("CLI cases of the repository: %d equal of %d"):format(equal, total))
  return equal == total and total > 0
end

--- Whether all cases of the folder are equal; true without the folder.
local function compare_folder(place)
  local total, equal = 0, 0
  for number = 0, 999 do
    local name = ("%03d"):format(number)
    local text = support.read_file(("%s/%s.json"):format(folder, name))
    if not text then break end
    total = total + 1
    local problem = difference(name, core.json_read(text, name .. ".json"), place)
    if problem then print(("%s: different: %s"):format(name, problem)) else equal = equal + 1 end
  end
  if total == 0 then
    print("no recorded cases in " .. folder)
  else
    print(("CLI cases: %d equal of %d"):format(equal, total))
  end
  return equal == total
end

local place = os.tmpname()
local is_own_equal, is_folder_equal = compare_own(place .. "."), compare_folder(place .. ".")
os.remove(place)
os.remove(place .. ".spec.yaml")
os.exit(is_own_equal and is_folder_equal)
