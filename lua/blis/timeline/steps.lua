--- The steps of instances on a track each, of results with keep_steps: what their batches were, and
--- how full the KV cache was.
local steps = {}

-- Per instance; lanes of requests follow.
steps.tid = 1

--- "prefill 512 tokens + decode 14": what a step computes. With several prompts, their number
--- follows: "prefill 1024 tokens (2 requests)".
local function name_of(prefills, tokens, decodes)
  local prefill = prefills > 0 and ("prefill %d token%s%s"):format(tokens,
    tokens == 1 and "" or "s", prefills > 1 and (" (%d requests)"):format(prefills) or "") or nil
  if decodes == 0 then return prefill or "step" end
  local decode = ("decode %d"):format(decodes)
  return prefill and prefill .. " + " .. decode or decode
end

--- A mean over n steps: an integer where it is one.
local function mean(sum, n)
  return sum % n == 0 and sum // n or sum / n
end

local function draw_row(out, pid, its, row, kv_blocks)
  local n = its.steps[row]
  local prefills, tokens = its.prefill_requests[row], its.prefill_tokens[row]
  local decodes, kv = its.decode_requests[row], mean(its.used_kv_blocks[row], n)
  local name = n == 1 and name_of(prefills, tokens, decodes) or ("%d steps"):format(n)
  local share
  if kv_blocks then share = kv / kv_blocks end
  local busy_us
  if n > 1 then busy_us = its.busy_us[row] end
  local in_front_end = its.in_front_end and its.in_front_end[row] or 0
  out:slice(pid, steps.tid, name, "step", its.start_us[row], its.end_us[row], "steps",
    n > 1 and n or nil, "busy_us", busy_us, "decode_requests", mean(decodes, n),
    "prefill_requests", mean(prefills, n), "prefill_tokens", mean(tokens, n),
    "in_front_end", in_front_end > 0 and mean(in_front_end, n) or nil, "waiting",
    mean(its.waiting[row], n), "kv_blocks", kv, "kv_utilization", share)
end

--- KV blocks of an instance, where it is known; groups may differ.
local function kv_blocks_of(setup, instance)
  local groups = rawget(setup, "groups")
  if not groups then return setup.kv_blocks end
  return instance and groups[instance.group] and groups[instance.group].kv_blocks
end

--- Draws the steps of a window; a row with several steps states their number.
---@param out blis.timeline.Writer
---@param result blis.Result with step_log
---@param first_pid integer of instance_0
---@param from_us integer
---@param to_us integer
---@param named table<integer, boolean> processes that have something; added to
function steps.draw(out, result, first_pid, from_us, to_us, named)
  for i, its in ipairs(result.step_log.instances) do
    local pid, has_any = first_pid + i - 1, false
    local kv_blocks = kv_blocks_of(result.setup, result.instances[i])
    for row = 1, #its.steps do
      if its.end_us[row] >= from_us and its.start_us[row] <= to_us then
        draw_row(out, pid, its, row, kv_blocks)
        has_any = true
      end
    end
    if has_any then
      out:track(pid, steps.tid, "steps")
      named[pid] = true
    end
  end
end

return steps
