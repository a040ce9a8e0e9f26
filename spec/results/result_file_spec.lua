local blis = require "blis"
local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"
local small = require "spec.support.small"

local says = small.says

--- A run with something of everything: classes, tenants, sessions, rejections, deadlines.
local function rich(changes)
  local lengths = { "gaussian", mean = 150, std_dev = 60, min = 2, max = 400 }
  local client = { id = "a", tenant_id = 'x, "y"', slo_class = "critical", rate_fraction = 1,
    input_distribution = lengths, output_distribution = lengths }
  local spec = {
    cluster = { instances = 2, max_num_seqs = 6, gpu_watts = 333.3 },
    workload = { num_requests = 200, aggregate_rate = 30, clients = {
      client,
      { id = "b", tenant_id = "z", slo_class = "batch", rate_fraction = 2, timeout_us = 2500000,
        input_distribution = lengths, output_distribution = lengths },
    } },
    admission = function(request)
      if request.prompt_tokens % 10 == 0 then return blis.reject("a reason") end
      return blis.admit()
    end,
    slo_targets = { critical = { ttft_ms = 400 } },
    warm_up_us = 1000000, series_interval_us = 1000000,
  }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return spec
end

local function saved(result, body)
  files.with(nil, function(path)
    result:save(path)
    body(path)
  end)
end

--- Every figure, however deep.
local function figures_of(value, seen)
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, item in next, value do
    if type(item) ~= "userdata" then copy[key] = figures_of(item, seen) end
  end
  return copy
end

describe("a saved result", function()
  it("reads back equal, to the last bit #slow", function()
    local variants = { {}, { horizon_us = 3000000 }, { seed = 7, instance_times = true } }
    for _, changes in ipairs(variants) do
      local result = blis.run(rich(changes))
      saved(result, function(path)
        local back = blis.load_result(path)
        assert.same(figures_of(result), figures_of(back))
        assert.equal(tostring(result), tostring(back))
        assert.equal(#result.requests, #back.requests)
        for i, record in ipairs(result.requests) do assert.same(record, back.requests[i]) end
        assert.same(result:window(0, 2000000), back:window(0, 2000000))
        assert.equal(result.tenant_fairness, back.tenant_fairness)
        assert.equal(result:fitness "p99_ttft:1", back:fitness "p99_ttft:1")
      end)
    end
  end)

  it("has the stages of every request, where these are apart", function()
    local function constant(value) return { type = "constant", params = { value = value } } end
    local pictures = { num_requests = 40, aggregate_rate = 20, clients = {
      { id = "a", rate_fraction = 0.5, input_distribution = constant(1),
        output_distribution = constant(20), multimodal = {
          text_distribution = constant(200), image_distribution = constant(400),
          image_count_distribution = constant(1) } },
      { id = "b", rate_fraction = 0.5, input_distribution = constant(900),
        output_distribution = constant(20) },
    } }
    local encoders = { encode_base_us = 1000, encode_us_per_token = 20 }
    for _, one in ipairs { { 1, encoders, "encode_end_us" }, { nil, nil, "transfer_end_us" } } do
      local result = blis.run { cluster = { prefill_instances = 1, decode_instances = 1,
        encode_instances = one[1] }, disaggregation = one[2], workload = pictures }
      saved(result, function(path)
        local back, count = blis.load_result(path), 0
        assert.equal(tostring(result), tostring(back))
        for i, record in ipairs(result.requests) do
          assert.same(record, back.requests[i])
          count = count + (record[one[3]] and 1 or 0)
        end
        assert.is_true(count > 10)
        local timelines = {}
        for k, r in ipairs { result, back } do
          files.with(nil, function(name)
            r:timeline(name .. ".json")
            timelines[k] = files.read(name .. ".json")
            os.remove(name .. ".json")
          end)
        end
        assert.equal(timelines[1], timelines[2])
      end)
    end
  end)

  it("reads back from a file that its name made packed", function()
    local result = blis.run { workload = { requests = 20 }, seed = 3 }
    for _, ending in ipairs { ".gz", ".zst" } do
      files.with(nil, function(path)
        local packed = path .. ending
        result:save(packed)
        local ok, back = pcall(blis.load_result, packed)
        local bytes = files.read(packed)
        assert.is_true(os.remove(packed))
        assert.is_nil(bytes:find("blis_result", 1, true))
        assert.is_true(ok, tostring(back))
        assert.equal(tostring(result), tostring(back))
        assert.equal(result.hash, back.hash)
        assert.equal(20, #back.requests)
        files.with(bytes:sub(1, #bytes // 2), function(cut)
          local told = small.message_of(blis.load_result, cut)
          says(told, cut)
        end)
      end)
    end
  end)

  it("has columns in quotes where names of tiers have commas", function()
    local result = blis.run { workload = { requests = 2 },
      kv_tiers = { { name = "a,b", blocks = 10, read_gb_s = 10, write_gb_s = 10 } } }
    files.with(nil, function(path)
      result:export_requests(path .. ".csv")
      local written = files.read(path .. ".csv")
      assert.is_true(os.remove(path .. ".csv"))
      says(written:match "^[^\n]*", '"tier_a,b_tokens"')
    end)
  end)

  it("is the same file when it is saved again #slow", function()
    saved(blis.run(rich()), function(path)
      saved(blis.load_result(path), function(other)
        assert.equal(files.read(path), files.read(other))
      end)
    end)
  end)

  it("of the first version can be read, shown and compared", function()
    local old = blis.load_result "spec/results/saved_version_1.blis"
    assert.equal(3, old.completed)
    assert.equal(33.574, old.ttft_ms.max)
    assert.equal(1, old.goodput.classes.batch.attainment)
    assert.equal("request_2", old.requests[3].id)
    says(tostring(old), "3 arrived = 3 completed")
    assert.is_true(blis.diff(old, old).is_equal)
    assert.equal(0, old.cache_prediction.predicted_hit_rate) -- cache_belief.believed_hit_rate
    says(small.message_of(function() return old.cache_belief end),
      "expected result.cache_prediction")
    local text = files.read "spec/results/saved_version_1.blis"
    -- Figures come to be: a file that lacks one is a file from before.
    files.with(text:gsub('"steps":13,', ""):gsub('"preemptions":0,"prompt_tokens":300',
      '"prompt_tokens":300'), function(path)
      local older = blis.load_result(path)
      says(tostring(older), "found\n")
      local by_name = {}
      for _, one in ipairs(blis.diff(path, old).metrics) do by_name[one.name] = one end
      assert.same({ name = "steps", b = 13 }, by_name.steps)
      assert.equal(0, by_name["ttft_ms.p99"].change)
    end)
  end)

  it("may have no records", function()
    local spec = small.experiment { keep_records = false }
    local result = blis.run(spec)
    saved(result, function(path)
      local back = blis.load_result(path)
      assert.equal(tostring(result), tostring(back))
      says(small.message_of(function() return back.requests end), "keep_records = false")
    end)
  end)

  it("with follow-ups keeps their ids", function()
    local lengths = { "constant", value = 60 }
    local result = blis.run { workload = { num_requests = 30, clients = {
      { id = "u", concurrency = 3, input_distribution = lengths, output_distribution = lengths },
    } } }
    saved(result, function(path)
      local back = blis.load_result(path)
      for i, record in ipairs(result.requests) do assert.equal(record.id, back.requests[i].id) end
    end)
  end)

  it("is refused when it was cut or changed #slow", function()
    saved(blis.run(rich()), function(path)
      local text = files.read(path)
      local function message(changed)
        local told
        files.with(changed, function(other)
          told = small.message_of(blis.load_result, other):gsub(other, "FILE", 1)
          assert.is_nil(told:find(other, 1, true))
        end)
        return told
      end
      says(message(text:match("^(.*\n)[^\n]*\n$")), "it was truncated or changed")
      says(message(text:gsub("\n%[0,", "\n[1,", 1)), "FILE: its requests have the result hash")
      says(message(text:gsub('"completed","instance_', '"complete","instance_', 1)),
        "unknown request state 'complete'")
      says(message(text:sub(1, -5)), "FILE:201: not a result of blis")
      says(message(text:gsub('"completed","instance_0"', '"completed","instance_x"', 1)),
        "has instance = 'instance_x'")
      says(message(text:gsub('"blis_result":1', '"blis_result":2')), "this program reads version 1")
      says(message(text:gsub('"figures":', '"pictures":1,"figures":', 1)),
        "FILE:1: unknown member 'pictures'; did you mean 'figures'?")
      says(message(text:gsub('"columns":%[', '%0"cost",', 1)), "FILE:1: unknown column 'cost'")
      says(message("{}\n"), "FILE:1: not a result of blis")
      says(message("hello\n"), "FILE:1: not a result of blis")
      says(message(""), "the file is empty; expected a result of blis")
      says(message("[1]\n"), "FILE:1: not a result of blis")
    end)
    says(small.message_of(blis.load_result, "/nonexistent"), "cannot read /nonexistent")
    local result = blis.run { workload = { requests = 3 },
      trace_level = "decisions", series_interval_us = 1000000 }
    for _, method in ipairs { "save", "export_requests", "export_series", "save_decisions" } do
      for _, path in ipairs { 5, "", {} } do
        says(small.message_of(result[method], result, path), "expected the path of a file")
      end
    end
    says(small.message_of(blis.load_result, "/"), "cannot read /: Is a directory")
    says(small.message_of(blis.load_result, 5), "expected the path of a file")
  end)

  it("is not half-written", function()
    local result = blis.run(small.experiment())
    small.error_of(result.save, result, "/nonexistent/file")
    files.with("before", function(path)
      local hollow = setmetatable({}, debug.getmetatable(result))
      assert.has_error(function() result.save(hollow, path) end)
      assert.equal("before", files.read(path))
    end)
  end)
end)

describe("exported requests", function()
  it("are not written under the name of another format", function()
    local result = blis.run(rich())
    for _, name in ipairs { "b.JSON", "c.csv.gz", "rows" } do
      local ok, message = pcall(result.export_requests, result, os.tmpname() .. name)
      assert.is_false(ok)
      says(tostring(message), "ends in .csv or .jsonl")
    end
  end)

  it("are CSV or JSON lines #slow", function()
    local result = blis.run(rich())
    local path = os.tmpname() .. ".csv"
    result:export_requests(path)
    local text = files.read(path)
    os.remove(path)
    assert.matches("^id,number,state,instance,arrival_us,ttft_us,", text)
    local lines = 0
    for _ in text:gmatch("\n") do lines = lines + 1 end
    assert.equal(201, lines)
    says(text, '"x, ""y"""')
    path = path .. ".jsonl"
    result:export_requests(path)
    local i = 0
    for line in io.lines(path) do
      i = i + 1
      assert.same(result.requests[i], core.json_read(line))
    end
    os.remove(path)
    assert.equal(200, i)
  end)
end)

describe("blis.diff", function()
  it("finds nothing between equal runs #slow", function()
    local found = blis.diff(blis.run(rich()), blis.run(rich()))
    assert.is_true(found.is_equal)
    assert.equal(0, #found.requests.changed)
    says(tostring(found), "no metric differs")
  end)

  it("tells which figures and requests differ #slow", function()
    local a = blis.run(rich())
    local b = blis.run(rich { routing = "least-loaded" })
    local found = blis.diff(a, b)
    assert.is_false(found.is_equal)
    for _, one in ipairs(found.metrics) do
      if one.name == "ttft_ms.p99" then
        assert.equal(a.ttft_ms.p99, one.a)
        assert.equal(b.ttft_ms.p99 - a.ttft_ms.p99, one.change)
        assert.equal(one.change / one.a, one.relative)
      end
    end
    local by_id, changed = {}, 0
    for i = 1, #b.requests do by_id[b.requests[i].id] = b.requests[i] end
    for i = 1, #a.requests do
      local one, other = a.requests[i], by_id[a.requests[i].id]
      local is_equal = true
      for key, value in pairs(one) do is_equal = is_equal and other[key] == value end
      for key in pairs(other) do is_equal = is_equal and one[key] ~= nil end
      if not is_equal then changed = changed + 1 end
    end
    assert.equal(200, found.requests.common)
    assert.equal(changed, #found.requests.changed)
    says(tostring(found), ("200 in both, %d of them different"):format(changed))
  end)

  it("lists requests that are in one of the results alone", function()
    local a = blis.run(small.experiment { workload = { requests = 5, rate = 10 } })
    local b = blis.run(small.experiment { workload = { requests = 7, rate = 10 } })
    assert.same({ "request_5", "request_6" }, blis.diff(a, b).requests.only_b)
    assert.same({ "request_5", "request_6" }, blis.diff(b, a).requests.only_a)
  end)

  it("compares figures alone without records", function()
    local a = blis.run(small.experiment { keep_records = false })
    local found = blis.diff(a, blis.run(small.experiment()))
    assert.is_nil(found.requests)
    says(tostring(found), "a result has no records")
    says(small.message_of(blis.diff, a, 5), "diff: B: invalid value 5")
  end)
end)

describe("the command diff", function()
  it("compares files in three forms #slow", function()
    local a, b = blis.run(rich()), blis.run(rich { seed = 5 })
    saved(a, function(path_a)
      saved(b, function(path_b)
        local outcome = commands.call("diff", path_a, path_b)
        assert.equal(1, outcome.status)
        assert.equal(tostring(blis.diff(a, b)) .. "\n", outcome.out)
        assert.equal(0, commands.call("diff", path_a, path_a).status)
        local got = core.json_read(commands.output_of("diff", path_a, path_b, "--format", "json"))
        assert.is_false(got.is_equal)
        assert.equal(#blis.diff(a, b).requests.changed, #got.requests.changed)
        local by_name = {}
        for _, metric in ipairs(got.metrics) do by_name[metric.name] = metric end
        assert.equal(a.duration_us, by_name.duration_us.a)
        says(commands.output_of("diff", path_a, path_b, "--format", "csv"),
          ("\nduration_us,%d,%d,"):format(a.duration_us, b.duration_us))
      end)
    end)
  end)

  it("tells what is wrong", function()
    local _, message = commands.error_of("diff", "one")
    says(message, "diff: expected two result files, got 1")
    _, message = commands.error_of("diff", "one", "two", "three")
    says(message, "unexpected argument 'three'")
    local code
    code, message = commands.error_of("diff", "/nonexistent", "/nonexistent")
    assert.equal("usage", code)
    says(message, "cannot read /nonexistent")
  end)
end)
