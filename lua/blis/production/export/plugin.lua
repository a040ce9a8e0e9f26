--- A script as the policy of the selector plugin for Dynamo's router: what it asks for has to be
--- what the router passes.
local errors = require "blis.errors"
local script = require "blis.production.script"
local selector = require "blis.production.export.selector"
local text_file = require "blis.production.text_file"

local plugin = {}

-- A question as the router would ask it, to see what a policy looks at.
local request = { isl_tokens = 640, expected_output_tokens = 100, session_id = "s",
  block_size_tokens = 16 }

local function worker(id, cached_tokens)
  local blocks = cached_tokens // request.block_size_tokens
  return { worker_id = id, dp_rank = 0, cached_tokens = cached_tokens,
    effective_overlap_blocks = blocks + 0.0, device_overlap_blocks = blocks,
    host_overlap_blocks = 0, disk_overlap_blocks = 0, shared_beyond_device_blocks = 0,
    active_prefill_tokens = 100 * id, active_decode_blocks = 7 * id,
    additional_active_blocks = 40 - blocks, stable_routing_id = id, taint_multiplier = 1.0,
    total_kv_blocks = 5000, max_num_batched_tokens = 2048 }
end

local head = [[
-- For the selector plugin of Dynamo's router, checked by blis %s. On the router:
--   BLIS_SELECTOR_POLICY=<this file>
--   DYN_ROUTER_WORKER_SELECTOR_PLUGIN=<folder>/blis_dynamo_selector.so
-- The layout of the plugin's structs is not Dynamo's: see dynamo_selector.h.
]]

--- The script, if the plugin can run it.
---@param path string
---@return string
function plugin.of(path)
  local text = text_file.read(path):gsub("^#[^\n]*", "")
  local chunk = script.load(text, path)
  local ok, found = pcall(function()
    return selector(chunk)(request, { worker(0, 0), worker(1, 320), worker(2, 640) })
  end)
  if not ok then errors.invalid("%s cannot be a selector: %s", path, tostring(found)) end
  return head:format(require("blis.core")._VERSION) .. text
end

return plugin
