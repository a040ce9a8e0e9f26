-- Replays of BLIS in Go: `blis replay` with the same flags and --profile go-blis writes the same
-- metrics and the same results, to the last bit.
local core = require "blis.core"
local replay = require "blis.cmd.replay"
local support = require "tests.parity.support"

local folder = support.shared .. "/vectors/engine"

local function compare_results(expected, got)
  if #expected ~= #got then return support.differ("number of", "results", #expected, #got) end
  for i, one in ipairs(expected) do
    for key, value in pairs(one) do
      if got[i][key] ~= value then
        return support.differ("result " .. one.request_id, key, value, got[i][key])
      end
    end
    for key in pairs(got[i]) do
      if one[key] == nil then return ("result %d: unexpected %s"):format(one.request_id, key) end
    end
  end
end

--- The rows of the metrics file in the form of support.compare_requests.
local function rows_of(requests)
  local rows = {}
  for i, request in ipairs(requests) do
    rows[i] = { request.requestID, request.ttft_ms, request.itl_ms, request.e2e_ms,
      request.scheduling_delay_ms, request.handled_by }
  end
  return rows
end

local function read_json(path)
  local value = core.json_read(support.read_file(path), path)
  os.remove(path)
  return value
end

--- What is different in a case; nil when nothing is.
local function difference(case, stem, place)
  local arguments = { stem .. ".csv", "--profile", "go-blis", "--quiet",
    "--metrics-path", place .. ".m", "--results-path", place .. ".r",
    table.unpack(case.blis_args) }
  local text, problem = support.call(replay, arguments)
  if not text then return problem end
  local metrics, results = read_json(place .. ".m"), read_json(place .. ".r")
  return support.compare_metrics(case.expected_metrics, metrics)
    or support.compare_requests(rows_of(case.expected_metrics.requests), metrics.requests)
    or compare_results(case.expected_results, results)
end

--- The names of the cases: those of the worked examples are known, the others are numbered.
local function stems()
  local list = {}
  local examples = { "E01_basics", "E02_chunk_budget_seqs", "E03_preempt_fcfs",
    "E04_fully_cached", "E05_fully_cached_alone", "E06_timeouts", "E07_starved_decode",
    "E08_growth_livelock", "E09_horizon", "E10_empty_prompt", "E11_mml_boundary",
    "E12_priority_preempt", "E13_priority_sched_preempt", "E14_block_size_1" }
  for _, name in ipairs(examples) do list[#list + 1] = name end
  for number = 0, 999 do list[#list + 1] = ("R%03d"):format(number) end
  return list
end

local function main()
  local place = os.tmpname()
  local total, equal = 0, 0
  for _, name in ipairs(stems()) do
    local stem = folder .. "/" .. name
    local text = support.read_file(stem .. ".json")
    if text then
      total = total + 1
      local problem = difference(core.json_read(text, name .. ".json"), stem, place)
      if problem then print(name .. ": " .. problem) else equal = equal + 1 end
    end
  end
  os.remove(place)
  if total == 0 then
    print("no recorded cases in " .. folder)
    os.exit(77)
  end
  print(("replayed cases: %d equal of %d"):format(equal, total))
  os.exit(equal == total and 0 or 1)
end

main()
