-- Live mode: client-measured against simulated latencies, many streams, idle CPU, and memory.
-- topics: live http observe
local blis = require "blis"
local core = require "blis.core"

local program = os.getenv "BLIS_PROGRAM" or "blis"

if not (core.live_library() and core.observe_library()) then
  print "skipped: this build has no libevent or no libcurl"
  return
end

local folder = os.tmpname()
os.remove(folder)
core.make_folder(folder)

local function shell(format, ...)
  local pipe = assert(io.popen(format:format(...)))
  local text = pipe:read "a"
  pipe:close()
  return text
end

--- CPU time of a process, in seconds.
local function cpu_of(pid)
  local text = shell("cat /proc/%s/stat", pid)
  local user, system = text:match "%) %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+ (%d+) (%d+)"
  return (tonumber(user) + tonumber(system)) / 100
end

--- Resident memory of a process, in KiB, and the greatest so far.
local function memory_of(pid)
  local text = shell("cat /proc/%s/status", pid)
  return tonumber(text:match "VmRSS:%s+(%d+)"), tonumber(text:match "VmHWM:%s+(%d+)")
end

local next_port = 21000 + os.time() % 9000

--- Starts a server; calls body(url, pid); returns what the server simulated.
local function with_server(flags, body)
  next_port = next_port + 1
  local url = ("http://127.0.0.1:%d"):format(next_port)
  local pid = shell([[%s live --model qwen/qwen3-14b --hardware H100 --gateway 127.0.0.1:%d %s \
    --save %s/live.blis >%s/live.out 2>&1 & echo $!]], program, next_port, flags, folder,
    folder):match "%d+"
  shell("for i in $(seq 100); do curl -s -o /dev/null %s/health && break; sleep 0.05; done", url)
  body(url, pid)
  shell("kill -INT %s; while kill -0 %s 2>/dev/null; do sleep 0.05; done", pid, pid)
  return blis.load_result(folder .. "/live.blis")
end

local function observe(url, flags)
  print((shell("%s observe --target %s --max-send-delay 1h --save %s/observed.blis %s 2>&1",
    program, url, folder, flags):gsub("\n%s*$", "")))
  return blis.load_result(folder .. "/observed.blis")
end

print "client against simulation (limit: median within 2 ms and 1%)"
local measured
local simulated = with_server("", function(url)
  measured = observe(url, "--rate 10 --num-requests 300 --prompt-tokens 500 --output-tokens 100")
end)
for _, name in ipairs { "ttft_ms", "itl_ms", "e2e_ms" } do
  local a, b = simulated[name].p50, measured[name].p50
  print(("  %-8s median %9.3f ms simulated, %9.3f ms measured: %+.3f ms, %+.2f%%"):format(name, a,
    b, b - a, 100 * (b / a - 1)))
end

print "\n2,000 streams at once (limits: 50,000 tokens/s on one core, 16 KB per stream)"
with_server("--num-instances 16 --max-num-seqs 256", function(url, pid)
  local before = memory_of(pid)
  local cpu = cpu_of(pid)
  local result = observe(url,
    "--rate 1000 --num-requests 2000 --prompt-tokens 32 --output-tokens 500 --max-connections 4000")
  local _, most = memory_of(pid)
  local spent = cpu_of(pid) - cpu
  print(("  server: %.2f s CPU for %s tokens: %.0f tokens/s of CPU; %.1f KB per stream"):format(
    spent, result.output_tokens, result.output_tokens / spent, (most - before) / 2000))
end)

print "\nidle (limit: near 0)"
with_server("", function(_, pid)
  local cpu = cpu_of(pid)
  shell "sleep 10"
  print(("  %.1f%% of a core"):format(100 * (cpu_of(pid) - cpu) / 10))
end)
os.execute("rm -rf " .. folder)
