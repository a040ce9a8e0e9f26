--- The options of speculative decoding.
local errors = require "blis.errors"

local group = "Speculative decoding"

--- Reads "0.8,0.7,0.6" as a list, and "0.8" as a number.
local function read_acceptance(text, flag)
  local list = {}
  for part in (text .. ","):gmatch("([^,]*),") do
    local number = tonumber(part)
    if not number or not (number >= 0 and number <= 1) then
      errors.invalid("%s: '%s' is not allowed, expected a number from 0 to 1", flag, part)
    end
    list[#list + 1] = number
  end
  return #list == 1 and list[1] or list
end

---@type blis.Section
return {
  name = "speculation",
  summary = "Speculative decoding: each decoding request drafts some tokens, which a step verifies "
    .. "together with one more; the first that does not hold ends what the step gives it. Sources: "
    .. "vLLM (num_speculative_tokens), Dynamo (nextn).",
  options = {
    {
      name = "method", type = "choice", choices = { "draft", "mtp", "ngram" }, required = true,
      flag = "--speculative-method", group = group,
      doc = "Who drafts. draft: a model of its own, and mtp: heads of the model, each by a pass "
        .. "per token that costs draft_base_us + draft_per_sequence_us * (requests that draft); "
        .. "ngram: a look-up in the text, once for all tokens, free unless these are given.",
    },
    {
      name = "tokens", type = "integer", min = 1, max = 16, default = 3, unit = "tokens",
      flag = "--speculative-tokens", group = group, doc = "Drafted by a request in a step.",
    },
    {
      name = "acceptance", type = "any", required = true, flag = "--speculative-acceptance",
      group = group, metavar = "P,...", from_text = read_acceptance,
      expected = "a number from 0 to 1, a list of such, a function(request, position), or a table "
        .. "of such numbers and lists by name",
      flag_doc = "Probability that a draft holds, given that those before it do: one for all, or "
        .. "one for each.",
      doc = "Probability that a draft holds, given that those before it in the step do: a number, "
        .. "or a list with one for each of tokens. Rates over all drafts are products of these. Or "
        .. "a function(request, position), asked for every position when a request comes to an "
        .. "instance; or such numbers and lists by name: { slo_class = { batch = 0.8 }, default = "
        .. "0.6 }, likewise tenant, client or model.",
    },
    {
      name = "draft_base_us", type = "number", min = 0, max = 1e9, unit = "us",
      flag = "--draft-base-us", group = group,
      doc = "What a pass of the drafter takes. Methods draft and mtp need it or the next one: "
        .. "drafts that cost nothing show a speed-up that nobody gets.",
    },
    {
      name = "draft_per_sequence_us", type = "number", min = 0, max = 1e9, unit = "us",
      flag = "--draft-per-sequence-us", group = group, doc = "And more for each request in it.",
    },
    {
      name = "max_batch", type = "integer", min = 0, max = 1000000, default = 0, unit = "requests",
      flag = "--speculative-max-batch", group = group,
      doc = "With more running requests nobody drafts; 0 = always.",
    },
  },
}
