--- The report of `blis calibrate`, with the field names of BLIS in Go, and its summary for people.
local core = require "blis.core"
local format = require "blis.format"

local report = {}

-- Notes on how to read the metrics.
local limitations = {
  "Simulated time advances in whole engine steps, which limits the resolution of single latencies.",
  "Prefixes of a trace are rebuilt with random tokens: shared by group, not by content.",
  "Speculative decoding is not simulated.",
  "Tokens are compared per request, not per chunk: counts that differ are only reported.",
}

local function write_pairs(writer, list)
  for _, pair in ipairs(list) do writer:field(pair[1], pair[2]) end
end

local function write_metric(writer, name, metric)
  if not metric then return end
  writer:object(name):object("workload_level")
  write_pairs(writer, metric.figures)
  writer:done():object("request_level")
    :field("mape", metric.mape):field("pearson_r", metric.pearson_r)
    :field("bias_direction", metric.bias):field("quality", metric.quality):done()
  writer:field("count", metric.count):done()
end

local function write_info(writer, info)
  writer:object("trace_info"):field("num_requests", info.requests)
    :field("warm_up_excluded", info.excluded):field("matched_pairs", info.matched)
    :field("token_mismatches", info.mismatches)
  if info.itl_dropped > 0 then writer:field("itl_dropped", info.itl_dropped) end
  writer:done()
end

local function write_kept(writer, name, side)
  if next(side.tried) == nil then return end
  writer:object(name)
  for _, key in ipairs { "e2e", "itl", "ttft" } do
    if side.tried[key] then writer:field(key, (side.met[key] or 0) / side.tried[key]) end
  end
  writer:done()
end

local function write_goodput_class(writer, class, seconds)
  local function share(side) return class.count > 0 and side.good / class.count or 0.0 end
  local function rate(side) return seconds > 0 and side.good / seconds or 0.0 end
  writer:object(class.target.slo_class):field("count", class.count)
    :field("real_slo_attainment", share(class.real))
    :field("sim_slo_attainment", share(class.simulated))
    :field("real_goodput_rps", rate(class.real))
    :field("sim_goodput_rps", rate(class.simulated))
  write_kept(writer, "real_attainment_by_dim", class.real)
  write_kept(writer, "sim_attainment_by_dim", class.simulated)
  writer:done()
end

local function write_goodput(writer, goodput)
  if not goodput then return end
  writer:object("goodput"):object("targets")
  for _, class in ipairs(goodput.classes) do
    local target = class.target
    writer:object(target.slo_class):field("TTFTMs", target.ttft_ms or 0)
      :field("ITLMs", target.itl_ms or 0):field("E2EMs", target.e2e_ms or 0):done()
  end
  writer:done():object("per_class")
  for _, class in ipairs(goodput.classes) do
    write_goodput_class(writer, class, goodput.seconds)
  end
  writer:done()
  if goodput.lacks_itl then writer:field("skipped_itl", true) end
  writer:done()
end

local function hit_rate_error(hit_rate)
  return math.abs(hit_rate.simulated - hit_rate.real) * 100
end

local function is_hit_rate_within(hit_rate, given)
  return hit_rate_error(hit_rate) <= given.hit_rate_tolerance_pp + 1e-9
end

local function write_hit_rate(writer, hit_rate, given)
  if not hit_rate then return end
  writer:object("hit_rate"):field("real_hit_rate", hit_rate.real)
    :field("sim_hit_rate", hit_rate.simulated):field("abs_error_pp", hit_rate_error(hit_rate))
    :field("tolerance_pp", given.hit_rate_tolerance_pp)
    :field("within", is_hit_rate_within(hit_rate, given))
    :field("source", hit_rate.source or ""):done()
end

local function save(path, writer)
  local output <close> = core.output(path)
  output:write(writer:done():take())
  output:commit()
end

--- Writes the report.
---@param path string
---@param result blis.TraceComparison
---@param hit_rate? { real: number, simulated: number, source: string }
---@param given table thresholds, see blis.config.calibration
function report.write(path, result, hit_rate, given)
  local writer = core.json_writer(2):object()
  write_info(writer, result.info)
  writer:object("metrics")
  for _, name in ipairs { "e2e", "itl", "ttft" } do
    write_metric(writer, name, result.metrics[name])
  end
  writer:done():object("config_match"):done():array("known_limitations")
  for _, text in ipairs(limitations) do writer:item(text) end
  writer:done()
  write_goodput(writer, result.goodput)
  write_hit_rate(writer, hit_rate, given)
  local mape = result.metrics.ttft.mape
  writer:object("ttft_tolerance"):field("mape", mape):field("threshold", given.ttft_threshold)
    :field("within", mape <= given.ttft_threshold):done()
  save(path, writer)
end

local function metric_row(title, metric)
  local figures = {}
  for _, pair in ipairs(metric.figures) do figures[pair[1]] = pair[2] end
  local row = { title }
  for _, name in ipairs { "mean", "p50", "p99" } do
    row[#row + 1] = format.number(figures["real_" .. name] / 1000)
    row[#row + 1] = format.number(figures["sim_" .. name] / 1000)
  end
  row[#row + 1] = format.percent(metric.mape)
  row[#row + 1] = format.number(metric.pearson_r, 3)
  row[#row + 1] = metric.bias
  row[#row + 1] = metric.quality
  return row
end

local function add_lines(lines, text)
  for line in text:gmatch("[^\n]+") do lines[#lines + 1] = line end
end

--- The summary for people, line by line.
---@param result blis.TraceComparison
---@param hit_rate? { real: number, simulated: number, source: string }
---@param given table
---@return string[]
function report.summary(result, hit_rate, given)
  local info = result.info
  local lines = {
    ("%s requests: %s compared, %s omitted as warm-up, %s unmatched, %s with different token "
      .. "counts")
      :format(format.count(info.requests), format.count(info.matched),
        format.count(info.excluded), format.count(info.unmatched),
        format.count(info.mismatches)),
  }
  local rows, classes = {}, {}
  for _, one in ipairs { { "TTFT", "ttft" }, { "E2E", "e2e" }, { "ITL", "itl" } } do
    local metric = result.metrics[one[2]]
    if metric then rows[#rows + 1] = metric_row(one[1], metric) end
  end
  add_lines(lines, format.table({ "ms", "mean real", "sim", "p50 real", "sim", "p99 real", "sim",
    "error", "r", "bias", "quality" }, rows))
  for i, class in ipairs(result.classes) do
    classes[i] = { class.name == "" and "(none)" or class.name, format.count(class.count),
      format.percent(class.ttft_mape), format.percent(class.e2e_mape) }
  end
  add_lines(lines, format.table({ "SLO class", "n", "TTFT error", "E2E error" }, classes))
  if result.metrics.ttft.mape > given.ttft_threshold then
    lines[#lines + 1] = ("warning: the TTFT error is above --ttft-mape-threshold, %s"):format(
      format.percent(given.ttft_threshold))
  end
  if hit_rate and not is_hit_rate_within(hit_rate, given) then
    lines[#lines + 1] = ("warning: hit rates, %s real and %s simulated, are more than %.14g "
      .. "percentage points apart"):format(format.percent(hit_rate.real),
      format.percent(hit_rate.simulated), given.hit_rate_tolerance_pp)
  end
  return lines
end

--- Writes how a run compares with another simulator; returns lines for people.
---@param path string
---@param one table
---@return string[]
function report.write_adapters(path, one)
  local writer, all_within = core.json_writer(2):object(), true
  writer:field("model", one.model):field("mape_threshold", one.threshold):array("metrics")
  local function error_of(own, reference)
    return reference ~= 0 and math.abs(own - reference) / math.abs(reference) or 0.0
  end
  local lines = {}
  for _, name in ipairs { "ttft", "throughput" } do
    local mape = error_of(one.own[name], one.reference[name])
    local is_within = mape <= one.threshold
    all_within = all_within and is_within
    writer:object():field("metric", name):field("dt_value", one.reference[name])
      :field("blis_value", one.own[name]):field("mape", mape)
      :field("within_threshold", is_within)
    if one.blind and one.blind[name] ~= 0 and one.own_blind[name] ~= 0 then
      writer:field("delta_mape", error_of(one.own[name] / one.own_blind[name],
        one.reference[name] / one.blind[name]))
    end
    writer:done()
    lines[#lines + 1] = ("%s%s: %.6g, reference %.6g, error %s"):format(
      is_within and "" or "warning: ", name, one.own[name], one.reference[name],
      format.percent(mape))
  end
  save(path, writer:done():field("all_within_threshold", all_within))
  return lines
end

return report
