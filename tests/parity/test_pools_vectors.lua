-- Runs of BLIS in Go with pools for prefill and decode: the same times of every request, metrics
-- and counts.
local cli2 = require "tests.parity.cli2"

local function is_wanted(case)
  return (case.kind == "pd" or case.kind == "combined") and cli2.has_pools(case)
end

os.exit(cli2.judge {
  title = "cases with pools", first = 0, last = 149, is_wanted = is_wanted, differs = {},
})
