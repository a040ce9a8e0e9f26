--- The options of a cluster: the instances, what they run on, and how fresh the router's signals
--- are.
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
      doc = "Model id of the catalogue, with or without its owner; or the path of a config.json or "
        .. "its folder; in Lua also a table { id =, layers =, ... }. models/NAME.yaml and "
        .. "models/NAME/config.json beside the script take precedence over the catalogue.",
    },
    {
      name = "model_config", type = "path", flag = "--model-config-folder",
      group = "Model and hardware",
      doc = "The model's own config.json, or its folder; default: the catalogue's figures.",
    },
    {
      name = "hardware",
      described = false, type = "described", flag = "--hardware", metavar = "NAME",
      group = "Model and hardware",
      flag_doc = "GPU of every instance; default: the model's usual GPU. hardware/NAME.yaml in "
        .. "this folder takes precedence over the catalogue.",
      doc = "GPU of every instance; default: the model's usual GPU; in Lua also a table { name =, "
        .. "peak_tflops =, ... }. hardware/NAME.yaml beside the script takes precedence over the "
        .. "catalogue.",
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
      doc = "Tensor parallel degree; default: the model's usual degree.",
    },
    {
      name = "dp", type = "integer", min = 1, max = 65536, default = 1, unit = "replicas",
      flag = "--dp", group = "Model and hardware",
      doc = "Data parallel degree inside an instance; above 1 only for mixture-of-experts models.",
    },
    {
      name = "expert_parallel", type = "boolean", default = false,
      flag = "--enable-expert-parallel", group = "Model and hardware",
      doc = "Spread experts over the GPUs of an instance (mixture-of-experts models only).",
    },
    {
      name = "quantization", type = "string", flag = "--quantization", metavar = "METHOD",
      group = "Model and hardware",
      doc = "Number format of the weights, in place of the one that the files of the model state. "
        .. "none: the type of the model; fp8, fp8_block, int8, mxfp8, nvfp4, mxfp4, int4: bytes "
        .. "per weight with their scales; or a method of vllm serve that fixes its format, such "
        .. "as awq, gptq, modelopt, modelopt_fp4, bitsandbytes, fbgemm_fp8. Default: as the "
        .. "files state.",
    },
    {
      name = "kv_cache_dtype", type = "string", flag = "--kv-cache-dtype", metavar = "TYPE",
      group = "Model and hardware",
      doc = "Number format of the KV cache: auto, bfloat16, float16, fp8, fp8_e4m3, fp8_e5m2, "
        .. "nvfp4. Default: auto, as the files of the model state, otherwise the type of the "
        .. "model.",
    },
    {
      name = "dtype", type = "string", flag = "--dtype", metavar = "TYPE",
      group = "Model and hardware",
      doc = "Type of the weights and activations that are not quantized: auto, bfloat16, float16, "
        .. "float32. Default: auto, as the files of the model state.",
    },
    {
      name = "moe_comm_backend", type = "choice", flag = "--moe-comm-backend", may_be_empty = true,
      group = "Model and hardware",
      choices = { "naive", "allgather_reducescatter", "pplx", "deepep_high_throughput",
        "deepep_low_latency", "mori", "flashinfer_all2allv" },
      doc = "How tokens reach experts on other GPUs; default: allgather_reducescatter.",
    },
    {
      name = "instances", described = false, type = "integer", min = 1, max = 1000000, default = 1,
      flag = "--num-instances", group = "Serving engine",
      doc = "Number of serving engines behind the router.",
    },
    {
      name = "groups", described = false, type = "table",
      doc = "Groups of differing instances, instead of a number of equal ones: a list such as "
        .. "{ { instances = 4 }, { instances = 2, hardware = \"L40S\" } }; what a group does not "
        .. "set is taken from the cluster. When models differ, and under profile go-blis, requests "
        .. "go only to instances of their model.",
    },
    {
      name = "prefill_instances", described = false, type = "integer", min = 0, max = 1000000,
      flag = "--prefill-instances", flag_aliases = { "--prefill-replicas" },
      aliases = { "prefill_replicas" }, group = "Prefill and decode",
      doc = "Of the instances, the first so many only prefill; without instances, they are so many "
        .. "in addition.",
    },
    {
      name = "decode_instances", described = false, type = "integer", min = 0, max = 1000000,
      flag = "--decode-instances", flag_aliases = { "--decode-replicas" },
      aliases = { "decode_replicas" }, group = "Prefill and decode",
      doc = "The next so many only decode.",
    },
    {
      name = "prefill_decode_instances",
      described = false, type = "integer", min = 0, max = 1000000,
      flag = "--prefill-decode-instances", group = "Prefill and decode",
      doc = "The next so many do both; with the options of the decode pool.",
    },
    {
      name = "encode_instances", described = false, type = "integer", min = 0, max = 1000000,
      flag = "--encode-instances", group = "Prefill and decode",
      doc = "The next so many encode images, sound and video; with the options of the cluster.",
    },
    {
      name = "architecture", described = false, type = "choice", choices = { "monolithic", "pd" },
      flag = "--architecture", group = "Prefill and decode",
      doc = "pd: with prefill_instances and decode_instances (1 each, if no number of instances is "
        .. "given); monolithic: without them.",
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
      doc = "KV of a token on one GPU, for what hand-offs move; default: worked out from "
        .. "the model.",
    },
    {
      name = "latency_model",
      described = false, type = "latency_model", flag = "--latency-model", metavar = "WORD",
      group = "Model and hardware",
      choices = { "calibrated", "composed", "trained-physics", "roofline", "blackbox",
        "piecewise" },
      default = "calibrated", profiles = { ["go-blis"] = "trained-physics" },
      flag_doc = "Model of the step time. calibrated multiplies the rates of the GPU by measured "
        .. "efficiencies. composed adds up the kernels of every layer, with their launch times. "
        .. "trained-physics, a fit to decoding, underestimates prefill time by a factor of 3 to 7. "
        .. "blackbox requires alpha_coeffs and beta_coeffs, or measured coefficients of the model, "
        .. "GPU, and TP degree.",
      doc = "Model of the step time: a name, in Lua also a result of blis.latency_model or a "
        .. "function(batch). calibrated multiplies the rates of the GPU by measured efficiencies. "
        .. "composed adds up the kernels of every layer, with their launch times. "
        .. "trained-physics, a fit to decoding, underestimates prefill time by a factor of 3 to 7. "
        .. "blackbox requires alpha_coeffs and beta_coeffs, or measured coefficients of the model, "
        .. "GPU, and TP degree.",
    },
    {
      name = "kernel_tables", type = "switch_or_folder", default = false, flag = "--kernel-tables",
      metavar = "true|false|DIR", group = "Model and hardware",
      flag_doc = "With composed: true corrects products and experts by kernel times that were "
        .. "measured on H100, H200, and B200. DIR is a folder of such times (gemm.csv, moe.csv, "
        .. "allreduce.csv), which take precedence; share/profile measures them.",
      doc = "With composed: true corrects products and experts by kernel times that were measured "
        .. "on H100, H200, and B200. A text is a folder of such times (gemm.csv, moe.csv, "
        .. "allreduce.csv), which take precedence; share/profile measures them.",
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
      doc = "Refuse what the step-time coefficients were not fitted to: another model size, more "
        .. "GPUs, a GPU that was not measured; a run with steps of more tokens, requests or "
        .. "context then fails at its end. Otherwise results report the share of such steps.",
    },
    {
      name = "engine_version", type = "string", flag = "--engine-version",
      group = "Model and hardware",
      doc = "Version of the serving engine that blackbox coefficients were measured with; default: "
        .. "the latest.",
    },
    {
      name = "kv_blocks",
      described = false, type = "integer", min = 1, max = 1000000000, unit = "blocks",
      flag = "--total-kv-blocks", group = "KV cache", flag_aliases = { "--kv-gpu-blocks" },
      aliases = { "total_kv_blocks" },
      doc = "KV cache of an instance; default: what fits beside the model on its GPUs.",
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
        .. "all groups share. Requires profile design. Default: the groups that vLLM makes of the "
        .. "layers of the model; states are not kept in the prefix cache.",
    },
    {
      name = "hybrid_kv_cache", type = "boolean", default = true,
      doc = "Return the blocks behind windows and chunks to the cache. false: they keep all "
        .. "tokens, as with vLLM's --disable-hybrid-kv-cache-manager.",
    },
    {
      name = "gpu_memory_utilization", type = "number", above = 0, max = 1, default = 0.9,
      flag = "--gpu-memory-utilization", group = "KV cache",
      doc = "Share of the GPU memory that the engine may use.",
    },
    {
      name = "kv_capacity_per_gpu", type = "boolean", default = true,
      profiles = { ["go-blis"] = false },
      flag = "--kv-capacity-per-gpu", group = "KV cache",
      doc = "Without kv_blocks, derive it from the memory of a single GPU. Otherwise the memory of "
        .. "all tp GPUs counts, as in BLIS (Go): about tp times more blocks than fit.",
    },
    {
      name = "gpu_price_per_hour", type = "number", min = 0, max = 1e9, unit = "USD/h",
      flag = "--gpu-price-per-hour", group = "Cost and energy",
      doc = "Price of one GPU, for the cost of a run; default: the catalogue's price.",
    },
    {
      name = "billing_granularity_us", type = "time_us", min = 0, max = 1000000000000, default = 0,
      unit = "us", flag = "--billing-granularity", group = "Cost and energy",
      doc = "The time for which an instance is paid is rounded up to a multiple of this, each time "
        .. "that it is there; 0 = it is not.",
    },
    {
      name = "billing_minimum_us", type = "time_us", min = 0, max = 1000000000000, default = 0,
      unit = "us", flag = "--billing-minimum", group = "Cost and energy",
      doc = "Least time for which an instance is paid, each time that it is there.",
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
        .. "Default: gpu_watts for the energy of a run, 0 for policies that look at rolling_watts.",
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
      doc = "What one GPU draws in a step, in Lua: a function(step) that returns W from the "
        .. "step's prefill_tokens, decode_tokens, kv_tokens (before these, of all its requests) "
        .. "and duration_us, and from nothing else; in place of gpu_prefill_watts and "
        .. "gpu_decode_watts.",
    },
    {
      name = "mixed_step_power", type = "choice", choices = { "max", "linear" }, default = "max",
      flag = "--mixed-step-power", group = "Cost and energy",
      doc = "Draw of steps that prefill and decode: the larger of the two figures, or between them "
        .. "by the times that both would take alone.",
    },
    {
      name = "gpu_power_cap_watts", type = "number", above = 0, max = 1e6, unit = "W",
      flag = "--gpu-power-cap-watts", group = "Cost and energy",
      doc = "Most that one GPU may draw. Where steps draw more without it, power_cap_exponent or "
        .. "power_cap_slowdown has to say how much slower they get.",
    },
    {
      name = "power_cap_exponent", type = "number", min = 0, max = 10,
      flag = "--power-cap-exponent", group = "Cost and energy",
      doc = "Steps that would draw more than the cap take (draw / cap)^exponent times as long; 0.4 "
        .. "to 0.6 is a guess that nobody has measured.",
    },
    {
      name = "power_cap_slowdown", type = "table",
      doc = "What caps do, measured: a list of { watts, prefill_factor, decode_factor }, by "
        .. "rising watts. With a cap of so much, steps with and without prompt tokens take so "
        .. "many times as long, 1 or more; between rows on a straight line.",
    },
    {
      name = "pue", type = "number", min = 1, max = 100, unit = "facility / GPUs",
      flag = "--pue", group = "Cost and energy",
      doc = "Power usage effectiveness: energy that the building takes for each kWh of the GPUs; "
        .. "default: 1.",
    },
    {
      name = "carbon_g_per_kwh", type = "carbon", min = 0, max = 1e6, unit = "g/kWh",
      metavar = "NUM|FILE.csv",
      flag = "--carbon-g-per-kwh", group = "Cost and energy",
      doc = "Carbon dioxide emitted for each kWh of the building, for the carbon of a run: a "
        .. "number; or a CSV file with the columns time_s and g_per_kwh, or a list of "
        .. "{ time_us, g_per_kwh }, from which times on it is how much.",
    },
    {
      name = "max_model_len", type = "integer", min = 0, max = 1000000000, unit = "tokens",
      flag = "--max-model-len", group = "Serving engine",
      doc = "Longest sequence, 0 = unlimited; default: what the model allows. Never more than the "
        .. "KV cache holds.",
    },
    {
      name = "max_num_seqs", type = "integer", min = 1, max = 1000000, default = 256,
      unit = "requests", flag = "--max-num-seqs", flag_aliases = { "--max-num-running-reqs" },
      group = "Serving engine",
      doc = "Maximum number of requests in a batch.",
    },
    {
      name = "max_num_batched_tokens", type = "integer", min = 1, max = 1000000000, default = 2048,
      unit = "tokens", flag = "--max-num-batched-tokens", group = "Serving engine",
      flag_aliases = { "--max-num-scheduled-tokens" },
      doc = "Token budget of an engine step; longer prefills are chunked.",
    },
    {
      name = "long_prefill_token_threshold", type = "integer", min = 0, max = 1000000000,
      default = 0, unit = "tokens", flag = "--long-prefill-token-threshold",
      group = "Serving engine",
      doc = "Maximum tokens of one prefill per step, 0 = limited by the budget alone.",
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
      doc = "Which running request is preempted when KV blocks run out: the last in the batch, or "
        .. "the least urgent.",
    },
    {
      name = "async_scheduling", type = "boolean", default = true,
      profiles = { ["go-blis"] = false }, flag = "--async-scheduling", group = "Serving engine",
      doc = "Form the next batch while a step runs, as vLLM does from 0.14 on. With composed, a "
        .. "request that arrives during a step joins the step after the next at the earliest, and "
        .. "host time is hidden. With calibrated, first tokens are delayed by measured times. "
        .. "false: each step waits for the host. With backend_version, the default is that of the "
        .. "version.",
    },
    {
      name = "backend_version", type = "string", flag = "--backend-version", metavar = "VERSION",
      group = "Serving engine",
      doc = "Version of vLLM, such as 0.17.0. Sets the defaults of async_scheduling (true from "
        .. "0.14 on) and, with composed, of engine_scale. Default: the latest version.",
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
      doc = "API server before the wait queue. completions and chat: the endpoint that receives "
        .. "requests, which decides a fixed delay. none: requests reach the wait queue at once. "
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
        .. "max_num_batched_tokens limits a batch. With any of them every step is computed, "
        .. "slowly.",
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
      doc = "What KV blocks a request takes when it is admitted: those of the step, as in vLLM "
        .. "(default), or all of its prompt and output; it is rejected when there are too few "
        .. "(reason kv-full).",
    },
    {
      name = "kv_eviction", type = "choice", choices = { "lru", "two-pass" },
      flag = "--kv-eviction", group = "KV cache",
      doc = "Which blocks that nobody holds are reused first: those unused for longest, as in vLLM "
        .. "(default), or all that no other request can share, and only then the shared prefixes.",
    },
    {
      name = "max_queue_depth", type = "integer", min = 0, max = 1000000000, unit = "requests",
      flag = "--max-queue-depth", group = "Serving engine",
      doc = "A request that finds so many in the wait queue of its instance is rejected (reason "
        .. "queue-full); 0 = none is (default).",
    },
    {
      name = "max_reserved_tokens", type = "integer", min = 0, max = 1000000000000,
      unit = "tokens", flag = "--max-reserved-tokens", group = "Serving engine",
      doc = "Most prompt and output tokens of all requests of a batch together; one that is longer "
        .. "runs alone. 0 = no limit (default).",
    },
    {
      name = "kv_cpu_blocks", type = "integer", min = 0, max = 1000000000, default = 0,
      unit = "blocks", flag = "--kv-cpu-blocks", group = "KV cache",
      doc = "Blocks of CPU memory behind the KV cache of an instance, 0 = none.",
    },
    {
      name = "kv_offload_threshold", type = "number", min = 0, max = 1, default = 0,
      unit = "0 to 1", flag = "--kv-offload-threshold", group = "KV cache",
      doc = "Blocks are copied to CPU memory while at least this share of the GPU's is in use. No "
        .. "effect under profile go-blis, as in BLIS (Go).",
    },
    {
      name = "kv_transfer_bandwidth", type = "number", above = 0, max = 1e12, default = 100,
      unit = "tokens/us", flag = "--kv-transfer-bandwidth", group = "KV cache",
      doc = "Speed of reloads from CPU memory.",
    },
    {
      name = "kv_transfer_base_latency_us", type = "time_us", min = 0, max = 3600000000,
      default = 0, unit = "us", flag = "--kv-transfer-base-latency", group = "KV cache",
      doc = "Fixed latency of a reload from CPU memory, once for all blocks of a request; profile "
        .. "go-blis: for each block.",
    },
    {
      name = "speculation", type = "any",
      doc = "Speculative decoding: { method = \"draft\", tokens = 3, acceptance = { 0.8, 0.7, "
        .. "0.6 }, draft_base_us = 900 }. With it every step is computed, slowly. Default: a "
        .. "step gives a request one token.",
    },
    {
      name = "ranks", type = "any",
      doc = "Data-parallel ranks: a number of them, or { count = 4, barrier = true, ... }; each "
        .. "instance is a group of so many targets. Default: an instance is one target.",
    },
    {
      name = "lora", type = "any",
      doc = "LoRA adapters of the engines: { adapters = 128, slots = 8, ... }. Default: what "
        .. "adapters requests name means nothing.",
    },
    {
      name = "snapshot_refresh_us", type = "time_us", min = 0, default = 0, unit = "us",
      profiles = { ["go-blis"] = 50000 }, flag = "--snapshot-refresh-interval",
      group = "Signals and delays",
      doc = "How often the router's view of the instances is refreshed, 0 = always current.",
    },
    {
      name = "cache_signal_delay_us", type = "time_us", min = 0, default = 0, unit = "us",
      profiles = { ["go-blis"] = 50000 },
      flag = "--cache-signal-delay", group = "Signals and delays",
      doc = "How old the router's view of the KV caches is, 0 = current.",
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
      doc = "Priorities of SLO classes (higher is more important; below 0 may be shed), such as "
        .. "{ batch = 1 }; default: critical and realtime 4, standard 3, batch -1, sheddable -2, "
        .. "background -3, and 3 for any other (and for realtime under profile go-blis).",
    },
    {
      name = "tenant_budgets", type = "numbers_by_name", min = 0, max = 1,
      doc = "Maximum share per tenant of what all instances can run at once, such as "
        .. "{ guest = 0.25 }; sheddable requests above it are rejected before the admission "
        .. "policy is asked.",
    },
    {
      name = "max_requests_in_memory", type = "integer", min = 0, default = 0, unit = "requests",
      doc = "Maximum number of requests waiting or running at once before the run is aborted, 0 = "
        .. "unlimited.",
    },
  },
}
