local blis = require "blis"
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

  it("tell what KV tiers brought of their prompts", function()
    local section = slowest_of { cluster = { instances = 1, kv_blocks = 300 },
      kv_tiers = { { name = "<host>", gb = 40, read_gb_s = 1 } },
      workload = { rate = 20, requests = 200, prompt_tokens = 100, output_tokens = 20,
        prefixes = { groups = 4, tokens = 2000 } } }
    assert.truthy(section:find "; [%d,]+ tokens of its prompt brought from &lt;host&gt;")
  end)
end)
