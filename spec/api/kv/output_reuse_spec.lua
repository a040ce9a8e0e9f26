--- What the next prompt of a session finds of the output before it, by block size.
local blis = require "blis"

local function run(cluster, profile)
  cluster.instances, cluster.kv_blocks = 1, 2000
  return blis.run { cluster = cluster, profile = profile, workload = { graphs = {
    { { prompt_tokens = 100, output_tokens = 33 },
      { after = 1, prompt_tokens = 60, output_tokens = 20 } } } } }
end

describe("output in the cache", function()
  it("is all that is stored, in whole blocks", function()
    for _, size in ipairs { 1, 2, 4, 10, 16 } do
      for _, engine in ipairs { "fast", "stepwise" } do
        local r = run { block_size = size, engine = engine }
        -- The last token's KV is never stored: 100 + 32 tokens are.
        assert.equal(132 // size, r.instances[1].cache_hits, engine .. " " .. size)
      end
    end
  end)

  it("is not there in blocks of one token of BLIS (Go)", function()
    local r = run({ block_size = 1, max_model_len = 1000 }, "go-blis")
    assert.equal(100, r.instances[1].cache_hits)
  end)
end)
