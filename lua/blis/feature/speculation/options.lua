--- The options of speculative decoding.
local errors = require "blis.errors"

local group = "Speculative decoding"

--- Reads "0.8,0.7,0.6" as a list, and "0.8" as a number.
local function read_acceptance(text, flag)
  local list = {}
  for part in (text .. ","):gmatch("([^,]*),") do
    local number = tonumber(part)
    if not number or not (number >= 0 and number <= 1) then
      errors.invalid("%s: invalid value '%s': expected a number from 0 to 1", flag, part)
    end
    list[#list + 1] = number
  end
  return #list == 1 and list[1] or list
end

---@type blis.Section
return {
  name = "speculation",
  summary = "Speculative decoding. Each decoding request drafts tokens, which a step verifies "
    .. "together with one more token. The first rejected draft token ends the output of the step. "
    .. "Sources: vLLM (num_speculative_tokens), Dynamo (nextn).",
  options = {
    {
      name = "method", type = "choice", choices = { "draft", "mtp", "ngram" }, required = true,
      flag = "--speculative-method", group = group,
      doc = "Draft method. draft: a separate model. mtp: heads of the model. Both run one pass per "
        .. "token, which costs draft_base_us + draft_per_sequence_us * (drafting requests). ngram: "
        .. "one lookup in the context for all tokens, free unless these costs are set.",
    },
    {
      name = "tokens", type = "integer", min = 1, max = 16, default = 3, unit = "tokens",
      flag = "--speculative-tokens", group = group, doc = "Draft tokens per request and step.",
    },
    {
      name = "acceptance", type = "any", required = true, flag = "--speculative-acceptance",
      group = group, metavar = "P,...", from_text = read_acceptance,
      expected = "a number from 0 to 1, a list of such numbers, a function(request, position), or "
        .. "a table of such numbers and lists by name",
      flag_doc = "Acceptance rate of a draft token, provided that all earlier ones are accepted: "
        .. "one value for all positions, or one per position.",
      doc = "Acceptance rate of a draft token, provided that all earlier ones of the step are "
        .. "accepted: a number, or a list with one value per position. Rates over all drafts are "
        .. "products of these. In Lua also a function(request, position), called for every "
        .. "position when a request reaches an instance, or numbers and lists by name: { slo_class "
        .. "= { batch = 0.8 }, default = 0.6 }; also tenant, client, or model.",
    },
    {
      name = "draft_base_us", type = "number", min = 0, max = 1e9, unit = "us",
      flag = "--draft-base-us", group = group,
      doc = "Time of a drafter pass. Methods draft and mtp require it or draft_per_sequence_us, "
        .. "because free drafts overstate the speedup.",
    },
    {
      name = "draft_per_sequence_us", type = "number", min = 0, max = 1e9, unit = "us",
      flag = "--draft-per-sequence-us", group = group, doc = "Additional time per request in a "
        .. "drafter pass.",
    },
    {
      name = "max_batch", type = "integer", min = 0, max = 1000000, default = 0, unit = "requests",
      flag = "--speculative-max-batch", group = group,
      doc = "Disable drafting above this number of running requests. 0: always draft.",
    },
  },
}
