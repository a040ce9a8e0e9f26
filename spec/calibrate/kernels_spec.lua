local blis = require "blis"
local core = require "blis.core"
local files = require "spec.support.files"
local kernels = require "blis.calibrate.kernels"

local measured = "tests/data/measured/llama-3.1-8b.csv"

--- A folder with some files; removed at the end of the test.
local function folder_of(texts)
  local path = os.tmpname()
  os.remove(path)
  assert(os.execute("mkdir " .. path))
  for name, text in pairs(texts) do
    local file = assert(io.open(path .. "/" .. name, "w"))
    file:write(text)
    file:close()
  end
  finally(function() os.execute("rm -r " .. path) end)
  return path
end

local function raises(f, expected)
  local ok, problem = pcall(f)
  assert.is_false(ok)
  assert.matches(expected, tostring(problem), 1, true)
end

--- Products of a kernel that is known, on a GPU with these rates.
local function products_of(gpu, kernel, bandwidth, peak)
  local lines, sizes = {}, { 1, 16, 128, 1024, 4096 }
  lines[1] = "gpu,dtype,n,k"
  for _, m in ipairs(sizes) do lines[1] = lines[1] .. ",m" .. m end
  for _, shape in ipairs { { 4096, 4096 }, { 28672, 4096 }, { 1024, 8192 } } do
    local n, k = shape[1], shape[2]
    local cells = { gpu, "bf16", n, k }
    for _, m in ipairs(sizes) do
      local memory = (2 * n * k + 2 * m * k + 2 * m * n) / bandwidth / kernel[2]
      local compute = 2 * m * n * k / peak / kernel[3]
      local us = kernel[1] + (memory ^ kernel[4] + compute ^ kernel[4]) ^ (1 / kernel[4])
      cells[#cells + 1] = ("%.6g"):format(us)
    end
    lines[#lines + 1] = table.concat(cells, ",")
  end
  return table.concat(lines, "\n") .. "\n"
end

describe("kernels of a folder", function()
  it("give the closed form that they follow", function()
    local folder = folder_of { ["gemm.csv"] = products_of("h100", { 7, 0.7, 0.5, 3 }, 3.35e6,
      989.5e6) }
    local fitted = kernels.fit(folder, "H100")
    assert.equal(1, #fitted.fits)
    assert.is_true(fitted.fits[1].gap < 0.005)
    local kernel = fitted.entry.products.bf16
    for i, expected in ipairs { 7, 0.7, 0.5, 3 } do
      assert.is_true(math.abs(kernel[i] / expected - 1) < 0.05)
    end
    assert.same(core.composed_constants("H100", nil, true).experts, fitted.entry.experts)
    assert.matches("products, bf16 +3 ", tostring(fitted))
  end)

  it("give those of the shipped tables, which the constants were fitted to", function()
    local fitted = kernels.fit("data/kernels", "B200")
    assert.equal(8, #fitted.fits)
    local closed = core.composed_constants("B200", nil, true).products.nvfp4
    for i, value in ipairs(fitted.entry.products.nvfp4) do
      assert.is_true(math.abs(value / closed[i] - 1) < 0.3)
    end
    assert.equal(0, fitted.entry.expert_balance)
  end)

  it("become a file that a catalogue takes", function()
    local folder = folder_of { ["gemm.csv"] = products_of("L40S", { 50, 0.7, 0.5, 3 }, 0.864e6,
      362.05e6) }
    local path = os.tmpname() .. ".yaml"
    finally(function() os.remove(path) end)
    kernels.fit(folder, "L40S"):save(path)
    local function step_us(options)
      local all = { model = "meta-llama/llama-3.1-8b-instruct", hardware = "L40S", tp = 1 }
      for name, value in pairs(options) do all[name] = value end
      return blis.latency_model("composed", all)
        :step_time { { progress = 700, new = 1, prompt = 700, output = 1 } }
    end
    local slow = step_us { catalogue = path }
    assert.is_true(slow > step_us {} + 32 * 4 * 40)
    -- The rows themselves are near the closed form that was fitted to them.
    local both = step_us { catalogue = path, kernel_tables = folder }
    assert.is_true(math.abs(both / slow - 1) < 0.05)
  end)

  it("report what is wrong", function()
    local folder = folder_of { ["gemm.csv"] = products_of("H200", { 7, 0.7, 0.5, 3 }, 4.8e6,
      989.5e6) }
    raises(function() kernels.fit(folder, "H100") end,
      "no rows for H100, only for H200")
    local reduces = folder_of { ["allreduce.csv"] = "gpu,gpus,b256,b512\nH200,2,1,2\n" }
    raises(function() kernels.fit(reduces, "H100") end, "no rows for H100, only for H200")
    assert.equal(0, #kernels.fit(reduces, "H200").fits)
    raises(function() kernels.fit(folder, "Z80") end, "Z80")
    raises(function() kernels.fit("/nowhere", "H100") end,
      "has none of the files")
  end)

  it("combine with observed requests", function()
    local folder = folder_of { ["gemm.csv"] = products_of("RTX PRO 6000", { 5, 0.9, 0.7, 5 },
      1.792e6, 500e6) }
    local before = core.composed_constants("RTX PRO 6000")
    local cluster = { model = "llama-3.1-8b-instruct", hardware = "RTX PRO 6000",
      max_num_seqs = 128 }
    local fitted = blis.calibrate { observed = measured, kernels = folder, trials = 30,
      cluster = cluster }
    assert.is_true(fitted.after.train.e2e.mape < fitted.before.train.e2e.mape)
    assert.is_true(fitted.after.held_out.e2e.mape < 0.06)
    local text = tostring(fitted)
    assert.matches("products, bf16 +3 ", text)
    assert.matches("decode +[%d.]+ +[%d.]+", text)
    assert.matches("front end: run with %-%-front%-end%-rate %d+", text)
    local path = os.tmpname() .. ".yaml"
    finally(function() os.remove(path) end)
    fitted:save(path)
    assert.matches('"step_us":' .. ("%.6g"):format(fitted.fitted.composed.step_us),
      files.read(path), 1, true)
    -- No constants of the search are left behind.
    assert.same(before, core.composed_constants("RTX PRO 6000"))

    local ok, problem = pcall(blis.calibrate, { observed = measured, kernels = folder,
      cluster = { model = "llama-3.1-8b-instruct", latency_model = "calibrated" } })
    assert.is_false(ok)
    assert.matches("only 'composed' can be fitted to kernel times", tostring(problem), 1, true)
  end)
end)
