--- Configurations of routers as experiments: which system a file is of, and who reads it.
local errors = require "blis.errors"
local experiment = require "blis.experiment"
local flag_files = require "blis.production.flag_files"
local script = require "blis.production.script"
local text_file = require "blis.production.text_file"

local import = {}

--- Systems whose configurations can be read.
import.systems = { "llm-d", "dynamo", "smg", "vllm-router" }

---@class blis.production.Imported
---@field system string
---@field lua string the script
---@field findings blis.production.Findings

local words = {
  { "EndpointPickerConfig", "llm-d" },
  { "dynamo", "dynamo" },
  { "vllm%-router", "vllm-router" },
  { "vllm_router", "vllm-router" },
  { "smg", "smg" },
  { "sglang", "smg" },
}

--- Detects the system of a configuration by its words.
---@param text string
---@param path string
---@return string
function import.guess(text, path)
  if not text:find "%S" then errors.raise("parse", path .. ": is empty") end
  for _, one in ipairs(words) do
    if text:find(one[1]) then return one[2] end
  end
  errors.raise("usage", ("import: %s: unknown system; use --from with one of %s")
    :format(path, table.concat(import.systems, ", ")))
end

--- What changes routing and is not simulated stops an import.
local function check_missing(found, allow_missing)
  local missing = found.findings:of "routing"
  if allow_missing or #missing == 0 then return end
  local lines = {}
  for i, one in ipairs(missing) do
    lines[i] = ("%s%s: %s: %s"):format(found.findings.source,
      one.line and (":%d"):format(one.line) or "", one.part, one.text)
  end
  lines[#lines + 1] = "This changes routing and is not simulated; --allow-missing omits it"
  errors.raise("parse", table.concat(lines, "\n"))
end

--- What a file says has to be something that can be simulated.
local function check_runs(path, lua)
  local ok, problem = pcall(function() experiment.read(script.load(lua, path) "policy") end)
  if not ok then
    errors.raise("parse", ("%s: parts of it cannot be simulated: %s"):format(path,
      script.message(problem)))
  end
end

--- Reads a file.
---@param path string
---@param options? { from?: string, version?: string, allow_missing?: boolean, labels?: table }
---@return blis.production.Imported
function import.read(path, options)
  options = options or {}
  local text = text_file.read(path)
  local system = options.from or import.guess(text, path)
  local found
  if system == "llm-d" then
    found = require("blis.production.epp.import").read(path, options.version, options.labels)
  elseif options.version then
    errors.raise("usage", "import: --version requires system llm-d")
  else
    found = flag_files.read(system, text, path)
  end
  check_missing(found, options.allow_missing)
  check_runs(path, found.lua)
  found.system = system
  return found
end

return import
