-- Runs of BLIS in Go with pools for prefill and decode: the same times of every request, metrics
-- and counts.
local cli2 = require "tests.parity.cli2"

-- What keeps cases from being equal, with their names. Every other case must be equal, and one of
-- these that becomes equal must be taken off. The problem of a case has the text in it.
local differs = {
  { "there is no encode stage",
    "011 012 013 014 016 019 031 032 033 034 036 039 051 052 053 054 056 059 145",
    text = "--encode-instances is not available" },
  { "the numbers of follow-ups: there, decodes end by id within one step",
    "022 025 027", text = "is missing" },
  { "which requests are dropped where blocks are scarce", "017 138", text = "number of requests" },
  { "times from the second token on", "058", text = "itl_ms" },
  { "bytes of a transfer: there, a shared instance of another TP sends as one of the prefill pool",
    "009", text = "request_0 ttft_ms" },
  { "a pool with roofline alone: there, it has the fixed overheads of the other model", "021 057",
    text = "request_0 ttft_ms" },
  { "times to the first token", "035 046", text = "ttft_ms" },
  { "which blocks are found cached", "010", text = "metric cache_hit_rate" },
  { "the count of priority inversions", "041 146", text = "Priority Inversions" },
  { "how often blocks leave the CPU tier", "135 147", text = "KV Thrashing Rate" },
}

local listed = {}
for _, reason in ipairs(differs) do
  reason.cases = {}
  for name in reason[2]:gmatch("%S+") do listed[name] = reason end
end

local function is_wanted(case)
  return (case.kind == "pd" or case.kind == "combined") and cli2.has_pools(case)
end

local equal, failures = 0, 0

local function fail(name, remark)
  failures = failures + 1
  print(name .. ": " .. remark)
end

local function judge(name, problem)
  local reason = listed[name]
  if not problem then
    equal = equal + 1
    if reason then fail(name, "is equal now: take it off the list (" .. reason[1] .. ")") end
  elseif not reason then
    fail(name, problem)
  elseif not problem:find(reason.text, 1, true) then
    fail(name, ("is listed for %q, not for: %s"):format(reason.text, problem))
  else
    table.insert(reason.cases, name)
  end
end

local total = cli2.each(0, 149, is_wanted, judge)
if total == 0 then
  print("no recorded cases in " .. cli2.folder)
  os.exit(77)
end
for _, reason in ipairs(differs) do
  if #reason.cases > 0 then
    print(("differs: %s: %d cases (%s)"):format(reason[1], #reason.cases,
      table.concat(reason.cases, " ")))
  end
end
print(("cases with pools: %d equal of %d, %d listed as different"):format(equal, total,
  total - equal))
os.exit(failures == 0 and 0 or 1)
