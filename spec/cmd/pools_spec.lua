-- Prefill and decode pools where they are not asked for by a script or a flag alone: policy
-- bundles, replays of exported traces, and sweeps.
local blis = require "blis"
local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"
local folders = require "spec.support.folders"

local pools = { "--prefill-instances", "2", "--decode-instances", "2",
  "--model", "qwen/qwen3-14b", "--hardware", "H100", "--pd-transfer-bandwidth", "5" }

local traffic = { "--rate", "12", "--num-requests", "60", "--prompt-tokens", "900",
  "--output-tokens", "30", "--prefix-tokens", "320" }

--- What a command prints as JSON, with these flags after all others.
local function result_of(command, ...)
  local words = { ... }
  words[#words + 1], words[#words + 2] = "--format", "json"
  return core.json_read(commands.output_of(command, table.unpack(words)), command)
end

local function run(...)
  local words = table.move(traffic, 1, #traffic, #pools + 1, table.move(pools, 1, #pools, 1, {}))
  for _, word in ipairs { ... } do words[#words + 1] = word end
  return result_of("run", table.unpack(words))
end

describe("pools", function()
  it("take the routing of a bundle, for both stages", function()
    local by_flags = run("--routing-policy", "weighted", "--routing-scorers",
      "queue-depth:2,kv-utilization:1")
    files.with("routing:\n  policy: weighted\n  scorers:\n    - {name: queue-depth, weight: 2}\n"
      .. "    - {name: kv-utilization, weight: 1}\n", function(path)
      local by_bundle = run("--policy-config", path)
      assert.equal(by_flags.hash, by_bundle.hash)
      assert.equal(60, by_bundle.handoffs.completed)
      -- Flags of a stage win over it.
      local other = run("--policy-config", path, "--prefill-routing-scorers",
        "prefix-affinity:1")
      assert.are_not.equal(by_flags.hash, other.hash)
      assert.equal(60, other.handoffs.completed)
    end)
  end)

  it("hand the requests of a replayed trace off as those of the run", function()
    folders.with(function(name)
      local first = run("--trace-output", name, "--tokens", "drawn")
      local words = table.move(pools, 1, #pools, 1, {})
      local again = result_of("replay", name, table.unpack(words))
      assert.equal(first.hash, again.hash)
      assert.same(first.handoffs, again.handoffs)
      words[#words + 1], words[#words + 2] = "--pd-decider", "never"
      local together = result_of("replay", name, table.unpack(words))
      assert.equal(0, together.handoffs.started)
      os.remove(name .. ".csv")
      os.remove(name .. ".yaml")
    end)
  end)

  it("are parameters of sweeps, with any number of workers, and are kept", function()
    local function sweep(options)
      options.quiet = true
      return tostring(blis.sweep {
        name = "pools",
        parameters = { { "prefills", { 1, 2, 3 } }, { "order", { "source", "destination" } } },
        replications = 2, report = { "ttft_ms.p90", "handoffs.mean_transfer_ms" },
        trial = function(p)
          return blis.run {
            cluster = { prefill_instances = p.prefills, decode_instances = 4 - p.prefills },
            disaggregation = { order = p.order, bandwidth_gb_s = 5 },
            workload = { rate = 10, requests = 60, prompt_tokens = 900, output_tokens = 30 },
            seed = p.seed,
          }
        end,
      }:run(options))
    end
    local alone = sweep { jobs = 1 }
    assert.matches("mean_transfer_ms", alone)
    assert.equal(alone, sweep { jobs = 2 })
    folders.with(function(store)
      assert.equal(alone, sweep { jobs = 2, store = store })
      assert.equal(alone, sweep { jobs = 1, store = store })
    end)
  end)
end)
