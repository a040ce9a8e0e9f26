--- How close simulated latencies are to measured ones: requests of an observed trace are paired
--- with the results of a replay (formulas of BLIS in Go, inference-sim f90a1e3a).
local calibration = {}

---@class blis.ObservedRow of a trace
---@field request_id integer
---@field slo_class string
---@field status string
---@field input_tokens integer
---@field server_input_tokens integer 0 = not known
---@field output_tokens integer
---@field send_time_us integer
---@field first_chunk_time_us integer
---@field last_chunk_time_us integer

---@class blis.CalibrationInput
---@field rows blis.ObservedRow[]
---@field simulated table<integer, table> by request_id
---@field chunks? table<integer, integer[]> times of the chunks of a request, in order
---@field warm_up integer rows below this number are omitted
---@field rtt_us number
---@field mbps number 0 = no delay
---@field targets? blis.SloTarget[]

---@class blis.Pair
---@field row blis.ObservedRow
---@field simulated table
---@field real_ttft_us integer
---@field real_e2e_us integer
---@field is_timed boolean the two are not negative

--- Rows and results that belong together, and counts of the others.
---@param input blis.CalibrationInput
local function pair_up(input)
  local pairs_, info = {}, { requests = #input.rows, excluded = 0, unmatched = 0, mismatches = 0 }
  for _, row in ipairs(input.rows) do
    local simulated = input.simulated[row.request_id]
    if row.request_id < input.warm_up then
      info.excluded = info.excluded + 1
    elseif not simulated or row.status ~= "ok" then
      info.unmatched = info.unmatched + 1
    else
      local tokens = row.server_input_tokens > 0 and row.server_input_tokens or row.input_tokens
      if tokens ~= simulated.input_tokens or row.output_tokens ~= simulated.output_tokens then
        info.mismatches = info.mismatches + 1
      end
      local ttft_us = row.first_chunk_time_us - row.send_time_us
      local e2e_us = row.last_chunk_time_us - row.send_time_us
      pairs_[#pairs_ + 1] = {
        row = row, simulated = simulated, real_ttft_us = ttft_us, real_e2e_us = e2e_us,
        is_timed = ttft_us >= 0 and e2e_us >= 0,
      }
    end
  end
  info.matched = #pairs_
  return pairs_, info
end

--- The mean of the gaps between chunks that are_wanted, in us; nil without such gaps.
local function mean_gap(chunks, is_wanted)
  local sum, count = 0, 0
  for i = 2, #chunks do
    local gap = chunks[i] - chunks[i - 1]
    if is_wanted(gap) then sum, count = sum + gap, count + 1 end
  end
  return count > 0 and sum / count or nil
end

local function is_not_negative(gap) return gap >= 0 end
local function is_positive(gap) return gap > 0 end

local function mean_of(values)
  local sum = 0.0
  for _, value in ipairs(values) do sum = sum + value end
  return sum / #values
end

local function percentile(sorted, percent)
  local rank = percent / 100 * (#sorted - 1)
  local low = math.floor(rank)
  local first, second = sorted[low + 1], sorted[math.min(low + 2, #sorted)]
  return first + (rank - low) * (second - first)
end

--- { { key, value }, ... } of one metric on both sides.
local function add_figure(list, name, real, simulated)
  local difference = simulated - real
  list[#list + 1] = { "real_" .. name, real }
  list[#list + 1] = { "sim_" .. name, simulated }
  list[#list + 1] = { name .. "_error", difference }
  list[#list + 1] = { name .. "_percent_error", real > 0 and math.abs(difference) / real or 0.0 }
end

local function figures_of(real, simulated)
  local list = {}
  add_figure(list, "mean", mean_of(real), mean_of(simulated))
  local a, b = table.move(real, 1, #real, 1, {}), table.move(simulated, 1, #simulated, 1, {})
  table.sort(a)
  table.sort(b)
  add_figure(list, "median", percentile(a, 50), percentile(b, 50))
  for _, percent in ipairs { 50, 90, 95, 99 } do
    add_figure(list, "p" .. percent, percentile(a, percent), percentile(b, percent))
  end
  return list
end

--- Mean absolute percentage error, and the direction of the errors; 0 and "" without real values.
local function error_of(real, simulated)
  local sum, difference, count = 0.0, 0.0, 0
  for i, value in ipairs(real) do
    if value ~= 0 then
      sum = sum + math.abs(value - simulated[i]) / value
      difference = difference + (simulated[i] - value)
      count = count + 1
    end
  end
  if count == 0 then return 0.0, "" end
  local bias = difference > 0 and "over-predict" or difference < 0 and "under-predict" or "neutral"
  return sum / count, bias
end

local function correlation(a, b)
  local n, sa, sb, sab, saa, sbb = #a, 0.0, 0.0, 0.0, 0.0, 0.0
  for i = 1, n do
    sa, sb = sa + a[i], sb + b[i]
    sab, saa, sbb = sab + a[i] * b[i], saa + a[i] * a[i], sbb + b[i] * b[i]
  end
  local scale = math.sqrt((n * saa - sa * sa) * (n * sbb - sb * sb))
  if n < 3 or scale == 0 or scale ~= scale then return 0.0 end
  return (n * sab - sa * sb) / scale
end

local function quality_of(mape, r)
  if mape < 0.10 and r > 0.95 then return "excellent" end
  if mape < 0.20 and r > 0.85 then return "good" end
  if mape < 0.35 and r > 0.70 then return "fair" end
  return "poor"
end

---@class blis.CalibrationMetric
---@field count integer
---@field figures { [1]: string, [2]: number }[]
---@field mape number a fraction
---@field pearson_r number
---@field bias string
---@field quality string

--- Compares two lists of equal length; nil when they are empty.
---@param real number[]
---@param simulated number[]
---@return blis.CalibrationMetric?
function calibration.compare(real, simulated)
  if #real == 0 then return nil end
  local mape, bias = error_of(real, simulated)
  local r = correlation(real, simulated)
  return {
    count = #real, figures = figures_of(real, simulated), mape = mape, pearson_r = r, bias = bias,
    quality = quality_of(mape, r),
  }
end

local function network_us(tokens, mbps)
  return mbps > 0 and tokens * 4 * 8 / mbps or 0
end

--- The lists that are compared, by metric; classes has those of TTFT and E2E by SLO class.
local function vectors_of(pairs_, input)
  local function new() return { real = {}, simulated = {} } end
  local vectors, classes, dropped = { ttft = new(), e2e = new(), itl = new() }, {}, 0
  local function add(vector, real, simulated)
    vector.real[#vector.real + 1] = real
    vector.simulated[#vector.simulated + 1] = simulated
  end
  local function add_both(class, name, real, simulated)
    add(vectors[name], real, simulated)
    classes[class] = classes[class] or { ttft = new(), e2e = new() }
    add(classes[class][name], real, simulated)
  end
  for _, one in ipairs(pairs_) do
    local s, chunks = one.simulated, input.chunks and input.chunks[one.row.request_id]
    if one.is_timed then
      local up = network_us(s.input_tokens, input.mbps)
      local down = network_us(s.output_tokens, input.mbps)
      local class = one.row.slo_class
      add_both(class, "ttft", one.real_ttft_us, s.ttft_us + input.rtt_us + up)
      add_both(class, "e2e", one.real_e2e_us, s.e2e_us + input.rtt_us + up + down)
    end
    if chunks and #chunks >= 2 then
      local real = mean_gap(chunks, is_not_negative)
      if real then
        add(vectors.itl, real,
          s.output_tokens > 1 and (s.e2e_us - s.ttft_us) / (s.output_tokens - 1) or 0)
      else
        dropped = dropped + 1
      end
    end
  end
  return vectors, classes, dropped
end

--- Counts of one side of a class: how many are good, and how many met each time.
local function new_side() return { good = 0, tried = {}, met = {} } end

--- Adds a request to a side. Times go in order; one that is not met ends it.
local function judge(side, target, times)
  local is_good = true
  for _, name in ipairs { "ttft", "e2e", "itl" } do
    local limit_ms = target[name .. "_ms"]
    if is_good and limit_ms then
      side.tried[name] = (side.tried[name] or 0) + 1
      is_good = times[name] ~= nil and times[name] / 1000 <= limit_ms
      if is_good then side.met[name] = (side.met[name] or 0) + 1 end
    end
  end
  if is_good then side.good = side.good + 1 end
end

local in_goodput = { ok = true, error = true, timeout = true }

local function real_times(row, chunks)
  local ttft_us = row.first_chunk_time_us - row.send_time_us
  local e2e_us = row.last_chunk_time_us - row.send_time_us
  if row.status ~= "ok" or ttft_us <= 0 or e2e_us < ttft_us then return nil end
  return { ttft = ttft_us, e2e = e2e_us, itl = chunks and mean_gap(chunks, is_positive) }
end

local function add_to_class(class, row, simulated, chunks)
  local real = real_times(row, chunks)
  local own = { ttft = simulated.ttft_us, e2e = simulated.e2e_us, itl = simulated.itl_mean_us }
  class.count = class.count + 1
  if real then judge(class.real, class.target, real) end
  judge(class.simulated, class.target, own)
  return class.target.itl_ms and (not own.itl or real and not real.itl)
end

---@class blis.CalibrationClass
---@field target blis.SloTarget
---@field count integer
---@field real { good: integer, tried: table<string, integer>, met: table<string, integer> }
---@field simulated { good: integer, tried: table<string, integer>, met: table<string, integer> }

--- Attainment of the targets on both sides; nil without targets.
local function goodput_of(input)
  if not input.targets then return nil end
  local classes, by_name, lacks_itl = {}, {}, false
  for i, target in ipairs(input.targets) do
    classes[i] = { target = target, count = 0, real = new_side(), simulated = new_side() }
    by_name[target.slo_class] = classes[i]
  end
  local start_us, stop_us = math.huge, -math.huge
  for _, row in ipairs(input.rows) do
    local simulated = input.simulated[row.request_id]
    if row.request_id >= input.warm_up and simulated and in_goodput[row.status] then
      start_us = math.min(start_us, row.send_time_us)
      stop_us = math.max(stop_us, row.last_chunk_time_us)
      local class = by_name[row.slo_class == "" and "default" or row.slo_class]
      if class then
        local chunks = input.chunks and input.chunks[row.request_id]
        lacks_itl = add_to_class(class, row, simulated, chunks) or lacks_itl
      end
    end
  end
  return { classes = classes, seconds = math.max((stop_us - start_us) / 1e6, 0),
    lacks_itl = lacks_itl }
end

---@class blis.TraceComparison
---@field info { requests: integer, matched: integer, excluded: integer, unmatched: integer,
--- mismatches: integer, itl_dropped: integer }
---@field metrics { ttft: blis.CalibrationMetric?, e2e: blis.CalibrationMetric?,
--- itl: blis.CalibrationMetric? }
---@field classes { name: string, count: integer, ttft_mape: number, e2e_mape: number }[]
---@field goodput? { classes: blis.CalibrationClass[], seconds: number, lacks_itl: boolean }

--- Compares a trace with simulated results. metrics.ttft is nil when nothing can be compared.
---@param input blis.CalibrationInput
---@return blis.TraceComparison
function calibration.of(input)
  local pairs_, info = pair_up(input)
  local vectors, by_class, dropped = vectors_of(pairs_, input)
  info.itl_dropped = dropped
  local metrics, classes = {}, {}
  for name, vector in pairs(vectors) do
    metrics[name] = calibration.compare(vector.real, vector.simulated)
  end
  for name, one in pairs(by_class) do
    classes[#classes + 1] = {
      name = name, count = #one.ttft.real,
      ttft_mape = (error_of(one.ttft.real, one.ttft.simulated)),
      e2e_mape = (error_of(one.e2e.real, one.e2e.simulated)),
    }
  end
  table.sort(classes, function(a, b) return a.name < b.name end)
  return { info = info, metrics = metrics, classes = classes, goodput = goodput_of(input) }
end

return calibration
