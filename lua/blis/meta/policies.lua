---@meta
--- What policies see, and policies as objects: types whose values come from C, for editors;
--- nothing here is ever run.

--- A request as seen by policies. The same table is reused for every decision: copy numbers and
--- strings, do not keep the table, and do not write into it, because other policies and later
--- decisions would see the change.
---@class blis.Request
---@field id string "request_17"
---@field prompt_tokens integer
---@field max_output_tokens integer set by the client; 0 = not set (hide_output_limits)
---@field output_tokens integer the future: only with oracle = true
---@field tenant string "" = none, as for all strings
---@field slo_class string
---@field model string
---@field session string
---@field client string
---@field adapter string LoRA adapter
---@field prefix_group string
---@field prefix_tokens integer length of the prefix shared with others
---@field round_index integer turn of the session, from 0
---@field priority number higher is more urgent (profile go-blis: lower)
---@field program blis.Program? the calling program, with session graphs; nil = none
---@field hints table? hints of the priority policy; nil = none
---@field tenant_requests integer of its tenant that have arrived, this one included
---@field tenant_active integer of its tenant, admitted and not ended
---@field tenant_rate number of its tenant, arrivals per second over the last 10 s
---@field request_rate number the same value for all tenants
---@field tenants table<string, blis.TenantState> all tenants that have sent a request, by name. A new
--- table for every decision, which takes time with many tenants
---@field gateway_queue_size integer requests that wait at the gateway for the pool, as of now
---@field pool_saturation number 1 = full; by the queue's detector on the router's signals
---@field prefix_hash integer equal where prompts begin with the same shared prefix; 0 without one
---@field arrival_us integer
---@field deadline_us integer? nil = none
---@field slo_target_us integer? TTFT target; nil = not set
---@field stage string? "prefill" or "decode" that it is routed for; nil where these are not apart
---@field peer integer? index of the instance of the other stage; nil = not chosen yet
---@field now_us integer time of the decision

--- The traffic of a tenant up to now: `request.tenants["team-a"]`.
---@class blis.TenantState
---@field requests integer that have arrived
---@field active integer admitted and not ended
---@field rate number arrivals per second over the last 10 s
---@field slo_class string class of its last request

--- Current state of a program (an agent that works on a task): `request.program`. Its service
--- counts completed calls only.
---@class blis.Program
---@field id string the name of its graph
---@field root_session string of its first request; unique per replay, unlike id
---@field parent_session string that called the session of this request; "" = it is the root's
---@field started_us integer
---@field ended_requests integer in whatever way
---@field prompt_tokens integer of its completed calls, cached ones included
---@field output_tokens integer of these
---@field service_us integer of these, each from its admission to a batch to its end
---@field path_service_us integer the same on the longest way of calls to this one
---@field requests_left integer? not yet ended, this one included; with hints = true of the workload
---@field reused_after_us integer? announced time from its end until its context is used again

--- Signals of an instance, with the delay of the experiment. Do not write into this table, because
--- other policies would see the change.
---@class blis.Candidate
---@field id string "instance_3"
---@field index integer place in the cluster, from 1
---@field queue_depth integer waiting, not yet in a batch
---@field batch_size integer in the running batch
---@field pending integer routed here, not yet in the wait queue
---@field in_flight integer routed here and not finished
---@field requests integer another name of in_flight
---@field effective_load integer queue_depth + batch_size + pending (profile go-blis: + in_flight)
---@field kv_utilization number 0 to 1, fraction of the KV blocks in use
---@field free_kv_blocks integer
---@field kv_blocks integer
---@field cached_tokens integer leading prompt tokens whose blocks are in the KV cache
---@field prefix_hit number 0 to 1, cached full blocks / full blocks of the prompt
---@field live_prefix_hit number prefix_hit as of now, whatever the delay of cache signals
---@field tiered_prefix_hit number prefix_hit including KV tiers, weighted by the location of blocks
---@field adapter_slots integer number of LoRA adapter slots; 0 = no adapters
---@field adapters_loaded integer in these slots
---@field adapters_running integer of requests in the running batch
---@field adapters_waiting integer of requests in the wait queue
---@field adapter_loaded integer the adapter of the request is in a slot: 1, else 0
---@field adapter_loading integer 1 if the adapter is loading, otherwise 0
---@field adapter_running integer requests of the running batch that have the same adapter
---@field adapter_waiting integer requests of the wait queue that have the same adapter
---@field pending_prefill_tokens integer uncached prompt tokens routed here, no first token yet
---@field decoded_tokens integer context tokens of the running batch after the prompts
---@field output_tokens integer decoded_tokens + outputs of the requests that completed here
---@field preemptions integer so far
---@field cache_hit_rate number 0 to 1, so far
---@field max_num_seqs integer limit of the running batch
---@field max_num_batched_tokens integer limit of a step
---@field tp integer GPUs of the instance as stated, 0 = not stated
---@field watts number mean power draw, as stated; 0 = not stated
---@field capacity number how strong it is among its kind, 0 to 1, as stated; 1 = not stated
---@field cost_per_hour number US dollars, as stated; 0 = not stated
---@field role integer sum of its stages: 1 prefill, 2 decode, 4 encode; 0 = no pools
---@field ongoing_tokens integer prompts of the requests in flight
---@field ongoing_decode_tokens integer prompt tokens of requests with a first token
---@field requests_served integer completed here so far
---@field recent_ttft_us number exponential moving mean of TTFT with weight 1/16; 0 = no value yet
---@field recent_tpot_us number exponential moving mean of the time between the tokens of a request
---@field estimated_wait_us number estimated time for pending_prefill_tokens; 0 for Lua models
---@field estimated_ttft_us number estimated_wait_us + estimated time for the uncached prompt tokens
---@field utilization number 0 to 1, share of the last 30 s in which it had requests
---@field rolling_watts number mean power of the last 30 s, from gpu_idle_watts and watts
---@field tokens_per_sec number estimated decode throughput of the running batch; 0 for Lua models

--- Information about the other stage in a disaggregated cluster, for disaggregation and routing
--- policies; otherwise all fields are nil. Computed on access, and valid during the decision.
---@class blis.StageContext
---@field stage "prefill"|"decode" being routed; of deciders: "decode", which has been routed
---@field peer blis.Candidate? chosen instance of the other stage, if any
---@field prefill blis.Candidate[] that could compute the prompt
---@field decode blis.Candidate[] that could decode
---@field links blis.StageLinks

--- The links between prefill and decode instances; values for a transfer that starts now.
---@class blis.StageLinks
---@field gb_s fun(prefill: any, decode: any): number bandwidth: its share of the tightest link
---@field transfer_ms fun(prefill: any, decode: any): number time of the request's KV, with latency

--- The same signals as columns over all candidates of a decision.
---@class blis.Columns
---@field count integer
---@field queue_depth blis.Vector
---@field batch_size blis.Vector
---@field pending blis.Vector
---@field in_flight blis.Vector
---@field requests blis.Vector
---@field effective_load blis.Vector
---@field kv_utilization blis.Vector
---@field free_kv_blocks blis.Vector
---@field kv_blocks blis.Vector
---@field cached_tokens blis.Vector
---@field prefix_hit blis.Vector
---@field live_prefix_hit blis.Vector
---@field tiered_prefix_hit blis.Vector
---@field adapter_slots blis.Vector
---@field adapters_loaded blis.Vector
---@field adapters_running blis.Vector
---@field adapters_waiting blis.Vector
---@field adapter_loaded blis.Vector
---@field adapter_loading blis.Vector
---@field adapter_running blis.Vector
---@field adapter_waiting blis.Vector
---@field pending_prefill_tokens blis.Vector
---@field decoded_tokens blis.Vector
---@field output_tokens blis.Vector
---@field preemptions blis.Vector
---@field cache_hit_rate blis.Vector
---@field max_num_seqs blis.Vector
---@field max_num_batched_tokens blis.Vector
---@field tp blis.Vector
---@field watts blis.Vector
---@field capacity blis.Vector
---@field cost_per_hour blis.Vector
---@field role blis.Vector
---@field ongoing_tokens blis.Vector
---@field ongoing_decode_tokens blis.Vector
---@field requests_served blis.Vector
---@field recent_ttft_us blis.Vector
---@field recent_tpot_us blis.Vector
---@field estimated_wait_us blis.Vector
---@field estimated_ttft_us blis.Vector
---@field utilization blis.Vector
---@field rolling_watts blis.Vector
---@field tokens_per_sec blis.Vector
---@operator len: integer

--- The cluster as seen by admission policies. In addition to these fields, mean_, sum_, min_, and
--- max_ can prefix every signal: cluster.mean_queue_depth.
---@class blis.ClusterView
---@field instances blis.Candidate[]
---@field now_us integer
---@field [string] number

--- A request in an instance, as schedulers see it.
---@class blis.LiveRequest
---@field id string
---@field arrival_us integer
---@field deadline_us integer 0 = none
---@field prompt_tokens integer
---@field priority number
---@field hints table? hints of the priority policy; nil = none
---@field max_output_tokens integer as routers see it
---@field progress_tokens integer computed already
---@field output_tokens integer the future: only with oracle = true

--- Input of a batch scheduler.
---@class blis.BatchContext
---@field instance string "instance_0"
---@field now_us integer
---@field running blis.LiveRequest[] in the order of the batch
---@field waiting blis.LiveRequest[] in the order of the queue
---@field free_kv_blocks integer
---@field kv_blocks integer
---@field block_size integer tokens of a block
---@field max_num_seqs integer
---@field max_num_batched_tokens integer

--- The result of `blis.scorer "name"` and `blis.scorer {...}`. Other kinds of policies have only
--- kind and name.
---@class blis.Scorer : blis.Policy
local scorer = {}

--- Returns the score within a decision, for one instance or for all as a vector. Built-in scorers
--- can also be called at any other time, with a request and a candidate as tables that contain the
--- fields that the scorer reads.
---@param request blis.Request
---@param candidates blis.Candidate|blis.Columns
---@return number|blis.Vector
function scorer:score(request, candidates) end

--- The scores of all candidates, in order; outside of decisions as for score. A candidate can set
--- its instance with index; the default is its position in the list.
---@param request blis.Request
---@param instances blis.Candidate[]
---@param scores? number[] output vector; default: a new table
---@return number[]
function scorer:score_all(request, instances, scores) end

--- Reports the destination of a request to a built-in scorer outside of runs, for scorers with
--- state. In a run, scorers are notified automatically.
---@param request blis.Request
---@param instance blis.Candidate { index = 2 } will do
function scorer:observe(request, instance) end

--- An instance that is ready, as autoscalers see it.
---@class blis.ScaleInstance
---@field id string
---@field kv_utilization number
---@field queue_depth integer
---@field batch_size integer
---@field queued_prefill_tokens integer prompts of requests without a first token
---@field running_kv_tokens integer used by the batch
---@field queued_kv_tokens integer capacity of the queue
---@field kv_capacity_tokens integer
---@field context_length_tokens integer the longest request it takes

--- A pool, for autoscalers that share a limit with another pool.
---@class blis.ScalePool
---@field replicas integer wanted as of now
---@field unconstrained_target integer the target of its latest evaluation without the shared limit
---@field wish integer deprecated name of unconstrained_target
---@field min integer its bounds; both equal replicas if it is not scaled
---@field max integer
---@field gpus_per_replica integer
---@field prefill_watts? number recent power of a GPU in steps with prompt tokens; nil = unknown
---@field decode_watts? number the same in all other steps

--- Inputs of an earlier evaluation of an autoscaler.
---@class blis.ScaleSample
---@field now_us integer
---@field replicas integer
---@field ready integer
---@field request_rate number
---@field requests_running number
---@field queue_depth number
---@field kv_utilization number
---@field gateway_queue_size number

--- A region as functions of `regions.routing` see it.
---@class blis.RegionLook
---@field name string
---@field rtt_ms number round-trip time to the client; to the gateway if it forwards
---@field in_flight integer requests on their way to the region or in it
---@field instances integer instances in service
---@field cost_per_hour number mean over its instances
---@field is_full boolean see regions.spill_above

--- An instance, for saturation detectors in Lua, with the signals of its latest sample.
---@class blis.SaturationInstance
---@field queue_depth number
---@field kv_utilization number 0 to 1
---@field in_flight number requests that were routed there and have not left
---@field in_flight_tokens number their prompts
---@field age_us number since it was read

--- A tenant with requests in a band of the gateway queue, for fairness in Lua, which is called if
--- there are several.
---@class blis.Flow
---@field tenant string
---@field waiting integer requests
---@field head_wait_us integer how long the one has waited that would be next
---@field service_tokens number recent service: prompt tokens and twice the output tokens

--- A band of the gateway queue with requests, for band_selection; highest priority first. If the
--- chosen band is closed, or none is chosen, no request is dispatched.
---@class blis.Band
---@field priority integer
---@field waiting integer requests
---@field longest_wait_us integer
---@field ceiling number it is open while saturation is below that
---@field is_open boolean
---@field dispatched integer requests since the start of the run
---@field dispatched_tokens number the same in prompt tokens

--- An evaluation of a cluster, for blis.autoscaler.
---@class blis.ScaleContext
---@field now_us integer
---@field since_last_scale_us? integer nil: it has not scaled yet
---@field replicas integer wanted as of now
---@field ready integer
---@field starting integer requested and not ready yet
---@field draining integer draining, with requests left
---@field pool "all"|"prefill"|"decode" whose number it is
---@field trigger "interval"|"queue-depth"|"slo-attainment" reason of the evaluation
---@field min integer
---@field max integer
---@field avg_queue_depth number mean wait queue of the ready instances
---@field avg_utilization number mean KV use of the ready instances
---@field samples blis.ScaleSample[] up to 32 evaluations, oldest first, including this one
---@field instances blis.ScaleInstance[] ready instances
---@field own? blis.ScalePool the pool with its GPUs and their power
---@field other? blis.ScalePool the other pool; nil if there is only one
---@field gateway_queue_size number requests that wait at the gateway for the pool
---@field requests_running number requests on instances that have not ended
---@field pool_saturation number how full the pool is, 1 = full; may be above
---@field inflight_tokens number prompt tokens of requests that have not had their first token
---@field kv_utilization number used share of the KV blocks, summed over instances
---@field queue_depth number requests in wait queues, summed over instances
---@field batch_size number requests in batches, summed over instances
---@field request_rate number arrivals since the latest evaluation, per second
---@field ttft_p90_us number 90th percentile of the first tokens of the last minute
---@field tpot_p90_us number p90 of TPOT, requests that ended in the last minute
---@field slo_attainment number fraction of the requests of the last minute that met their target
---@field prompt_tokens_mean number mean prompt length of the arrivals since the latest evaluation
---@field output_tokens_mean number mean output of requests that ended since then

--- A router's index of the prompts that it sent to each instance: the result of blis.prefix_index.
--- A prompt is the request of the current policy call, during admission or routing, or a content
--- (blis.Prompt); an index supports only one of the two kinds. Instances are the objects that
--- policies and observers receive, or their indexes. `#index` is the number of blocks over all
--- instances, and `pairs(index)` iterates over instances and their blocks in order.
---@class blis.PrefixIndex
---@field capacity integer blocks per instance
---@field block_size integer
---@operator len: integer
local prefix_index = {}

--- The prompt goes to that instance. Its blocks become the most recent ones there.
---@param prompt blis.Request|blis.Prompt
---@param instance blis.Candidate|blis.Instance|integer
function prefix_index:record(prompt, instance) end

--- Returns the leading prompt tokens, in full blocks, that the instance has received before; for
--- all candidates as a vector with columns. Does not change the index.
---@param prompt blis.Request|blis.Prompt
---@param instance blis.Candidate|blis.Instance|integer|blis.Columns
---@return integer|blis.Vector tokens
function prefix_index:match(prompt, instance) end

--- The same for several instances, in order; default: all instances.
---@param prompt blis.Request|blis.Prompt
---@param instances? (blis.Candidate|blis.Instance|integer)[]
---@param tokens? integer[] output vector; default: a new table
---@return integer[] tokens
function prefix_index:match_all(prompt, instances, tokens) end

--- Blocks that it believes at an instance, at most the capacity.
---@param instance blis.Candidate|blis.Instance|integer
---@return integer blocks
function prefix_index:size(instance) end

--- The instance has nothing any more: it has failed or was restarted.
---@param instance blis.Candidate|blis.Instance|integer
function prefix_index:forget(instance) end

--- Removes all entries.
function prefix_index:clear() end

--- Frees the index; it cannot be used afterwards.
function prefix_index:close() end

--- What lower tiers have of a prompt, for load of kv_tiers as a function.
---@class blis.KvOffer
---@field cached_tokens integer in the KV cache itself
---@field offered_tokens integer tokens in the tiers after these
---@field tiers table<string, integer> offered tokens by the name of the tier
---@field load_us number time to bring them back
---@field compute_us number time to compute them in a separate step
---@field instance integer its index
---@field now_us integer

--- A step that gpu_step_watts says the draw of.
---@class blis.PowerStep
---@field prefill_tokens integer computed in it
---@field decode_tokens integer computed in it
---@field kv_tokens integer in the caches of its requests, before these
---@field duration_us integer

--- A block of a store, for policy of a tier as a function.
---@class blis.KvTierBlock
---@field depth integer its place in its prompt, from 0
---@field blocks integer length of the prompt; 0 = unknown
---@field uses integer
---@field now_us integer
---@field tier string
---@field reused_after_us? integer announced by its program

--- Autoscalers per pool of a disaggregated cluster.
---@class blis.PoolAutoscalers
---@field prefill? blis.AnyAutoscaler
---@field decode? blis.AnyAutoscaler
