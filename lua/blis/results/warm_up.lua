--- Where the warm-up of a run ends: MSER-5 over the TTFT of its requests in the order in which they
--- arrived. Runs that are compared leave out the same time, the longest that one of them needs.
local warm_up = {}

--- What a person should know of a warm-up that has no end.
---@param from_us integer of requests:warm_up()
---@return string
function warm_up.unsettled_note(from_us)
  if from_us == 0 then
    return "warm_up_us = \"auto\": nothing is left out, for too few requests got a first token, or "
      .. "they arrived at once"
  end
  return "warm_up_us = \"auto\": TTFT does not settle, so the second half of the run is what is "
    .. "left; run longer, or the load is too high"
end

--- Leaves out the same time in all results.
---@param results blis.Result[]
function warm_up.align(results)
  local from_us = 0
  for _, one in ipairs(results) do from_us = math.max(from_us, one.steady.from_us) end
  for _, one in ipairs(results) do
    local is_settled = one.steady.is_settled
    one.steady = one:window(from_us, math.max(one.duration_us, from_us) + 1)
    one.steady.is_settled = is_settled
  end
end

return warm_up
