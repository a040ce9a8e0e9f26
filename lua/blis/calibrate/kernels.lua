--- Constants of the composed step-time model from the kernel times of a folder: the closed form of
--- products and experts, and launches of attention. share/profile writes such folders.
local closed_form = require "blis.calibrate.closed_form"
local catalogue = require "blis.catalogue"
local core = require "blis.core"
local endings = require "blis.endings"
local errors = require "blis.errors"
local format = require "blis.format"
local kernel_tables = require "blis.engine.kernel_tables"

local kernels = {}

local tables = {
  { file = "gemm.csv", list = "products", letter = "m", keys = { "n", "k" } },
  { file = "moe.csv", list = "experts", letter = "n", is_experts = true,
    keys = { "experts", "chosen", "hidden", "width", "local" } },
}

-- Fewer rows of a format leave its closed form as it is; its rows are used all the same.
local fewest_rows = 2

local function cells_of(line)
  local cells = {}
  for cell in (line .. ","):gmatch "([^,]*)," do cells[#cells + 1] = cell end
  return cells
end

--- Rows of a table that was checked, by format: { key =, times = }, of one GPU.
local function rows_of(text, one, gpu)
  local by_format, names, others = {}, nil, {}
  for line in text:gmatch "[^\r\n]+" do
    local cells = cells_of(line)
    if line:sub(1, 1) == "#" then
      goto continue
    elseif not names then
      names = cells
    elseif cells[1]:lower() ~= gpu:lower() then
      others[cells[1]] = true
    else
      local row = { key = {}, times = {} }
      for i, name in ipairs(one.keys) do row.key[name] = tonumber(cells[i + 2]) end
      for i = #one.keys + 3, #cells do
        local us = tonumber(cells[i])
        if us then row.times[#row.times + 1] = { size = tonumber(names[i]:sub(2)), us = us } end
      end
      by_format[cells[2]] = by_format[cells[2]] or {}
      if #row.times > 0 then table.insert(by_format[cells[2]], row) end
    end
    ::continue::
  end
  return by_format, others
end

local function sorted_names(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function rates_of(entry, known)
  for _, one in ipairs(core.hardware(known)) do
    if one.name == entry.gpu then
      local bandwidth = entry.bandwidth_tb_s > 0 and entry.bandwidth_tb_s or one.bandwidth_tb_s
      return { bandwidth = bandwidth * 1e6, peak = one.peak_tflops * 1e6 }
    end
  end
end

--- Fits every format of a table; returns the number of its rows.
local function fit_table(text, one, found)
  local entry, rates = found.entry, found.rates
  local by_format, others = rows_of(text, one, entry.gpu)
  local count = 0
  for _, dtype in ipairs(sorted_names(by_format)) do
    local rows = by_format[dtype]
    count = count + #rows
    if #rows >= fewest_rows and closed_form.knows(dtype) then
      local prior = entry[one.list][dtype] or entry[one.list].bf16
      local own = { bandwidth = rates.bandwidth,
        peak = rates.peak * (entry.speedup[dtype] or 1) }
      local kernel, gap = closed_form.fit(rows, dtype, own, prior, one.is_experts)
      table.insert(found.fits, { list = one.list, format = dtype, rows = #rows, prior = prior,
        kernel = kernel, gap = gap })
      entry[one.list][dtype] = kernel
    end
  end
  for name in pairs(others) do found.others[name] = true end
  return count
end

--- All-reduces have no closed form to fit: runs use their rows.
local function has_reduce_rows(text, gpu, others)
  local has_row = false
  for name in (text or ""):gmatch "%f[^\0\n]([^#\n,]+),%d+," do
    if name:lower() == gpu:lower() then has_row = true else others[name] = true end
  end
  return has_row
end

---@class blis.KernelFit
---@field folder string
---@field entry table constants of the GPU, as a catalogue file has them
---@field fits { list: string, format: string, rows: integer, prior: number[], kernel: number[],
--- gap: number }[]
local KernelFit = {}
KernelFit.__index = KernelFit
KernelFit.__name = "blis.kernel_fit"

--- Constants of a GPU, with the kernels of a folder in closed form.
---@param folder string
---@param gpu string
---@param known? userdata the catalogue
---@return blis.KernelFit
function kernels.fit(folder, gpu, known)
  local texts = kernel_tables.read(folder, "kernels")
  local entry = core.composed_constants(gpu, known, true)
  local found = {
    folder = folder, entry = entry, rates = rates_of(entry, known), fits = {}, others = {},
  }
  local count = has_reduce_rows(texts["allreduce.csv"], entry.gpu, found.others) and 1 or 0
  for _, one in ipairs(tables) do
    local rows = texts[one.file] and fit_table(texts[one.file], one, found) or 0
    count = count + rows
    -- Profiles measure skewed choices alone; shipped rows mix them with even ones.
    if one.is_experts and rows > 0 then entry.expert_balance = 0 end
  end
  if count == 0 then
    errors.invalid("%s: no rows for %s, only for %s", folder, entry.gpu,
      table.concat(sorted_names(found.others), ", "))
  end
  return setmetatable(found, KernelFit)
end

--- A copy with numbers of six digits.
local function rounded(value)
  if type(value) == "number" then return tonumber(("%.6g"):format(value)) end
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, item in pairs(value) do copy[key] = rounded(item) end
  return copy
end

--- The constants as the text of a catalogue file.
---@param entry? table constants in place of the fitted ones
---@return string
function KernelFit:text(entry)
  return "# Constants of the composed step-time model, from the kernel times of "
    .. self.folder:gsub("%c", " ") .. ".\n"
    .. "# Written by blis calibrate --kernels; for --catalogue, together with --kernel-tables.\n"
    .. catalogue.text_of("composed", rounded(entry or self.entry), self.folder).text .. "\n"
end

--- Writes a catalogue file.
---@param path string
---@param entry? table constants in place of the fitted ones
function KernelFit:save(path, entry)
  endings.check("save", path, endings.yaml)
  local output <close> = core.output(path)
  output:write(self:text(entry))
  output:commit()
end

local function kernel_text(kernel)
  return ("%.3g us, %.0f%%, %.0f%%, %.3g"):format(kernel[1], kernel[2] * 100, kernel[3] * 100,
    kernel[4])
end

function KernelFit:__tostring()
  local rows = {}
  for i, one in ipairs(self.fits) do
    rows[i] = { ("  %s, %s"):format(one.list, one.format), format.count(one.rows),
      kernel_text(one.prior), kernel_text(one.kernel), ("%.1f%%"):format(one.gap * 100) }
  end
  local head = ("kernels of %s on %s: launch, share of the bandwidth, share of the peak, sharpness")
    :format(self.folder, self.entry.gpu)
  if #rows == 0 then return head .. "\n  no format has two rows, so the closed form is "
    .. "unchanged" end
  return head .. "\n" .. format.table({ "  kernel", "rows", "before", "fitted", "mean error" },
    rows)
end

return kernels
