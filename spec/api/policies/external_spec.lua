local blis = require "blis"
local files = require "spec.support.files"
local program = require "spec.support.program"
local small = require "spec.support.small"

local says = small.says

--- A command that answers the first line by {}, and the others by this piece of a shell script.
local function answers(script)
  return "read -r line; echo '{}'; while read -r line; do " .. script .. "; done"
end

local function always(answer) return answers(("echo '%s'"):format(answer)) end

local function message_of(command, more)
  local routing = { "external", command = command }
  for key, value in pairs(more or {}) do routing[key] = value end
  return small.message_of(blis.run, small.experiment { routing = routing })
end

-- A service: least in-flight by default; the path of its URL asks for other answers.
local service = [[
import http.server, json, sys
class Service(http.server.BaseHTTPRequestHandler):
  protocol_version = "HTTP/1.1"
  def log_message(self, *_): pass
  def do_POST(self):
    question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
    answer, status = {"id": question["id"]}, 200
    if question["decision"] == "routing":
      answer["target"] = min(question["instances"], key=lambda i: i["in_flight"])["id"]
    if self.path == "/fail" and question["id"] > 1: status = 500
    if self.path == "/other" and question["id"] > 1: answer["target"] = "instance_7"
    body = json.dumps(answer).encode()
    self.send_response(status)
    self.send_header("Content-Length", str(len(body)))
    self.end_headers()
    self.wfile.write(body)
server = http.server.HTTPServer(("127.0.0.1", 0), Service)
print(server.server_port, flush=True)
server.serve_forever()
]]

local has_service = require("blis.core").observe_library()
  and os.execute "command -v python3 >/dev/null"

describe("a policy behind HTTP #host", function()
  if not has_service then return end
  local process, url

  lazy_setup(function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(service)
    file:close()
    local started = program.shell(("python3 %s >%s.port 2>/dev/null & echo $!; "
      .. "for i in $(seq 100); do [ -s %s.port ] && break; sleep 0.05; done; cat %s.port"):format(
        path, path, path, path)).out
    local port
    process, port = started:match "(%d+)%s+(%d+)"
    url = ("http://127.0.0.1:%s"):format(port)
    os.remove(path)
    os.remove(path .. ".port")
  end)

  lazy_teardown(function() os.execute("kill " .. process) end)

  it("routes, while the clock waits", function()
    local routing = { "external-http", url = url .. "/decide" }
    local result = blis.run(small.experiment { routing = routing })
    local own = blis.run(small.experiment { routing = { "external-http", url = url } })
    assert.equal(60, result.completed)
    assert.equal(result.hash, own.hash)
    says(tostring(result), "routing external-http")
  end)

  it("that fails ends the run, and says how", function()
    local function message(where, more)
      local routing = { "external-http", url = where }
      for key, value in pairs(more or {}) do routing[key] = value end
      return small.message_of(blis.run, small.experiment { routing = routing })
    end
    says(message(url .. "/fail"), "it answered with status 500")
    says(message(url .. "/other"), "target is 'instance_7', which is not a candidate")
    says(message "http://127.0.0.1:9/", "it did not answer: ")
    says(message "here", "url: 'here', expected http://HOST:PORT/PATH")
  end)
end)

describe("a policy in another process", function()
  it("routes", function()
    local result = blis.run(small.experiment {
      routing = { "external", command = always '{"target":"instance_1"}' } })
    assert.equal("0 60 0", tostring(result.requests_per_instance))
    says(tostring(result), "routing external")
    -- The number of the question, which is asked after the first line, tells the instance.
    local in_turn = { "external", command = answers(
      [[n=${line#*:}; n=$((${n%%,*} % 3)); echo '{"target":"instance_'$n'"}']]) }
    local first = blis.run(small.experiment { routing = in_turn })
    assert.equal("20 20 20", tostring(first.requests_per_instance))
    assert.equal(first.hash, blis.run(small.experiment { routing = in_turn }).hash)
    assert.equal(first.hash, blis.run(small.experiment { routing = in_turn,
      cluster = { instances = 3, engine = "stepwise" } }).hash)
  end)

  it("admits, says how urgent requests are, and scales", function()
    local rejected = blis.run(small.experiment { admission = { "external",
      command = answers([[case $line in *'"request_7"'*) ]]
        .. [[echo '{"action":"reject","reason":"no"}';; *) echo '{"action":"admit"}';; esac]]) } })
    assert.equal(1, rejected.rejected)
    assert.equal(60, blis.run(small.experiment { admission = { "external",
      command = always '{"action":"reject","reason":""}' } }).rejected)
    local delayed = blis.run(small.experiment { admission = { "external",
      command = answers([[case $line in *'"now_us":'*'0}'*) echo '{"action":"admit"}';;]]
        .. [[ *) echo '{"action":"delay","delay_us":7}';; esac]]) } })
    assert.equal(60, delayed.completed)
    local hints = 0
    blis.run(small.experiment {
      priority = { "external", command = always '{"score":2.5,"hints":{"fits":true,"why":null}}' },
      on_routed = function(request)
        assert.equal(2.5, request.priority)
        hints = hints + (request.hints.fits and request.hints.why == nil and 1 or 0)
      end,
    })
    assert.equal(60, hints)
    local scaled = blis.run(small.experiment {
      autoscaler = { "external", interval_us = 200000, command = always '{"target":5}' },
      scaling = { max_replicas = 8, provisioning_delay_us = 0 },
    })
    assert.equal(5, scaled.scaling.events[1].to)
  end)

  it("scales a pool by what another one wishes", function()
    local apart = { prefill_instances = 1, decode_instances = 1, gpu_watts = 400 }
    local function run(command)
      return small.experiment { cluster = apart, disaggregation = "always",
        scaling = { prefill = { max_replicas = 4 }, decode = { max_replicas = 4 } },
        autoscaler = {
          prefill = { "external", interval_us = 200000,
            command = always '{"target":1,"unconstrained_target":3}' },
          decode = { "external", interval_us = 200000, command = command } } }
    end
    files.with("", function(path)
      blis.run(run(answers(("echo \"$line\" >>'%s'; echo '{}'"):format(path))))
      local file <close> = assert(io.open(path))
      file:read "l"
      local second = file:read "l"
      says(second, '"own":{"replicas":1,"unconstrained_target":1,"wish":1,"min":1,"max":4,'
        .. '"gpus_per_replica":1,')
      says(second, '"other":{"replicas":1,"unconstrained_target":3,"wish":3,"min":1,"max":4,'
        .. '"gpus_per_replica":1,')
    end)
    says(small.message_of(blis.run, run(always '{"unconstrained_target":3}')),
      "the answer has unconstrained_target, which requires target")
    says(small.message_of(blis.run, run(always '{"target":1,"unconstrained_target":-3}')),
      "its answer.unconstrained_target: invalid value -3")
  end)

  it("is told of instances what is asked for", function()
    files.with("", function(path)
      blis.run(small.experiment { routing = { "external", signals = { "kv_blocks" },
        command = answers(("echo \"$line\" >>'%s'; echo '{\"target\":\"instance_0\"}'"):format(
          path)) } })
      local first = assert(io.open(path)):read "l"
      says(first, '{"id":2,"decision":"routing","request":{"id":"request_0","prompt_tokens":264,')
      says(first, '"instances":[{"id":"instance_0","index":1,"kv_blocks":')
      assert.is_nil(first:find('"output_tokens"', 1, true))
      assert.is_nil(first:find "queue_depth")
    end)
    says(message_of("true", { signals = { "queue_dept" } }),
      "routing external.signals[1]: unknown signal 'queue_dept'; did you mean 'queue_depth'?")
  end)

  it("works in comparisons and sweeps, in processes of their own", function()
    local one, other = always '{"target":"instance_0"}', always '{"target":"instance_1"}'
    local function experiment(command)
      return small.experiment { routing = { "external", command = command } }
    end
    local compared = blis.compare(small.experiment {
      routing = { { "external", command = one }, "round-robin" } })
    assert.equal(compared[1].hash, blis.run(experiment(one)).hash)
    local run = blis.sweep {
      parameters = { { "target", { 0, 1 } } },
      trial = function(p)
        local result = blis.run(experiment(p.target == 0 and one or other))
        return { at = result.requests_per_instance[p.target + 1] }
      end,
    }:run { jobs = 2, quiet = true }
    says(run:csv(), "\n0,1,60,,\n1,1,60,,")
  end)

  it("can be named by flags and in policy bundles #host", function()
    local function instances_of(...)
      local text = program.run("run", "--num-instances", "3", "--num-requests", "9", ...)
      assert.equal("", text.err)
      return text.out:match "instances +([%d ]+) requests"
    end
    assert.equal("0 9 0", instances_of("--routing-policy", "external", "--routing-parameter",
      "command=" .. always '{"target":"instance_1"}'))
    program.with_file([[
routing:
  type: external
  params:
    timeout_ms: 5000
    command: |
      read -r line; echo '{}'
      while read -r line; do echo '{"target":"instance_2"}'; done
priority: {type: external, params: {command: "while read -r line; do echo '{\"score\":1}'; done"}}
]], function(path)
      local text = program.run("run", "--policy-config", path)
      assert.equal(1, text.status)
      says(text.err, "priority of policy external: 'while read -r line;")
      says(text.err, "its answer: unknown option 'score'")
    end)
  end)

  it("that fails ends the run, and says how", function()
    says(message_of "exit 3", "routing of policy external: 'exit 3': it has ended with status 3")
    says(message_of "echo hello", "its answer is no object of JSON: 'hello' "
      .. "(column 1: unexpected 'hello'; expected a value)")
    says(message_of "echo '{\"id\":1,\"id\":1}'", "(column 9: duplicate key 'id'; ")
    says(message_of("sleep 9", { timeout_ms = 50 }), "it has not answered within 50 ms")
    says(message_of "exec >&- <&-; sleep 9", "it has closed its output")
    says(message_of "read -r line; yes | tr -d '\\n'", "its answer is longer than a line of 1 MiB")
    says(message_of "read -r line; echo '{}'; kill -9 $$", "it was killed by signal 9")
    says(message_of(always "{}"), "routing policy 'external', request_0, at ")
    says(message_of(always "{}"), "its answer.target is missing, expected a string")
    says(message_of(always '{"target":"instance_9"}'),
      "target is 'instance_9', which is not a candidate of this decision")
    says(message_of(always '{"tarket":1}'), "unknown option 'tarket'; did you mean 'target'?")
    says(message_of(always '{"target":"instance_0","id":7}'),
      "it answers question 7, and was asked question 2")
    says(message_of(answers [[printf '{"target":"instance_0"}\n{}\n']]),
      "it writes more than one line per request")
    says(message_of(answers [[printf '{"target":"instance_0"}\n'; exit 0]]), "it has ended")
    says(small.message_of(blis.run, small.experiment {
      admission = { "external", command = always '{"action":"delay"}' } }),
      "its answer delays the request and has no delay_us")
    says(small.message_of(blis.run, small.experiment {
      admission = { "external", command = always '{"action":"reject","delay_us":5}' } }),
      "its answer has delay_us, which requires action 'delay', not 'reject'")
    says(small.message_of(blis.run, small.experiment { routing = "external" }),
      "command is missing, expected a string")
  end)
end)
