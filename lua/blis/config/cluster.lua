--- Options of a cluster: instances, models, hardware, and the age of the router's signals.
local defaults = require "blis.config.defaults"

-- The defaults that differ between versions.
local usual = defaults.newest.cluster

---@type blis.Section
return {
  name = "cluster",
  summary = "The simulated cluster: model, hardware, serving engines and the network between them.",
  options = {
    {
      name = "model",
      described = false, type = "described", default = "qwen/qwen3-14b", flag = "--model",
      group = "Model and hardware",
      metavar = "NAME",
      flag_doc = "Model id of the catalogue, with or without its owner; or the path of a "
        .. "config.json or its folder. models/NAME.yaml and models/NAME/config.json in this folder "
        .. "take precedence over the catalogue.",
      doc = "Model id of the catalog, with or without its owner, or the path of a config.json or "
        .. "its folder. In Lua also a table { id =, layers =, ... }. models/NAME.yaml and "
        .. "models/NAME/config.json in the folder of the script take precedence over the catalog.",
    },
    {
      name = "model_config", type = "path", flag = "--model-config-folder",
      group = "Model and hardware",
      doc = "The model's own config.json, or its folder. Defaults to the values of the catalog.",
    },
    {
      name = "hardware",
      described = false, type = "described", flag = "--hardware", metavar = "NAME",
      group = "Model and hardware",
      flag_doc = "GPU type of all instances. Defaults to the model's GPU in the catalog. "
        .. "hardware/NAME.yaml in this folder takes precedence over the catalog.",
      doc = "GPU type of all instances. Defaults to the model's GPU in the catalog. In Lua also a "
        .. "table { name =, peak_tflops =, ... }. hardware/NAME.yaml in the folder of the script "
        .. "takes precedence over the catalog.",
    },
    {
      name = "catalogue", described = false, type = "paths",
      doc = "YAML files with more models, GPUs and coefficients; they take precedence over the "
        .. "built-in catalogue.",
    },
    {
      name = "tp",
      described = false, type = "integer", min = 1, max = 65536, unit = "GPUs", flag = "--tp",
      group = "Model and hardware",
      doc = "Tensor parallel degree. Defaults to the model's degree in the catalog.",
    },
    {
      name = "dp", type = "integer", min = 1, max = 65536, default = 1, unit = "replicas",
      flag = "--dp", group = "Model and hardware",
      doc = "Data parallel degree inside an instance; above 1 only for mixture-of-experts models.",
    },
    {
      name = "expert_parallel", aliases = { "enable_expert_parallel" }, type = "boolean",
      default = false, flag = "--enable-expert-parallel", group = "Model and hardware",
      doc = "Spread experts over the GPUs of an instance (mixture-of-experts models only).",
    },
    {
      name = "quantization", type = "string", flag = "--quantization", metavar = "METHOD",
      group = "Model and hardware",
      doc = "Number format of the weights. Overrides the format in the model's files. none: the "
        .. "type of the model; fp8, fp8_block, int8, mxfp8, nvfp4, mxfp4, int4: bytes per weight "
        .. "with their scales; or a method of vllm serve that fixes its format, such as awq, gptq, "
        .. "modelopt, modelopt_fp4, bitsandbytes, fbgemm_fp8. Default: the format in the files.",
    },
    {
      name = "kv_cache_dtype", type = "string", flag = "--kv-cache-dtype", metavar = "TYPE",
      group = "Model and hardware",
      doc = "Number format of the KV cache: auto, bfloat16, float16, fp8, fp8_e4m3, fp8_e5m2, "
        .. "nvfp4. Default: auto, the format in the model's files, otherwise the type of the "
        .. "model.",
    },
    {
      name = "dtype", type = "string", flag = "--dtype", metavar = "TYPE",
      group = "Model and hardware",
      doc = "Type of the weights and activations that are not quantized: auto, bfloat16, float16, "
        .. "float32. Default: auto, the type in the model's files.",
    },
    {
      name = "moe_comm_backend", type = "choice", flag = "--moe-comm-backend", may_be_empty = true,
      group = "Model and hardware",
      choices = { "naive", "allgather_reducescatter", "pplx", "deepep_high_throughput",
        "deepep_low_latency", "mori", "flashinfer_all2allv" },
      doc = "Communication between GPUs with experts. Default: allgather_reducescatter.",
    },
    {
      name = "defaults", described = false, type = "choice", choices = defaults.names,
      flag = "--defaults", metavar = "VERSION", group = "Model and hardware",
      doc = ("Version of the defaults of profile design. An earlier version restores the defaults "
        .. "that it had. See blis help defaults. Default: %s."):format(defaults.newest.name),
    },
    {
      name = "instances", described = false, type = "integer", min = 1, max = 1000000, default = 1,
      flag = "--num-instances", group = "Serving engine",
      doc = "Number of instances (serving engines).",
    },
    {
      name = "groups", described = false, type = "table",
      doc = "Groups of different instances, instead of a number of equal instances: a list such as "
        .. "{ { instances = 4 }, { instances = 2, hardware = \"L40S\" } }. Options that a group "
        .. "does not set come from the cluster. When models differ, and under profile go-blis, "
        .. "requests go only to instances of their model.",
    },
    {
      name = "prefill_instances", described = false, type = "integer", min = 0, max = 1000000,
      flag = "--prefill-instances", flag_aliases = { "--prefill-replicas" },
      aliases = { "prefill_replicas" }, group = "Prefill and decode",
      doc = "Number of prefill-only instances, included in instances if that is set.",
    },
    {
      name = "decode_instances", described = false, type = "integer", min = 0, max = 1000000,
      flag = "--decode-instances", flag_aliases = { "--decode-replicas" },
      aliases = { "decode_replicas" }, group = "Prefill and decode",
      doc = "Number of decode-only instances.",
    },
    {
      name = "prefill_decode_instances",
      described = false, type = "integer", min = 0, max = 1000000,
      flag = "--prefill-decode-instances", group = "Prefill and decode",
      doc = "Number of instances that prefill and decode. They use the options of the decode pool.",
    },
    {
      name = "encode_instances", described = false, type = "integer", min = 0, max = 1000000,
      flag = "--encode-instances", group = "Prefill and decode",
      doc = "Number of instances that encode images, sound, and video. They use the options of the "
        .. "cluster.",
    },
    {
      name = "architecture", described = false, type = "choice", choices = { "monolithic", "pd" },
      flag = "--architecture", group = "Prefill and decode",
      doc = "pd: prefill and decode pools, with 1 instance each unless their numbers are set. "
        .. "monolithic: no pools.",
    },
    {
      name = "prefill_tp", described = false, type = "integer", min = 1, max = 65536, unit = "GPUs",
      flag = "--prefill-tp", group = "Prefill and decode",
      doc = "Tensor parallel degree of the prefill pool; default: tp.",
    },
    {
      name = "prefill_hardware",
      described = false, type = "described", flag = "--prefill-hardware", metavar = "NAME",
      group = "Prefill and decode", doc = "GPU of the prefill pool; default: hardware.",
    },
    {
      name = "prefill_nic_gb_s",
      described = false, type = "number", above = 0, max = 1e9, unit = "GB/s",
      flag = "--prefill-nic", group = "Prefill and decode",
      doc = "Bandwidth of hand-offs out of an instance of the prefill pool; default: nic_gb_s.",
    },
    {
      name = "decode_nic_gb_s",
      described = false, type = "number", above = 0, max = 1e9, unit = "GB/s",
      flag = "--decode-nic", group = "Prefill and decode",
      doc = "Bandwidth of hand-offs into an instance of the decode pool; default: nic_gb_s.",
    },
    {
      name = "prefill_max_model_len",
      described = false, type = "integer", min = 0, max = 1000000000, unit = "tokens",
      flag = "--prefill-max-model-len", group = "Prefill and decode",
      doc = "Longest sequence of the prefill pool; default: max_model_len.",
    },
    {
      name = "prefill_latency_model",
      described = false, type = "string", flag = "--prefill-latency-model",
      metavar = "WORD", group = "Prefill and decode",
      doc = "Latency model of the prefill pool; default: latency_model.",
    },
    {
      name = "decode_tp", described = false, type = "integer", min = 1, max = 65536, unit = "GPUs",
      flag = "--decode-tp", group = "Prefill and decode",
      doc = "Tensor parallel degree of the decode pool; default: tp.",
    },
    {
      name = "decode_hardware",
      described = false, type = "described", flag = "--decode-hardware", metavar = "NAME",
      group = "Prefill and decode", doc = "GPU of the decode pool; default: hardware.",
    },
    {
      name = "decode_max_model_len",
      described = false, type = "integer", min = 0, max = 1000000000, unit = "tokens",
      flag = "--decode-max-model-len", group = "Prefill and decode",
      doc = "Longest sequence of the decode pool; default: max_model_len.",
    },
    {
      name = "decode_latency_model",
      described = false, type = "string", flag = "--decode-latency-model",
      metavar = "WORD", group = "Prefill and decode",
      doc = "Latency model of the decode pool; default: latency_model.",
    },
    {
      name = "nic_gb_s", type = "number", above = 0, max = 1e9, unit = "GB/s",
      doc = "Bandwidth of hand-offs in and out of an instance; default: bandwidth_gb_s of the "
        .. "disaggregation.",
    },
    {
      name = "kv_bytes_per_token", type = "number", above = 0, max = 1e12, unit = "bytes",
      doc = "KV bytes of a token on one GPU, for hand-offs. Default: computed from the model.",
    },
    {
      name = "latency_model",
      described = false, type = "latency_model", flag = "--latency-model", metavar = "WORD",
      group = "Model and hardware",
      choices = { "calibrated", "composed", "trained-physics", "roofline", "blackbox",
        "piecewise" },
      default = usual.latency_model, profiles = { ["go-blis"] = "trained-physics" },
      flag_doc = "Model of the step time. composed: sum of the kernels of all layers, with their "
        .. "launch times. calibrated: rates of the GPU times measured efficiencies; the default "
        .. "if coefficients are set, or if a catalogue file has calibrated coefficients of the "
        .. "engine. trained-physics: fitted to decode; underestimates prefill time by a factor of "
        .. "3 to 7. blackbox: requires alpha_coeffs and beta_coeffs, or measured coefficients of "
        .. "the model, GPU, and TP degree.",
      doc = "Model of the step time: a name, in Lua also a result of blis.latency_model or a "
        .. "function(batch). composed: sum of the kernels of all layers, with their launch times. "
        .. "calibrated: rates of the GPU times measured efficiencies; the default if coefficients "
        .. "are set, or if a catalogue file has calibrated coefficients of the engine. "
        .. "trained-physics: fitted to decode; underestimates prefill time by a factor of 3 to 7. "
        .. "blackbox: requires alpha_coeffs and beta_coeffs, or measured coefficients of the "
        .. "model, GPU, and TP degree.",
    },
    {
      name = "kernel_tables", type = "switch_or_folder", default = usual.kernel_tables,
      profiles = { ["go-blis"] = false }, flag = "--kernel-tables",
      metavar = "true|false|DIR", group = "Model and hardware",
      flag_doc = "With composed: true corrects products and experts by kernel times that were "
        .. "measured on H100, H200, and B200; false uses only the fitted curves. DIR is a folder "
        .. "of such times (gemm.csv, moe.csv, allreduce.csv), which take precedence; share/profile "
        .. "measures them.",
      doc = "With composed: true corrects products and experts by kernel times that were measured "
        .. "on H100, H200, and B200; false uses only the fitted curves. A string is a folder of "
        .. "such times (gemm.csv, moe.csv, allreduce.csv), which take precedence; share/profile "
        .. "measures them.",
    },
    {
      name = "alpha_coeffs", type = "numbers", unit = "us", flag = "--alpha-coeffs",
      group = "Model and hardware",
      doc = "Coefficients of queueing and output processing; requires beta_coeffs.",
    },
    {
      name = "beta_coeffs", type = "numbers", unit = "us", flag = "--beta-coeffs",
      group = "Model and hardware",
      doc = "Coefficients of the step time; requires alpha_coeffs.",
    },
    {
      name = "strict_coverage", type = "boolean", default = false, flag = "--strict-coverage",
      group = "Model and hardware",
      doc = "Reject models, GPUs, and GPU counts that the step-time coefficients do not cover. A "
        .. "run whose steps exceed the calibrated range of tokens, requests, or context fails at "
        .. "its end. With composed: reject runs with an expected error that is assumed or "
        .. "unknown, such as runs of a weight format that was not measured on this GPU family, "
        .. "with long prompts, or with hand-offs. Without this option, results report the "
        .. "fraction of such steps.",
    },
    {
      name = "engine_version", type = "string", flag = "--engine-version",
      group = "Model and hardware",
      doc = "Version of the serving engine of the measured blackbox coefficients. Defaults to the "
        .. "latest.",
    },
    {
      name = "kv_blocks",
      described = false, type = "integer", min = 1, max = 1000000000, unit = "blocks",
      flag = "--total-kv-blocks", group = "KV cache", flag_aliases = { "--kv-gpu-blocks" },
      aliases = { "total_kv_blocks" },
      doc = "KV cache size of an instance. Defaults to the memory that remains on its GPUs after "
        .. "loading the model.",
    },
    {
      name = "block_size",
      described = false, type = "integer", min = 1, max = 1048576, default = 16, unit = "tokens",
      flag = "--block-size-in-tokens", flag_aliases = { "--block-size" }, group = "KV cache",
      doc = "Tokens in a KV block.",
    },
    {
      name = "kv_layout", type = "any",
      doc = "KV groups of the model, if its layers keep different tokens: a list such as { { kind "
        .. "= \"full\" }, { kind = \"window\", tokens = 128 } }. kv_blocks counts the blocks that "
        .. "all groups share. Requires profile design. Defaults to the groups that vLLM forms from "
        .. "the "
        .. "model's layers. The prefix cache does not keep states.",
    },
    {
      name = "hybrid_kv_cache", type = "boolean", default = true,
      doc = "Return blocks that no window or chunk covers any longer to the cache. false: these "
        .. "layers keep all tokens, as with vLLM's --disable-hybrid-kv-cache-manager.",
    },
    {
      name = "gpu_memory_utilization", type = "number", above = 0, max = 1,
      default = usual.gpu_memory_utilization, profiles = { ["go-blis"] = 0.9 },
      flag = "--gpu-memory-utilization", group = "KV cache",
      doc = "Share of the GPU memory that the engine may use.",
    },
    {
      name = "kv_capacity_per_gpu", type = "boolean", default = true,
      profiles = { ["go-blis"] = false },
      flag = "--kv-capacity-per-gpu", group = "KV cache",
      doc = "If kv_blocks is not set, derive it from the memory of a single GPU. Otherwise the "
        .. "memory of all tp GPUs counts, as in BLIS (Go): about tp times more blocks than fit.",
    },
    {
      name = "kv_reserve", type = "choice", choices = { "sized", "flat" },
      default = usual.kv_reserve, profiles = { ["go-blis"] = "flat" },
      flag = "--kv-reserve", group = "KV cache",
      doc = "Memory that is reserved for activations and logits. sized: computed from the sizes of "
        .. "the model, max_num_batched_tokens, and max_num_seqs. flat: 5.5 GiB per GPU, and 2.5 "
        .. "GiB "
        .. "more for models with experts, as in 1.0-rc1. Models with windows, states, or "
        .. "quantized layers always use sized.",
    },
    {
      name = "gpu_price_per_hour", type = "number", min = 0, max = 1e9, unit = "USD/h",
      flag = "--gpu-price-per-hour", group = "Cost and energy",
      doc = "Price of one GPU, for the cost of a run. Defaults to the price in the catalog.",
    },
    {
      name = "billing_granularity_us", type = "time_us", min = 0, max = 1000000000000, default = 0,
      unit = "us", flag = "--billing-granularity", group = "Cost and energy",
      doc = "Round billed time up to a multiple of this, per billing period. 0: do not round.",
    },
    {
      name = "billing_minimum_us", type = "time_us", min = 0, max = 1000000000000, default = 0,
      unit = "us", flag = "--billing-minimum", group = "Cost and energy",
      doc = "Minimum billed time of an instance, per billing period.",
    },
    {
      name = "spot", type = "spot", flag = "--spot", metavar = "FILE.csv",
      group = "Cost and energy",
      doc = "Spot capacity: a CSV file with the columns time_s, available and gpu_price_per_hour, "
        .. "or a table of options (blis help spot).",
    },
    {
      name = "gpu_watts", type = "number", min = 0, max = 1e6, unit = "W", flag = "--gpu-watts",
      group = "Cost and energy",
      doc = "Mean power draw of one GPU, for the energy of a run; without it, no energy is "
        .. "reported.",
    },
    {
      name = "gpu_idle_watts", type = "number", min = 0, max = 1e6, unit = "W",
      flag = "--gpu-idle-watts", group = "Cost and energy",
      doc = "Power draw of one GPU without requests; gpu_watts is then its draw under load. "
        .. "Default: gpu_watts for the energy of a run, 0 for policies that read rolling_watts.",
    },
    {
      name = "gpu_prefill_watts", type = "number", min = 0, max = 1e6, unit = "W",
      flag = "--gpu-prefill-watts", group = "Cost and energy",
      doc = "Power draw of one GPU in steps that compute prompt tokens; default: gpu_watts.",
    },
    {
      name = "gpu_decode_watts", type = "number", min = 0, max = 1e6, unit = "W",
      flag = "--gpu-decode-watts", group = "Cost and energy",
      doc = "Power draw of one GPU in all other steps; default: gpu_watts.",
    },
    {
      name = "gpu_step_watts", type = "any",
      doc = "Power of one GPU in a step, as a function(step) in Lua. It returns W, computed only "
        .. "from the step's prefill_tokens, decode_tokens, kv_tokens (context of all its requests "
        .. "before these tokens), and duration_us. Replaces gpu_prefill_watts and "
        .. "gpu_decode_watts.",
    },
    {
      name = "mixed_step_power", type = "choice", choices = { "max", "linear" }, default = "max",
      flag = "--mixed-step-power", group = "Cost and energy",
      doc = "Power of steps that prefill and decode. max: the larger of the two values. linear: "
        .. "their mean, weighted by the time that each part takes in a separate step.",
    },
    {
      name = "gpu_power_cap_watts", type = "number", above = 0, max = 1e6, unit = "W",
      flag = "--gpu-power-cap-watts", group = "Cost and energy",
      doc = "Power limit of one GPU. If steps would draw more, power_cap_exponent or "
        .. "power_cap_slowdown must define the slowdown.",
    },
    {
      name = "power_cap_exponent", type = "number", min = 0, max = 10,
      flag = "--power-cap-exponent", group = "Cost and energy",
      doc = "Slowdown of steps that would draw more than the cap: (draw / cap)^exponent. Values of "
        .. "0.4 to 0.6 are an unmeasured guess.",
    },
    {
      name = "power_cap_slowdown", type = "table",
      doc = "Measured effect of power caps: a list of { watts, prefill_factor, decode_factor }, by "
        .. "rising watts. At a cap of watts, steps with prompt tokens take prefill_factor times as "
        .. "long, and other steps decode_factor times (1 or more). Linear between rows.",
    },
    {
      name = "pue", type = "number", min = 1, max = 100, unit = "facility / GPUs",
      flag = "--pue", group = "Cost and energy",
      doc = "Power usage effectiveness: energy of the facility per kWh of the GPUs. Default: 1.",
    },
    {
      name = "carbon_g_per_kwh", type = "carbon", min = 0, max = 1e6, unit = "g/kWh",
      metavar = "NUM|FILE.csv",
      flag = "--carbon-g-per-kwh", group = "Cost and energy",
      doc = "Carbon intensity of the facility's power, for the carbon of a run: a number, a CSV "
        .. "file with the columns time_s and g_per_kwh, or a list of { time_us, g_per_kwh }. A row "
        .. "applies until the time of the next row.",
    },
    {
      name = "max_model_len", type = "integer", min = 0, max = 1000000000, unit = "tokens",
      flag = "--max-model-len", group = "Serving engine",
      doc = "Maximum sequence length, 0 = unlimited. Defaults to the model's limit. The size of "
        .. "the KV cache is an upper limit.",
    },
    {
      name = "max_num_seqs", type = "integer", min = 1, max = 1000000,
      profiles = { ["go-blis"] = 256 },
      unit = "requests", flag = "--max-num-seqs", flag_aliases = { "--max-num-running-reqs" },
      group = "Serving engine",
      doc = "Maximum number of requests in a batch. Default: the default of vLLM, which depends on "
        .. "GPU memory: 1024 from 70 GiB, except A100, otherwise 256 (blis help defaults).",
    },
    {
      name = "max_num_batched_tokens", type = "integer", min = 1, max = 1000000000,
      profiles = { ["go-blis"] = 2048 },
      unit = "tokens", flag = "--max-num-batched-tokens", group = "Serving engine",
      flag_aliases = { "--max-num-scheduled-tokens" },
      doc = "Token budget of an engine step; longer prefills are chunked. Default: the default of "
        .. "vLLM, which depends on GPU memory: 16384 from 160 GiB, 8192 from 70 GiB, except A100, "
        .. "otherwise 2048 (blis help defaults).",
    },
    {
      name = "long_prefill_token_threshold", type = "integer", min = 0, max = 1000000000,
      default = 0, unit = "tokens", flag = "--long-prefill-token-threshold",
      group = "Serving engine",
      doc = "Maximum prompt tokens of one request per step, 0 = limited only by the token budget.",
    },
    {
      name = "scheduler_reserve_full_isl", type = "boolean",
      flag = "--scheduler-reserve-full-isl", group = "Serving engine",
      doc = "Admit a request only if the free KV blocks suffice for its whole prompt, as vLLM does "
        .. "since 2026. Nothing is reserved. Every step is then computed individually. Default: "
        .. "the blocks of its first step suffice.",
    },
    {
      name = "scheduler",
      described = false, type = "choice", default = "fcfs", flag = "--scheduler",
      group = "Serving engine",
      choices = { "fcfs", "priority-fcfs", "sjf", "reverse-priority" },
      doc = "Order of an instance's wait queue.",
    },
    {
      name = "preemption_policy", described = false, type = "choice", default = "fcfs",
      choices = { "fcfs", "priority" }, flag = "--preemption-policy", group = "Serving engine",
      doc = "Request to preempt when KV blocks run out: the last in the batch, or the least "
        .. "urgent.",
    },
    {
      name = "async_scheduling", type = "boolean", default = true,
      profiles = { ["go-blis"] = false }, flag = "--async-scheduling", group = "Serving engine",
      doc = "Build the next batch while a step runs, as vLLM does since 0.14. With composed, a "
        .. "request that arrives during a step cannot join the next step, and host time is hidden. "
        .. "With calibrated, first tokens are delayed by measured times. false: each step waits "
        .. "for the host. backend_version sets the default.",
    },
    {
      name = "backend", type = "choice", choices = { "vllm", "sglang", "trtllm" },
      flag = "--backend",
      group = "Serving engine",
      doc = "Serving engine of the instances: how it forms batches and caches prefixes. vllm "
        .. "(default), or sglang and trtllm (TensorRT-LLM), whose options are in tables of these "
        .. "names. Step times do not depend on it.",
    },
    {
      name = "sglang", type = "any",
      doc = "Options of backend = \"sglang\": { chunked_prefill_size = 8192, schedule_policy = "
        .. "\"lpm\" }. Every step is then computed individually, so the run takes longer.",
    },
    {
      name = "trtllm", type = "any",
      doc = "Options of backend = \"trtllm\": { capacity_scheduler_policy = \"MAX_UTILIZATION\", "
        .. "enable_chunked_prefill = true }. Every step is then computed individually.",
    },
    {
      name = "backend_version", type = "string", flag = "--backend-version", metavar = "VERSION",
      group = "Serving engine",
      doc = "Version of vLLM, such as 0.17.0. Sets the defaults of async_scheduling (true since "
        .. "0.14) and, with composed, of engine_scale. Defaults to the latest version.",
    },
    {
      name = "engine_scale", type = "number", above = 0, max = 100, flag = "--engine-scale",
      group = "Serving engine",
      doc = "Factor on the time of all layers, with composed; default: 1, and more for experts in "
        .. "block FP8 before vLLM 0.18.",
    },
    {
      name = "frontend", type = "choice", choices = { "completions", "chat", "none" },
      flag = "--front-end", group = "Serving engine",
      doc = "API server in front of the engine. completions and chat: the endpoint that receives "
        .. "requests, which determines a fixed delay. none: requests reach the wait queue at once. "
        .. "Default: completions with composed, none with other latency models.",
    },
    {
      name = "frontend_rate", type = "number", above = 0, max = 1e9, unit = "requests/s",
      flag = "--front-end-rate", group = "Serving engine",
      doc = "Requests per second that one API server process forwards, without their tokens; "
        .. "default: 296.",
    },
    {
      name = "frontend_us_per_token", type = "number", min = 0, max = 1e6, unit = "us",
      flag = "--front-end-us-per-token", group = "Serving engine",
      doc = "Time of an API server process per prompt token; default: 3.45.",
    },
    {
      name = "api_servers", type = "integer", min = 1, max = 16, default = 1, unit = "processes",
      flag = "--api-servers", group = "Serving engine",
      doc = "API server processes of an instance.",
    },
    {
      name = "engine", type = "choice", default = "fast", choices = { "fast", "stepwise" },
      flag = "--engine", group = "Serving engine",
      doc = "fast skips ahead exactly; stepwise computes every step of every request.",
    },
    {
      name = "engine_preset", type = "choice", choices = { "routesim" },
      flag = "--engine-preset", group = "Serving engine",
      doc = "Defaults of the next five options together. routesim, of RouteSim's design document: "
        .. "batching = \"boundary\", kv_reservation = \"whole\", kv_eviction = \"two-pass\", "
        .. "max_queue_depth = 256, max_reserved_tokens = 16384, and neither max_num_seqs nor "
        .. "max_num_batched_tokens limits a batch. With any of these options, every step is "
        .. "computed individually, which is slow.",
    },
    {
      name = "batching", type = "choice", choices = { "iteration", "boundary" },
      flag = "--batching", group = "Serving engine",
      doc = "When requests join a batch: at every step, as in vLLM (default), or when it is empty, "
        .. "a prompt has been computed or a request has left.",
    },
    {
      name = "kv_reservation", type = "choice", choices = { "as-needed", "whole" },
      flag = "--kv-reservation", group = "KV cache",
      doc = "KV blocks that an admitted request reserves. as-needed (default): the blocks of the "
        .. "step, as in vLLM. whole: the blocks of its prompt and output; a request that cannot "
        .. "reserve them is rejected (reason kv-full).",
    },
    {
      name = "kv_eviction", type = "choice", choices = { "lru", "two-pass" },
      flag = "--kv-eviction", group = "KV cache",
      doc = "Order in which unused cached blocks are evicted. lru (default): least recently used "
        .. "first, as in vLLM. two-pass: blocks that no other request can share first, then shared "
        .. "prefixes.",
    },
    {
      name = "max_queue_depth", type = "integer", min = 0, max = 1000000000, unit = "requests",
      flag = "--max-queue-depth", group = "Serving engine",
      doc = "Maximum wait-queue length per instance. Further requests are rejected (reason "
        .. "queue-full). 0: no limit (default).",
    },
    {
      name = "max_reserved_tokens", type = "integer", min = 0, max = 1000000000000,
      unit = "tokens", flag = "--max-reserved-tokens", group = "Serving engine",
      doc = "Maximum prompt and output tokens of all requests in a batch. A longer request runs in "
        .. "a separate batch. 0: no limit (default).",
    },
    {
      name = "kv_cpu_blocks", type = "integer", min = 0, max = 1000000000, default = 0,
      unit = "blocks", flag = "--kv-cpu-blocks", group = "KV cache",
      doc = "Blocks of CPU memory that extend the KV cache of an instance, 0 = no CPU tier.",
    },
    {
      name = "kv_offload_threshold", type = "number", min = 0, max = 1, default = 0,
      unit = "0 to 1", needs = "kv_cpu_blocks",
      flag = "--kv-offload-threshold", group = "KV cache",
      doc = "Copy blocks to CPU memory while at least this fraction of the GPU blocks is in use. "
        .. "No effect under profile go-blis, as in BLIS (Go).",
    },
    {
      name = "kv_transfer_bandwidth", type = "number", above = 0, max = 1e12, default = 100,
      unit = "tokens/us", needs = "kv_cpu_blocks",
      flag = "--kv-transfer-bandwidth", group = "KV cache",
      doc = "Speed of reloads from CPU memory.",
    },
    {
      name = "kv_transfer_base_latency_us", type = "time_us", min = 0, max = 3600000000,
      default = 0, unit = "us", needs = "kv_cpu_blocks",
      flag = "--kv-transfer-base-latency", group = "KV cache",
      doc = "Fixed latency of a reload from CPU memory, once for all blocks of a request; profile "
        .. "go-blis: for each block.",
    },
    {
      name = "speculation", type = "any",
      doc = "Speculative decoding: { method = \"draft\", tokens = 3, acceptance = { 0.8, 0.7, 0.6 "
        .. "}, draft_base_us = 900 }. Every step is then computed individually, so the run takes "
        .. "longer. By default, a step produces one token per request.",
    },
    {
      name = "ranks", type = "any",
      doc = "Data-parallel ranks: a number, or { count = 4, barrier = true, ... }. Each instance "
        .. "is then a group of that many routing targets. By default, an instance is one target.",
    },
    {
      name = "lora", type = "any",
      doc = "LoRA adapters of the engines: { adapters = 128, slots = 8, ... }. By default, adapter "
        .. "names in requests have no effect.",
    },
    {
      name = "snapshot_refresh_us", type = "time_us", min = 0, default = 0, unit = "us",
      profiles = { ["go-blis"] = 50000 }, flag = "--snapshot-refresh-interval",
      group = "Signals and delays",
      doc = "Refresh interval of instance signals at the router. 0: always current.",
    },
    {
      name = "cache_signal_delay_us", type = "time_us", min = 0, default = 0, unit = "us",
      profiles = { ["go-blis"] = 50000 },
      flag = "--cache-signal-delay", group = "Signals and delays",
      doc = "Age of KV cache signals at the router. 0: current.",
    },
    {
      name = "admission_latency_us", type = "time_us", min = 0, default = 0, unit = "us",
      flag = "--admission-latency", group = "Signals and delays",
      doc = "Delay between a request's arrival and its admission.",
    },
    {
      name = "routing_latency_us", type = "time_us", min = 0, default = 0, unit = "us",
      flag = "--routing-latency", group = "Signals and delays",
      doc = "Delay between admission and routing.",
    },
    {
      name = "slo_priorities", type = "numbers_by_name", of = "integer", min = -100, max = 100,
      doc = "Priorities of SLO classes, such as { batch = 1 }. Higher is more important; classes "
        .. "below 0 may be shed. Default: critical and realtime 4, standard 3, batch -1, sheddable "
        .. "-2, background -3, any other 3 (also realtime under profile go-blis).",
    },
    {
      name = "tenant_budgets", type = "numbers_by_name", min = 0, max = 1,
      doc = "Maximum fraction per tenant of the requests that all instances can run at once, such "
        .. "as { guest = 0.25 }. Sheddable requests above it are rejected before the admission "
        .. "policy is called.",
    },
    {
      name = "max_requests_in_memory", type = "integer", min = 0, default = 0, unit = "requests",
      doc = "Maximum number of requests waiting or running at once before the run is aborted, 0 = "
        .. "unlimited.",
    },
  },
}
