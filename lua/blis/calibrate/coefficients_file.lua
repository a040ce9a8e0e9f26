--- Fitted coefficients as a catalogue file, with what they were fitted to.
local core = require "blis.core"

local coefficients_file = {}

local function list_text(values)
  local texts = {}
  for i, value in ipairs(values) do texts[i] = ("%.6g"):format(value) end
  return "[" .. table.concat(texts, ", ") .. "]"
end

--- A YAML string in double quotes.
local function quoted(text)
  return '"' .. text:gsub('[\\"]', "\\%0"):gsub("%c", " ") .. '"'
end

--- The most requests that were in the engine at the same time, and the longest context.
local function range_of(task)
  local ends, most, context = {}, 0, 0
  for _, one in ipairs(task.observed) do
    context = math.max(context, one.prompt_tokens + one.output_tokens)
    if one.arrival_us then
      ends[#ends + 1] = { one.arrival_us, 1 }
      ends[#ends + 1] = { one.arrival_us + one.e2e_us, -1 }
    end
  end
  table.sort(ends, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  local now = 0
  for _, change in ipairs(ends) do
    now = now + change[2]
    most = math.max(most, now)
  end
  return most, context // 1
end

--- Writes a file that `--catalogue` reads, whole or not at all.
---@param path string
---@param fitted blis.Calibration
function coefficients_file.write(path, fitted)
  local engine, most, context = fitted.engine, range_of(fitted.task)
  local held_out = fitted.after.held_out
  local is_held_out = held_out and held_out.e2e
  local figures = is_held_out and held_out or fitted.after.train
  local lines = {
    "# Coefficients of the calibrated latency model, fitted by blis calibrate --fit.",
    ("# Error %s: E2E %.1f %%, TTFT %.1f %%, TPOT %.1f %%"):format(
      is_held_out and "on what they were not fitted to" or "on what they were fitted to",
      figures.e2e.mape * 100, figures.ttft.mape * 100, (figures.tpot or figures.e2e).mape * 100),
    "", "coefficients:", "  - kind: calibrated",
  }
  local function add(format, ...) lines[#lines + 1] = format:format(...) end
  add("    model: %s", quoted(engine.model))
  add("    hardware: %s", quoted(engine.hardware))
  add("    tp: %d", engine.tp)
  add("    alpha: %s", list_text(fitted.fitted.alpha))
  add("    beta: %s", list_text(fitted.fitted.beta))
  add("    coverage:")
  add("      fitted_on: %s", quoted(("%d %s of %s"):format(fitted.task.train,
    fitted.is_by_request and "requests" or "rows of means", fitted.path:match "[^/]+$")))
  most = math.min(most, fitted.cluster.max_num_seqs)
  if most > 0 then add("      requests_max: %d", most) end
  add("      tokens_max: %d", fitted.cluster.max_num_batched_tokens)
  add("      context_max: %d", context)
  local output <close> = core.output(path)
  output:write(table.concat(lines, "\n") .. "\n")
  output:commit()
end

return coefficients_file
