-- blis plot.lua FILE.svg: the plot in the README, of the comparison at its beginning.
local blis = require "blis"

blis.compare {
  cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 4 },
  workload = { rate = 30, requests = 5000, prompt_tokens = 500, output_tokens = 100,
    prefixes = { groups = 50, tokens = 8000, zipf = 0.8 } },
  routing = { "round-robin", "least-loaded", "weighted" },
}:plot { path = arg[1], show = { "ttft", "e2e" }, columns = 2 }
