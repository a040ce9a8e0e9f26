--- What estimates and pairs look like when they are printed.
local words = {}

--- A change of a pair, "-12.1 %" or, of differences, "0.03".
---@param pair blis.PairedEstimate
---@param x number
---@return string
function words.change(pair, x)
  if pair.kind ~= "difference" then
    local percent = x * 100
    return (math.abs(percent) < 0.1 and "%.2g %%" or "%.1f %%"):format(percent)
  end
  return ("%.4g"):format(x)
end

--- "95 % interval -12 % to -3 %, block bootstrap over 20 windows"
---@param pair blis.PairedEstimate of windows
---@return string
function words.of_windows(pair)
  return ("%g %% interval %s to %s, block bootstrap over %d windows"):format(pair.level * 100,
    words.change(pair, pair.low), words.change(pair, pair.high), pair.windows)
end

---@param p number
---@return string
function words.p_value(p)
  return p < 0.0001 and "p < 0.0001" or ("p = %.2g"):format(p)
end

local function counted(n, word)
  return ("%d %s%s"):format(n, word, n == 1 and "" or "s")
end

local estimate_meta = {
  __name = "blis.estimate",
  __tostring = function(estimate)
    if not estimate.mean then return "no values" end
    if not estimate.low then return ("%.6g (1 value)"):format(estimate.mean) end
    if estimate.windows then
      return ("%.6g (%g %% interval %.6g to %.6g, block bootstrap over %d windows)"):format(
        estimate.mean, estimate.level * 100, estimate.low, estimate.high, estimate.windows)
    end
    return ("%.6g (%g %% CI %.6g to %.6g, %s)"):format(estimate.mean, estimate.level * 100,
      estimate.low, estimate.high, counted(estimate.n, "value"))
  end,
}

local paired_meta = {
  __name = "blis.paired_estimate",
  __tostring = function(pair)
    if not pair.change then return "no pairs" end
    local change = words.change(pair, pair.change)
    if not pair.low then return ("%s (%s, no interval)"):format(change, counted(pair.n, "pair")) end
    if pair.windows then return ("%s (%s)"):format(change, words.of_windows(pair)) end
    return ("%s (%g %% CI %s to %s, %s, %s%s)"):format(change, pair.level * 100,
      words.change(pair, pair.low), words.change(pair, pair.high), counted(pair.n, "pair"),
      words.p_value(pair.p_value), pair.effect and (", effect %.2g"):format(pair.effect) or "")
  end,
}

--- Makes tables of metrics printable.
---@generic T
---@param figures T
---@return T
function words.estimate(figures)
  return setmetatable(figures, estimate_meta)
end

---@generic T
---@param figures T
---@return T
function words.paired(figures)
  return setmetatable(figures, paired_meta)
end

--- ", median of the draws -72.0 %" of a pair whose estimate is at an edge of its interval; else "".
---@param pair blis.PairedEstimate
---@return string
function words.skew(pair)
  return pair.median and (", median of the draws %s"):format(words.change(pair, pair.median)) or ""
end

return words
