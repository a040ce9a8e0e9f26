-- Runs of BLIS in Go with node pools and its autoscaler: the same times of every request, metrics
-- and counts.
local cli2 = require "tests.parity.cli2"

-- What keeps cases from being equal, with their names, as in test_pools_vectors.lua.
local differs = {}

local function is_wanted(case) return case.kind == "autoscaler" end

os.exit(cli2.judge {
  title = "cases with an autoscaler", first = 110, last = 134, is_wanted = is_wanted,
  differs = differs,
})
