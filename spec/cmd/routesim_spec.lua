local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"
local small = require "spec.support.small"

local says = small.says

local names = { "round_robin", "least_outstanding", "least_kv", "prefix_aware", "prefix_overlap",
  "session_affinity", "cost_escalation" }

local function text_of(changes)
  local text = [[
[simulation]
seed = 7
warmup_requests = 5
[cluster]
gpu_type = "A100"
num_backends = 3
kv_cache_blocks = 2000
[trace]
format = "synthetic"
[trace.synthetic]
rate = 20
duration_sec = 3
]]
  for from, to in pairs(changes or {}) do
    local count
    text, count = text:gsub(from:gsub("%p", "%%%0"), (to:gsub("%%", "%%%%")))
    assert(count == 1, from)
  end
  return text
end

--- Calls body with the path of a configuration.
local function with(changes, body)
  files.with(type(changes) == "string" and changes or text_of(changes), body)
end

local function with_output(body)
  files.with(nil, function(path)
    body(path)
    assert.is_string(files.read(path))
  end)
end

local function error_of(changes)
  local message
  with(changes, function(path)
    local code
    code, message = commands.error_of("routesim", "run", "-c", path)
    assert.is_true(code == "parse" or code == "usage", code)
    message = message:gsub(path:gsub("%p", "%%%0"), "FILE")
  end)
  return message
end

describe("blis routesim", function()
  it("runs an algorithm, and writes RouteSim's figures", function()
    with({}, function(path)
      with_output(function(output)
        local printed = commands.output_of("routesim", "run", "--config", path, "--algorithm",
          "least_kv", "--output", output)
        says(printed, "routing routesim.least_kv")
        local read = core.json_read(files.read(output), output)
        assert.equal("least_kv", read.algorithm)
        assert.equal(55, read.completed_requests)
        assert.equal(55, read.total_requests)
        assert.equal(3, #read.per_backend_requests)
        local sum, squares = 0, 0
        for _, count in ipairs(read.per_backend_requests) do
          sum, squares = sum + count, squares + count * count
        end
        assert.equal(55, sum)
        assert.near(sum * sum / (3 * squares), read.jains_fairness_index, 1e-12)
        assert.near(55 / read.duration_ms * 1000, read.requests_per_sec, 1e-9)
        assert.is_true(read.global_cache_hit_rate > 0.3 and read.global_cache_hit_rate <= 1)
        assert.is_true(read.ttft.p50 <= read.ttft.p99 and read.ttft.p99 <= read.ttft.max)
        assert.is_true(read.gpu_seconds_per_request > 0)
        -- Three A100 at 2 USD an hour.
        local usd = 3 * 2 / 3600 * read.duration_ms / 1000
        assert.near(usd / read.estimated_cost_per_1k_tokens, 60 * (500 + 150) / 1000, 3)
      end)
    end)
  end)

  it("compares all algorithms on the same requests", function()
    with({}, function(path)
      with_output(function(output)
        local printed = commands.output_of("routesim", "compare", "-c", path, "-o", output)
        local read = core.json_read(files.read(output), output)
        assert.equal(#names, #read)
        for i, name in ipairs(names) do
          assert.equal(name, read[i].algorithm)
          says(printed, name)
        end
        assert.equal(commands.output_of("routesim", "compare", "-c", path), printed)
        local some = commands.output_of("routesim", "compare", "-c", path, "-A",
          "least_kv,round_robin")
        says(some, "least_kv")
        assert.is_nil(some:find "prefix_aware")
      end)
    end)
  end)

  it("reads the trace that it generates as the requests of [trace.synthetic]", function()
    with_output(function(trace)
      commands.output_of("routesim", "gen-trace", "--rate", "20", "--duration", "3", "--seed", "7",
        "-o", trace)
      local lines = 0
      for line in io.lines(trace) do
        local row = core.json_read(line, "line")
        assert.equal(lines * 50, row.ts)
        assert.is_true(row.prompt_tokens >= 300 and row.prompt_tokens < 700)
        assert.is_true(row.gen_tokens >= 100 and row.gen_tokens < 200)
        assert.is_true(row.prefix_hash >= 1 and row.prefix_hash <= 10 and row.prefix_len == 256)
        lines = lines + 1
      end
      assert.equal(60, lines)
      with({}, function(path)
        local generated = commands.output_of("routesim", "run", "-c", path)
        assert.equal(generated, commands.output_of("routesim", "run", "-c", path, "-t", trace))
        with({ ['format = "synthetic"'] = ('path = "%s"'):format(trace) }, function(by_path)
          assert.equal(generated, commands.output_of("routesim", "run", "-c", by_path))
        end)
      end)
    end)
  end)

  it("sweeps rates", function()
    with({}, function(path)
      with_output(function(output)
        commands.output_of("routesim", "sweep", "-c", path, "--rates", "5,50", "--duration", "2",
          "-a", "least_outstanding", "-o", output)
        local read = core.json_read(files.read(output), output)
        assert.same({ "5 requests/s", "50 requests/s" }, { read[1].algorithm, read[2].algorithm })
        assert.is_true(read[1].ttft.p99 <= read[2].ttft.p99)
      end)
    end)
  end)

  it("converts traces, and lists its algorithms", function()
    local mooncake = '{"timestamp":0,"input_length":600,"output_length":5,"hash_ids":[1,2]}\n'
      .. '{"timestamp":100,"input_length":600,"output_length":6,"hash_ids":[1,3]}\n'
    files.with(mooncake, function(input)
      with_output(function(output)
        commands.output_of("routesim", "convert", "-i", input, "-o", output)
        local first = core.json_read(files.read(output):match "^[^\n]*", output)
        assert.same({ 0, 600, 5 }, { first.ts, first.prompt_tokens, first.gen_tokens })
      end)
    end)
    local listed, count = commands.output_of("routesim", "list-algorithms"), 0
    for line in listed:gmatch "[^\n]+" do
      count = count + 1
      assert.equal(names[count], line:match "^%S+")
    end
    assert.equal(#names, count)
  end)

  it("has prefill/decode disaggregation", function()
    local pools = "kv_cache_blocks = 2000\n[cluster.disaggregated]\nenabled = true\n"
      .. "prefill_backends = 1\ndecode_backends = %d\n"
    with({ ["kv_cache_blocks = 2000"] = pools:format(2) }, function(path)
      with_output(function(output)
        says(commands.output_of("routesim", "run", "-c", path, "-o", output),
          "hand-offs   60 started")
        local read = core.json_read(files.read(output), output)
        local counts = read.per_backend_requests
        assert.same({ 55, 55 }, { counts[1], counts[2] + counts[3] })
        local sum, squares = counts[2] + counts[3], counts[2] ^ 2 + counts[3] ^ 2
        assert.near(sum * sum / (2 * squares), read.jains_fairness_index, 1e-12)
      end)
    end)
    local message = error_of { ["kv_cache_blocks = 2000"] = pools:format(3) }
    says(message, "FILE:10: cluster.disaggregated.prefill_backends: 1 prefill and 3 decode, "
      .. "together 4; num_backends is 3")
  end)

  it("names the line of what is wrong in a configuration", function()
    says(error_of { ["num_backends = 3"] = "num_backend = 3" },
      "FILE:6: cluster: unknown option 'num_backend'; did you mean 'num_backends'?")
    says(error_of { ["num_backends = 3\n"] = "" }, "num_backends")
    says(error_of { ["num_backends = 3"] = "num_backends = 0" }, "FILE:6")
    says(error_of { ["seed = 7"] = "seed = \"seven\"" }, "FILE:2")
    says(error_of { ['"A100"'] = '"B200"' },
      "FILE:5: cluster.gpu_type: unknown GPU 'B200'; known are H100Sxm")
    says(error_of { ["rate = 20"] = "rate = -1" }, "FILE:11")
    says(error_of { ["[trace]"] = "[traces]" }, "unknown table; did you mean 'trace'?")
    says(error_of { ["duration_sec = 3"] = "duration_sec = 0.01" },
      "FILE:12: trace.synthetic.duration_sec: 20 requests/s for 0.01 s are 0.2 requests")
    says(error_of { ["kv_cache_blocks = 2000"] = "[cluster.disaggregated]\nenabled = true\n"
      .. "decode_backends = 3\nprefill_backends = 0" },
      "FILE:10: cluster.disaggregated.prefill_backends: invalid value 0")
    says(error_of { ["warmup_requests = 5"] = "warmup_requests = -5" }, "FILE:3")
    says(error_of { ['format = "synthetic"'] = 'format = "yaml"' }, "FILE:9")
    says(error_of { ['format = "synthetic"'] = 'format = "jsonl"' }, "[trace] has no path")
    says(error_of "[cluster]\nnum_backends = 1\n", "[simulation] is missing")
    says(error_of "simulation = 3\n", "expected a table")
  end)

  it("names what is wrong with its command line", function()
    local function message(...) return select(2, commands.error_of("routesim", ...)) end
    says(message(), "missing COMMAND")
    says(message "runs", "invalid value 'runs'")
    says(message "run", "--config is missing")
    says(message("run", "-c", "/no/such.toml"), "/no/such.toml")
    with({}, function(path)
      says(message("run", "-c", path, "-a", "least_outstandin"),
        "unknown algorithm 'least_outstandin'; did you mean 'least_outstanding'?")
      says(message("compare", "-c", path, "-A", "least_kv,most_kv"), "'most_kv'")
      says(message("compare", "-c", path, "-A", ","), "--algorithms: the list is empty")
      says(message("sweep", "-c", path, "--rates", "5,-1"),
        "--rates: invalid value -1: expected numbers of at least 0")
      says(message("sweep", "-c", path), "--rates is missing")
      says(message("sweep", "-c", path, "--rates", "5,0"), "0 is not above 0")
      says(message("sweep", "-c", path, "--rates", "5", "--duration", "0.01"),
        "--rates: 5 requests/s for 0.01 s are 0.05 requests, expected 1 to 10,000,000")
      says(message("sweep", "-c", path, "--rates", "5,1e9"),
        "--rates: 1000000000 requests/s for 60 s are 6e+10 requests")
      says(message("gen-trace", "--rate", "1e6", "--duration", "1e7"), "--duration: 1000000")
    end)
  end)

  it("runs as a program #host", function()
    local program = require "spec.support.program"
    local good = program.shell "$BLIS routesim run -c examples/routesim/disaggregated.toml"
    assert.equal(0, good.status)
    says(good.out, "200 arrived = 200 completed")
    local compared = program.shell(
      "$BLIS routesim compare -c examples/routesim/default.toml -A least_kv")
    assert.equal(0, compared.status)
    local bad = program.shell "$BLIS routesim run -c LICENSE"
    assert.is_true(bad.status ~= 0)
    says(bad.err, "LICENSE:2: missing '=' after")
  end)
end)
