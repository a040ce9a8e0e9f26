--- Options of a client that sends a workload to a real endpoint.
local endings = require "blis.endings"

---@type blis.Section
return {
  name = "observe",
  summary = "Where requests are sent, and how they are measured.",
  options = {
    {
      name = "target", type = "string", flag = "--target", metavar = "URL",
      expected = "http://HOST:PORT", doc = "The endpoint, without /v1.",
    },
    {
      name = "model", type = "string", flag = "--model", metavar = "NAME",
      doc = "Model that the requests name. Default: none.",
    },
    {
      name = "api", type = "choice", choices = { "completions", "chat" }, default = "completions",
      flag = "--api",
      doc = "completions: prompts of token ids, so their lengths are exact. chat: one message of "
        .. "words of four bytes; the server reports the lengths.",
    },
    {
      name = "key_variable", type = "string", default = "OPENAI_API_KEY", flag = "--api-key-env",
      metavar = "NAME",
      doc = "Environment variable that contains the API key. No key is sent if it is not set.",
    },
    {
      name = "speed", type = "number", above = 0, max = 1000000, default = 1, flag = "--speed",
      metavar = "N", doc = "Seconds of the workload per second.",
    },
    {
      name = "respect_eos", type = "boolean", default = false, flag = "--respect-eos",
      doc = "Let the model end answers. Default: ignore_eos, so answers have the planned lengths.",
    },
    {
      name = "vocabulary", type = "integer", min = 2000, max = 10000000, default = 30000,
      unit = "tokens", flag = "--vocabulary",
      doc = "Token ids of prompts are from 1000 to below this number.",
    },
    {
      name = "max_connections", type = "integer", min = 1, max = 100000, default = 2000,
      flag = "--max-connections",
      doc = "Greatest number of outstanding requests. If it is reached, the command fails, because "
        .. "later requests could not be sent in time.",
    },
    {
      name = "max_send_delay_us", type = "time_us", min = 1, default = 5000, unit = "us",
      flag = "--max-send-delay",
      doc = "Greatest 99th percentile of the delay between the time of a request and its sending. "
        .. "Results with a longer delay are written, but the exit status is 1.",
    },
    {
      name = "stall_us", type = "time_us", min = 1000000, default = 300000000, unit = "us",
      flag = "--stall-timeout",
      doc = "A request fails after this time without a byte.",
    },
    {
      name = "output", type = "string", flag = "--output", metavar = "NAME", is_output = true,
      doc = "Write the observed requests as TraceV2: NAME.csv and NAME.yaml.",
    },
    {
      name = "itl_output", type = "path", flag = "--itl-output", is_output = true,
      endings = endings.csv, metavar = "FILE",
      doc = "Write the times of all events (CSV: request_id,chunk_index,timestamp_us).",
    },
    {
      name = "save", type = "path", flag = "--save", is_output = true, metavar = "FILE",
      doc = "Save the result, for blis diff, blis plot, and scripts.",
    },
    {
      name = "report", type = "path", flag = "--report", is_output = true, metavar = "FILE",
      endings = endings.page, doc = "Write a page (HTML).",
    },
    {
      name = "quiet", type = "boolean", default = false, flag = "--quiet",
      doc = "Print no progress and no notes.",
    },
  },
}
