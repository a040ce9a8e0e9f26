--- Guards the cost of some runs, in instructions:
---   gate.lua count                 prints "name <tab> instructions" of each, for BLIS_PROGRAM
---   gate.lua compare BEFORE AFTER  compares two such files; status 1 where a figure rose by more
---                                  than 5 %
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local measure = require "measure"

local limit_percent = 5

--- Whole processes. When the garbage of starting is collected, before or in a run, changes with
--- every module; so a short run is counted with its start.
local function start(program) return measure.instructions(program, "round-robin", 0) end
local function small_run(program) return measure.instructions(program, "round-robin", 100) end

local guarded = {
  { "start", start }, { "start and 100 requests", small_run }, "round-robin", "calibrated", "weighted",
  "prefixes", "sessions", "shortage", "weighted, 1024 instances", "columns",
  "pools, round-robin", "pools, weighted", "idle autoscaler",
}

local function name_of(entry) return type(entry) == "table" and entry[1] or entry end

local function count()
  local program = os.getenv "BLIS_PROGRAM" or "build/blis"
  local by_name = {}
  for _, run in ipairs(require "runs") do by_name[run.name] = run end
  for _, entry in ipairs(guarded) do
    local instructions = type(entry) == "table" and entry[2](program)
      or measure.per_request(program, by_name[entry])
    print(("%s\t%.0f"):format(name_of(entry), instructions))
  end
end

local function compare(before, after)
  local is_worse = false
  print(("%-26s %12s %12s %9s"):format("instructions", "before", "after", "change"))
  for _, entry in ipairs(guarded) do
    local name = name_of(entry)
    local old, new = before[name], after[name]
    if not old or not new then error("no figure of '" .. name .. "'", 0) end
    local change = (new / old - 1) * 100
    local word = change > limit_percent and "  too much" or change < -limit_percent and
      "  better: scripts/bench --gate --update keeps it" or ""
    is_worse = is_worse or change > limit_percent
    print(("%-26s %12.0f %12.0f %+8.1f%%%s"):format(name, old, new, change, word))
  end
  return not is_worse
end

if arg[1] == "count" then
  count()
else
  os.exit(compare(measure.read_figures(arg[2]), measure.read_figures(arg[3])))
end
