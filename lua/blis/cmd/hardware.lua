--- blis hardware: the catalogue of GPUs.
local core = require "blis.core"
local catalogue = require "blis.cli.catalogue"
local command = require "blis.cli.command"
local flag_sections = require "blis.config.flags"
local listing = require "blis.cli.listing"

local definition = {
  name = "hardware",
  summary = "list GPUs: compute, memory, price",
  usage = "blis hardware [NAME] [FLAGS]",
  description = "The GPUs of the catalogue. Rates are those of one GPU without sparsity; prices "
    .. "are US dollars per GPU and hour.",
  positional = { name = "NAME", doc = "Only the GPU of this name or alias, in any case." },
  groups = {
    { title = "Catalogue", section = "catalogue", options = flag_sections.catalogue.options },
    {
      title = "Output", section = "output", has_defaults = true,
      options = flag_sections.listing.options,
    },
  },
}

local columns = {
  { key = "name", title = "GPU" },
  { key = "memory_gib", title = "memory (GiB)" },
  { key = "bandwidth_tb_s", title = "bandwidth (TB/s)" },
  { key = "peak_tflops", title = "16-bit TFLOPS" },
  { key = "fp8_tflops", title = "FP8 TFLOPS" },
  { key = "mfu_prefill", title = "MFU prefill" },
  { key = "mfu_decode", title = "MFU decode" },
  { key = "price_per_hour", title = "USD/h" },
  { key = "aliases", title = "also called", is_text = true },
  { key = "source", title = "source", is_hidden = true },
}

local function print_list(parsed)
  local rows = parsed.positional and { catalogue.hardware(parsed.positional) }
    or catalogue.latest(core.hardware(), "name")
  command.print(listing.text({ columns = columns, rows = rows }, parsed.values.output.format))
end

return command.define(definition, function(parsed)
  catalogue.add(parsed)
  command.checked(definition, print_list, parsed)
end)
