local files = require "spec.support.files"
local notices = require "blis.notices"
local observed = require "blis.calibrate.observed"

--- What a file with this text holds.
local function read(text)
  local result
  files.with(text, function(path) result = observed.read(path) end)
  return result
end

--- The message with which a file with this text is refused.
local function refusal(text)
  local message
  files.with(text, function(path)
    local ok, problem = pcall(observed.read, path)
    assert.is_false(ok)
    assert.equal("parse", problem.code)
    message = problem.message:gsub(path, "FILE", 1):match "FILE.*"
  end)
  return message
end

local function times(one) return { one.arrival_us, one.ttft_us, one.e2e_us } end

describe("measurements in tables", function()
  it("are points in time or durations, in the unit that the column names", function()
    local points = read("prompt_tokens,output_tokens,arrival_s,first_token_s,last_token_s\n"
      .. "100,11,2.5,2.7,3.7\n50,2,2,2.25,2.5\n")
    assert.equal("table", points.format)
    local list = points.requests.list
    assert.same({ 50, 2 }, { list[1].prompt_tokens, list[1].output_tokens })
    assert.same({ 0, 250000, 500000 }, times(list[1]))
    assert.same({ 500000, 200000, 1200000 }, { times(list[2])[1], (list[2].ttft_us + 0.5) // 1,
      (list[2].e2e_us + 0.5) // 1 })
    local durations = read("arrival_ms,ttft_us,e2e_s,prompt_tokens,output_tokens,cached_tokens\n"
      .. "0,30000,1.5,64,31,48\n")
    assert.same({ 0, 30000, 1500000 }, times(durations.requests.list[1]))
    assert.equal(48, durations.requests.list[1].cached_tokens)
  end)

  it("are told which columns are not read", function()
    local told, tell = {}, notices.tell
    finally(function() notices.tell = tell end)
    notices.tell = function(line) told[#told + 1] = line:match "ignored columns.*" end
    read("prompt_tokens,output_tokens,ttft_ms,e2e_ms,queue_ms,model\n10,5,20,60,1,m\n")
    read("rate_rps,prompt_tokens,output_tokens,ttft_ms,e2e_ms,seed\n1,10,5,20,60,1\n")
    assert.same({ "ignored columns: 'queue_ms'", "ignored columns: 'seed'" },
      told)
  end)

  it("may have no arrivals", function()
    local requests = read("prompt_tokens,output_tokens,ttft_ms,e2e_ms\n10,5,20,60\n").requests
    assert.is_false(requests.has_arrivals)
  end)

  it("may be a TraceV2, of which only requests with status ok count", function()
    local head = "request_id,input_tokens,output_tokens,server_input_tokens,send_time_us,"
      .. "first_chunk_time_us,last_chunk_time_us,status\n"
    local requests = read(head .. "0,10,4,12,1000,31000,61000,ok\n1,9,4,0,2000,0,0,timeout\n"
      .. "2,9,4,0,3000,43000,73000,ok\n").requests
    assert.equal(2, #requests.list)
    assert.same({ 12, 9 }, { requests.list[1].prompt_tokens, requests.list[2].prompt_tokens })
    assert.same({ { reason = "their status is not ok but 'timeout'", count = 1 } },
      { requests.dropped[1] })
  end)

  it("may be means of runs, a row each", function()
    local found = read("run,rate_rps,prompt_tokens,output_tokens,ttft_ms,e2e_ms\n"
      .. "a,5,566,247,44.5,3610.4\n")
    assert.equal("means", found.format)
    assert.same({ "a", 5, 566, 247, 44500, 3610400, 0 }, { found.means[1].run,
      found.means[1].rate_rps, found.means[1].prompt_tokens, found.means[1].output_tokens,
      found.means[1].ttft_us, found.means[1].e2e_us, found.means[1].cached_tokens })
    for head, row in pairs {
      ["rate,prompt_tokens,output_tokens,ttft_ms,e2e_ms"] = "5,566,247,44.5,3610.4",
      ["requests_per_sec,input_tokens,output_tokens,mean_ttft_ms,mean_e2el_ms"] =
        "5,566,247,44.5,3610.4",
      ["mean_e2e_ms,mean_ttft_ms,request_rate,output_tokens,prompt_tokens"] =
        "3610.4,44.5,5,247,566",
    } do
      local one = read(head .. "\n" .. row .. "\n").means[1]
      assert.same({ 5, 566, 247, 44500, 3610400 }, { one.rate_rps, one.prompt_tokens,
        one.output_tokens, one.ttft_us, one.e2e_us }, head)
    end
    -- Rows with arrivals are requests, whatever else they have.
    assert.is_nil(read("rate,prompt_tokens,output_tokens,arrival_ms,ttft_ms,e2e_ms\n"
      .. "5,566,247,1,44.5,3610.4\n").means)
  end)

  it("are refused with the place and the reason", function()
    local head = "prompt_tokens,output_tokens,arrival_s,first_token_s,last_token_s\n"
    for text, message in pairs {
      [head .. "10,5,1,2,1.5\n"] = "FILE:2: the last token comes 500000 us before the first one",
      [head .. "10,5,3,2,4\n"] = "FILE:2: ttft_us is -1000000; expected a time above 0",
      [head .. "10,5,1,2,2\n"] = "FILE:2: all 5 tokens arrive at the same time; the response was "
        .. "probably not streamed",
      [head .. "0,5,1,2,3\n"] = "FILE:2: prompt_tokens is 0; expected a whole number from 1 "
        .. "to 1000000000",
      [head .. "10,x,1,2,3\n"] = "FILE:2: output_tokens is 'x'; expected a number",
      [head] = "FILE: no requests to compare with",
      ["prompt_tokens,output_tokens,ttft_ms\n1,2,3\n"] = "FILE: no column for the time of the last "
        .. "token (last_token_s, e2e_ms, ...)",
      ["rate_rps,prompt_tokens,output_tokens,ttft_ms,e2e_ms\n5,10,1,20,30\n"] = "FILE:2: expected "
        .. "a rate above 0, more than one output token and 0 < TTFT < E2E",
      [""] = "FILE: it is empty",
    } do
      assert.equal(message, refusal(text))
    end
  end)

  it("may begin with a byte order mark, and have names in quotes", function()
    local text = '"prompt_tokens",output_tokens,ttft_ms,e2e_ms\n10,5,20,60\n'
    assert.equal(10, read(text).requests.list[1].prompt_tokens)
    assert.equal(10, read("\xef\xbb\xbf" .. text).requests.list[1].prompt_tokens)
  end)

  it("of means are refused when no run can have them", function()
    local head = "rate_rps,prompt_tokens,output_tokens,ttft_ms,e2e_ms,cached_tokens\n"
    local tokens = "expected at least one prompt token, and at most all of them cached"
    for row, message in pairs {
      ["5,10,20,30,900,-1"] = tokens,
      ["5,10,20,30,900,11"] = tokens,
      ["5,10,1e300,30,900,0"] = "expected 1000000000 tokens at most",
      ["5,10,20,30,1e400,0"] = "e2e_ms is '1e400'; expected a number",
    } do
      assert.equal("FILE:2: " .. message, refusal(head .. row .. "\n"))
    end
    assert.matches("check the unit of the times", refusal(head .. "5,10,20,0.03,0.9,0\n"),
      1, true)
  end)

  it("are refused when their unit cannot be right", function()
    local head = "prompt_tokens,output_tokens,arrival_%s,first_token_%s,last_token_%s\n10,11,"
    assert.matches("median time per output token is 0.1 us; expected 100 us to 3 s",
      refusal(head:gsub("%%s", "us") .. "1,2,3\n"), 1, true)
    assert.matches("check the unit of the times",
      refusal(head:gsub("%%s", "s") .. "1000,2000,900000\n"), 1, true)
  end)
end)

describe("measurements in reports", function()
  it("of vLLM bench serve are arrays in seconds, with arrivals in newer files", function()
    local text = [=[{ "request_rate": "inf", "completed": 1, "input_lens": [7, 8],
      "output_lens": [3, 2], "ttfts": [0.2, 0.0], "itls": [[0.01, 0.03], []],
      "errors": ["", "refused"] }]=]
    local found = read(text)
    assert.equal("vllm-bench", found.format)
    local one = found.requests.list[1]
    assert.equal(1, #found.requests.list)
    assert.equal(240000, (one.e2e_us + 0.5) // 1)
    assert.equal(20000, ((one.e2e_us - one.ttft_us) / (one.output_tokens - 1) + 0.5) // 1)
    assert.is_false(found.requests.has_arrivals)
    assert.same({ { reason = "they failed", count = 1 } }, { found.requests.dropped[1] })
    local newer = read((text:gsub('"errors"', '"start_times": [5.0, 6.0], "queue_times": [0.5, 0],'
      .. ' "latencies": [0.25, 0], "errors"')))
    assert.is_true(newer.requests.has_arrivals)
    assert.equal(250000, newer.requests.list[1].e2e_us)
    local lines = text:gsub("\n", " ")
    assert.equal(1, #read(lines .. "\n" .. lines .. "\n").requests.list)
  end)

  it("of GuideLLM have times of day", function()
    local found = read [[{ "benchmarks": [ { "requests": { "successful": [ {
      "prompt_tokens": 256, "output_tokens": 100, "cached_tokens": null,
      "info": { "timings": { "request_start": 1700000005.0, "first_token_iteration":
        1700000005.0452, "last_token_iteration": 1700000006.5 } } } ],
      "incomplete": [], "errored": [ {} ] } } ] }]]
    assert.equal("guidellm", found.format)
    local one = found.requests.list[1]
    assert.equal(45200, (one.ttft_us + 0.5) // 1)
    assert.equal(14695, ((one.e2e_us - one.ttft_us) / 99 + 0.5) // 1)
    assert.equal(1, found.requests.dropped[1].count)
  end)

  it("of inference-perf have times of tokens, or means", function()
    local found = read [=[[ { "start_time": 10.0, "end_time": 10.3, "error": null,
      "info": { "request_metrics": { "text": { "input_tokens": 40 } }, "response_metrics": {
        "output_tokens": 3, "output_token_times": [10.2, 10.23, 10.29],
        "server_usage": { "prompt_tokens": 42, "prompt_tokens_details": { "cached_tokens": 16 } }
      } } }, { "start_time": 11.0, "error": { "error_msg": "no" } } ]]=]
    assert.equal("inference-perf", found.format)
    local one = found.requests.list[1]
    assert.same({ 42, 16, 3 }, { one.prompt_tokens, one.cached_tokens, one.output_tokens })
    assert.same({ 0, 200000, 290000 }, { one.arrival_us, (one.ttft_us + 0.5) // 1,
      (one.e2e_us + 0.5) // 1 })
    local summary = read [[{ "load_summary": { "count": 9, "achieved_rate": 4.5 },
      "successes": { "count": 9, "prompt_len": { "mean": 500 }, "output_len": { "mean": 100 },
        "latency": { "time_to_first_token": { "mean": 0.05 }, "request_latency": { "mean": 2 } } }
      }]]
    assert.same({ 4.5, 500, 100, 50000, 2000000 }, { summary.means[1].rate_rps,
      summary.means[1].prompt_tokens, summary.means[1].output_tokens, summary.means[1].ttft_us,
      summary.means[1].e2e_us })
  end)

  it("of inference-perf of early 2025 have the rate of their throughput", function()
    local function summary(load, more, root)
      return ([[{ "load_summary": %s, %s "successes": { "prompt_len": { "mean": 9 },
        "output_len": { "mean": 3 }, %s "latency": { "time_to_first_token": { "mean": 0.2 },
        "request_latency": { "mean": 0.3 } } } }]]):format(load, root or "", more or "")
    end
    assert.equal(3.5, read(summary([[{ "count": 7 }]],
      [["throughput": { "requests_per_sec": 3.5 },]])).means[1].rate_rps)
    assert.equal(0.5, read(summary([[{ "count": 7 }]], nil,
      [["benchmark_time_seconds": 14,]])).means[1].rate_rps)
    assert.matches("the rate is missing; expected load_summary.achieved_rate, ",
      refusal(summary "{}"), 1, true)
  end)

  it("of inference-perf end with the last token, and their means with the answer", function()
    -- start 10.0, tokens at 10.2, 10.23 and 10.29, end 10.3.
    local one = read [=[[ { "start_time": 10.0, "end_time": 10.3, "info": { "input_tokens": 9,
      "response_metrics": { "output_tokens": 3, "output_token_times": [10.2, 10.23, 10.29] } } }
      ]]=].requests.list[1]
    local function tpot_us(of) return (of.e2e_us - of.ttft_us) / (of.output_tokens - 1) end
    assert.is_near(200000, one.ttft_us, 0.01)
    assert.is_near((30000 + 60000) / 2, tpot_us(one), 0.01)
    local mean = read [[{ "load_summary": { "achieved_rate": 1 }, "successes": {
      "prompt_len": { "mean": 9 }, "output_len": { "mean": 3 }, "latency": {
        "time_to_first_token": { "mean": 0.2 }, "request_latency": { "mean": 0.3 },
        "time_per_output_token": { "mean": 0.05 } } } }]].means[1]
    assert.is_near(300000, mean.e2e_us, 0.01)
    assert.is_near(50000, tpot_us(mean), 0.01)
  end)

  it("of GuideLLM give its TPOT with the first token, and its ITL without it", function()
    -- first token +0.0452, last token +1.5, 100 tokens.
    local one = read [[{ "benchmarks": [ { "requests": { "successful": [ {
      "prompt_tokens": 256, "output_tokens": 100, "info": { "timings": {
        "request_start": 1700000005.0, "first_token_iteration": 1700000005.0452,
        "last_token_iteration": 1700000006.5 } } } ] } } ] }]].requests.list[1]
    local tpot_ms = one.e2e_us / one.output_tokens / 1000
    local itl_ms = (one.e2e_us - one.ttft_us) / (one.output_tokens - 1) / 1000
    assert.same({ "45.20", "15.00", "14.69" }, { ("%.2f"):format(one.ttft_us / 1000),
      ("%.2f"):format(tpot_ms), ("%.2f"):format(itl_ms) })
  end)

  it("are refused where a value is of another kind", function()
    local bench = '{ "input_lens": [7], "output_lens": [2], "ttfts": [0.2], "itls": [[0.01]], '
      .. '"start_times": [5] }'
    for change, message in pairs {
      ['[0.2]|"x"'] = "FILE: ttfts is 'x'; expected a list",
      ['0.2|"x"'] = "FILE: request 1: its time in ttfts is 'x'; expected a number",
      ['[[0.01]]|[3]'] = "FILE: request 1: its entry in itls is 3; expected a list",
      ['0.01|"x"'] = "FILE: request 1: a time of itls is 'x'; expected a number",
      ['[5]|["now"]'] = "FILE: request 1: its time in start_times is 'now'; expected a number",
      ['[2]|["2"]'] = "FILE: request 1: output_tokens is '2'; expected a whole number from 1 to "
        .. "1000000000",
    } do
      local from, to = change:match "^(.*)|(.*)$"
      local first, last = bench:find(from, 1, true)
      assert.equal(message, refusal(bench:sub(1, first - 1) .. to .. bench:sub(last + 1)))
    end
    assert.equal("FILE: benchmarks is 5; expected a list", refusal '{ "benchmarks": 5 }')
    assert.equal("FILE: request 1: a time of output_token_times is 'x'; expected a number", refusal
      '[{ "start_time": 1, "info": { "response_metrics": { "output_token_times": ["x"] } } }]')
  end)

  it("are refused with the reason", function()
    assert.matches("write it with --save-detailed", refusal '{ "mean_ttft_ms": 12 }', 1, true)
    assert.matches("unknown report", refusal '{ "x": 12 }', 1, true)
    assert.matches("this summary of GenAI-Perf or AIPerf has no requests",
      refusal '{ "request_throughput": {}, "input_sequence_length": {} }', 1, true)
    assert.matches("FILE:1:", refusal '{ "x": ', 1, true)
    assert.matches("output_tokens is nil; expected a whole number from 1",
      refusal('{ "benchmarks": [ { "requests": { "successful": [ { "prompt_tokens": 2, "info": '
        .. '{ "timings": { "request_start": 1, "first_token_iteration": 2, '
        .. '"last_token_iteration": 3 } } } ] } } ] }'), 1, true)
  end)
end)
