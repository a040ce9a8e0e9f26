-- Runs and replays of BLIS in Go, ten classes of cases that once differed: the same times of every
-- request, metrics and counts.
local cli2 = require "tests.parity.cli2"

local function is_wanted(case) return case.kind:find("^class%d+$") end

os.exit(cli2.judge {
  title = "cases of ten classes", first = 150, last = 170, is_wanted = is_wanted, differs = {},
})
