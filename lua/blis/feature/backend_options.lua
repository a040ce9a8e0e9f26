--- What the serving engines other than vLLM share: how their options replace options of vLLM.
local errors = require "blis.errors"
local schema = require "blis.config.schema"

local backend_options = {}

-- Options that only vLLM and presets of it have.
local of_vllm = { "long_prefill_token_threshold", "engine_preset", "batching", "kv_reservation",
  "kv_eviction", "max_reserved_tokens", "scheduler_reserve_full_isl" }

local function refuse(given, name, path, backend, own)
  if given[name] == nil then return end
  errors.invalid("%s.%s: has no effect with backend = \"%s\"%s", path, name, backend,
    own and ("; expected %s.%s"):format(backend, own) or "")
end

--- Returns the options of a backend in a cluster, {} without any. Raises an error for options of
--- the cluster that they replace.
---@param given table of a cluster or a group
---@param path string
---@param backend string
---@param replaced table<string, string> name in the cluster, and the name of the backend's option
---@return table
function backend_options.own(given, path, backend, replaced)
  local own = given[backend] or {}
  if type(own) ~= "table" then
    schema.raise_value(path .. "." .. backend, own, "a table of options such as {}")
  end
  for _, name in ipairs(of_vllm) do refuse(given, name, path, backend) end
  for _, name in ipairs { "max_num_batched_tokens", "max_num_seqs", "async_scheduling" } do
    refuse(given, name, path, backend, replaced[name])
  end
  return own
end

--- Returns the tokens of a block, which both a cluster and its backend may set.
---@param given table of a cluster or a group
---@param path string
---@param backend string
---@param name string of the backend's option
---@param usual integer
---@return any
function backend_options.block_size(given, path, backend, name, usual)
  local own = (given[backend] or {})[name]
  if own ~= nil and given.block_size ~= nil and own ~= given.block_size then
    errors.invalid("%s: block_size is %s and %s.%s %s; expected one of them", path,
      errors.show(given.block_size), backend, name, errors.show(own))
  end
  return own or usual
end

--- Returns options as given, with defaults behind them.
---@param given table
---@param usual table
---@return table
function backend_options.fill(given, usual)
  for name, value in pairs(given) do usual[name] = value end
  return usual
end

--- Raises an error under profile go-blis.
---@param path string of the backend's options
---@param backend string
---@param profile? string
function backend_options.require_design(path, backend, profile)
  if profile ~= "go-blis" then return end
  errors.invalid("%s: backend = \"%s\" requires profile design; BLIS (Go) models only vLLM",
    path:gsub("%.%w+$", ""), backend)
end

--- Raises an error for clusters whose instances hand KV off to each other.
---@param config table
---@param backend string
function backend_options.refuse_pools(config, backend)
  if not config.cluster.has_pools then return end
  errors.invalid("cluster: backend = \"%s\" has no hand-offs of KV; expected instances without "
    .. "roles, or backend = \"vllm\"", backend)
end

--- Sets the option of a backend from its flags, if there are any.
---@param spec table the experiment, with its cluster
---@param cli blis.feature.Flags
---@param backend string
---@param engine string its name in text
function backend_options.set_flags(spec, cli, backend, engine)
  local own = cli.values[backend]
  if not own or next(own) == nil then return end
  if spec.cluster.backend ~= backend then
    cli.fail("options of %s need --backend %s", engine, backend)
  end
  spec.cluster[backend] = own
end

return backend_options
