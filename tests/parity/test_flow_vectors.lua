-- Runs of BLIS in Go with a queue of the gateway: the same times of every request, metrics and
-- counts.
local cli2 = require "tests.parity.cli2"

--- Cases with a queue, apart from those that have pools beside it.
local function is_wanted(case)
  return (case.kind == "fc" or case.kind == "combined") and cli2.has_flag(case, "flow%-control")
    and not cli2.has_pools(case)
end

local different = 0
local total = cli2.each(60, 149, is_wanted, function(name, problem)
  if not problem then return end
  different = different + 1
  print(name .. ": " .. problem)
end)
if total == 0 then
  print("no recorded cases in " .. cli2.folder)
  os.exit(77)
end
print(("cases with a queue: %d equal of %d"):format(total - different, total))
os.exit(different == 0 and 0 or 1)
