#!/usr/bin/env blis
-- Traffic from a workload specification: a YAML file, as for `blis run --workload-spec`. Options in
-- Lua override the file. A table may contain the same keys.
local blis = require "blis"

local file = arg[1] or arg[0]:gsub("[^/]*$", "") .. "data/chat.yaml"

-- Without answers to wait for, a workload can be listed beforehand and looked at.
print(blis.workload { file = file })
print()

local comparison = blis.compare {
  cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 3 },
  workload = { file = file, seed = 42 },
  routing = { "round-robin", "least-loaded", "weighted" },
}
print(comparison)
print()

-- The file says what is good enough for two of its SLO classes.
for _, result in ipairs(comparison) do
  local parts = {}
  for i, class in ipairs(result.goodput.classes) do
    parts[i] = ("%s %.1f %%"):format(class.name, 100 * class.attainment)
  end
  print(("%-12s requests within their targets: %s"):format(result.routing,
    table.concat(parts, ", ")))
end
