-- The program as users run it: every command with every flag, each in a process of its own. Flags
-- come from the descriptions that the program itself reads; one without a usual value needs an
-- example here, so none can be forgotten.
local units = require "blis.units"
local files = require "spec.support.files"
local program = require "spec.support.program"

-- Stock lua5.4 reads this file too, but has no commands.
local is_program, described = pcall(require("blis.cli.program").describe)
local commands = is_program and described.commands or {}

local small = "--num-requests 12 --prompt-tokens 64 --output-tokens 8"

-- A server for the clients, which lives as long as the tests of this file.
local port = 25000 + os.time() % 6000
local endpoint = "http://127.0.0.1:" .. port

--- A trial that was asked for, in a store of its own, and its id.
local function told(number)
  return ([[@/asked%s $("$BLIS" sweep ask @/sweep.lua --store @/asked%s | cut -d'"' -f4) ]])
    :format(number, number)
end

-- What stands beside a flag; @ is a folder with traces, results and files that flags name.
local evaluated = "spec/eval/small_suite.lua @/policy.lua smoke -j 1 "
local lines = {
  capacity = small .. " --target ttft_ms.p50=1e6 --from 8 --to 8 --replications 1 "
    .. "--max-requests 12 --quiet",
  calibrate = "--fit @/observed.csv --fit-trials 20 "
    .. "--quiet --model llama-3.1-8b-instruct --hardware 'RTX PRO 6000'",
  check = "@/script.lua",
  compare = small .. " --policies round-robin --replications 1 --quiet",
  completion = "bash",
  compose = "--from tests/data/workload/many.yaml",
  ["convert inference-perf"] = "--spec tests/data/workload/inference_perf_config.yaml",
  ["convert preset"] = "--name chatbot",
  ["convert servegen"] = "--path tests/data/servegen/language",
  diff = "@/a.blis @/a.blis",
  eval = evaluated, ["gepa-evaluate"] = evaluated, ["openevolve-evaluate"] = evaluated,
  conformance = "dynamo.kv",
  decisions = "spec/production/decisions.jsonl llm-d.queue-scorer:1",
  export = "llm-d spec/production/epp/epp-config.yaml --quiet",
  gate = "random random --suite spec/production/small_suite.lua --seeds 2",
  import = "spec/production/epp/epp-config.yaml --quiet",
  hardware = "", help = "", man = "", models = "", policies = "",
  live = "--gateway 127.0.0.1:0 --duration 10ms", -- ends by itself
  observe = "--target " .. endpoint .. " --max-send-delay 1h --num-requests 2 --rate 1000 "
    .. "--output-tokens 2",
  recommend = "--prompt-tokens 64 --output-tokens 8 --target ttft_ms.p50=0.001ms --gpus 2 "
    .. "--layouts aggregated --tp-degrees 2 "
    .. "--hardware H100 --from 8 --replications 1 --quiet", -- nothing keeps it: soon over
  plot = "@/a.blis --height 5", replay = "@/t.csv",
  run = small,
  serve = "--stdio", -- until its input ends: at once
  ["routesim run"] = "--config @/routesim.toml", ["routesim compare"] = "--config @/routesim.toml",
  ["routesim gen-trace"] = "--output @/written --duration 1",
  ["routesim convert"] = "--input @/t.csv --output @/written",
  ["routesim sweep"] = "--config @/routesim.toml --rates 5 --duration 1",
  ["routesim list-algorithms"] = "",
  ["sweep run"] = "@/sweep.lua --quiet",
  ["sweep status"] = "@/store", ["sweep table"] = "@/store", ["sweep export"] = "@/store",
  ["sweep merge"] = "@/store @/store", ["sweep retry"] = "@/store",
  ["sweep submit"] = "@/sweep.lua --slurm", ["sweep watch"] = "@/store --once",
  ["sweep ask"] = "@/sweep.lua --store @/out", ["sweep try"] = "@/sweep.lua x=1",
  ["sweep tell"] = told "1" .. "y=1",
  ["trace info"] = "@/t.csv",
  ["trace convert"] = "@/t.csv --output @/out",
  ["trace cap"] = "@/t.csv --output @/out --turns 2",
  ["trace cut"] = "@/t.csv --output @/out",
  ["trace filter"] = "@/t.csv --output @/out --where 'prompt_tokens > 0'",
  ["trace merge"] = "@/t.csv @/t.csv --output @/out",
  ["trace scale"] = "@/t.csv --output @/out --factor 2",
  ["trace warp"] = "@/t.csv --output @/out --points 0s:0s,10s:5s",
}

-- A flag with what it needs: in place of what is usual for its kind; by command where they differ.
local examples = {
  ["--admission-parameter"] = "--admission-policy token-bucket --admission-parameter "
    .. "bucket_size=1e6",
  ["--admission-policy"] = "--admission-policy always-admit",
  ["--alpha-coeffs"] = "--latency-model blackbox --alpha-coeffs 1,2,3 --beta-coeffs 1000,10,10",
  ["--api-servers"] = "--front-end chat --api-servers 2",
  ["--backend-version"] = "--backend-version 0.17.0",
  ["--engine-scale"] = "--latency-model composed --engine-scale 1.1",
  ["--kernel-tables"] = "--latency-model composed --kernel-tables true",
  ["--front-end-rate"] = "--front-end chat --front-end-rate 200",
  ["--front-end-us-per-token"] = "--front-end chat --front-end-us-per-token 2",
  ["--beta-coeffs"] = "--latency-model blackbox --alpha-coeffs 1,2,3 --beta-coeffs 1000,10,10",
  ["--catalogue"] = "--catalogue @/catalogue.yaml", ["--spot"] = "--spot @/spot.csv",
  ["--detectors"] = "--detectors all",
  ["--enable-expert-parallel"] = "--model mistralai/mixtral-8x7b-v0.1 --hardware H100 --tp 2 "
    .. "--enable-expert-parallel",
  ["--quantization"] = "--quantization fp8", ["--kv-cache-dtype"] = "--kv-cache-dtype fp8",
  ["--dtype"] = "--dtype bfloat16",
  ["--columns"] = "--columns timestamp=arrival_time_us,prompt=input_tokens,output=output_tokens",
  ["--kernels"] = "--kernels data/kernels",
  ["--router-share"] = "--router-replicas 2 --router-share in-flight --router-sync events",
  ["--router-preset"] = "--router-replicas 2 --router-preset llm-d",
  ["--router-mode"] = "--router-replicas 2 --router-mode active-active",
  ["--router-balancer"] = "--router-replicas 2 --router-balancer random",
  ["--router-hash-on"] = "--router-replicas 2 --router-hash-on session",
  ["--router-fail-open"] = "--router-replicas 2 --router-fail-open random",
  ["--router-sync"] = "--router-replicas 2 --router-sync shared",
  ["--router-sync-every"] = "--router-replicas 2 --router-preset llm-d --router-sync-every 100ms",
  ["--router-sync-delay"] = "--router-replicas 2 --router-preset llm-d --router-sync-delay 5ms",
  ["--router-sync-loss"] = "--router-replicas 2 --router-preset llm-d --router-sync-loss 0.1",
  ["--engine-version"] = "--engine-version vllm/vllm-openai:v0.8.4",
  ["--fitness-weights"] = "--fitness-weights throughput:1",
  ["--gpu-decode-watts"] = "--gpu-watts 300 --gpu-idle-watts 60 --gpu-decode-watts 200",
  ["--gpu-power-cap-watts"] = "--gpu-watts 300 --gpu-power-cap-watts 250 --power-cap-exponent 0.5",
  ["--power-cap-exponent"] = "--gpu-watts 300 --gpu-power-cap-watts 250 --power-cap-exponent 0.5",
  ["--mixed-step-power"] =
    "--gpu-prefill-watts 600 --gpu-decode-watts 200 --gpu-idle-watts 60 --mixed-step-power linear",
  ["--gpu-prefill-watts"] = "--gpu-watts 300 --gpu-idle-watts 60 --gpu-prefill-watts 400",
  ["--hardware"] = "--hardware H100",
  ["--pd-overlap"] = "--prefill-instances 1 --decode-instances 1 --pd-order destination "
    .. "--pd-overlap layers",
  ["--prefill-instances"] = "--prefill-instances 1 --decode-instances 1",
  ["--decode-instances"] = "--prefill-instances 1 --decode-instances 1",
  ["--architecture"] = "--architecture pd --prefill-instances 1 --decode-instances 1",
  ["--decode-nic"] = "--prefill-instances 1 --decode-instances 1 --decode-nic 25",
  ["--prefill-nic"] = "--prefill-instances 1 --decode-instances 1 --prefill-nic 25",
  ["--try-hardware"] = "--try-hardware H100,A100-80",
  ["--try-decode-hardware"] = "--try-decode-hardware A100-80",
  ["--encode-instances"] = "--encode-instances 1 --prefill-decode-instances 1 "
    .. "--encode-base-us 5 --encode-us-per-token 1",
  ["--prefill-hardware"] = "--prefill-hardware H100",
  ["--prefill-latency-model"] = "--prefill-latency-model roofline",
  ["--decode-hardware"] = "--decode-hardware H100",
  ["--decode-latency-model"] = "--decode-latency-model roofline",
  ["--prefill-routing-scorers"] = "--prefill-decode-instances 1 "
    .. "--prefill-routing-scorers queue-depth:1",
  ["--decode-routing-scorers"] = "--prefill-decode-instances 1 "
    .. "--decode-routing-scorers queue-depth:1",
  ["--horizon"] = "--horizon 10s",
  ["--kv-offload-threshold"] = "--kv-offload-threshold 0.5",
  ["--model-config-folder"] = "--model own/tiny --model-config-folder @/config.json "
    .. "--hardware H100",
  ["--policy-config"] = "--policy-config @/bundle.yaml",
  ["--prefix-groups"] = "--prefix-tokens 16 --prefix-groups 2",
  ["--prefix-zipf"] = "--prefix-tokens 16 --prefix-groups 2 --prefix-zipf 1",
  ["--priority-policy"] = "--priority-policy constant",
  ["--shape"] = "--shape surges",
  ["--phases"] = "--phases night=0,day=1s",
  ["--figure"] = "--figure ttft_ms.p99",
  ["--report"] = "--report @/written.html",
  ["--routing-parameter"] = "--routing-policy weighted --routing-parameter tie=first",
  ["--routing-scorers"] = "--routing-policy weighted --routing-scorers queue-depth:1",
  ["--saturation-config"] = "--detectors all --saturation-config @/detectors.yaml",
  ["--saturation-final-window"] = "--detectors all --saturation-final-window 30s",
  ["--saturation-report"] = "--detectors all --saturation-report @/written",
  ["--series-interval"] = "--series-interval 1s",
  ["--series-path"] = "--series-interval 1s --series-path @/written.csv",
  ["--decisions-path"] = "--trace-level decisions --decisions-path @/written.jsonl",
  ["--slo-e2e"] = "--slo-e2e default=1s",
  ["--slo-itl"] = "--slo-itl default=1s",
  ["--slo-ttft"] = "--slo-ttft default=1s",
  ["--tenant"] = "--tenant a",
  ["--think-time-dist"] = "--session-mode closed-loop --think-time-dist constant:value=1ms",
  ["--token-bucket-capacity"] = "--admission-policy token-bucket --token-bucket-capacity 1e6",
  ["--token-bucket-refill-rate"] = "--admission-policy token-bucket "
    .. "--token-bucket-refill-rate 1e6",
  ["--trace-format"] = "--trace-format tracev2",
  ["--trace-header"] = "--trace-header @/t.yaml",
  ["--workload-spec"] = "--workload-spec tests/data/workload/many.yaml",
  ["--version"] = "--version 0.10",
  ["--target"] = "", ["--fit"] = "", ["--from"] = "", ["--to"] = "", ["--spec"] = "",
  ["--path"] = "",
  ["--where"] = "", ["--points"] = "", ["--factor"] = "", -- stand in the lines above
}

-- Flags that need an autoscaler, or a queue of the gateway.
examples["--autoscaler"] = "--autoscaler threshold"
for flag, value in pairs { ["--autoscaler-parameter"] = "cooldown_seconds=1",
  ["--autoscaler-min"] = "1", ["--autoscaler-max"] = "2", ["--provisioning-delay"] = "1s",
  ["--loading-delay"] = "1s", ["--warmup-duration"] = "1s",
  ["--warmup-factor"] = "2 --warmup-duration 1s", ["--drain-policy"] = "redirect",
  ["--autoscaler-trigger-queue-depth"] = "3", ["--autoscaler-ttft-target"] = "1s",
  ["--replica-price-per-hour"] = "2.5",
  ["--autoscaler-tpot-target"] = "50ms", ["--autoscaler-e2e-target"] = "1m",
  ["--autoscaler-trigger-slo-attainment"] = "0.9 --autoscaler-ttft-target 1s" } do
  examples[flag] = ("--autoscaler threshold %s %s"):format(flag, value)
end
for flag, value in pairs { ["--lora-adapter-capacity"] = "2", ["--lora-host-slots"] = "9",
  ["--lora-rank"] = "16", ["--lora-zipf"] = "0.5", ["--lora-load-base-latency-us"] = "1500",
  ["--lora-load-bandwidth-bytes-us"] = "25000", ["--lora-footprint-bytes-per-rank"] = "2e6",
  ["--lora-order"] = "head-of-line", ["--lora-max-skip"] = "1s", ["--lora-mode"] = "block",
  ["--lora-scorer-weight"] = "3 --routing-policy weighted" } do
  examples[flag] = ("--lora-adapters 4 %s %s"):format(flag, value)
end
examples["--lora-adapters"] = "--lora-adapters 4"
for flag, value in pairs { ["--chunked-prefill-size"] = "4096", ["--max-prefill-tokens"] = "8192",
  ["--max-running-requests"] = "64", ["--schedule-policy"] = "lpm",
  ["--schedule-conservativeness"] = "0.5", ["--enable-mixed-chunk"] = "",
  ["--prefill-decode-interval"] = "2", ["--page-size"] = "64", ["--disable-radix-cache"] = "",
  ["--disable-overlap-schedule"] = "" } do
  examples[flag] = ("--backend sglang %s %s"):format(flag, value)
end
for flag, value in pairs { ["--capacity-scheduler-policy"] = "MAX_UTILIZATION",
  ["--max-batch-size"] = "64", ["--max-num-tokens"] = "4096", ["--enable-chunked-context"] = "",
  ["--context-chunking-policy"] = "EQUAL_PROGRESS --enable-chunked-context",
  ["--tokens-per-block"] = "64", ["--enable-block-reuse"] = "",
  ["--enable-prefix-aware-scheduling"] = "", ["--disable-overlap-scheduler"] = "" } do
  examples[flag] = ("--backend trtllm %s %s"):format(flag, value)
end
for flag, value in pairs { ["--speculative-method"] = "", ["--speculative-acceptance"] = "",
  ["--speculative-tokens"] = "--speculative-tokens 4", ["--draft-base-us"] = "--draft-base-us 90",
  ["--draft-per-sequence-us"] = "--draft-per-sequence-us 5",
  ["--speculative-max-batch"] = "--speculative-max-batch 8" } do
  examples[flag] = ("--speculative-method ngram --speculative-acceptance 0.7 %s"):format(value)
end
for flag, value in pairs { ["--dp-ranks"] = "", ["--dp-barrier"] = "--dp-barrier",
  ["--dp-dummy-us"] = "--dp-dummy-us 90", ["--dp-sync-every"] = "--dp-sync-every 8",
  ["--dp-balance"] = "--dp-balance internal",
  ["--dp-clients"] = "--dp-balance internal --dp-clients 2",
  ["--dp-publish-us"] = "--dp-balance internal --dp-publish-us 9",
  ["--prefill-schedule-interval"] = "--prefill-schedule-interval 4",
  ["--expert-imbalance"] = "--expert-imbalance 1.2 --expert-share 0.5",
  ["--expert-share"] = "--expert-imbalance 1.2 --expert-share 0.5" } do
  examples[flag] = ("--dp-ranks 2 %s"):format(value)
end
for flag, value in pairs { ["--kv-tier"] = "", ["--kv-tiers-load"] = "if-faster",
  ["--kv-tiers-chunk-tokens"] = "256", ["--kv-tiers-batch-blocks"] = "5",
  ["--kv-tiers-network-gb-s"] = "25", ["--kv-tiers-save-output"] = "true",
  ["--kv-tiers-cache-weight"] = "0.9", ["--kv-tiers-bytes-per-token"] = "1e5" } do
  examples[flag] = "--kv-tier cpu:gb=4,read_gb_s=32"
    .. (value ~= "" and (" %s=%s"):format(flag, value) or "")
end
examples["--kv-tiers"] = "--kv-tiers vllm-0.22 --kv-tier cpu:gb=4"
-- They take the place of other traffic, and so of a part of the usual line.
local of_graphs = { ["--graphs"] = "" }
for flag, value in pairs { ["--graph-format"] = "weka", ["--graph-limit"] = "1",
  ["--graph-reading"] = "aiperf", ["--graph-delays"] = "none", ["--graph-nested"] = "relative",
  ["--graph-delay-cap"] = "1s", ["--graph-idle-gap-cap"] = "1s",
  ["--graph-hash-block-tokens"] = "32", ["--graph-bytes-per-token"] = "3", ["--num-graphs"] = "12",
  ["--graph-models"] = "m=qwen/qwen3-14b", ["--graph-on-failure"] = "continue",
  ["--graph-speed"] = "2", ["--graph-hints"] = "true" } do
  of_graphs[flag] = ("%s=%s"):format(flag, value)
end
examples["--lora-config"] = "--lora-config spec/cmd/lora/adapters.yaml"
for flag, value in pairs { ["--queue-depth-threshold"] = "5", ["--kv-cache-util-threshold"] = "0.8",
  ["--usage-limit-threshold"] = "0.5 --usage-limit linear",
  ["--queue-bands"] = "4=100:1000000,-1=10", ["--saturation-parameter"] = "staleness_seconds=1",
  ["--usage-limit-parameter"] = "ceiling=0.9",
  ["--service-half-life"] = "30s --fairness-policy least-service",
  ["--service-weight"] = "0.5 --fairness-policy least-service",
  ["--wait-weight"] = "0.5 --fairness-policy least-service",
  ["--slo-targets"] = "critical=1000000 --dispatch-order slo-deadline" } do
  examples[flag] = ("--flow-control %s %s"):format(flag, value)
end

examples["--gateway"] = "--gateway 127.0.0.1:0"
examples["--kv-events"] = "--kv-events 127.0.0.1:28931"
examples["--kv-events-replay"] = "--kv-events 127.0.0.1:28941 "
  .. "--kv-events-replay 127.0.0.1:28951"
examples["--kv-events-topic"] = "--kv-events 127.0.0.1:28961 --kv-events-topic kv.x"
examples["--kv-events-format"] = "--kv-events 127.0.0.1:28971 --kv-events-format map"
examples["--kv-handoff-bandwidth"] = "--kv-handoff-bandwidth 50"
examples["--kv-handoff-latency"] = "--kv-handoff-bandwidth 50 --kv-handoff-latency 1ms"
examples["--pins"] = "--pins @/pins.csv"
examples["--listen"] = "--listen 127.0.0.1:0"
examples["--port-base"] = "--port-base 18471"
examples["--served-model-name"] = "--served-model-name m"

-- Whole lines, where a flag stands for something else in the usual one.
local compared = small .. " --policies weighted --replications 1 --quiet"
local measured = "--trace-header spec/cmd/calibrate/o.yaml --trace-data spec/cmd/calibrate/o.csv "
  .. "--sim-results spec/cmd/calibrate/results.json --report @/written "
local bounded = "spec/eval/small_suite.lua --stage smoke -j 1 --bounds"
local fitted = lines.calibrate .. " "
local recommended = lines.recommend .. " "
local observing = "--observe " .. endpoint .. " --observe-rate 100 --observe-requests 40 "
  .. "--observe-max-send-delay 1h --fit-trials 20 --quiet --model llama-3.1-8b-instruct "
  .. "--hardware 'RTX PRO 6000' "
local instead = {
  ["calibrate --observe"] = observing, ["calibrate --observe-rate"] = observing,
  ["calibrate --observe-requests"] = observing,
  ["calibrate --observe-max-send-delay"] = observing,
  ["calibrate --observe-trace"] = observing .. "--observe-trace @/many.csv",
  ["calibrate --observe-model"] = observing .. "--observe-model qwen/qwen3-14b",
  ["calibrate --observe-output"] = observing .. "--observe-output @/written",
  ["observe --target"] = "--max-send-delay 1h --num-requests 2 --rate 1000 --output-tokens 2 "
    .. "--target " .. endpoint,
  ["observe --max-send-delay"] = "--max-send-delay 2h --num-requests 2 --rate 1000 "
    .. "--output-tokens 2 --target " .. endpoint,
  ["observe --model"] = "--max-send-delay 1h --num-requests 2 --rate 1000 --output-tokens 2 "
    .. "--target " .. endpoint .. " --model qwen/qwen3-14b",
  ["observe --api-key-env"] = "--max-send-delay 1h --num-requests 2 --rate 1000 "
    .. "--output-tokens 2 --api-key-env HOME --target " .. endpoint,
  ["compare --routing-parameter"] = compared .. " --routing-parameter tie=first",
  ["compare --policies"] = compared,
  ["compare --lora-scorer-weight"] = compared .. " --lora-adapters 4 --lora-scorer-weight 3",
  ["compare --routing-policy"] = small .. " --variant '--routing-policy weighted' --replications 1 "
    .. "--quiet --routing-policy least-loaded",
  ["compare --variant"] = small .. " --variant '--scheduler fcfs' --variant '--scheduler sjf' "
    .. "--replications 1 --quiet",
  ["compare --routing-scorers"] = compared .. " --routing-scorers queue-depth:1",
  ["models --enable-expert-parallel"] = "mistralai/mixtral-8x7b-v0.1 --hardware H100 --tp 2 "
    .. "--enable-expert-parallel",
  ["capacity --rate"] = small .. " --target ttft_ms.p50=1e6 --vary num-instances --from 1 --to 1 "
    .. "--replications 1 --max-requests 12 --quiet --rate 8",
  ["capacity --workload-spec"] = small .. " --target ttft_ms.p50=1e6 --vary num-instances "
    .. "--from 1 --to 1 --replications 1 --max-requests 12 --quiet "
    .. "--workload-spec tests/data/workload/many.yaml",
  ["eval --bounds"] = bounded, ["gepa-evaluate --bounds"] = bounded,
  ["openevolve-evaluate --bounds"] = bounded,
  ["serve --mcp"] = "--mcp",
  ["serve --suite"] = "--stdio --suite spec/eval/small_suite.lua",
  ["serve --workers"] = "--stdio --workers 1",
  ["replay --trace-data"] = "--trace-data @/t.csv",
  ["calibrate --max-model-len"] = fitted .. "--max-model-len 8192",
  ["calibrate --total-kv-blocks"] = fitted .. "--total-kv-blocks 20000",
  ["recommend --encode-instances"] = recommended .. "--layouts all --encode-instances 1 "
    .. "--encode-base-us 5 --encode-us-per-token 1",
  ["recommend --prefill-nic"] = recommended .. "--layouts all --prefill-nic 25",
  ["recommend --decode-nic"] = recommended .. "--layouts all --decode-nic 25",
  ["recommend --tp-degrees"] = recommended .. "--tp-degrees 1,2",
  ["recommend --store"] = recommended .. "--store @/recommended.store",
  ["recommend --enable-expert-parallel"] = recommended
    .. "--model mistralai/mixtral-8x7b-v0.1 --enable-expert-parallel",
  ["recommend --pd-overlap"] = recommended .. "--layouts all --pd-order destination "
    .. "--pd-overlap layers",
  ["recommend --prefill-routing-scorers"] = recommended .. "--layouts all "
    .. "--prefill-routing-scorers queue-depth:1",
  ["recommend --decode-routing-scorers"] = recommended .. "--layouts all "
    .. "--decode-routing-scorers queue-depth:1",
  ["sweep ask --store"] = "@/sweep.lua --store @/another",
  ["sweep ask --sweep"] = "@/sweep.lua --store @/another --sweep small",
  ["sweep try --figure"] = "@/sweep.lua x=1 --figure y",
  ["sweep try --store"] = "@/sweep.lua x=1.5 --store @/another",
  ["sweep try --sweep"] = "@/sweep.lua x=2 --sweep small",
  ["sweep tell --values"] = told "2" .. "--values @/metrics.json",
  ["sweep tell --failed"] = told "3" .. "--failed broken",
  ["sweep tell --release"] = told "4" .. "--release",
  ["sweep run --store"] = "@/sweep.lua --quiet --store @/another",
  ["sweep run --shard"] = "@/sweep.lua --quiet --store @/another --shard 0/1",
  ["sweep submit --slurm"] = "@/sweep.lua --slurm --only 3,17",
  ["sweep submit --k8s"] = "@/sweep.lua --k8s --image here/blis",
  ["sweep submit --parallel"] = "@/sweep.lua --parallel --shards 4",
  ["sweep submit --condor"] = "@/sweep.lua --condor --cpus 4 --store @/another",
  ["sweep submit --only"] = "@/sweep.lua --slurm --only 3,17",
  ["sweep submit --image"] = "@/sweep.lua --k8s --image here/blis",
  ["plot --show"] = "@/a.blis --show ttft", ["plot --output"] = "@/a.blis --output @/out.svg",
  ["plot --x"] = "@/store --x x", ["plot --y"] = "@/store --y y",
  ["plot --log"] = "@/a.blis --log x", ["plot --where"] = "@/store --where x=1",
  ["plot --facet"] = "@/store --facet x", ["plot --target-line"] = "@/store --target-line 2",
  ["sweep submit --now"] = "@/sweep.lua --slurm --now",
  ["sweep export --output"] = "@/store --output @/written",
  ["sweep table --figure"] = "@/store --figure y",
  ["sweep table --report"] = "@/store --report @/written.html",
  ["sweep table --x"] = "@/store --format plot --x x",
  ["trace scale --rate"] = "@/t.csv --output @/out --rate 4",
}

for _, name in ipairs { "run", "capacity", "compare", "recommend" } do
  for flag, value in pairs(of_graphs) do
    local line = lines[name]:gsub("^%-%-num%-requests %d+", "")
      .. " --graphs tests/data/graphs/weka.jsonl --graph-limit 2 "
    instead[name .. " " .. flag] = line .. value
      .. ((name == "recommend" or name == "capacity") and "" or " --rate 1")
  end
end
-- Only calibrated states what its coefficients were fitted to.
for _, name in ipairs { "run", "replay", "capacity", "compare", "recommend" } do
  instead[name .. " --strict-coverage"] = lines[name]
    .. " --latency-model calibrated --strict-coverage"
end
-- Graphs as benchmarks play them: so many at a time.
for flag, value in pairs { ["--graph-play"] = "agentx --graph-duration 5s",
  ["--graph-duration"] = "5s", ["--graph-response-grace"] = "1s --graph-duration 5s",
  ["--graph-warm-up-requests"] = "2", ["--graph-primers"] = "", ["--graph-tree-idle-cap"] = "1s",
  ["--graph-idle-cap"] = "1s" } do
  for _, name in ipairs { "run", "capacity", "compare" } do
    local line = lines[name]:gsub("^%-%-num%-requests %d+", "")
      .. " --graphs tests/data/graphs/weka.jsonl --concurrency 2 "
      .. (name == "capacity" and "--vary num-instances " or "")
    instead[name .. " " .. flag] = line .. flag .. " " .. value
  end
end
for _, name in ipairs { "run", "replay" } do
  for flag, value in pairs { ["--timeline-from"] = "0", ["--timeline-to"] = "1s",
    ["--timeline-every"] = "2", ["--timeline-steps"] = "" } do
    instead[name .. " " .. flag] = ("%s --timeline @/written.json %s %s"):format(lines[name], flag,
      value)
  end
end
for _, name in ipairs { "run", "compare", "sweep" } do
  local form = "routesim " .. name
  instead[form .. " --config"] = lines[form]
  instead[form .. " --output"] = lines[form] .. " --output @/written"
  instead[form .. " --trace"] = "--config @/routesim.toml --trace @/routesim.jsonl"
end
for _, flag in ipairs { "gen-trace --output", "convert --output", "convert --input",
  "sweep --rates" } do
  instead["routesim " .. flag] = lines["routesim " .. flag:match "^%S+"]
end
instead["routesim compare --algorithms"] = "--config @/routesim.toml --algorithms round_robin"
instead["conformance --output"] = "dynamo.kv --output @/vectors"
instead["conformance --check"] = "dynamo.kv --output @/vectors && \"$BLIS\" conformance --check "
  .. "@/vectors/router.dynamo.kv.json"
instead["decisions --field"] = lines.decisions .. " --field chosen=x"
instead["export --baseline"] = lines.export .. " --baseline random --seeds 2"
instead["export --seeds"] = instead["export --baseline"]
instead["export --format"] = lines.export .. " --format config"
instead["gate --suite"] = lines.gate
instead["gate --reviewed"] = lines.gate .. " --reviewed @/written --update-reviewed"
instead["gate --update-reviewed"] = instead["gate --reviewed"]
instead["import --from"] = lines.import .. " --from llm-d"

-- Flags of calibrate that compare a replay with what was measured.
for flag, value in pairs { ["--trace-header"] = "", ["--trace-data"] = "", ["--sim-results"] = "",
  ["--report"] = "", ["--itl-data"] = "spec/cmd/calibrate/o.itl.csv",
  ["--sim-metrics"] = "@/metrics.json",
  ["--sim-metrics-blind"] = "@/metrics.json --sim-metrics @/metrics.json --adapter-reference "
    .. "@/reference.json",
  ["--adapter-reference"] = "@/reference.json --sim-metrics @/metrics.json --sim-metrics-blind "
    .. "@/metrics.json",
  ["--warmup-requests"] = "1", ["--network-rtt-us"] = "100", ["--network-bandwidth-mbps"] = "10",
  ["--hit-rate-tolerance-pp"] = "3", ["--ttft-mape-threshold"] = "0.1",
  ["--adapter-mape-threshold"] = "0.1", ["--slo-ttft"] = "default=1s",
  ["--slo-itl"] = "default=1s", ["--slo-e2e"] = "default=1s" } do
  instead["calibrate " .. flag] = measured .. (value == "" and "" or flag .. " " .. value)
end

for name, policy in pairs { ["gepa-evaluate"] = "--policy-config",
  ["openevolve-evaluate"] = "--candidate" } do
  local one_run = policy .. " @/bundle.yaml --workload tests/data/workload/many.yaml"
  instead[name .. " " .. policy], instead[name .. " --workload"] = one_run, one_run
  instead[name .. " --fitness-weights"] = one_run .. " --fitness-weights throughput:1"
end
instead["openevolve-evaluate --config"] = "--config @/bundle.yaml --candidate @/bundle.yaml "
  .. "--workload tests/data/workload/many.yaml"

for _, name in ipairs { "eval", "gepa-evaluate", "openevolve-evaluate" } do
  instead[name .. " --stage"] = "spec/eval/small_suite.lua @/policy.lua --stage smoke -j 1"
  instead[name .. " --heldout"] = "spec/eval/small_suite.lua @/policy.lua full -j 1 --heldout"
  instead[name .. " --batch"] = "spec/eval/small_suite.lua smoke -j 1 --batch @/batch.jsonl"
  instead[name .. " --frozen"] = evaluated .. "--frozen @/policy.lua"
  instead[name .. " --shinka-dir"] = evaluated .. "--shinka-dir @"
  instead[name .. " --scenario"] = evaluated .. "--scenario a"
  instead[name .. " --wall"] = evaluated .. "--wall 5"
end

--- A flag as somebody would write it; nil when nobody knows how.
local function usual(option)
  local flag = option.flag
  if option.type == "boolean" then return flag end
  for _, choice in ipairs(option.choices or {}) do
    if choice ~= option.default then return ("%s '%s'"):format(flag, choice) end
  end
  if option.is_output then return flag .. " @/written" .. (option.endings or { "" })[1] end
  local scale = units.scale(option.type:match "_us$" and "us" or option.unit)
  local value = option.default or option.min and math.max(option.min, 1)
  if scale and value and option.type ~= "numbers" then
    return ("%s %s"):format(flag, units.text(value * scale))
  end
  if option.default ~= nil then return ("%s '%s'"):format(flag, option.default) end
  if option.min then return ("%s %d"):format(flag, value) end
end

--- Fills a new folder with traces, results and files that flags name.
local function fill(folder)
  local outcome = program.shell(([[mkdir @ &&
    "$BLIS" run NUMBERS --quiet --trace-output @/t --save @/a.blis >/dev/null &&
    "$BLIS" run --num-requests 40 --rate 100 --output-tokens 8 --quiet --trace-output @/many \
      >/dev/null && echo 'print(1)' >@/script.lua &&
    echo 'return "least-loaded"' >@/policy.lua &&
    echo '{"policy": "@/policy.lua"}' >@/batch.jsonl &&
    echo 'local r = require("blis").sweep { parameters = { { "x", { 1, 2 } } }, name = "small",
      trial = function(p) return { y = p.x } end }:run { store = "@/store", quiet = true }
      print(r)' >@/sweep.lua && "$BLIS" @/sweep.lua >/dev/null &&
    mkdir @/bin && printf '#!/bin/sh\ncat\n' >@/bin/sbatch && chmod +x @/bin/sbatch &&
    printf 'models: []\n' >@/catalogue.yaml &&
    printf 'request_number,instance\n0,instance_0\n' >@/pins.csv &&
    printf 'time_s,available\n0,1\n' >@/spot.csv &&
    printf '[simulation]\nseed = 7\nwarmup_requests = 1\n[cluster]\ngpu_type = "A100"\n' \
      >@/routesim.toml &&
    printf 'num_backends = 3\nkv_cache_blocks = 2000\n[trace]\nformat = "synthetic"\n' \
      >>@/routesim.toml &&
    printf '[trace.synthetic]\nrate = 5\nduration_sec = 2\n' >>@/routesim.toml &&
    "$BLIS" routesim gen-trace --duration 1 --rate 5 --output @/routesim.jsonl >/dev/null &&
    printf 'routing: {policy: least-loaded}\n' >@/bundle.yaml &&
    printf 'threshold: {threshold_ms: 1}\n' >@/detectors.yaml &&
    head -51 tests/data/measured/llama-3.1-8b.csv >@/observed.csv &&
    echo '{"cache_hit_rate": 0.32, "ttft_mean_ms": 25, "total_output_tokens": 500,
      "vllm_estimated_duration_s": 5}' >@/metrics.json &&
    echo '{"model": "m", "adapter_aware": {"ttft": 20, "output_throughput": 100},
      "adapter_blind": {"ttft": 10, "output_throughput": 110}}' >@/reference.json &&
    echo '{"num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 8,
      "vocab_size": 1000, "intermediate_size": 512, "torch_dtype": "bfloat16",
      "hidden_act": "silu", "max_position_embeddings": 2048}' >@/config.json]])
    :gsub("@", folder):gsub("NUMBERS", small))
  assert.equal(0, outcome.status, outcome.err)
end

--- True for commands that tell what they did on standard error, if at all.
local function says_nothing(line)
  return line:match "^check" or line:match "^sweep merge" or line:match "^sweep retry"
    or line:match "^serve %-%-mcp" or line:match "^sweep tell"
end

-- Searches whose lines nothing keeps, so that they are soon over.
local status_of = { capacity = 3, recommend = 3 }

--- Runs one line; returns what is wrong with how it went, or nil.
local function problem_of(line, folder)
  local text = line:gsub("@", folder)
  -- A job is handed in to a stand-in.
  local outcome = program.shell(('rm -f %s/written*; PATH="%s/bin:$PATH" "$BLIS" %s </dev/null')
    :format(folder, folder, text))
  local function tell(what) return ("blis %s: %s: %s"):format(text, what, outcome.err) end
  local is_over = outcome.status == 0 or outcome.status == status_of[line:match "^%S+"]
  if not is_over then return tell("status " .. outcome.status) end
  if outcome.err:find("traceback", 1, true) then return tell "traceback" end
  if line:find("@/written", 1, true) then
    local name = line:match "@/(written%S*)"
    local written = files.read(folder .. "/" .. name) or files.read(folder .. "/written.csv")
    if not written or written == "" then return tell "nothing was written" end
  elseif outcome.out == "" and not line:find("@/out", 1, true) and not says_nothing(line) then
    return tell "nothing was printed"
  end
end

-- Commands that take the flags of `run`. A sanitizer sees the same C code for these flags in each
-- of the commands, so the sanitized build runs them with `run` alone.
local is_like_run = { capacity = true, compare = true, recommend = true, replay = true }

local flags_of_run = {}
for _, command in ipairs(commands) do
  for _, form in ipairs(command.name == "run" and command.forms or {}) do
    for _, group in ipairs(form.definition.groups) do
      for _, option in ipairs(group.options) do flags_of_run[option.flag] = true end
    end
  end
end

local has_kv_events = program.shell('"$BLIS" --version').out:match "KV events: libzmq" ~= nil

--- The flags of a command that this build runs.
local function flags_of(form)
  local flags = {}
  local leaves_out = form.words == "live" or os.getenv "BLIS_SANITIZED" and is_like_run[form.words]
  local of_run = leaves_out and flags_of_run or {}
  for _, group in ipairs(form.definition.groups) do
    for _, option in ipairs(group.options) do
      local is_built = has_kv_events or not option.flag:find("--kv-events", 1, true)
      if is_built and not of_run[option.flag] then flags[#flags + 1] = option end
    end
  end
  return flags
end

--- Whether this build has a command.
local function is_built(command)
  local core = require "blis.core"
  if command.name == "live" then return core.live_library() ~= nil end
  return command.name ~= "observe" or core.live_library() and core.observe_library()
end

--- Starts the server; returns its process.
local function start_server()
  if not is_built { name = "observe" } then return nil end
  return program.shell(([["$BLIS" live --model qwen/qwen3-14b --hardware H100 --quiet --speed 5 \
    --gateway 127.0.0.1:%d --duration 20m >/dev/null 2>&1 & echo $!
    for i in $(seq 200); do curl -s -o /dev/null %s/health && break; sleep 0.05; done]]):format(
    port, endpoint)).out:match "%d+"
end

describe("the program as users run it #host", function()
  local folder, kept, server

  lazy_setup(function()
    server = start_server()
    folder = os.tmpname()
    kept = folder .. ".kept"
    os.remove(folder)
    fill(folder)
    assert(os.rename(folder, kept))
  end)

  lazy_teardown(function()
    if server then os.execute("kill -TERM " .. server) end
    os.execute(("rm -rf '%s' '%s'"):format(folder, kept))
  end)

  for _, command in ipairs(commands) do
    for _, form in ipairs(is_built(command) and command.forms or {}) do
      it(("runs %s with each of its flags"):format(form.words), function()
        local base = assert(lines[form.words], "there is no line for " .. form.words)
        -- Files name their folder, so each command gets the same one, as it was at first.
        assert(os.execute(("rm -rf '%s' && cp -R '%s' '%s'"):format(folder, kept, folder)))
        local problems = { problem_of(form.words .. " " .. base, folder) }
        for _, option in ipairs(flags_of(form)) do
          local flag = examples[option.flag] or usual(option)
          local line = instead[form.words .. " " .. option.flag]
            or flag and base .. " " .. flag
          problems[#problems + 1] = not line and "there is no example of " .. option.flag
            or problem_of(form.words .. " " .. line, folder)
        end
        assert.equal("", table.concat(problems, "\n"))
      end)
    end
  end

  it("tells which flags of pools and links have no effect", function()
    local function tells(part, text)
      local outcome = program.shell('"$BLIS" run --num-requests 2 ' .. text .. " </dev/null")
      assert.equal(0, outcome.status)
      assert.equal(part ~= nil, outcome.err:find(part or "no effect", 1, true) ~= nil, outcome.err)
    end
    local pools = "--prefill-instances 1 --decode-instances 1 "
    for _, flag in ipairs { "--prefill-tp 2", "--decode-nic 25", "--prefill-hardware H100" } do
      tells("flags of prefill and decode have no effect without --prefill-instances", flag)
      tells(nil, pools .. flag)
    end
    tells("--pd-transfer-contention has no effect in profile design", pools
      .. "--pd-transfer-contention")
    tells(nil, pools .. "--pd-transfer-contention --profile go-blis")
  end)

  it("runs every command with --help", function()
    for _, command in ipairs(commands) do
      local outcome = program.run(command.name, "--help")
      assert.equal(0, outcome.status, command.name)
      assert.matches("^usage: blis " .. command.name:gsub("%p", "%%%0"), outcome.out)
    end
  end)
end)
