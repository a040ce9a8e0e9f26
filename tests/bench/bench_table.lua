--- What whole runs cost, beside what they may: instructions per request (counted, so that they are
--- the same on a busy machine), requests per second of CPU time (the median of several), and
--- what follows from both. Beside a file of an earlier table it prints the earlier figures.
---
---   build/blis tests/bench/bench_table.lua [--times N] [--only WORD] [--before FILE] [--save FILE]
---
--- topics: instructions
package.path = (arg[0]:match "^(.*)/" or ".") .. "/table/?.lua;" .. package.path
local measure = require "measure"
local runs = require "runs"

local program = os.getenv "BLIS_PROGRAM" or "build/blis"

local function options_of(arguments)
  local options = { times = 5 }
  local i = 1
  while arguments[i] do
    local name, value = arguments[i]:match "^%-%-(%a+)$", arguments[i + 1]
    if name == "times" then
      options.times = math.tointeger(tonumber(value))
        or error("--times: expected a whole number, not " .. tostring(value), 0)
    elseif (name == "only" or name == "before" or name == "save") and value then
      options[name] = value
    else
      error(("table: '%s' is none of --times N, --only WORD, --before FILE, --save FILE")
        :format(arguments[i]), 0)
    end
    i = i + 2
  end
  return options
end

local function write_figures(path, figures)
  local file <close> = assert(io.open(path, "w"))
  for _, run in ipairs(runs) do
    if figures[run.name] then file:write(("%s\t%.0f\n"):format(run.name, figures[run.name])) end
  end
end

local function or_dash(format, value) return value and format:format(value) or "-" end

local row = "%-26s %12s %12s %12s %12s %12s"

local function print_run(run, counted, before, speed)
  print(row:format(run.name, or_dash("%.0f", counted), or_dash("%.0f", before),
    or_dash("%d", run.goal), or_dash("%.0f", speed), or_dash("%d", run.speed_goal)))
end

--- Requests per second of CPU time.
local function speed_of(run, times)
  local speeds = {}
  for i = 1, times do
    speeds[i] = run.requests / measure.timed(program, run.name, run.requests).seconds
  end
  return measure.median(speeds)
end

--- Bytes that each further request leaves behind.
local function bytes_per_request()
  local few, many = 200000, 1000000
  local grown_kb = measure.timed(program, "round-robin", many).peak_kb
    - measure.timed(program, "round-robin", few).peak_kb
  return grown_kb * 1024 / (many - few)
end

--- The seconds of one run in those of another, as the median of pairs that were run in turns.
local function ratio_of_times(one, other, times)
  local ratios = {}
  for i = 1, times do
    ratios[i] = measure.timed(program, one, 300000).seconds
      / measure.timed(program, other, 300000).seconds
  end
  return measure.median(ratios)
end

-- What is compared: label, run, the run it is compared with, goal.
local ratios = {
  { "2,048 against 64 tokens", "2048 tokens", "64 tokens", 1.3, timed = true },
  { "columns against built in", "columns", "built-in pair", 1.1, timed = true },
  { "per candidate against built in", "per candidate", "built-in pair", 1.5, timed = true },
}
for _, policy in ipairs { "weighted", "least-loaded" } do
  local few = policy .. ", 16 instances"
  ratios[#ratios + 1] = { policy .. ", 1,024 against 16", policy .. ", 1024 instances", few, 3 }
  ratios[#ratios + 1] = { policy .. ", 10,000 against 16", policy .. ", 10000 instances", few, 20 }
end

local function print_ratios(figures, times)
  local line = "%-34s %14s %14s %8s"
  print()
  print(line:format("ratio", "instructions", "CPU time", "goal"))
  for _, ratio in ipairs(ratios) do
    local one, other = figures[ratio[2]], figures[ratio[3]]
    if one and other then
      print(line:format(ratio[1], ("%.2f"):format(one / other),
        or_dash("%.2f", ratio.timed and times > 0 and ratio_of_times(ratio[2], ratio[3], times)),
        ("%.1f"):format(ratio[4])))
    end
  end
end

local options = options_of(arg)
local before = options.before and measure.read_figures(options.before) or {}
local figures = {}
if not measure.can_count() then
  print "valgrind is not installed (scripts/setup --tests): instructions are not counted"
end
print(row:format("run", "instr/req", "before", "goal", "requests/s", "goal"))
for _, run in ipairs(runs) do
  if run.missing then
    print(("%-26s skipped: %s"):format(run.name, run.missing))
  elseif not options.only or run.name:find(options.only, 1, true) then
    if measure.can_count() then figures[run.name] = measure.per_request(program, run) end
    print_run(run, figures[run.name], before[run.name],
      options.times > 0 and speed_of(run, options.times) or nil)
  end
end
print_ratios(figures, options.times)
if options.times > 0 then
  print(("\nmemory per finished request: %.0f bytes (goal 72)"):format(bytes_per_request()))
end
if options.save then write_figures(options.save, figures) end
