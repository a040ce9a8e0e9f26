#!/usr/bin/env blis
-- Step times of your own engine: fits the coefficients of the blackbox model to measurements by
-- least squares, and simulates with them. Both files may be given as arguments, with these columns:
--   step_times.csv      prefill_tokens, decode_requests, step_us: one engine step in each row
--   request_times.csv   prompt_tokens, queueing_us, output_token_us: one request in each row
local blis = require "blis"

local here = arg[0]:gsub("[^/]*$", "")
local steps_path = arg[1] or here .. "data/step_times.csv"
local requests_path = arg[2] or here .. "data/request_times.csv"

-- Rows of a CSV file as { column = number, ... }; the first line names the columns.
local function read_csv(path)
  local columns, rows = {}, {}
  for line in io.lines(path) do
    local fields = {}
    for field in line:gmatch("[^,%s]+") do fields[#fields + 1] = field end
    if #columns == 0 then
      columns = fields
    else
      local row = {}
      for i, name in ipairs(columns) do
        row[name] = assert(tonumber(fields[i]), ("%s: bad row '%s'"):format(path, line))
      end
      rows[#rows + 1] = row
    end
  end
  return rows
end

-- Solves matrix * x = right by Gaussian elimination with pivoting.
local function solve(matrix, right)
  local n = #right
  for k = 1, n do
    local best = k
    for i = k + 1, n do
      if math.abs(matrix[i][k]) > math.abs(matrix[best][k]) then best = i end
    end
    matrix[k], matrix[best], right[k], right[best] = matrix[best], matrix[k], right[best], right[k]
    assert(matrix[k][k] ~= 0, "the measurements do not tell the coefficients apart")
    for i = k + 1, n do
      local factor = matrix[i][k] / matrix[k][k]
      for j = k, n do matrix[i][j] = matrix[i][j] - factor * matrix[k][j] end
      right[i] = right[i] - factor * right[k]
    end
  end
  for i = n, 1, -1 do
    for j = i + 1, n do right[i] = right[i] - matrix[i][j] * right[j] end
    right[i] = right[i] / matrix[i][i]
  end
  return right
end

-- The coefficients c that minimise the sum of (c . terms(row) - target(row))^2; what comes out
-- negative is noise around 0, and times have no negative coefficients.
local function fit(rows, terms, target)
  local matrix, right = {}, {}
  for _, row in ipairs(rows) do
    local t, y = terms(row), target(row)
    for i = 1, #t do
      matrix[i], right[i] = matrix[i] or {}, (right[i] or 0) + t[i] * y
      for j = 1, #t do matrix[i][j] = (matrix[i][j] or 0) + t[i] * t[j] end
    end
  end
  local c = solve(matrix, right)
  for i = 1, #c do c[i] = math.max(c[i], 0) end
  return c
end

local steps, requests = read_csv(steps_path), read_csv(requests_path)

-- beta: time of a step = b0 + b1 * prefill tokens + b2 * requests that decode.
local beta = fit(steps,
  function(s) return { 1, s.prefill_tokens, s.decode_requests } end,
  function(s) return s.step_us end)

-- alpha: queueing = a0 + a1 * prompt tokens; a2 is added to the time of every output token.
local queueing = fit(requests,
  function(r) return { 1, r.prompt_tokens } end,
  function(r) return r.queueing_us end)
local per_token = fit(requests,
  function() return { 1 } end,
  function(r) return r.output_token_us end)
local alpha = { queueing[1], queueing[2], per_token[1] }

local engine = { model = "meta-llama/llama-3.1-8b-instruct", hardware = "H100", instances = 2,
  latency_model = "blackbox", alpha_coeffs = alpha, beta_coeffs = beta }

-- How good is the fit? The model that the simulation will use answers.
local fitted = blis.latency_model("blackbox", { alpha_coeffs = alpha, beta_coeffs = beta })
local sum, worst = 0, 0
for _, s in ipairs(steps) do
  local prefills = s.prefill_tokens > 0 and 1 or 0 -- how many there are does not count here
  local us = fitted:step_time_from_sums { requests = prefills + s.decode_requests,
    prefill_tokens = s.prefill_tokens, decode_requests = s.decode_requests }
  local off = math.abs(us - s.step_us) / s.step_us
  sum, worst = sum + off, math.max(worst, off)
end

print(("%d steps, %d requests"):format(#steps, #requests))
print(("beta:  %.1f us a step, %.3f us a prefill token, %.3f us a decoding request"):format(
  beta[1], beta[2], beta[3]))
print(("alpha: %.1f us a request, %.3f us a prompt token, %.1f us an output token"):format(
  alpha[1], alpha[2], alpha[3]))
print(("fitted step times are off by %.1f %% on average, by %.1f %% at most\n"):format(
  sum / #steps * 100, worst * 100))

print(blis.run {
  cluster = engine,
  workload = { rate = 12, requests = 1000, prompt_tokens = 600, output_tokens = 150 },
  routing = "least-loaded",
})
print(("\nOn the command line: --latency-model blackbox --alpha-coeffs %.2f,%.4f,%.2f "
  .. "--beta-coeffs %.2f,%.4f,%.4f"):format(alpha[1], alpha[2], alpha[3], beta[1], beta[2],
  beta[3]))
