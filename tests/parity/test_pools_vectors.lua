-- Runs of BLIS in Go with pools for prefill and decode: the same times of every request, metrics
-- and counts.
local cli2 = require "tests.parity.cli2"

-- What keeps cases from being equal, with their names. Every other case must be equal, and one of
-- these that becomes equal must be taken off. The problem of a case has the text in it.
local differs = {
  { "several rounds of multimodal requests", "012 034 036 054",
    text = "multimodal and reasoning.multi_turn exclude each other" },
  { "times from the second token on", "013", text = "itl_ms" },
  { "which requests are dropped where blocks are scarce", "017 053 138",
    text = "number of requests" },
  { "times to the first token", "035", text = "ttft_ms" },
  { "which blocks are found cached", "010", text = "metric cache_hit_rate" },
  { "the count of priority inversions, which in shared pools depends on the order of a map",
    "041 146", text = "Priority Inversions" },
  { "how often blocks leave the CPU tier", "135 147", text = "KV Thrashing Rate" },
}

local function is_wanted(case)
  return (case.kind == "pd" or case.kind == "combined") and cli2.has_pools(case)
end

os.exit(cli2.judge {
  title = "cases with pools", first = 0, last = 149, is_wanted = is_wanted, differs = differs,
})
