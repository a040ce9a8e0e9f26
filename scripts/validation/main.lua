--- Compares simulated with measured times, and writes docs/validation.md and the residuals that the
--- expected error of a result comes from.
package.path = arg[0]:gsub("[^/]*$", "") .. "?.lua;" .. package.path

local page = require "page"

local files = {}

--- Keeps a file for later, by its path below docs.
local function keep(name, text) files[#files + 1] = { path = "docs/" .. name, text = text } end

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
end

local function folders() return table.move(arg, 2, #arg, 1, {}) end

--- Residuals of one study would replace those of all, so both are needed.
local function require_studies(runs)
  local is_there = {}
  for _, run in ipairs(runs) do is_there[run.source] = true end
  for source, file in pairs { InferenceX = "inferencex_vllm.csv", stages = "vllm_stages.csv" } do
    if not is_there[source] then
      io.stderr:write("validate: --residuals: no folder contains ", file,
        "; expected the folders of both studies\n")
      os.exit(2)
    end
  end
end

--- Fits all parameters again without groups of runs, and writes their residuals.
local function write_residuals()
  local fit, left_out = require "fit", require "left_out"
  local measured, residuals = require "measured", require "residuals"
  local function tell(text) io.stderr:write("validate: ", text, "\n") end
  local runs = measured.runs(folders())
  require_studies(runs)
  local all, by = fit.all(runs, true, tell), {}
  for _, kind in ipairs { "part", "model", "gpu" } do
    by[kind] = left_out.errors(runs, all, kind, tell)
  end
  local closed_form = left_out.errors(runs, fit.all(runs, false, tell), "model", tell)
  local function shipped(latency_model, has_tables)
    return measured.errors(runs, { latency_model = latency_model, kernel_tables = has_tables,
      catalogue = { "data/latency/composed.yaml" } })
  end
  local in_sample = shipped("composed", true)
  write("data/validation/residuals.yaml", residuals.text(
    residuals.rows(by.part, by.model, by.gpu), in_sample,
    residuals.between(by.part, by.model)))
  write("tests/data/truth/groups.yaml", residuals.groups_text {
    { name = "calibrated", errors = shipped "calibrated" },
    { name = "composed", errors = in_sample },
    { name = "without_part", errors = by.part },
    { name = "without_model", errors = by.model },
    { name = "closed_form", errors = shipped("composed", false) },
    { name = "closed_form_without_model", errors = closed_form },
  })
  write("tests/data/truth/left_out.csv", residuals.csv(by))
end

local mode = arg[1]
if mode == "--data" then
  print(page.further(folders()))
elseif mode == "--residuals" then
  write_residuals()
elseif mode == nil or mode == "--check" then
  keep("validation.md", page.text(keep))
  files[#files + 1] = { path = "README.md", text = require "readme".text(read "README.md") }
  local is_equal = true
  for _, one in ipairs(files) do
    if mode == nil then
      write(one.path, one.text)
    elseif read(one.path) ~= one.text then
      io.stderr:write(one.path, " is not what scripts/validate writes\n")
      is_equal = false
    end
  end
  os.exit(is_equal)
else
  io.stderr:write("validate: unknown option '", mode,
    "'; expected --check, --data DIR..., or --residuals DIR...\n")
  os.exit(2)
end
