#!/usr/bin/env blis
-- A trace format of your own: the log of a gateway, with fields that blis does not know.
--   blis examples/trace_format.lua [LOG]
-- Load it with -l to use it on the command line: blis -l examples.trace_format replay LOG
local blis = require "blis"

-- One request per line: "time in seconds | user | prompt tokens | output tokens".
blis.trace_format {
  name = "gateway-log",
  summary = "lines of the gateway: seconds | user | prompt tokens | output tokens",
  recognize = function(head) return head:find "^%d+%.%d+ | %w+ | %d+ | %d+\n" end,
  read = function(file)
    local next_line = file:lines()
    return function()
      local line, number = next_line()
      if not line then return nil end
      local time, user, prompt, output = line:match "^(%d+%.%d+) | (%w+) | (%d+) | (%d+)$"
      if not time then
        file:fail(number, "'%s' is no request; expected 'seconds | user | tokens | tokens'", line)
      end
      return { arrival_us = time * 1e6, session = user, tenant = user,
        prompt_tokens = math.tointeger(prompt), output_tokens = math.tointeger(output) }
    end
  end,
}

-- Without a log, one of 300 made-up requests.
local path = arg and arg[1]
if not path then
  path = os.tmpname()
  local rng, file = blis.rng(7), assert(io.open(path, "w"))
  local time = 0
  for _ = 1, 300 do
    time = time + rng:number() * 0.2
    file:write(("%.3f | user%d | %d | %d\n"):format(time, rng:integer(1, 9), rng:integer(50, 900),
      rng:integer(5, 60)))
  end
  file:close()
end

local requests = blis.trace.read(path)
print(("%d requests, the last one at %.1f s"):format(#requests,
  requests:last_arrival_us() / 1e6))
print(blis.run { cluster = { model = "qwen/qwen3-14b", instances = 2 },
  workload = { trace = path } })
if not arg[1] then os.remove(path) end
