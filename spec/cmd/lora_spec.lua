--- LoRA adapters on command lines: the file of BLIS in Go, flags, what is refused.
local core = require "blis.core"
local files = require "spec.support.files"
local program = require "spec.support.program"

local file = "--lora-config spec/cmd/lora/adapters.yaml"
local clients = "run --workload-spec spec/cmd/lora/clients.yaml --format json "

local function shell(line) return program.shell("$BLIS " .. line) end

local function run(line)
  local done = shell(line)
  assert.equal(0, done.status, done.err)
  return core.json_read(done.out)
end

local function says(text, line, status)
  local done = shell(line)
  assert.equal(status or 2, done.status, done.err)
  assert.truthy(done.err:find(text, 1, true), done.err)
end

describe("flags of LoRA adapters", function()
  it("read the file of BLIS in Go", function()
    local r = run(clients .. file)
    assert.equal(2, r.lora.loads)
    -- 1000 + 8 * 1e7 / 20,000 and 1000 + 32 * 1e7 / 20,000.
    assert.equal((5.0 + 17.0) / 2, r.lora.mean_load_ms)
    local names = {}
    for i, one in ipairs(r.by_adapter) do names[i] = one.name end
    assert.same({ "legal", "sql" }, names)
    assert.equal(200, r.lora.requests)
  end)

  it("read the files that docs/lora.md shows", function()
    local blocks = {}
    for text in files.read("docs/lora.md"):gmatch "```yaml\n(.-)```" do
      blocks[#blocks + 1] = text
    end
    assert.equal(2, #blocks)
    files.with(blocks[1], function(adapters)
      files.with(blocks[2], function(spec)
        local r = run(("run --workload-spec %s --lora-config %s --format json")
          :format(spec, adapters))
        assert.same({ "legal", "sql" }, { r.by_adapter[1].name, r.by_adapter[2].name })
        assert.equal(200, r.lora.requests)
      end, ".yaml")
    end, ".yaml")
  end)

  it("are in the line that says where the memory goes", function()
    local done = shell("run --num-requests 2 --lora-adapters 9")
    -- 8 slots of rank 8, 2 MB for each.
    assert.truthy(done.out:find("other %- 0%.12 adapters\n"), done.out)
  end)

  it("go before the file", function()
    local r = run(clients .. file
      .. " --lora-adapter-capacity 1 --lora-load-bandwidth-bytes-us 1e9")
    assert.is_true(r.lora.loads > 2)
    assert.near(1.0, r.lora.mean_load_ms, 0.01)
  end)

  it("give adapters to requests without one, and a scorer its weight", function()
    local line = "run --num-instances 4 --rate 20 --num-requests 400 --output-tokens 100 "
      .. "--lora-adapters 32 --format json "
    local plain, weighed = run(line .. "--routing-policy weighted"),
      run(line .. "--routing-policy weighted --lora-scorer-weight 5")
    assert.is_true(weighed.lora.loads < plain.lora.loads)
    assert.truthy(weighed.routing:find("lora-affinity:5", 1, true))
    says("lora-affinity already has a weight", "run --routing-policy weighted "
      .. "--lora-scorer-weight 5 --routing-scorers lora-affinity:1 --lora-adapters 3")
  end)

  it("say what is wrong, with the line of the file", function()
    local path = os.tmpname()
    local function wrong(text, expected)
      local out <close> = assert(io.open(path, "w"))
      out:write(text):flush()
      says((expected:gsub("FILE", path)), clients .. "--lora-config " .. path, 1)
    end
    wrong("lora:\n  adapters:\n    - { id: legal }\n  slots: 9\n",
      "FILE:4: lora: unknown option 'slots'")
    wrong("lora:\n  step_overhead_tiers:\n    8: { k6: 1 }\n",
      "FILE:3: lora.step_overhead_tiers.8: expected a rank with numbers k6 and k7 above 0")
    wrong("lora:\n  step_overhead_tiers:\n    8: { k6: 1, k7: 2, k8: 3 }\n",
      "FILE:3: lora.step_overhead_tiers.8: unknown option 'k8', expected k6 and k7")
    wrong("lora: 9\n", "FILE:1: lora: missing value; expected options")
    os.remove(path)
    says("--lora-adapters: invalid value '0': expected a number from 1 to 100000", clients
      .. "--lora-adapters 0")
    says("run: --lora-host-slots: invalid value 1: expected at least slots, 8", clients
      .. "--lora-adapters 3 --lora-host-slots 1")
    says("--lora-adapters: invalid value 'many': expected a number", clients
      .. "--lora-adapters many")
    says("unknown adapter 'legal': cluster.lora (--lora-config) has none", clients, 1)
    says("request_0 needs adapter 'legal', which cluster.lora.adapters does not have", clients
      .. "--lora-adapters 3", 1)
  end)

  it("tell that they have no effect without adapters", function()
    local done = shell "run --num-requests 5 --lora-rank 8"
    assert.equal(0, done.status)
    assert.truthy(done.err:find("flags of LoRA adapters have no effect without", 1, true))
  end)

  it("are nothing in profile go-blis without slots", function()
    local line = "run --profile go-blis --num-requests 20 --metrics-path /dev/null "
    local function text(more) return shell(line .. more).out end
    assert.equal(text "", text "--lora-adapters 4")
    assert.not_equal(text "", text "--lora-adapters 4 --lora-adapter-capacity 1")
  end)
end)
