--- Measured times of kernels, which correct the composed step-time model: those that come with
--- blis, and those of a folder that the user has measured.
local core = require "blis.core"
local descriptions = require "blis.catalogue.descriptions"
local errors = require "blis.errors"

local kernel_tables = {}

--- The files of a folder, each optional.
kernel_tables.files = { "gemm.csv", "moe.csv", "allreduce.csv" }

local function exists(path)
  local file <close> = core.open_input(path)
  return file ~= nil
end

--- The contents of the files of a folder by file name, checked.
---@param folder string
---@param path string of the option, for messages
---@return table<string, string>
function kernel_tables.read(folder, path)
  local texts = {}
  for _, name in ipairs(kernel_tables.files) do
    local file = folder .. "/" .. name
    if exists(file) then
      texts[name] = descriptions.read(file)
      core.check_kernel_table(name, file, texts[name])
    end
  end
  if next(texts) == nil then
    errors.invalid("%s: %s has none of the files %s", path, errors.show(folder),
      table.concat(kernel_tables.files, ", "))
  end
  return texts
end

--- Sets values.uses_kernel_tables and values.kernel_texts, which the core takes.
---@param values table
---@param path string
function kernel_tables.apply(values, path)
  local given = values.kernel_tables
  values.uses_kernel_tables = given ~= false and values.latency_model == "composed"
  if type(given) ~= "string" then return end
  if values.latency_model ~= "composed" then
    errors.invalid("%s.kernel_tables has no effect with latency model %s; set %s.latency_model to "
      .. "composed", path, values.latency_model, path)
  end
  values.kernel_texts = kernel_tables.read(given, path .. ".kernel_tables")
end

return kernel_tables
