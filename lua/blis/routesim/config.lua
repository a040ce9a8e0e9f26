--- Configurations of RouteSim, which are TOML, as experiments.
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local toml_file = require "blis.toml_file"
local traffic = require "blis.routesim.traffic"

local config = {}

local function whole(name, default, min, doc)
  return { name = name, type = "integer", min = min or 1, max = 1000000000, default = default,
    doc = doc }
end

local function number(name, default, doc)
  return { name = name, type = "number", above = 0, max = 1e12, default = default, doc = doc }
end

local function text(name, default, doc)
  return { name = name, type = "string", default = default, doc = doc }
end

local function section(name, summary, options)
  return { name = name, summary = summary, options = options }
end

--- What a file may say, by the names of its tables; the keys and defaults are RouteSim's.
---@type table<string, blis.Section>
config.sections = {
  simulation = section("simulation", "The run.", {
    text("name", "simulation", "What it is called."),
    { name = "seed", type = "integer", default = 42, doc = "Seed of generated traffic." },
    whole("warmup_requests", 0, 0, "Number of first completed requests to exclude."),
  }),
  cluster = section("cluster", "The backends.", {
    text("gpu_type", "H100Sxm", "Their GPU, for prices: H100, A100 or L40S."),
    { name = "num_backends", type = "integer", min = 1, max = 1000000, required = true,
      doc = "How many there are." },
    whole("max_batch_tokens", 16384, 1, "Prompt and output of all requests of a batch."),
    whole("max_queue_depth", 256, 1, "Waiting requests of a backend; more are rejected."),
    whole("kv_cache_blocks", 32768, 1, "Blocks of its KV cache."),
    whole("kv_block_size", 16, 1, "Tokens of a block."),
    { name = "compute_model", type = "table", doc = "See [cluster.compute_model]." },
    { name = "disaggregated", type = "table", doc = "See [cluster.disaggregated]." },
  }),
  compute_model = section("compute_model", "How fast a backend is.", {
    number("prefill_tokens_per_sec", 50000, "Prompt tokens."),
    number("decode_tokens_per_sec_batch1", 80, "Output tokens of a batch of one."),
    whole("decode_throughput_saturation_batch", 64, 1, "Batch size at which throughput saturates."),
    number("decode_tokens_per_sec_saturated", 3200, "Output tokens of such a batch."),
  }),
  disaggregated = section("disaggregated", "Prefill/decode disaggregation.", {
    { name = "enabled", type = "boolean", default = false, doc = "Whether they are." },
    whole("prefill_backends", 0, 0, "Number of prefill-only backends."),
    whole("decode_backends", 0, 0, "The others decode."),
    { name = "kv_transfer_latency_us", type = "number", min = 0, max = 1e12, default = 500,
      doc = "Fixed time of every transfer." },
    number("kv_transfer_bandwidth_gb_s", 50.0, "Bandwidth of a link."),
    whole("num_layers", 80, 1, "Layers of the model, for the size of its KV."),
    whole("head_dim", 128, 1, "Likewise."),
    whole("num_kv_heads", 8, 1, "Likewise."),
  }),
  trace = section("trace", "The requests.", {
    { name = "format", type = "choice", default = "compact_jsonl",
      choices = { "compact_jsonl", "jsonl", "mooncake", "otel", "opentelemetry", "synthetic" },
      doc = "Format of the file; synthetic: generated requests." },
    { name = "path", type = "string", doc = "The file, from the folder of the configuration on." },
    { name = "synthetic", type = "table", doc = "See [trace.synthetic]." },
  }),
  synthetic = section("synthetic", "Generated requests.", traffic.section.options),
}

-- GPU names of RouteSim. Prices come from the catalog.
local gpu_types = {
  H100Sxm = "H100", H100 = "H100", h100 = "H100",
  A100Sxm80 = "A100-SXM", A100 = "A100-SXM", a100 = "A100-SXM",
  L40S = "L40S", l40s = "L40S",
}
local prices = { H100 = 3.5, ["A100-SXM"] = 2.0, L40S = 1.0 }

local function hardware_of(gpu_type)
  local gpu = gpu_types[gpu_type]
  if not gpu then
    errors.invalid("file.cluster.gpu_type: unknown GPU '%s'; known are H100Sxm, A100Sxm80, L40S "
      .. "and H100, A100", gpu_type)
  end
  return gpu
end

local function check_pools(pools, backends)
  for _, name in ipairs { "prefill_backends", "decode_backends" } do
    if pools[name] == 0 then
      errors.invalid("file.cluster.disaggregated.%s: invalid value 0: expected at least 1 "
        .. "with disaggregation", name)
    end
  end
  if pools.prefill_backends + pools.decode_backends ~= backends then
    errors.invalid("file.cluster.disaggregated.prefill_backends: %d prefill and %d decode, "
      .. "together %d; num_backends is %d", pools.prefill_backends, pools.decode_backends,
      pools.prefill_backends + pools.decode_backends, backends)
  end
end

local required_tables = { "simulation", "cluster", "trace" }

--- The tables of a file, each with its defaults, and what is wrong with them told.
local function read_tables(root)
  local known = { simulation = true, cluster = true, trace = true }
  for _, name in ipairs(require("blis.sorted").names(root)) do
    if not known[name] then
      errors.invalid("file.%s: unknown table%s", name, errors.suggestion(name, required_tables))
    end
  end
  local tables = {}
  local function read(name, given, path)
    tables[name] = schema.read(config.sections[name], given, "file." .. path)
  end
  for _, name in ipairs(required_tables) do
    if root[name] == nil then errors.invalid("file: [%s] is missing", name) end
    if type(root[name]) ~= "table" then errors.invalid("file.%s: expected a table", name) end
    read(name, root[name], name)
  end
  for _, name in ipairs { "compute_model", "disaggregated" } do
    read(name, tables.cluster[name] or {}, "cluster." .. name)
  end
  read("synthetic", tables.trace.synthetic or {}, "trace.synthetic")
  if tables.trace.format == "synthetic" then
    traffic.check(tables.synthetic, "file.trace.synthetic.duration_sec")
  end
  hardware_of(tables.cluster.gpu_type)
  if tables.disaggregated.enabled then
    check_pools(tables.disaggregated, tables.cluster.num_backends)
  end
  return tables
end

---@class blis.RoutesimConfig
---@field path string
---@field tables table<string, table> by the names of config.sections

--- Reads a file; errors report the line.
---@param path string
---@return blis.RoutesimConfig
function config.read(path)
  local file = toml_file.read(path)
  return { path = path, tables = toml_file.located(file, "file", read_tables, file.root) }
end

local function add_pools(spec, cluster, pools)
  cluster.instances = nil
  cluster.prefill_instances, cluster.decode_instances = pools.prefill_backends,
    pools.decode_backends
  cluster.kv_bytes_per_token = 2 * 2 * pools.num_kv_heads * pools.head_dim * pools.num_layers
  spec.disaggregation = {
    decider = "always", base_latency_ms = pools.kv_transfer_latency_us / 1000,
    bandwidth_gb_s = pools.kv_transfer_bandwidth_gb_s,
  }
end

--- The cluster of a configuration as an experiment without requests and algorithm: engine preset
--- routesim, with its compute model.
---@param read blis.RoutesimConfig
---@return blis.Experiment
function config.experiment(read)
  local given, model = read.tables.cluster, read.tables.compute_model
  local gpu = hardware_of(given.gpu_type)
  local cluster = {
    model = "meta-llama/llama-3.1-8b-instruct", tp = 1, instances = given.num_backends,
    hardware = gpu, gpu_price_per_hour = prices[gpu],
    latency_model = "piecewise",
    beta_coeffs = { model.prefill_tokens_per_sec, model.decode_tokens_per_sec_batch1,
      model.decode_throughput_saturation_batch, model.decode_tokens_per_sec_saturated },
    engine_preset = "routesim", max_reserved_tokens = given.max_batch_tokens,
    max_queue_depth = given.max_queue_depth, kv_blocks = given.kv_cache_blocks,
    block_size = given.kv_block_size, max_model_len = 0,
  }
  local spec = {
    cluster = cluster, seed = read.tables.simulation.seed,
    warm_up_requests = read.tables.simulation.warmup_requests,
  }
  if read.tables.disaggregated.enabled then add_pools(spec, cluster, read.tables.disaggregated) end
  return spec
end

local function folder_of(path) return path:match "^(.*/)" or "" end

--- The requests of a configuration, or of the trace at path.
---@param read blis.RoutesimConfig
---@param path? string
---@return blis.Workload
function config.requests(read, path)
  local trace = read.tables.trace
  if not path and trace.format == "synthetic" then
    return traffic.requests(read.tables.synthetic, read.tables.simulation.seed)
  end
  if not path and not trace.path then
    errors.invalid("%s: [trace] has no path; set path, format = \"synthetic\", or "
      .. "--trace", read.path)
  end
  local is_absolute = trace.path and trace.path:find "^/"
  return require("blis.traffic.trace").read(path
    or is_absolute and trace.path or folder_of(read.path) .. trace.path)
end

--- The algorithm of RouteSim by its own name, "least_outstanding".
---@param name string
---@return string
function config.algorithm(name)
  local names = config.algorithms()
  for _, known in ipairs(names) do
    if known == name then return "routesim." .. name end
  end
  errors.invalid("unknown algorithm '%s'%s", name, errors.suggestion(name, names))
end

--- The names of all algorithms, in the order of the catalogue.
---@return string[]
function config.algorithms()
  local names = {}
  for _, entry in ipairs(core.policies().routers) do
    names[#names + 1] = entry.name:match "^routesim%.(.*)$"
  end
  return names
end

return config
