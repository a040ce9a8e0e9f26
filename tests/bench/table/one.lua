--- One named run, as a process of its own:  one.lua NAME REQUESTS
--- Prints the hash, seconds of CPU time and the largest resident size in KB; for REQUESTS = 0
--- nothing is simulated, so that what starting takes can be counted.
local blis = require "blis"

local name, requests = arg[1], tonumber(arg[2])

local function peak_kb()
  for line in io.lines("/proc/self/status") do
    local kb = line:match "^VmHWM:%s*(%d+)"
    if kb then return kb end
  end
end

if requests == 0 then return end

package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
for _, run in ipairs(require "runs") do
  if run.name == name then
    local spec = run.spec(requests)
    local start = os.clock()
    local hash = blis.run(spec).hash
    print(hash, os.clock() - start, peak_kb())
    return
  end
end
error("no run is called '" .. name .. "'")
