#!/usr/bin/env blis
-- HAProxy's leastconn in front of simulated instances, against blis' own least-loaded.
--
--   blis examples/live/haproxy.lua [REQUESTS [RATE]]
--
-- The same requests are served twice: by live instances behind a real HAProxy, by the wall clock,
-- and in a simulation whose router counts outstanding requests, in virtual time. Both should agree
-- within the noise of the wall clock. Needs haproxy and curl.
local blis = require "blis"

local program = os.getenv "BLIS_PROGRAM" or "blis"
local requests, rate = tonumber(arg[1] or 300), tonumber(arg[2] or 40)
local instances, first_port = 4, 18600

if not os.execute "command -v haproxy >/dev/null && command -v curl >/dev/null" then
  print "haproxy or curl is not installed"
  return
end

local folder = os.tmpname()
os.remove(folder)
os.execute("mkdir " .. folder)

local servers = {}
for i = 1, instances do
  servers[i] = ("  server i%d 127.0.0.1:%d check"):format(i, first_port + i)
end
local config = assert(io.open(folder .. "/haproxy.cfg", "w"))
config:write(([[
defaults
  mode http
  option http-no-delay
  timeout connect 5s
  timeout client 600s
  timeout server 600s
frontend api
  bind 127.0.0.1:%d
  default_backend instances
backend instances
  balance leastconn
  option httpchk GET /health
%s
]]):format(first_port, table.concat(servers, "\n")))
config:close()

-- The same traffic for both.
local traffic = ("--rate %g --num-requests %d --seed 7 --prompt-tokens 800 "
  .. "--prompt-tokens-stdev 400 --output-tokens 120 --output-tokens-stdev 60"):format(rate,
  requests)
local cluster = ("--model qwen/qwen3-14b --hardware H100 --num-instances %d"):format(instances)

os.execute(([[cd %s && %s live %s --port-base %d --quiet --save live.blis >live.out 2>&1 & LIVE=$!
  haproxy -q -f %s/haproxy.cfg & PROXY=$!
  for i in $(seq 100); do curl -sf -o /dev/null http://127.0.0.1:%d/health && break; sleep 0.1; done
  %s observe --target http://127.0.0.1:%d --max-send-delay 1h --save %s/client.blis %s >/dev/null
  kill $PROXY; kill -INT $LIVE; wait]]):format(folder, program, cluster, first_port + 1, folder,
  first_port, program, first_port, folder, traffic))
os.execute(("%s run %s %s --routing-policy least-loaded --quiet --save %s/own.blis >/dev/null")
  :format(program, cluster, traffic, folder))

local function row(name, result)
  return ("%-28s %8.1f %8.1f %8.2f   %s"):format(name, result.ttft_ms.p50, result.ttft_ms.p99,
    result.itl_ms.mean, tostring(result.requests_per_instance))
end

print(("%-28s %8s %8s %8s   %s"):format("", "TTFT p50", "TTFT p99", "ITL mean",
  "requests by instance"))
print(row("HAProxy, client", blis.load_result(folder .. "/client.blis")))
print(row("HAProxy, simulated times", blis.load_result(folder .. "/live.blis")))
print(row("least-loaded, virtual time", blis.load_result(folder .. "/own.blis")))
os.execute("rm -rf " .. folder)
