-- blis live as a process of its own, with curl as the client.
local core = require "blis.core"
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local program = require "spec.support.program"

local has_all = core.live_library() and program.shell("command -v curl").status == 0

-- Each test has a port of its own, so that none waits for the socket of another.
local next_port = 11000 + os.time() % 20000

--- Runs a shell script beside a server: $URL is its address, $LIVE its process, FOLDER a folder.
--- The server is interrupted at the end. Returns what the script printed.
local function with_server(flags, script)
  next_port = next_port + 4
  local outcome
  folders.with(function(folder)
    outcome = program.shell(([[
      mkdir -p FOLDER && cd FOLDER && URL=http://127.0.0.1:PORT
      J='Content-Type: application/json'
      "$BLIS" live --model qwen/qwen3-14b --hardware H100 --gateway 127.0.0.1:PORT FLAGS \
        >server.out 2>server.err & LIVE=$!
      soon() { for i in $(seq 600); do "$@" && break; sleep 0.1; done; }
      soon grep -q gateway server.err
      post() { curl -sS -m 20 -H "$J" -d "$2" "$URL$1"; }
      SCRIPT
      kill -INT $LIVE; wait $LIVE; echo "status $?"]])
      :gsub("SCRIPT", function() return script end):gsub("FLAGS", flags):gsub("FOLDER", folder)
      :gsub("PORT", tostring(next_port)))
    outcome.server = files.read(folder .. "/server.err")
    outcome.results = files.read(folder .. "/server.out")
  end)
  return outcome.out, outcome
end

local function count(text, part)
  return select(2, text:gsub(part:gsub("%p", "%%%0"), ""))
end

describe("blis live #host", function()
  if not has_all then
    it("says that the build has no libevent", function()
      if core.live_library() then return end
      local outcome = program.run("live")
      assert.equal(2, outcome.status)
      assert.matches("this build has no libevent", outcome.err)
    end)
    return
  end

  it("streams a chat as vLLM frames it", function()
    local out = with_server("--num-instances 2", [[post /v1/chat/completions '{"messages":
      [{"role": "user", "content": "Hello there"}], "max_tokens": 4, "ignore_eos": true,
      "stream": true, "stream_options": {"include_usage": true}}']])
    assert.equal(1, count(out, '"delta":{"role":"assistant","content":""}'))
    -- Tokens that are late on a busy machine share an event.
    local text = {}
    for part in out:gmatch '"delta":{"content":"([^"]*)"' do text[#text + 1] = part end
    assert.equal(4 * 4, #table.concat(text))
    assert.equal(1, count(out, '"finish_reason":"length"'))
    assert.matches('"choices":%[%],"usage":{"prompt_tokens":13,"total_tokens":17,'
      .. '"completion_tokens":4}}\n\ndata: %[DONE%]\n\n', out)
    assert.matches("status 130$", (out:gsub("%s+$", "")))
  end)

  it("answers whole, with choices in order, equal texts for equal requests, and cached tokens",
    function()
      local out = with_server("", [=[
        ASK='{"prompt": [[1,2,3],[4,5]], "n": 2, "max_tokens": 3, "ignore_eos": true}'
        post /v1/completions "$ASK" >a; post /v1/completions "$ASK" >b
        cat a; sed -i 's/.*choices/choices/' a b; cmp a b && echo same
        P='{"prompt": "'$(printf 'word%.0s' $(seq 100))'", "max_tokens": 2, "ignore_eos": true}'
        post /v1/completions "$P"; post /v1/completions "$P"]=])
      assert.matches("same\n", out)
      assert.matches('"index":0.-"index":1.-"index":2.-"index":3', out)
      assert.matches('"usage":{"prompt_tokens":5,"total_tokens":17,"completion_tokens":12}', out)
      assert.matches('"prompt_tokens_details":{"cached_tokens":96}', out)
    end)

  it("refuses with the status, type, and wording of vLLM", function()
    local out = with_server("--max-model-len 100", [[
      try() { curl -s -m 5 -w ' %{http_code}\n' "$@"; }
      try -H "$J" -d '{' $URL/v1/completions
      try -H "$J" -d '{"model": "x", "prompt": "a"}' $URL/v1/completions
      try -H "$J" -d '{"prompt": "a", "max_tokens": 100}' $URL/v1/completions
      try -H 'Content-Type: text/plain' -d '{}' $URL/v1/completions
      try $URL/nowhere; try $URL/v1/completions; try -H 'X-Return-Error: 429' $URL/health]])
    assert.matches('"type":"Bad Request","param":"body","code":400}} 400', out)
    assert.matches('"The model `x` does not exist.","type":"NotFoundError","param":"model",'
      .. '"code":404}} 404', out)
    assert.matches("maximum context length is 100 tokens. However, you requested 101 tokens", out)
    assert.matches("Only 'application/json' is allowed.- 415", out)
    assert.matches('{"detail":"Not Found"} 404', out)
    assert.matches('{"detail":"Method Not Allowed"} 405', out)
    assert.matches('"code":429}} 429', out)
  end)

  it("has the other endpoints of vLLM and SGLang", function()
    local out = with_server("--served-model-name m --report-version 9.9", [[
      get() { curl -s -m 5 -w ' %{http_code}\n' $URL$1; }
      get /health; get /ping; get /version; get /load; get /v1/models; get /get_server_info
      post /tokenize '{"prompt": "Hello you"}'; post /detokenize '{"tokens": [1, 20000]}'
      post /v1/completions/render '{"prompt": [7, 8]}'
      post /generate '{"input_ids": [1], "sampling_params": {"max_new_tokens": 2,
        "ignore_eos": true}}'; get /reset_prefix_cache; post /reset_prefix_cache '']])
    assert.matches('{"version":"9.9"} 200\n{"server_load":0} 200', out)
    assert.matches('"id":"m","object":"model","owned_by":"vllm"', out)
    assert.matches('{"count":3,"max_model_len":40960,"tokens":%[%d+,%d+,%d+%]', out)
    assert.matches('{"prompt":" aab~5Ca"}', out)
    assert.matches('%[{"token_ids":%[7,8%],"features":null}%]', out)
    assert.matches('"finish_reason":{"type":"length","length":2},"prompt_tokens":1', out)
  end)

  it("serves sequences up to the limit of the model, and of the KV cache", function()
    local try = [[
      ask() { echo "{\"prompt\": [$(seq -s, $1)], \"max_tokens\": 1, \"ignore_eos\": true}" |
        curl -s -m 5 -w ' %{http_code}\n' -H "$J" -d @- $URL/v1/completions; }
      curl -s $URL/v1/models; ]]
    local out = with_server("", try .. "ask 40959; ask 40960")
    assert.matches('"max_model_len":40960', out)
    assert.matches('"prompt_tokens":40959.* 200\n{"error"', out)
    assert.matches("maximum context length is 40960 tokens. However, your request has 40960 input",
      out)
    assert.matches('"code":400}} 400\n', out)
    for _, flags in ipairs { "--total-kv-blocks 10", "--total-kv-blocks 10 --max-model-len 0" } do
      out = with_server(flags, try .. "ask 159; ask 160; ask 5000")
      assert.matches('"max_model_len":160', out)
      assert.matches('"prompt_tokens":159.* 200\n{"error".*"code":400}} 400\n{.*}} 400\n', out)
    end
  end)

  it("cancels on disconnect, frees the KV cache, and counts it", function()
    local out = with_server("", [[
      for i in 1 2 3; do curl -sN -m 1 -o /dev/null -H "$J" -d '{"prompt": "a", "ignore_eos": true,
        "max_tokens": 9000, "stream": true}' $URL/v1/completions; done
      curl -s -m 1 -o /dev/null -H "$J" -d '{"prompt": "a", "ignore_eos": true,
        "max_tokens": 9000}' $URL/v1/completions
      aborted() { curl -s $URL/metrics >metrics; grep -q 'finished_reason="abort"} 4.0' metrics; }
      soon aborted; cat metrics]])
    assert.matches('finished_reason="abort"} 4.0', out)
    for _, gauge in ipairs { "num_requests_running", "num_requests_waiting",
      "kv_cache_usage_perc" } do
      assert.matches("\nvllm:" .. gauge .. "{[^}]*} 0.0\n", out)
    end
  end)

  it("exports the metrics of other engines", function()
    for flavor, names in pairs {
      ["vllm-0.8"] = { "vllm:gpu_cache_usage_perc", "vllm:time_per_output_token_seconds_sum" },
      sglang = { "sglang:num_queue_reqs", "sglang:token_usage", "dynamo_frontend_requests_total" },
      trtllm = { "trtllm_num_requests_waiting", "trtllm_kv_cache_utilization" },
    } do
      local out = with_server("--metrics-flavor " .. flavor, "curl -s -m 5 $URL/metrics")
      for _, name in ipairs(names) do
        assert.matches("\n" .. name:gsub("%p", "%%%0") .. "{", out)
      end
    end
    local outcome = program.run("live", "--metrics-flavor", "tgi")
    assert.equal(2, outcome.status)
    assert.matches("metrics%-flavor", outcome.err)
  end)

  it("has a port for each instance, and replays its trace with the same records", function()
    next_port = next_port + 4
    local base = next_port + 1
    local out = with_server(("--num-instances 3 --port-base %d --trace-output FOLDER/t "
      .. "--requests-path FOLDER/live.csv --speed 4"):format(base), ([[
      for i in 1 2 3 4 5 6; do for k in 0 2 2; do
        curl -s -m 9 -o /dev/null -H "$J" -d '{"prompt": "tell me more about '$i'", "max_tokens":
          30}' http://127.0.0.1:$((%d + k))/v1/completions & ANY="$ANY $!"
      done; done; wait $ANY
      curl -sN -m 1 -o /dev/null -H "$J" -d '{"prompt": "a", "ignore_eos": true,
        "max_tokens": 9000, "stream": true}' $URL/v1/completions
      kill -INT $LIVE; wait $LIVE
      "$BLIS" replay t.csv --pins t.pins.csv --model qwen/qwen3-14b --hardware H100 \
        --num-instances 3 --requests-path replay.csv --quiet >/dev/null || cat server.err
      wc -l <live.csv; cmp live.csv replay.csv && echo equal; cut -d, -f2 t.pins.csv | sort |
        uniq -c]]):format(base))
    assert.matches("20\nequal\n", out)
    assert.matches("6 instance_0", out)
    assert.matches("12 instance_2", out)
  end)

  it("fails, restores, slows, and drains instances on request", function()
    next_port = next_port + 4
    local base = next_port + 1
    local out = with_server("--num-instances 2 --port-base " .. base, ([[
      A=$URL/admin; I=http://127.0.0.1:%d
      try() { curl -s -m 5 -o /dev/null -w "$1 %%{http_code}\n" "$2" -X POST; }
      health() { curl -s -m 5 -o /dev/null -w "health %%{http_code}\n" $I/health; }
      curl -s -m 9 -o /dev/null -w 'lost %%{http_code}\n' -H "$J" -d '{"prompt": "a", "ignore_eos":
        true, "max_tokens": 9000}' $I/v1/completions & LOST=$!
      runs() { curl -s $I/metrics | grep -q 'num_requests_running{.* 1.0'; }
      soon runs; try fail "$A/fail?instance=0"; wait $LOST; health
      curl -s -m 5 -w ' %%{http_code}\n' -H "$J" -d '{"prompt": "a"}' $I/v1/completions
      try restore "$A/restore?instance=0"; health
      try slow "$A/slow?instance=0&factor=2"; try drain "$A/drain?instance=1"
      try which "$A/fail"; try far "$A/fail?instance=2"; try much "$A/slow?instance=0&factor=0"
      ]]):format(base))
    assert.matches("lost 500\n", out)
    assert.matches("fail 200\n.-health 503\n", out)
    assert.matches("instance_0 is not in service.- 503\n", out)
    assert.matches("restore 200\nhealth 200\nslow 200\ndrain 200\n", out)
    assert.matches("which 400\nfar 400\nmuch 400\n", out)
  end)

  it("takes faults as experiments do, scales, writes endpoints, and changes its speed", function()
    next_port = next_port + 8
    local base = next_port + 1
    local out = with_server(("--num-instances 2 --port-base %d --max-instances 3 "
      .. "--loading-delay 500ms --write-endpoints FOLDER/ep --speed 5"):format(base), ([[
      A=$URL/admin; try() { curl -s -m 5 -w "%%{http_code}\n" "$@"; }
      until_is() { for i in $(seq 60); do try $A/config | grep -q "$1" && break; sleep 0.05; done; }
      try -X POST $A/faults -d '{"kind": "crash", "instance": "instance_1", "at": "100ms",
        "recover_after": "4s"}'
      until_is failed; sleep 0.15; grep -c instance_ ep; until_is '1","state":"active"'
      sleep 0.15; grep -c instance_ ep; try -X POST "$A/scale?replicas=3"; until_is loading
      until_is '"instance_[0-9]*[2-9]","state":"active"'; sleep 0.15; tail -1 ep
      curl -s -m 5 -o /dev/null -w "new %%{http_code}\n" http://127.0.0.1:$((%d + 2))/health
      try -X POST "$A/add"; try -X POST "$A/speed?value=0"; try -X POST "$A/speed?value=2"
      try -X POST $A/faults -d '{"kind": "crush"}'; try -X POST $A/faults -d '{'
      try -X PUT $A/config; try $A/nothing; try $A/add; try -X POST "$A/remove"]]):format(base))
    assert.matches('^{"added":1}200\n1\n2\n{"replicas":3}200\n', out)
    assert.matches("%- {name: instance_%d+, namespace: default, address: 127%.0%.0%.1, port: "
      .. '"%d+", labels: {llm%-d%.ai/engine%-type: vllm}}\nnew 200\n', out)
    assert.matches("4 instances: expected a whole number from 0 to 3.-400\n", out)
    assert.matches('value=0: expected a number.-400\n{"speed":2}200\n', out)
    assert.matches("did you mean 'crash'.-400\n.-the body is not valid JSON.-400\n", out)
    assert.matches("405\n.-404\n.-405\n", out)
    assert.matches('{"replicas":2}200\n', out)
    assert.matches("status 130", out)
  end)

  it("loads and unloads LoRA adapters, and sleeps", function()
    next_port = next_port + 8
    local base = next_port + 1
    local out = with_server("--num-instances 2 --lora-adapters 2 --port-base " .. base, ([[
      I=http://127.0.0.1:%d; try() { curl -s -m 9 -w ' %%{http_code}\n' "$@"; }
      ask() { try -o answer -H "$J" -d '{"model": "'$1'", "prompt": "a", "max_tokens": 3}' \
        $I/v1/completions; }
      lora() { try -H "$J" -d "$2" $URL/v1/$1_lora_adapter; }
      ask adapter_1; grep -o '"model":"[a-z_0-9]*"' answer; ask mine
      lora load '{"lora_name": "mine", "lora_path": "/x"}'
      lora unload '{"lora_name": "adapter_2"}'; lora unload '{"lora_name": "adapter_2"}'
      lora load '{"lora_name": "mine", "lora_path": "/x"}'; ask mine; ask adapter_2
      lora load '{"lora_name": "mine", "lora_path": "/x"}'; lora load '{"lora_name": "other"}'
      lora load '{'; curl -s $URL/v1/models | grep -o '"id":"[^"]*"\|"parent":"[^"]*"'
      curl -s $I/metrics | grep '^vllm:lora_requests_info'
      try -X POST "$I/sleep?level=2"; try $I/is_sleeping; try -o /dev/null $I/health; ask adapter_1
      cat answer; echo; curl -s $I/metrics | grep 'sleep_state="discard_all"'
      try $URL/is_sleeping; try -X POST $I/wake_up; try $I/is_sleeping; ask adapter_1
      try -X POST $URL/sleep; try $URL/is_sleeping; try -X POST $URL/wake_up; ask mine
      ]]):format(base))
    assert.matches('^ 200\n"model":"adapter_1"\n 404\n', out)
    assert.matches("all 2 adapters of the cluster are loaded.- 400\n"
      .. "Success: LoRA adapter 'adapter_2' removed successfully. 200\n", out)
    assert.matches("'adapter_2' cannot be found.- 404\n"
      .. "Success: LoRA adapter 'mine' added successfully. 200\n 200\n 404\n", out)
    assert.matches("'mine' has already been loaded.- 400\n.-must be provided.- 400\n", out)
    assert.matches('"id":"adapter_1"\n"parent":"qwen/qwen3%-14b"\n"id":"mine"\n', out)
    assert.matches('\nvllm:lora_requests_info{max_lora="2",running_lora_adapters="",'
      .. 'waiting_lora_adapters=""} %d+.0\n', out)
    assert.matches('{"is_sleeping":true} 200\n 200\n 503\n.-instance_0 is asleep', out)
    assert.matches('sleep_state="discard_all"} 1.0\n{"is_sleeping":false} 200\n', out)
    assert.matches('\n 200\n{"is_sleeping":false} 200\n 200\n 200\n{"is_sleeping":true} 200\n'
      .. ' 200\n 200\n', out)
  end)

  it("hands KV from a prefill to a decode instance", function()
    local base = next_port + 4 -- of the server
    local out = with_server(("--num-instances 2 --port-base %d --speed 10 "
      .. "--kv-handoff-bandwidth 25 --kv-handoff-latency 1s"):format(base + 1), ([=[
      P='"prompt": "'$(printf 'word%%.0s' $(seq 100))'", "ignore_eos": true'
      URL=http://127.0.0.1:%d
      post /v1/completions "{$P, \"max_tokens\": 1, \"kv_transfer_params\":
        {\"do_remote_decode\": true, \"do_remote_prefill\": false}}" >first
      cat first; PARAMS=$(sed 's/.*"kv_transfer_params"://; s/}$//' first)
      URL=http://127.0.0.1:%d
      post /v1/completions "{$P, \"max_tokens\": 3, \"kv_transfer_params\": $PARAMS}"
      curl -s $URL/metrics | grep nixl_xfer_time_seconds_sum
      curl -sS -m 9 -H "$J" -H 'x-prefiller-host-port: 127.0.0.1:%d' $URL/v1/completions \
        -d '{"prompt": "'$(printf 'next%%.0s' $(seq 64))'", "max_tokens": 2,
        "ignore_eos": true}']=])
      :format(base + 1, base + 2, base + 1))
    assert.matches('"do_remote_prefill":true,"do_remote_decode":false,"remote_block_ids":'
      .. '%[0,1,2,3,4,5,6%],"remote_engine_id":"%x+%-instance_0","remote_request_id":"cmpl%-%x+",'
      .. '"remote_host":"127.0.0.1","remote_port":%d+,"tp_size":1}}', out)
    assert.matches('"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":96}', out)
    assert.matches("nixl_xfer_time_seconds_sum{[^}]*} 1%.", out)
    assert.matches('"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":48}', out)
  end)

  it("publishes KV events where it says", function()
    if not core.live_zmq_library() then return pending "libzmq is missing" end
    -- A socket of ZeroMQ greets with the byte 255.
    local out, outcome = with_server(
      ("--num-instances 2 --kv-events 127.0.7.1+:%d --served-model-name m"):format(next_port),
      ([[for i in 1 2; do
        bash -c 'exec 3<>/dev/tcp/127.0.7.'$i'/%d; head -c 1 <&3 | od -An -tx1'; done]])
      :format(next_port))
    assert.equal(2, count(out, "ff"))
    assert.matches("KV events of instance_0 at tcp://127.0.7.1:%d+, topic 'kv@127.0.7.1:%d+@m'",
      outcome.server)
  end)

  it("survives what is no request", function()
    local out = with_server("", [[
      if command -v python3 >/dev/null; then python3 - ${URL##*:} <<'PY'
import random, socket, sys
port, random = int(sys.argv[1]), random.Random(1)
body = b'{"prompt": "a", "max_tokens": 3}'
good = (b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
  b"Content-Length: %d\r\n\r\n" % len(body)) + body
kept = []
for i in range(300):
  s = socket.create_connection(("127.0.0.1", port))
  kind = i % 6
  data = bytearray(good * (3 if kind == 1 else 1))
  if kind == 0:
    for _ in range(5): data[random.randrange(len(data))] = random.randrange(256)
  elif kind == 2: data = data[:random.randrange(len(data))]
  elif kind == 3: data = b"GET /health HTTP/1.1\r\n" + b"A: " + b"x" * 20000 + b"\r\n\r\n"
  elif kind == 4: data = b"POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"
  s.sendall(bytes(data))
  if kind == 5: s.shutdown(socket.SHUT_WR)
  if i % 4 == 1: s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1] + [0] * 7))
  kept.append(s)
  if len(kept) > 20: kept.pop(0).close()
PY
      fi
      curl -s -m 5 -o /dev/null -w 'health %{http_code}\n' $URL/health]])
    assert.matches("health 200", out)
    assert.matches("status 130", out)
  end)

  it("serves in a script, and returns the result", function()
    next_port = next_port + 4
    local outcome
    folders.with(function(folder)
      outcome = program.shell(([[mkdir -p FOLDER; cat >FOLDER/s.lua <<'LUA'
        local blis = require "blis"
        local result = blis.live({ cluster = { model = "qwen/qwen3-14b", hardware = "H100" } },
          { gateway = "127.0.0.1:PORT", duration_us = blis.seconds(3) })
        print(result.completed, result.arrived)
LUA
        "$BLIS" FOLDER/s.lua & RUN=$!
        curl -s --retry 50 --retry-connrefused --retry-delay 1 -o /dev/null \
          http://127.0.0.1:PORT/health
        curl -s -m 9 -o /dev/null -H 'Content-Type: application/json' \
          -d '{"prompt": "a", "max_tokens": 2}' http://127.0.0.1:PORT/v1/completions
        wait $RUN; echo "status $?"]]):gsub("FOLDER", folder):gsub("PORT", tostring(next_port)))
    end)
    assert.matches("1\t1\nstatus 0\n", outcome.out)
    assert.matches("live: gateway at http://127.0.0.1:" .. next_port, outcome.err)
  end)

  it("ends by itself, and says what is wrong with addresses", function()
    assert.equal(0, program.run("live", "--duration", "10ms", "--gateway", "127.0.0.1:0").status)
    for text, problem in pairs {
      ["--gateway here"] = "gateway: 'here', expected ADDRESS:PORT",
      ["--listen 127.0.0.1:8000 --num-instances 2"] = "is one address for 2 instances",
      ["--listen [::1]+:8000 --num-instances 2"] = "requires an IPv4 address",
      ["--port-base 65535 --num-instances 2"] = "expected at most 65535",
      ["--port-base 8000 --listen 127.0.0.1:8000"] = "cannot be combined with",
      ["--kv-events here"] = "-events: 'here', expected ADDRESS:PORT",
      ["--kv-events 127.0.0.1:8000 --num-instances 2"] = "-events: '127.0.0.1:8000' is one",
      ["--kv-events-replay 127.0.0.1:8001"] = "--kv-events-replay requires --kv-events, ",
      ["--kv-handoff-bandwidth 9 --kv-tiers lmcache"] = "engines cannot be combined with",
      ["--kv-events-topic a"] = "--kv-events-topic requires --kv-events, ",
    } do
      local outcome = program.shell('"$BLIS" live ' .. text)
      assert.equal(2, outcome.status, text)
      assert.matches(problem:gsub("%p", "%%%0"), outcome.err)
    end
  end)
end)
