-- A sweep that keeps nothing, for the program as WebAssembly.
local blis = require "blis"

print(blis.sweep {
  name = "instances", parameters = { { "instances", { 1, 2 } } }, replications = 2,
  report = { "ttft_ms.mean" },
  trial = function(p)
    return blis.run { cluster = { instances = p.instances }, seed = p.seed,
      workload = { rate = 10, requests = 100, prompt_tokens = 200, output_tokens = 20 } }
  end,
}:run { quiet = true })
