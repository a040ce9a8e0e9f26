local blis = require "blis"

local llama = "meta-llama/llama-3.1-8b-instruct"

local function model(tables, options)
  local all = { model = llama, hardware = "H100", tp = 1, kernel_tables = tables }
  for key, value in pairs(options or {}) do all[key] = value end
  return blis.latency_model("composed", all)
end

local function decodes(count)
  local batch = {}
  for i = 1, count do batch[i] = { progress = 700, new = 1, prompt = 700, output = 1 } end
  return batch
end

--- A folder with some files; removed at the end of the test.
local function folder_of(files)
  local path = os.tmpname()
  os.remove(path)
  assert(os.execute("mkdir " .. path))
  for name, text in pairs(files) do
    local file = assert(io.open(path .. "/" .. name, "w"))
    file:write(text)
    file:close()
  end
  finally(function() os.execute("rm -r " .. path) end)
  return path
end

local slow = "gpu,dtype,n,k,m1,m16,m1024\nH100,bf16,6144,4096,900,900,900\n"

describe("kernel tables", function()
  it("are off, on, or those of a folder", function()
    local off, on = model(false), model(true)
    assert.equal(model():step_time(decodes(16)), on:step_time(decodes(16)))
    local old = model(nil, { defaults = "1.0-rc1" })
    assert.equal(old:step_time(decodes(16)), off:step_time(decodes(16)))
    local both = { off:step_time(decodes(16)), on:step_time(decodes(16)) }
    assert.is_true(both[1] ~= both[2] and math.abs(both[1] / both[2] - 1) < 0.05)
    local folder = folder_of { ["gemm.csv"] = slow }
    assert.is_true(model(folder):step_time(decodes(16)) > 2 * on:step_time(decodes(16)))
  end)

  it("of a folder go before those that are shipped, by GPU and format", function()
    local other = folder_of { ["gemm.csv"] = (slow:gsub("H100", "L40S")) }
    assert.equal(model(true):step_time(decodes(16)), model(other):step_time(decodes(16)))
    local l40s = { hardware = "L40S" }
    assert.is_true(model(other, l40s):step_time(decodes(16))
      > 1.5 * model(true, l40s):step_time(decodes(16)))
  end)

  it("of a folder may have all-reduces alone", function()
    local folder = folder_of { ["allreduce.csv"] = "gpu,gpus,b256,b512\nH100,2,5000,6000\n" }
    local two = { tp = 2 }
    assert.is_true(model(folder, two):step_time(decodes(1))
      > 64 * 5000 + model(true, two):step_time(decodes(1)) / 2)
  end)

  it("never make a larger batch faster", function()
    for _, hardware in ipairs { "H100", "B200" } do
      local one, last = model(true, { hardware = hardware, max_num_seqs = 512 }), 0
      for count = 1, 512 do
        local us = one:step_time_from_sums { requests = count, decode_requests = count,
          decode_context_tokens = 500000 }
        assert.is_true(us >= last)
        last = us
      end
    end
  end)

  it("have no effect on a GPU without rows", function()
    local mi300x = { hardware = "MI300X" }
    assert.equal(model(false, mi300x):step_time(decodes(9)),
      model(true, mi300x):step_time(decodes(9)))
  end)

  it("give equal results in both engines", function()
    local hashes = {}
    for i, engine in ipairs { "stepwise", "fast" } do
      hashes[i] = blis.run { seed = 3, workload = { rate = 9, num_requests = 150 },
        cluster = { model = llama, hardware = "H200", latency_model = "composed",
          kernel_tables = true, engine = engine } }.hash
    end
    assert.equal(hashes[1], hashes[2])
  end)

  it("report what is wrong", function()
    local function message(tables, latency_model)
      local ok, problem = pcall(blis.latency_model, latency_model or "composed",
        { model = llama, hardware = "H100", tp = 1, kernel_tables = tables })
      assert.is_false(ok)
      return tostring(problem)
    end
    assert.matches("kernel_tables: invalid value 7: expected true, false, or the path of a folder",
      message(7))
    assert.matches("has none of the files gemm.csv, moe.csv, allreduce.csv", message "/nowhere")
    local folder = folder_of { ["gemm.csv"] = slow:gsub("900,900\n", "900,x\n") }
    assert.matches("gemm.csv:2: column 7: invalid value 'x': expected a number above 0",
      message(folder))
    assert.matches("kernel_tables has no effect with latency model calibrated",
      message(folder, "calibrated"))
  end)
end)
