--- Predictions of the means of a run by its rate alone, without a simulation: the steady state of
--- one engine whose batch never changes.
---
---     B = rate * output * step        requests that decode (Little's law)
---     p = rate * step                 requests that prefill in a step
---     TPOT = step(B, p)
---     TTFT = step / 2 + step + what the engine adds to a first token
local means = {}

local most_rounds = 200

--- Step time of B decodes and p prefills, both of which may lie between whole numbers.
local function mixed(step_us, b, p)
  local b0, p0 = b // 1, p // 1
  local at = function(x, y) return step_us(math.tointeger(x), math.tointeger(y)) end
  local low = at(b0, p0) + (b - b0) * (at(b0 + 1, p0) - at(b0, p0))
  if p == p0 then return low end
  local high = at(b0, p0 + 1) + (b - b0) * (at(b0 + 1, p0 + 1) - at(b0, p0 + 1))
  return low + (p - p0) * (high - low)
end

--- What a latency model says of a row. Nil when there is no steady state: the engine is overloaded.
---@param model blis.LatencyModel
---@param row blis.ObservedMeans
---@param first_token { delay_us: number, depth: number }
---@param max_num_seqs integer
---@return blis.Latencies?
function means.predict(model, row, first_token, max_num_seqs)
  local cached = math.tointeger(row.cached_tokens // 1)
  local new_tokens = math.tointeger(math.max(1, row.prompt_tokens - cached) // 1)
  local context = math.tointeger((row.prompt_tokens + row.output_tokens / 2) // 1)
  local known = {}
  local function step_us(decodes, prefills)
    local key = decodes * 4096 + prefills
    if not known[key] then
      known[key] = model:step_time_from_sums {
        requests = decodes + prefills, decode_requests = decodes,
        decode_context_tokens = decodes * context, prefill_tokens = prefills * new_tokens,
        prefill_context_tokens = prefills * cached,
        prefill_pairs = prefills * new_tokens * (2 * cached + new_tokens - 1),
        prefill_attention = prefills * new_tokens * (2 * (cached + new_tokens) + new_tokens),
      }
    end
    return known[key]
  end
  local per_us, step = row.rate_rps / 1e6, step_us(1, 0)
  for _ = 1, most_rounds do
    local b = math.max(1, per_us * row.output_tokens * step)
    if b > max_num_seqs then return nil end
    local next_step = mixed(step_us, b, per_us * step)
    if math.abs(next_step - step) < 0.5 then break end
    step = next_step
  end
  local ttft_us = 1.5 * step + first_token.delay_us + first_token.depth * step
  return { ttft_us = ttft_us, e2e_us = ttft_us + step * (row.output_tokens - 1) }
end

return means
