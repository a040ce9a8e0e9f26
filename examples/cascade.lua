#!/usr/bin/env blis
-- Cognitora's cascade: the small model answers first, and uncertain answers are passed to the large
-- model. What does this save, and what does it cost requests that wait for two answers?
local blis = require "blis"

local small, large = "qwen/qwen2.5-7b-instruct", "qwen/qwen3-14b"

-- Four GPUs: two small engines and one large one on two GPUs.
local mixed = {
  groups = { { instances = 2, model = small, hardware = "H100" },
    { instances = 1, model = large, hardware = "H100", tp = 2 } },
}
local large_alone = { instances = 2, model = large, hardware = "H100", tp = 2 }

local workload = blis.workload {
  rate = 25, requests = 2000,
  prompt = { "gaussian", mean = 400, std_dev = 150, min = 16, max = 2000 },
  output = { "gaussian", mean = 150, std_dev = 80, min = 4, max = 800 },
}

-- How sure a model is of its answer: the mean log-probability of its tokens. The answer to a
-- request is as it is, whatever the threshold; so thresholds are compared on equal answers.
local function cascade(threshold)
  return {
    chain = { small, large }, confidence_threshold = threshold,
    mean_logprob = { [small] = -0.9, [large] = -0.4 }, logprob_std_dev = { [small] = 0.4 },
  }
end

local columns = "%-28s %9s %9s %10s %10s %10s %8s"
print(columns:format("", "asked", "sent on", "TTFT mean", "TTFT p99", "dropped", "hours"))
local function row(name, r)
  local c = rawget(r, "cascade")
  print(columns:format(name, c and ("%.2f"):format(c.mean_steps) or "1.00", c and c.escalated or 0,
    ("%.1f ms"):format(r.ttft_ms.mean), ("%.1f ms"):format(r.ttft_ms.p99),
    c and c.dropped_output_tokens or 0, ("%.3f"):format(r.cost.gpu_hours)))
end

row("the large model alone", blis.run { cluster = large_alone, workload = workload,
  routing = "cognitora.score" })
local sent_on = 0
for _, threshold in ipairs { -1.7, -1.3, -0.9, -0.5 } do
  local r = blis.run {
    cluster = mixed, workload = workload, routing = "cognitora.score",
    admission = "cognitora.admission", cascade = cascade(threshold),
  }
  row(("threshold %.1f"):format(threshold), r)
  assert(r.completed == 2000 and r.cascade.escalated > sent_on)
  sent_on = r.cascade.escalated
end

-- Functions replace the rule: short answers are not worth a second opinion, and no request waits
-- longer than a second for one.
local r = blis.run {
  cluster = mixed, workload = workload, routing = "cognitora.score",
  cascade = {
    name = "patient", chain = { small, large },
    quality = function(_, model, rng, output_tokens)
      if model == large then return -0.4, output_tokens end
      return -0.4 - rng:exponential(0.5), output_tokens * 3 // 4 -- the small one says less
    end,
    escalate = function(request, attempt)
      return attempt.mean_logprob < -0.9 and attempt.output_tokens > 50
        and attempt.end_us - request.arrival_us < blis.seconds(1)
    end,
  },
}
row("own functions", r)
print()
print(r)
