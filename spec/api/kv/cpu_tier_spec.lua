-- The CPU tier of the KV cache: when blocks go there, and what it costs to have them back.
local blis = require "blis"

local function run(changes, profile)
  local cluster = { model = "qwen/qwen3-14b", hardware = "H100", kv_blocks = 300,
    kv_cpu_blocks = 5000 }
  for key, value in pairs(changes) do cluster[key] = value end
  return blis.run { cluster = cluster, profile = profile,
    workload = { rate = 4, requests = 120, prompt_tokens = 200, output_tokens = 30,
      prefixes = { groups = 6, tokens = 1024 } } }
end

describe("transfers from CPU memory", function()
  it("cost a base latency once, and bandwidth for every token", function()
    local free = run { kv_transfer_base_latency_us = 0, kv_transfer_bandwidth = 1e12 }
    local one = free.instances[1]
    assert.is_true(one.cpu_transfers > 10 and one.cpu_reloads > 10 * one.cpu_transfers)
    assert.equal(one.cpu_transfers, one.cpu_transfer_us) -- 1 us each, rounded up
    local based = run({ kv_transfer_base_latency_us = 1000, kv_transfer_bandwidth = 1e12 })
      .instances[1]
    assert.equal(based.cpu_transfers * 1001, based.cpu_transfer_us)
    local slow = run({ kv_transfer_base_latency_us = 0, kv_transfer_bandwidth = 16 }).instances[1]
    assert.equal(slow.cpu_reloads, slow.cpu_transfer_us) -- a block of 16 tokens per us
    local each = run({ kv_transfer_base_latency_us = 1000, kv_transfer_bandwidth = 16,
      max_model_len = 0 }, "go-blis").instances[1]
    assert.equal(each.cpu_reloads * 1001, each.cpu_transfer_us)
  end)

  it("begin at a threshold", function()
    local saved = {}
    for i, threshold in ipairs { 0, 0.6, 1 } do
      saved[i] = run({ kv_offload_threshold = threshold }).instances[1].cpu_saved
    end
    assert.is_true(saved[1] > saved[2] and saved[2] > saved[3])
    assert.equal(run({}, "go-blis").hash, run({ kv_offload_threshold = 0.9 }, "go-blis").hash)
    assert.is_false((pcall(run, { kv_offload_threshold = 1.5 })))
  end)

  it("leave rates behind", function()
    local r = run {}
    assert.is_near(r.instances[1].cpu_saved / (r.duration_us / 1e6), r.offload_rate, 1e-9)
    assert.is_true( r.cpu_reload_rate > 0 and r.cache_hit_rate_overall > 0)
    assert.equal(0, run({ kv_cpu_blocks = 0 }).offload_rate)
  end)
end)
