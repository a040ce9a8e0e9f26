--- Session graphs and KV tiers on command lines.
local blis = require "blis"
local core = require "blis.core"
local folders = require "spec.support.folders"
local program = require "spec.support.program"

local function shell(line) return program.shell("$BLIS " .. line .. " </dev/null") end

local function run(line)
  local done = shell("run --format json " .. line)
  assert.equal(0, done.status, done.err)
  return core.json_read(done.out)
end

local function says(text, line)
  local done = shell(line)
  assert.equal(2, done.status, done.err)
  assert.truthy(done.err:find(text, 1, true), done.err)
end

local rag = "--workload rag --num-graphs 20 --rate 2 "

describe("flags of session graphs #host", function()
  it("play the tasks of a preset", function()
    local r = run(rag)
    local same = blis.run { workload = { preset = "rag", count = 20, rate = 2 } }
    assert.equal(20, r.tasks.completed)
    assert.equal(same.hash, r.hash)
    assert.equal(20, run("--workload rag --num-graphs 20 --concurrency 3").tasks.completed)
    assert.equal(100, run("--workload rag --rate 9").tasks.completed)
  end)

  it("play the graphs of a file, as they are told to read it", function()
    local corpus = "tests/data/graphs/weka.jsonl"
    local function both(line, more)
      local workload = { graphs = corpus, concurrency = 2 }
      for key, value in pairs(more) do workload[key] = value end
      assert.equal(blis.run { workload = workload }.hash,
        run("--graphs " .. corpus .. " --concurrency 2 " .. line).hash)
    end
    both("", {})
    both("--graph-reading go-blis --graph-delays none", { reading = "go-blis", delays = "none" })
    both("--graph-limit 1 --graph-speed 4", { limit = 1, speed = 4 })
    both("--num-graphs 7 --graph-delay-cap 2s --timeout 9", { count = 7, delay_cap_us = 2000000,
      timeout_us = 9000000 })
  end)

  it("play a folder of conversations", function()
    folders.with(function(path)
      assert(os.execute(("mkdir '%s' && cp tests/data/graphs/weka.jsonl '%s'"):format(path, path)))
      local flags = " --concurrency 2 --num-graphs 5"
      assert.equal(run("--graphs tests/data/graphs/weka.jsonl" .. flags).hash,
        run("--graphs " .. path .. flags).hash)
    end)
  end)

  it("play graphs as a benchmark does", function()
    local function both(line, play)
      local workload = { preset = "coding-agent", concurrency = 2 }
      for key, value in pairs(play) do workload[key] = value end
      local r = run("--workload coding-agent --concurrency 2 " .. line)
      local same = blis.run { workload = workload }
      assert.equal(same.hash, r.hash)
      return r, same
    end
    local r, same = both("--graph-play agentx --graph-duration 60s",
      { play = "agentx", duration_us = 60000000 })
    assert.equal(same.steady.completed, r.steady.completed)
    assert.is_true(r.steady.completed > 0)
    both("--graph-duration 60s --graph-warm-up-requests 3 --graph-primers "
      .. "--graph-response-grace 5s --graph-tree-idle-cap 2s --graph-idle-cap 100ms",
      { duration_us = 60000000, warm_up_requests = 3, primers = true, response_grace_us = 5000000,
        tree_idle_cap_us = 2000000, idle_cap_us = 100000 })
    both("--graph-play agentx --graph-primers=false --graph-duration 60s",
      { play = "agentx", primers = false, duration_us = 60000000 })
    says("--graph-primers requires --concurrency", "run --workload rag --rate 1 --graph-primers")
    says("--graph-play requires --concurrency", "run --workload rag --rate 1 --graph-play agentx")
    says("--graph-response-grace requires --graph-duration or --graph-play",
      "run --workload rag --concurrency 1 --graph-response-grace 3s")
  end)

  it("say which models serve a corpus", function()
    local path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write [[{"trace_id":"t","start_time":1,"attributes":{"gen_ai.request.model":"opus",]]
    file:write '"gen_ai.usage.input_tokens":9,"gen_ai.usage.output_tokens":2}}'
    file:close()
    local line = "--graphs " .. path .. " --rate 1 --graph-models "
    for _, models in ipairs { "qwen/qwen3-14b", "opus=qwen/qwen3-14b,haiku=Qwen/qwen3-14b" } do
      local r = run(line .. models)
      assert.equal(1, r.completed)
    end
    says("no instance serves 'gpt', expected qwen/qwen3-14b", "run " .. line .. "gpt")
    says("--graph-models: invalid value ',': expected models in order", "run " .. line .. ",")
    os.remove(path)
  end)

  it("say what does not go together", function()
    says("--num-graphs requires --graphs, or a graph preset", "run --num-graphs 4")
    says("--workload rag requires --rate or --concurrency", "run --workload rag --num-graphs 3")
    says("--rate cannot be combined with --concurrency", "run " .. rag .. "--concurrency 3")
    says("--num-requests cannot be combined with --workload rag; use --num-graphs",
      "run " .. rag .. "--num-requests 4")
    says("--graph-format cannot be combined with --workload rag",
      "run " .. rag .. "--graph-format weka")
    says("--graphs cannot be combined with --workload rag", "run " .. rag .. "--graphs x")
    says("--shape cannot be combined with --graphs", "run --graphs x --rate 1 --shape surges")
    says("--arrival has no effect without --rate", "run --graphs x --arrival constant")
    says("no recorded start times", "run --graphs tests/data/graphs/weka.jsonl")
  end)

  it("let searches say how many tasks there are", function()
    local found = shell("capacity --workload rag --from 1 --to 2 --target ttft_ms.p50=1e6 "
      .. "--replications 1 --max-requests 60 --quiet")
    assert.equal(0, found.status, found.err)
  end)
end)

describe("flags of KV tiers #host", function()
  local small = "--total-kv-blocks 2000 "
  local cluster = { kv_blocks = 2000 }

  it("name a preset, tiers, or both", function()
    local function both(line, tiers)
      local r = run(rag .. small .. line)
      local same = blis.run { cluster = cluster, kv_tiers = tiers,
        workload = { preset = "rag", count = 20, rate = 2 } }
      assert.equal(same.hash, r.hash)
      assert.is_true(r.kv_tiers.loaded_blocks > 0)
    end
    both("--kv-tier cpu:gb=20,read_gb_s=32,per_gpu=true --kv-tier disk:blocks=90000,read_gb_s=5,"
      .. "stage=cpu --kv-tiers-load if-faster", {
      { name = "cpu", gb = 20, read_gb_s = 32, per_gpu = true },
      { name = "disk", blocks = 90000, read_gb_s = 5, stage = "cpu" }, load = "if-faster" })
    both("--kv-tiers llm-d --kv-tier cpu:gb=20 --kv-tiers-chunk-tokens 256",
      { preset = "llm-d", { name = "cpu", gb = 20 }, chunk_tokens = 256 })
  end)

  it("say what is wrong with them", function()
    says("--kv-tier: invalid value 'cpu': expected NAME:KEY=VALUE,...", "run --kv-tier cpu")
    says("--kv-tier: duplicate tier 'gb'", "run --kv-tier cpu:gb=1,gb=2")
    says("--kv-tier[1]: unknown option 'gbs'", "run --kv-tier cpu:gbs=1,read_gb_s=2")
    says("--kv-tier[1].gb: invalid value 'x': expected a number",
      "run --kv-tier cpu:gb=x,read_gb_s=2")
    says("flags of KV tiers require --kv-tiers or --kv-tier", "run --kv-tiers-load all")
    says("does not set the size of tier 'cpu'", "run --kv-tiers vllm-0.22")
    says("--kv-tiers: invalid value 'vllm': expected one of", "run --kv-tiers vllm")
  end)
end)
