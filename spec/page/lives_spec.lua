local blis = require "spec.support.old_defaults"
local files = require "spec.support.files"

--- What the page of a run tells of its slowest requests.
local function slowest_of(spec)
  local section
  files.with(nil, function(path)
    blis.run(spec):report(path)
    section = files.read(path):match '<section [^>]*id="slowest">.-</section>'
  end, ".html")
  return section
end

describe("lives of slow requests", function()
  it("name the adapter that they waited for", function()
    local spec = { cluster = { instances = 1,
      lora = { adapters = 1, slots = 1, load_base_latency_us = 20000000 } },
      workload = { rate = 5, requests = 20, prompt_tokens = 100, output_tokens = 10 } }
    local section = slowest_of(spec)
    assert.truthy(section:find(">waiting for adapter_1 20,0", 1, true))
    assert.truthy(section:find("waiting for an adapter</li>", 1, true))
    spec.cluster.lora = nil
    section = slowest_of(spec)
    assert.is_nil(section:find("adapter", 1, true))
  end)

  it("do not tell a wait of the decode stage as one of the prefill", function()
    local section = slowest_of { cluster = { model = "qwen3-14b", prefill_instances = 1,
        decode_instances = 1, lora = { adapters = 6, slots = 1 } },
      disaggregation = {},
      workload = { rate = 5, requests = 40, prompt_tokens = 100, output_tokens = 60 } }
    assert.truthy(section:find("waiting to decode", 1, true))
    assert.is_nil(section:find("waiting for adapter", 1, true))
  end)

  it("tell prefills from hand-offs and from waits behind them", function()
    local told = 0
    local section = slowest_of { seed = 3, cluster = { model = "qwen3-14b", hardware = "H100",
        prefill_instances = 1, decode_instances = 1, max_num_seqs = 8 },
      disaggregation = {},
      workload = { rate = 40, requests = 200, prompt_tokens = 2000, output_tokens = 60 } }
    for text in section:gmatch "prefill [^<]*; prefilled by" do
      told = told + 1
      local prefill_ms = tonumber((text:match "^prefill ([%d.,]+)":gsub(",", "")))
      assert.is_true(prefill_ms < 200, text)
      assert.matches("hand%-off [%d.,]+ ms, .*decode", text)
    end
    assert.equal(10, told)
    assert.truthy(section:find("hand-off</li>", 1, true))
  end)

  it("say what they do not know of requests that were sent again", function()
    local spec = { cluster = { instances = 2 },
      faults = { { kind = "crash", at = 1000000, instance = "instance_0", requests = "rerouted",
        recover_after = 1000000 } },
      workload = { rate = 20, requests = 60, prompt_tokens = 100, output_tokens = 100 } }
    assert.matches("Requests were rerouted %d+ times", slowest_of(spec))
    spec.faults = nil
    assert.is_nil(slowest_of(spec):find("were rerouted", 1, true))
  end)

  it("tell what KV tiers brought of their prompts", function()
    local section = slowest_of { cluster = { instances = 1, kv_blocks = 300 },
      kv_tiers = { { name = "<host>", gb = 40, read_gb_s = 1 } },
      workload = { rate = 20, requests = 200, prompt_tokens = 100, output_tokens = 20,
        prefixes = { groups = 4, tokens = 2000 } } }
    assert.truthy(section:find "; [%d,]+ tokens of its prompt brought from &lt;host&gt;")
  end)
end)
