--- What looks at running clusters have of the parts that not every cluster has.
local blis = require "blis"
local watch = require "blis.watch"

local new = watch.new

--- The looks at a run of an experiment.
local function looks_at(spec)
  local looks = {}
  watch.new = function()
    return function(look) if look then looks[#looks + 1] = look end end, 0
  end
  spec.watch, spec.watch_interval_ms = true, 0
  local ok, result = pcall(blis.run, spec)
  watch.new = new
  assert(ok, result)
  assert.is_true(#looks > 2)
  return looks, result
end

local function most(looks, read)
  local found = 0
  for _, look in ipairs(looks) do found = math.max(found, read(look)) end
  return found
end

describe("a look", function()
  it("has nothing of what is not there", function()
    local looks = looks_at { cluster = { instances = 2 },
      workload = { rate = 20, requests = 1000, prompt_tokens = 200, output_tokens = 50 } }
    for _, name in ipairs { "lora", "kv_tiers", "tasks", "groups" } do
      assert.is_nil(looks[2][name])
    end
  end)

  it("has adapters, KV tiers and the groups of ranks", function()
    local names, i = { "a", "b", "c", "d" }, 0
    local looks, result = looks_at {
      cluster = { instances = 2, ranks = 2, kv_blocks = 2000, lora = { adapters = names, rank = 8,
        slots = 2, load_base_latency_us = 1000, footprint_bytes_per_rank = 10000000,
        load_bandwidth_bytes_us = 20000, step_overhead_tiers = {} } },
      kv_tiers = { { name = "cpu", gb = 10, read_gb_s = 32 } },
      workload = { requests = 1500, generator = function()
        i = i + 1
        return i <= 1500 and { arrival_us = i * 20000, prompt_tokens = 400, output_tokens = 50,
          adapter = names[i % 4 + 1], prefix_group = tostring(i % 20), prefix_tokens = 300 } or nil
      end },
    }
    local last = looks[#looks]
    assert.same({ 0, 0, 1, 1 }, last.groups)
    assert.equal(8, last.lora.slots)
    assert.is_true(last.lora.loaded > 0 and last.lora.loaded <= 8)
    assert.is_true(last.lora.loads <= result.lora.loads)
    assert.is_true(most(looks, function(look) return look.lora.running end) > 0)
    assert.equal("cpu", last.kv_tiers[1].name)
    assert.is_true(last.kv_tiers[1].used_blocks > 0)
    assert.is_true(last.kv_tiers[1].used_blocks <= last.kv_tiers[1].capacity_blocks)
  end)

  it("has the tasks of session graphs", function()
    local nodes = { { session = "s", prompt_tokens = 100, output_tokens = 200 } }
    for k = 2, 60 do
      nodes[k] = { session = "s", after = k - 1, prompt_tokens = 10, output_tokens = 200,
        delay_us = 1000 }
    end
    local looks, result = looks_at { cluster = { instances = 1 },
      workload = { graphs = { nodes }, concurrency = 3, count = 60 } }
    assert.equal(3, most(looks, function(look) return look.tasks.running end))
    local last = looks[#looks].tasks
    assert.is_true(last.completed > 0 and last.completed <= last.ended)
    assert.is_true(last.completed <= #result.requests:tasks())
  end)
end)
