--- Speculative decoding.
local deferred = require "blis.deferred"
local format = require "blis.format"
local options = require "blis.config.option_text"
local read = deferred "blis.feature.speculation.read"

---@type blis.Feature
local speculation = {
  options = "blis.feature.speculation.options",
  needs = "speculative decoding needs",
  asked_at = 2,
  summary = { slot = "work" },
  page = { title = "Speculative decoding" },
}

function speculation.read_cluster(given, path, profile)
  return read.read(given, path, profile)
end

local function acceptance_text(given)
  if given.acceptance_of then return "acceptance by request" end
  local words, is_same = {}, true
  for i, one in ipairs(given.acceptance) do
    words[i] = options.number(one)
    is_same = is_same and one == given.acceptance[1]
  end
  return "acceptance " .. (is_same and words[1] or table.concat(words, ", "))
end

local function speculation_text(group)
  local given = group.speculation
  if not given then return nil end
  local text = ("%s per step, %s, %s"):format(format.plural(given.tokens, "draft"),
    given.drafts_in_one_pass and "by look-up" or "one pass each", acceptance_text(given))
  if given.pass_us > 0 or given.pass_us_per_sequence > 0 then
    text = ("%s; a pass takes %s us and %s us per request"):format(text,
      options.number(given.pass_us), options.number(given.pass_us_per_sequence))
  end
  return given.max_batch > 0 and ("%s; none with more than %s"):format(text,
    format.plural(given.max_batch, "running request")) or text
end

function speculation.asked(config, add, of_groups)
  add("speculative decoding", of_groups(config.cluster, speculation_text))
end

return speculation
