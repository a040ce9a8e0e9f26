--- How far predictions are from measurements, request by request and as a whole.
local format = require "blis.format"
local statistics = require "blis.statistics"

local accuracy = {}

---@class blis.AccuracyOfFigure
---@field count integer
---@field mape number mean of |predicted - observed| / observed
---@field bias number relative error of the mean, above 0 = predicted too high
---@field p50 number relative error of the median
---@field p90 number
---@field p99 number

--- Compares pairs of values of one metric.
---@param real number[] above 0
---@param predicted number[] of the same requests
---@return blis.AccuracyOfFigure?
function accuracy.compare(real, predicted)
  if #real == 0 then return nil end
  local sum, total, total_predicted = 0.0, 0.0, 0.0
  for i, value in ipairs(real) do
    sum = sum + math.abs(predicted[i] - value) / value
    total, total_predicted = total + value, total_predicted + predicted[i]
  end
  local function error_at(p)
    return statistics.quantile(predicted, p) / statistics.quantile(real, p) - 1
  end
  return {
    count = #real, mape = sum / #real, bias = total_predicted / total - 1,
    p50 = error_at(0.5), p90 = error_at(0.9), p99 = error_at(0.99),
  }
end

---@class blis.Latencies
---@field ttft_us number
---@field e2e_us number

local figures = {
  { name = "e2e", title = "E2E", of = function(one) return one.e2e_us end },
  { name = "ttft", title = "TTFT", of = function(one) return one.ttft_us end },
  {
    name = "tpot", title = "TPOT",
    of = function(one, tokens)
      return tokens > 1 and (one.e2e_us - one.ttft_us) / (tokens - 1) or nil
    end,
  },
}
accuracy.figures = figures

---@class blis.Accuracy
---@field e2e blis.AccuracyOfFigure?
---@field ttft blis.AccuracyOfFigure?
---@field tpot blis.AccuracyOfFigure? time per output token after the first

--- Compares requests first to last, or all. A request without a prediction (it did not complete)
--- is omitted from all metrics.
---@param observed blis.ObservedRequest[]
---@param predicted table<integer, blis.Latencies>
---@param first? integer
---@param last? integer
---@return blis.Accuracy
function accuracy.of(observed, predicted, first, last)
  local result = {}
  for _, figure in ipairs(figures) do
    local a, b = {}, {}
    for i = first or 1, last or #observed do
      local one, own = observed[i], predicted[i]
      local real = own and figure.of(one, one.output_tokens)
      if real and real > 0 then
        a[#a + 1], b[#b + 1] = real, figure.of(own, one.output_tokens)
      end
    end
    result[figure.name] = accuracy.compare(a, b)
  end
  return result
end

local function signed(share) return ("%+.1f %%"):format(share * 100) end

--- Named accuracies as a table: { { "before", blis.Accuracy }, ... }.
---@param named { [1]: string, [2]: blis.Accuracy }[]
---@return string
function accuracy.table(named)
  local rows = {}
  for _, pair in ipairs(named) do
    for _, figure in ipairs(figures) do
      local one = pair[2][figure.name]
      if one then
        rows[#rows + 1] = { pair[1], figure.title, format.count(one.count),
          ("%.1f %%"):format(one.mape * 100), signed(one.bias), signed(one.p50), signed(one.p90),
          signed(one.p99) }
      end
    end
  end
  return format.table({ "", "figure", "n", "MAPE", "mean", "p50", "p90", "p99" }, rows)
end

return accuracy
