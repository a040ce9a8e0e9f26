--- Runs whose timelines can be told by hand, and how these are read.
local blis = require "blis"
local check = require "spec.support.timeline"
local files = require "spec.support.files"

local runs = {}

--- The text of a timeline.
function runs.written(result, options)
  local path = os.tmpname()
  os.remove(path)
  path = path .. ".json"
  result:timeline(path, options)
  local text = files.read(path)
  os.remove(path)
  return text
end

--- Its head, and its events.
function runs.read(result, options) return check.read(runs.written(result, options)) end

--- Requests of { arrival_us, prompt, output } on instances whose steps take 1 ms.
function runs.even(list, instances, more)
  local i = 0
  local spec = {
    cluster = { instances = instances, kv_blocks = 1000, async_scheduling = false,
      latency_model = blis.latency_model { name = "even",
        step_time = function() return 1000 end } },
    workload = { requests = #list, generator = function()
      i = i + 1
      local one = list[i]
      return one and { arrival_us = one[1], prompt_tokens = one[2], output_tokens = one[3] }
    end },
    routing = "round-robin", keep_timeline = true,
  }
  for key, value in pairs(more or {}) do
    if key == "cluster" then
      for name, option in pairs(value) do spec.cluster[name] = option end
    else
      spec[key] = value
    end
  end
  return blis.run(spec)
end

--- "track name from to reason" of the states of instances.
function runs.states_of(events)
  local states = {}
  for _, event in ipairs(events) do
    if event.cat == "state" then
      states[#states + 1] = ("%s %s %g %g %s"):format(event.args.instance, event.name,
        event.ts / 1000, (event.ts + event.dur) / 1000, event.args.reason or "-")
    end
  end
  return states
end

return runs
