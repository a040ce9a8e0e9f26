--- Feedback of an evaluation for the next attempt: first the verdict, then the problems with place
--- and cause. The text is shorter than the limits of the loops (500, 2,000, 4,000 characters). It
--- passes their filters: it contains no long runs of letters and digits, and no "token:".
local score = require "blis.eval.score"

local feedback = {}

local most_letters = 3900

local function signed(ratio) return ("%+.1f%%"):format(100 * (ratio - 1)) end

local function verdict(scored)
  if not scored.low then
    return ("score %.3f (%s, %d seeds: too few for an interval). valid."):format(scored.combined,
      signed(scored.combined), scored.n)
  end
  return ("score %.3f (%s, 95%% CI %s..%s, %d seeds). valid."):format(scored.combined,
    signed(scored.combined), signed(math.exp(scored.low) * scored.penalty),
    signed(math.exp(scored.high) * scored.penalty), scored.n)
end

--- Means over the seeds of a scenario.
local function means(runs)
  return setmetatable({}, { __index = function(_, name) return score.mean_of({ runs }, name) end })
end

-- Causes of a loss, the first that holds; each with what may help.
local causes = {
  { "rejects", function(b, c) return c.reject_frac > b.reject_frac + 0.005 end,
    function(b, c) return ("%.1f%% rejected (baseline %.1f%%): every reject is a miss")
      :format(100 * c.reject_frac, 100 * b.reject_frac) end },
  { "unserved", function(b, c) return c.lost > b.lost + 0.5 end,
    function(b, c)
      return ("%.0f requests never served (baseline %.0f)"):format(c.lost, b.lost)
    end },
  { "preemption", function(b, c)
    return c.preemptions_per_request > b.preemptions_per_request + 0.02 end,
    function(b, c) return ("%.2f preemptions per request (baseline %.2f): look at kv_utilization")
      :format(c.preemptions_per_request, b.preemptions_per_request) end },
  { "hot spot", function(b, c) return c.balance_cv > math.max(0.1, b.balance_cv * 1.3) end,
    function(b, c) return ("requests per instance vary by %.2f (baseline %.2f): weigh load more")
      :format(c.balance_cv, b.balance_cv) end },
  { "prefill miss", function(b, c) return c.cache_hit_rate < b.cache_hit_rate - 0.02 end,
    function(b, c) return ("%.0f%% of prompt blocks cached (baseline %.0f%%): weigh prefix_hit")
      :format(100 * c.cache_hit_rate, 100 * b.cache_hit_rate) end },
  { "queue", function(b, c) return c.queue_ms > b.queue_ms * 1.05 end,
    function(b, c) return ("%.1f ms in queues (baseline %.1f): weigh in_flight or "
      .. "pending_prefill_tokens more"):format(c.queue_ms, b.queue_ms) end },
}

local function cause_of(b, c)
  for _, one in ipairs(causes) do
    if one[2](b, c) then return one[1] .. ", " .. one[3](b, c) end
  end
  return "spread over many requests"
end

--- "ttft_p99_ms 1.31x worse" of the metric that lost most, or won most.
local function extreme(scenario, b, c, sign)
  local name, most = nil, nil
  for _, one in ipairs(scenario.cost) do
    local ratio = sign * score.log_ratio(b[one.metric], c[one.metric])
    if not most or ratio > most then name, most = one.metric, ratio end
  end
  return name, math.exp(most)
end

-- Characters that end a line for some readers.
local line_ends = { "\u{85}", "\u{2028}", "\u{2029}" }

--- A string without line breaks.
---@param text string
---@return string
function feedback.in_one_line(text)
  for _, one in ipairs(line_ends) do text = text:gsub(one, " ") end
  return (text:gsub("[\n\r]", " "))
end

local function worst_request(runs)
  local worst
  for _, one in ipairs(runs) do
    local request = one.worst
    local is_worse = request and (not worst or (request.ttft_ms or math.huge)
      > (worst.ttft_ms or math.huge))
    if is_worse then worst = request end
  end
  if not worst then return nil end
  if worst.ttft_ms then
    return (" worst: t=%.2fs %s -> %s, first output after %.0f ms."):format(worst.at_s, worst.id,
      tostring(worst.instance), worst.ttft_ms)
  end
  return (" worst: t=%.2fs %s %s%s."):format(worst.at_s, worst.id, worst.state,
    worst.reason and " (" .. feedback.in_one_line(worst.reason) .. ")" or "")
end

local function add_scenarios(lines, scored, baseline, candidate)
  local order, better = {}, {}
  for s, one in ipairs(scored.scenarios) do order[s] = { index = s, log_ratio = one.log_ratio } end
  table.sort(order, function(a, b)
    if a.log_ratio ~= b.log_ratio then return a.log_ratio < b.log_ratio end
    return a.index < b.index
  end)
  for place, item in ipairs(order) do
    local one = scored.scenarios[item.index]
    local b, c = means(baseline[item.index]), means(candidate[item.index])
    if item.log_ratio < 0 and place <= 3 then
      local metric, ratio = extreme(one.scenario, b, c, -1)
      lines[#lines + 1] = ("WORST %s: %s %.2fx worse. cause: %s."):format(one.scenario.id, metric,
        ratio, cause_of(b, c))
      lines[#lines + 1] = worst_request(candidate[item.index])
    elseif item.log_ratio > 0 then
      better[#better + 1] = ("%s %.2fx"):format(one.scenario.id, math.exp(-item.log_ratio))
    elseif place == 1 then
      local metric, ratio = extreme(one.scenario, b, c, -1)
      if ratio > 1 then
        lines[#lines + 1] = ("least: %s, %s %.2fx worse."):format(one.scenario.id, metric, ratio)
      end
    end
  end
  if #better > 0 then
    lines[#lines + 1] = "BETTER " .. table.concat(better, ", ") .. " of the cost."
  end
end

-- Signals that most routers use.
local usual_signals = { "in_flight", "prefix_hit", "pending_prefill_tokens", "kv_utilization",
  "queue_depth" }

local function unused(reads)
  if not reads or #reads == 0 then return nil end
  local is_read, list = {}, {}
  for _, name in ipairs(reads) do is_read[name] = true end
  for _, name in ipairs(usual_signals) do
    if not is_read[name] then list[#list + 1] = name end
  end
  if #list == 0 then return nil end
  return "never read: " .. table.concat(list, ", ") .. "."
end

-- Letters that are quoted of what a candidate prints.
local most_quoted = 600

--- What a candidate printed, with a mark before each line: no line of it can pass for one of blis.
---@param text string
---@return string
function feedback.quoted(text)
  local lines = { "the candidate printed:" }
  for line in (text:sub(1, most_quoted):gsub("\n$", "") .. "\n"):gmatch "(.-)\n" do
    lines[#lines + 1] = "  > " .. feedback.in_one_line(line)
  end
  if #text > most_quoted then lines[#lines + 1] = "  (cut)" end
  return table.concat(lines, "\n")
end

--- Cut where the loops would, and without what their filters take away.
---@param text string
---@return string
function feedback.clean(text)
  text = text:gsub("([Tt][Oo][Kk][Ee][Nn])([:=])", "%1 %2")
  text = text:gsub("([Pp][Aa][Ss][Ss])([Ww][Oo][Rr][Dd])", "%1-%2")
  text = text:gsub("%w+", function(word)
    if #word < 32 then return word end
    return word:sub(1, 28) .. "..."
  end)
  text = text:gsub("[%c\127]", function(letter) return letter == "\n" and "\n" or " " end)
  if #text > most_letters then text = text:sub(1, most_letters) .. "\n(cut)" end
  return text
end

--- The feedback for a valid candidate.
---@param scored blis.eval.Score
---@param baseline blis.eval.Measures[][]
---@param candidate blis.eval.Measures[][]
---@param more { reads?: string[], notes: string[], regrets?: blis.eval.Regret[] }
---@return string
function feedback.of_score(scored, baseline, candidate, more)
  local lines = { verdict(scored) }
  for _, one in ipairs(scored.soft) do
    lines[#lines + 1] = ("SOFT LIMIT: %s %.3f above the baseline costs a factor of %.3f."):format(
      one.name, one.excess, one.factor)
  end
  add_scenarios(lines, scored, baseline, candidate)
  for _, one in ipairs(more.regrets or {}) do
    lines[#lines + 1] = (" regret: t=%.2fs %s -> %s (%d requests); %s had %d: lost %.0f ms.")
      :format(one.at_s, one.request, one.chosen, one.chosen_load, one.best, one.best_load,
        one.loss_ms)
  end
  lines[#lines + 1] = unused(more.reads)
  for _, note in ipairs(more.notes) do lines[#lines + 1] = note end
  return feedback.clean(table.concat(lines, "\n"))
end

-- What may help, by a word of the message.
local hints = {
  { "read%-only", "keep state in your own variables, not in the arguments" },
  { "not a number", "guard divisions by 0 and logarithms of 0" },
  { "%f[%a]nan%f[%A]", "guard divisions by 0 and logarithms of 0" },
  { "instructions", "look for a loop whose condition never changes" },
  { "expected the index", "return an index of the list of instances, from 1 to #instances" },
  { "future", "the length of the output is not known when a request is routed" },
  { "near '`'", "send only Lua, without code fences" },
  { "syntax error", "send one block of Lua" },
  { "starved", "serve every class and tenant: a gain for one does not offset a loss for another" },
  { "is not offered", "the sandbox has no access to files, time, or processes" },
}

--- The feedback for an invalid candidate.
---@param failure blis.eval.Failure
---@param where? string scenario and seed
---@return string
function feedback.of_failure(failure, where)
  local lines = { ("INVALID: score 0%s. %s"):format(where and " in " .. where or "",
    feedback.in_one_line(failure.message)) }
  for _, hint in ipairs(hints) do
    if failure.message:lower():find(hint[1]) then
      lines[#lines + 1] = "hint: " .. hint[2] .. "."
      break
    end
  end
  return feedback.clean(table.concat(lines, "\n"))
end

return feedback
