-- blis observe, with blis live as the endpoint.
local blis = require "blis"
local core = require "blis.core"
local folders = require "spec.support.folders"
local program = require "spec.support.program"

local has_all = core.live_library() and core.observe_library()

-- Below the ports that the system gives to clients.
local next_port = 31100 + os.time() % 1600

--- Runs a shell script beside a server; see live_spec.
local function with_server(flags, script)
  next_port = next_port + 1
  local outcome
  folders.with(function(folder)
    outcome = program.shell(([[
      mkdir -p FOLDER && cd FOLDER && URL=http://127.0.0.1:PORT
      "$BLIS" live --model qwen/qwen3-14b --hardware H100 --gateway 127.0.0.1:PORT FLAGS \
        >server.out 2>server.err & LIVE=$!
      for i in $(seq 200); do grep -q gateway server.err && break; sleep 0.05; done
      SCRIPT
      kill -INT $LIVE; wait $LIVE]])
      :gsub("SCRIPT", function() return script end):gsub("FLAGS", flags):gsub("FOLDER", folder)
      :gsub("PORT", tostring(next_port)))
    outcome.read = {}
    for _, name in ipairs { "o.csv", "o.yaml", "itl.csv", "page.html" } do
      local file = io.open(folder .. "/" .. name)
      if file then
        outcome.read[name] = file:read "a"
        file:close()
      end
    end
    local saved = io.open(folder .. "/o.blis")
    if saved then
      saved:close()
      outcome.result = blis.load_result(folder .. "/o.blis")
      outcome.simulated = blis.load_result(folder .. "/live.blis")
    end
  end)
  return outcome.out, outcome
end

local observe = [["$BLIS" observe --target $URL --max-send-delay 10s ]]

describe("blis observe #host", function()
  if not has_all then return end

  it("measures what the server simulates, and writes it", function()
    local out, outcome = with_server("--save live.blis", observe
      .. [[--rate 40 --num-requests 40 --prompt-tokens 200 --output-tokens 20 --output o \
        --itl-output itl.csv --save o.blis --report page.html; echo status $?]])
    assert.matches("requests    40 sent = 40 completed %+ 0 failed\n", out)
    assert.matches("rate        [%d.]+ requests/s planned, [%d.]+ sent", out)
    assert.matches("status 0\n", out)
    local result, simulated = outcome.result, outcome.simulated
    assert.equal(40, result.completed)
    assert.equal(40 * 200, result.prompt_tokens)
    assert.equal(40 * 20, result.output_tokens)
    assert.equal(simulated.completed, result.completed)
    -- A client sees no token before the server has it.
    assert.is_true(result.ttft_ms.min >= simulated.ttft_ms.min)
    assert.is_true(result.e2e_ms.p50 >= simulated.e2e_ms.p50)
    assert.matches("requests to http://", tostring(result))
    local _, rows = outcome.read["o.csv"]:gsub("\n", "")
    assert.equal(41, rows)
    assert.matches("\n0,[^\n]*,200,20,[^\n]*,ok,,length", outcome.read["o.csv"])
    assert.matches("mode: real", outcome.read["o.yaml"])
    assert.matches("^request_id,chunk_index,timestamp_us\n0,0,%d+\n", outcome.read["itl.csv"])
    assert.matches("<html", outcome.read["page.html"])
  end)

  it("sends traces, chats, shared prefixes, and a key that only the environment has", function()
    local out = with_server("--speed 20", observe .. [[--speed 20 --rate 40 --num-requests 40 \
        --prompt-tokens 64 --output-tokens 4 --prefix-tokens 512 --output o >out1; grep cached out1
      export OPENAI_API_KEY=secret; ]] .. observe .. [[o.csv --api chat --speed 20 >out2
      grep sent out2; grep -c secret out1 out2 o.csv o.yaml server.err
      "$BLIS" replay o.csv --model qwen/qwen3-14b --hardware H100 --quiet | grep arrived]])
    assert.matches("KV cache    [3-9]%d%.%d%% of the prompt tokens were cached", out)
    assert.matches("40 sent = 40 completed", out)
    assert.matches("out1:0\nout2:0\no.csv:0\no.yaml:0\nserver.err:0\n", out)
    assert.matches("40 arrived = 40 completed", out)
  end)

  it("says what is wrong with endpoints, and with answers", function()
    local out = with_server("--max-model-len 100 --speed 20", [[
      try() { "$BLIS" observe --num-requests 3 --rate 100 --prompt-tokens 90 "$@" 2>&1
        echo "status $?"; }
      try; try --target here; try --target $URL/v1; try --target http://127.0.0.1:9
      try --target $URL --model nobody; try --target $URL --output-tokens 20
      try --target $URL --output-tokens 5 --max-connections 1 --num-requests 30
      try --target $URL --output-tokens 5 --max-send-delay 1us
      long() { head -c $1 /dev/zero | tr '\0' k; }; try --target $URL/$(long 3000)
      OPENAI_API_KEY=$(long 9000) try --target $URL]])
    assert.matches("%-%-target is missing.-status 2\n", out)
    assert.matches("target: 'here', expected http://HOST:PORT.-status 2\n", out)
    assert.matches("ends with /v1, expected the address before it.-status 2\n", out)
    assert.matches("127.0.0.1:9/v1/completions: .-onnect.-status 1\n", out)
    assert.matches("status 404: The model `nobody` does not exist.-status 1\n", out)
    assert.matches("problems\n%s+3  status 400: .-maximum context length is 100 tokens", out)
    assert.matches("the limit of outstanding requests %(%-%-max%-connections 1%) is reached", out)
    assert.matches("target: the address has 3%d+ characters, expected at most %d+\nstatus 2\n", out)
    assert.matches("the API key has 9%d+ characters, expected at most %d+\nstatus 2\n", out)
    assert.matches("late %(p99%), more than %-%-max%-send%-delay", out)
  end)

  it("measures an endpoint and fits step times to it", function()
    local out = with_server("--speed 1", [["$BLIS" calibrate --observe $URL --observe-rate 40 \
      --observe-requests 40 --observe-max-send-delay 10s \
      --observe-output m --model qwen/qwen3-14b --hardware H100 \
      --fit-trials 20 2>&1; wc -l <m.csv; "$BLIS" calibrate --observe $URL --fit m.csv \
      --model qwen/qwen3-14b --hardware H100 2>&1]])
    assert.matches("sends 40 requests to http", out)
    assert.matches("fitted to 20 requests of m.csv.-after, held out", out)
    assert.matches("\n41\n", out)
    assert.matches("%-%-observe cannot be combined with %-%-fit", out)
  end)
end)
