---@meta
--- Types whose values come from C, for editors; nothing here is ever run.

--- A request as policies see it. The table is the same for every decision; keep numbers and texts,
--- not the table, and do not write into it: other policies and later decisions would see that.
---@class blis.Request
---@field id string "request_17"
---@field prompt_tokens integer
---@field max_output_tokens integer what the client allowed
---@field output_tokens integer the future: only with oracle = true
---@field tenant string "" = none, as for all texts
---@field slo_class string
---@field model string
---@field session string
---@field client string
---@field prefix_group string
---@field prefix_tokens integer length of the prefix shared with others
---@field round_index integer turn of the session, from 0
---@field priority number higher is more urgent (profile go-blis: lower)
---@field program blis.Program? whose call it is, of session graphs; nil = nobody's
---@field hints table? what the priority policy said beside it; nil = nothing
---@field tenant_requests integer of its tenant that have arrived, this one included
---@field tenant_active integer of its tenant, admitted and not ended
---@field tenant_rate number of its tenant, arrivals per second over the last 10 s
---@field request_rate number the same of all tenants
---@field gateway_queue_size integer requests that wait at the gateway for the pool, as of now
---@field pool_saturation number 1 = full; by the queue's detector on the router's signals
---@field prefix_hash integer equal where prompts begin with the same shared prefix; 0 without one
---@field arrival_us integer
---@field deadline_us integer? nil = none
---@field slo_target_us integer? wanted time to first token; nil = not said
---@field stage string? "prefill" or "decode" that it is routed for; nil where these are not apart
---@field peer integer? index of the instance of the other stage; nil = not known yet
---@field now_us integer time of the decision

--- A program (an agent at work on a task) as of now: `request.program`. Its service is that of its
--- completed calls; what is under way does not count.
---@class blis.Program
---@field id string the name of its graph
---@field parent_session string that called the session of this request; "" = it is the root's
---@field started_us integer
---@field ended_requests integer in whatever way
---@field prompt_tokens integer of its completed calls, cached ones included
---@field output_tokens integer of these
---@field service_us integer of these, each from its admission to a batch to its end
---@field path_service_us integer the same on the longest way of calls to this one
---@field requests_left integer? not yet ended, this one included; with hints = true of the workload
---@field reused_after_us integer? when its context is used again after its end; likewise

--- What policies see of an instance, as fresh as the experiment says. As with requests, what is
--- written into it would be seen by others.
---@class blis.Candidate
---@field id string "instance_3"
---@field index integer place in the cluster, from 1
---@field queue_depth integer waiting, not yet in a batch
---@field batch_size integer in the running batch
---@field pending integer routed here, not yet in the wait queue
---@field in_flight integer routed here and not finished
---@field requests integer another name of in_flight
---@field effective_load integer queue_depth + batch_size + pending (profile go-blis: + in_flight)
---@field kv_utilization number 0 to 1, share of the KV blocks that live requests hold
---@field free_kv_blocks integer
---@field kv_blocks integer
---@field cached_tokens integer leading prompt tokens whose blocks are in the KV cache
---@field prefix_hit number 0 to 1, cached full blocks / full blocks of the prompt
---@field live_prefix_hit number prefix_hit as of now, whatever the delay of cache signals
---@field pending_prefill_tokens integer uncached prompt tokens routed here, no first token yet
---@field decoded_tokens integer in the contexts of the running batch behind the prompts
---@field output_tokens integer decoded_tokens + outputs of the requests that completed here
---@field preemptions integer so far
---@field cache_hit_rate number 0 to 1, so far
---@field max_num_seqs integer limit of the running batch
---@field max_num_batched_tokens integer limit of a step
---@field tp integer GPUs of the instance as stated, 0 = not stated
---@field watts number mean power draw, as stated; 0 = not stated
---@field capacity number how strong it is among its kind, 0 to 1, as stated; 1 = not stated
---@field cost_per_hour number US dollars, as stated; 0 = not stated
---@field role integer sum of what it does: 1 prefill, 2 decode, 4 encode; 0 = no pools
---@field ongoing_tokens integer prompts of the requests in flight
---@field ongoing_decode_tokens integer prompts of those that have their first token
---@field requests_served integer completed here so far
---@field recent_ttft_us number moving mean of the TTFT, each new one with 1/16; 0 = none yet
---@field recent_tpot_us number the same of the mean time between the tokens of a request
---@field estimated_wait_us number to compute pending_prefill_tokens beside the running batch, by the latency model; 0 for one in Lua
---@field estimated_ttft_us number estimated_wait_us + the same of what is not cached of the prompt
---@field utilization number 0 to 1, share of the last 30 s in which it had requests
---@field rolling_watts number mean power draw of the last 30 s: gpu_idle_watts, and the rest of watts by utilization
---@field tokens_per_sec number what a decode step of the running batch yields, by the latency model; 0 without a batch, and for a model in Lua

--- What deciders and routing policies know of the other stage, where prefill and decode are apart;
--- elsewhere all fields are nil. Worked out as it is read, and valid during the decision.
---@class blis.StageContext
---@field stage "prefill"|"decode" being routed; of deciders: "decode", which has been routed
---@field peer blis.Candidate? choice of the other stage, if known; of deciders: who is to decode
---@field prefill blis.Candidate[] that could compute the prompt
---@field decode blis.Candidate[] that could decode
---@field links blis.StageLinks

--- The links between those that prefill and those that decode; of a transfer that began now.
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

--- Numbers on which arithmetic works as a whole. Vectors made in a decision end with it.
---@class blis.Vector
---@field [integer] number
---@operator len: integer
---@operator unm: blis.Vector
---@operator add(blis.Vector|number): blis.Vector
---@operator sub(blis.Vector|number): blis.Vector
---@operator mul(blis.Vector|number): blis.Vector
---@operator div(blis.Vector|number): blis.Vector
---@operator pow(blis.Vector|number): blis.Vector

---@class blis.vec
local vec = {}

--- A vector that lasts, of the numbers in a list.
---@param numbers number[]
---@return blis.Vector
function vec.new(numbers) end

--- The numbers of a vector as a list, which may be kept.
---@param v blis.Vector
---@return number[]
function vec.totable(v) end

--- The least number of v; with a second argument, the smaller ones item by item.
---@param v blis.Vector|number
---@param w? blis.Vector|number
---@return number|blis.Vector
function vec.min(v, w) end

--- The greatest number of v; with a second argument, the larger ones item by item.
---@param v blis.Vector|number
---@param w? blis.Vector|number
---@return number|blis.Vector
function vec.max(v, w) end

--- The sum of all numbers.
---@param v blis.Vector
---@return number
function vec.sum(v) end

--- Numbers below low become low, those above high become high; 0 and 1 by default.
---@param v blis.Vector
---@param low? number
---@param high? number
---@return blis.Vector
function vec.clamp(v, low, high) end

--- (x - min) / (max - min), and when_equal (0 by default) where all are the same. norm(-load, 1)
--- gives the least loaded candidate 1 and the most loaded one 0.
---@param v blis.Vector
---@param when_equal? number
---@return blis.Vector
function vec.norm(v, when_equal) end

--- Items of a where condition is not 0, else those of b.
---@param condition blis.Vector
---@param a blis.Vector|number
---@param b blis.Vector|number
---@return blis.Vector
function vec.where(condition, a, b) end

--- 1 where a < b, else 0.
---@param a blis.Vector|number
---@param b blis.Vector|number
---@return blis.Vector
function vec.lt(a, b) end

--- 1 where a <= b, else 0.
---@param a blis.Vector|number
---@param b blis.Vector|number
---@return blis.Vector
function vec.le(a, b) end

--- 1 where a > b, else 0.
---@param a blis.Vector|number
---@param b blis.Vector|number
---@return blis.Vector
function vec.gt(a, b) end

--- 1 where a >= b, else 0.
---@param a blis.Vector|number
---@param b blis.Vector|number
---@return blis.Vector
function vec.ge(a, b) end

--- 1 where a == b, else 0.
---@param a blis.Vector|number
---@param b blis.Vector|number
---@return blis.Vector
function vec.eq(a, b) end

--- What admission policies see of the cluster. Beside these fields there are mean_, sum_, min_ and
--- max_ with every signal: cluster.mean_queue_depth.
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
---@field hints table? what the priority policy said beside it; nil = nothing
---@field max_output_tokens integer
---@field progress_tokens integer computed already
---@field output_tokens integer the future: only with oracle = true

--- What a scheduler of batches is asked about.
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

--- How a request ended, as on_completion and on_rejection hear of it. One table serves all calls
--- of a run: copy what is to be kept. Times that there are not are nil.
---@class blis.Outcome
---@field state "completed"|"length_capped"|"timed_out"|"unservable"|"failed"|"rejected"
---@field ttft_us? integer
---@field e2e_us? integer
---@field end_us? integer
---@field scheduling_delay_us? integer
---@field mean_itl_us number 0 without inter-token latencies
---@field output_tokens integer
---@field steps integer models that were asked for it; 1 without a cascade
---@field model? string the one that answered; nil without a cascade

--- An attempt of a cascade that has ended, as escalate and on_escalation see it (one table serves
--- all calls of a run: copy what is to be kept), and as result.requests[i].attempts has it.
---@class blis.Attempt
---@field model string that was asked
---@field step integer which attempt of the request it is, from 1
---@field stage integer place in the chain, from 1
---@field stages integer length of the chain
---@field next? string the model behind it in the chain; for escalate alone
---@field state "completed"|"length_capped"|"timed_out"|"unservable"|"failed"|"rejected"
---@field reason? string of a rejection or failure
---@field instance? string
---@field start_us integer when it began
---@field ttft_us? integer from the arrival of the request on
---@field end_us integer
---@field prompt_tokens integer 0 of one that never reached a wait queue
---@field output_tokens integer 0 of one that failed
---@field mean_logprob? number of its tokens; nil of one that failed
---@field verdict? "accept"|"escalate"|"accept_last"|"fail"|"unfinished" in results

--- One request and what became of it. Times that there are not are nil.
---@class blis.RequestRecord
---@field id string "request_17"
---@field number integer
---@field state string "completed", or as in blis.Outcome; "still_running" and its like at the end
---@field arrival_us integer
---@field ttft_us? integer
---@field e2e_us? integer
---@field gateway_wait_us? integer in the gateway's queue, until it was dispatched; part of ttft_us
---@field status_code? integer of HTTP, 429 or 503, where llm-d's gateway answers with one
---@field scheduling_delay_us? integer from the arrival to the first step
---@field itl_sum_us integer sum of the times between its tokens
---@field itl_count integer how many these are
---@field end_us integer
---@field prompt_tokens integer
---@field output_tokens integer
---@field instance? string
---@field tenant string
---@field slo_class string
---@field model string
---@field session string
---@field round_index? integer of requests with a session
---@field was_counted boolean it is part of the percentiles
---@field had_hit boolean some of its prompt was cached when it was first admitted
---@field reason? string of a rejection
---@field encode_instance? string where it was encoded, if it was; then also:
---@field encode_start_us? integer when it had its turn there
---@field encode_end_us? integer from then on it was routed
---@field prefill_instance? string where its prompt was computed, if it decoded elsewhere; then also:
---@field prefill_admitted_us? integer when it first got into a batch there
---@field prefill_end_us? integer
---@field transfer_start_us? integer
---@field transfer_end_us? integer from then on it waited to decode
---@field moved_bytes? integer of its KV, on one GPU
---@field prefill_e2e_us? integer go-blis, where it is a request of its own: from the arrival
---@field decode_e2e_us? integer go-blis, the same of the other part: from the start of decoding

--- The requests of a run in the order of their arrival: `result.requests`.
---@class blis.Requests
---@field [integer] blis.RequestRecord
---@operator len: integer
local requests = {}

--- Figures by a label, as a list that knows its items by name, too.
---@param key "slo_class"|"tenant"|"model"
---@return table<string|integer, blis.Group>
function requests:groups(key) end

--- Figures of those that arrived from from_us on and before to_us.
---@param from_us integer
---@param to_us integer
---@return blis.Window
function requests:window(from_us, to_us) end

--- The same of the requests that were completed behind the first so many: their first arrival and
--- last end are its times.
---@param count integer
---@return blis.Window
function requests:after_completed(count) end

--- How often targets were kept, in the order of the targets.
---@param targets { slo_class: string, ttft_ms?: number, itl_ms?: number, e2e_ms?: number }[]
---@return blis.ClassGoodput[]
function requests:goodput(targets) end

--- Requests that arrived in a part of a run.
---@class blis.GoodputSpan
---@field from_us integer the next span begins where this one ends
---@field arrived integer
---@field judged integer of these: their class has a target
---@field good integer of these: they kept it

--- How often targets were kept over time, by arrivals; the last span has no end.
---@param times_us integer[] where spans begin, in ascending order
---@param targets { slo_class: string, ttft_ms?: number, itl_ms?: number, e2e_ms?: number }[]
---@return blis.GoodputSpan[]
function requests:goodput_over_time(times_us, targets) end

--- How many times lie in each of count equal intervals; what is outside counts at the ends.
---@param time "ttft_us"|"itl_us"|"e2e_us"|"scheduling_delay_us" itl_us: the request's mean
---@param from_us integer
---@param to_us integer
---@param count integer
---@return integer[]
function requests:spread(time, from_us, to_us, count) end

--- How many times lie within each of some limits, in ascending order, and how many there are.
---@param time "ttft_us"|"itl_us"|"e2e_us"|"scheduling_delay_us" itl_us: the request's mean
---@param limits_us integer[]
---@return integer[] counts
---@return integer all
function requests:within(time, limits_us) end

--- What instances had to do over time: means over equal intervals.
---@class blis.InstanceLoad
---@field waiting number[] requests that had reached the instance and were not admitted yet
---@field running number[] requests that were admitted (for good, after preemptions)

---@class blis.Load
---@field arrived integer[] requests
---@field completed integer[]
---@field instances blis.InstanceLoad[]

--- What went on from 0 to to_us, in count equal intervals.
---@param instances integer at least so many are listed
---@param to_us integer
---@param count integer
---@return blis.Load
function requests:load(instances, to_us, count) end

--- The places in this list of the completed requests with the longest E2E, the longest first.
---@param count integer at most so many
---@return integer[]
function requests:slowest(count) end

--- Where the warm-up of the run ends (MSER-5 over the TTFT): the time from which requests count, 0
--- when all do; and false when the run is too short to tell.
---@return integer from_us
---@return boolean is_settled
function requests:warm_up() end

---@class blis.BatchTarget
---@field latency "ttft"|"itl"|"e2e"|"scheduling_delay"
---@field share? number of a percentile, such as 0.99; default: the mean
---@field limit_ms number

---@class blis.BatchFigures
---@field batches? number[] shares that were not served within the limit; or means in ms
---@field tail? number[] shares beyond the percentile itself
---@field value_ms? number the percentile, requests that were not completed being the slowest; nil
--- when it is one of those

--- Requests in 20 batches in the order of their arrivals; lists are nil when there are too few.
---@class blis.Batches
---@field arrived integer
---@field completed integer
---@field span_us integer from the first arrival to the last
---@field e2e_us number mean of the completed
---@field missed? number[] shares that were not completed
---@field ttft? number[] means of the completed, in us
---@field e2e? number[]
---@field targets blis.BatchFigures[]

--- How much the parts of a run differ, of the requests that arrived from from_us on.
---@param from_us integer
---@param targets blis.BatchTarget[]
---@return blis.Batches
function requests:batches(from_us, targets) end

--- The hash of the records, 16 hexadecimal digits.
---@return string
function requests:hash() end

--- Latencies over all requests that were to come, for evaluations: means and 99th percentiles of
--- TTFT and E2E in which one that was not completed has waited, until end_us and at least
--- patience_us; so have those that are missing to planned. worst is the place of the slowest.
---@param patience_us integer
---@param end_us integer
---@param planned integer
---@return { ttft_mean_ms: number, ttft_p99_ms: number, e2e_mean_ms: number, e2e_p99_ms: number, itl_mean_ms: number, offered: integer, completed: integer, rejected: integer, worst: integer? }
function requests:outcomes(patience_us, end_us, planned) end

--- One more record, of a list that `blis.records()` made. Fields of requests that records do not
--- show may be there; any other name is an error, and so is a completed request without ttft_us,
--- e2e_us or end_us.
---@param record blis.RequestRecord
function requests:add(record) end

--- What `blis.scorer "name"` and `blis.scorer {...}` return; other kinds of policies have kind and
--- name alone.
---@class blis.Scorer : blis.Policy
local scorer = {}

--- What the scorer says, in the middle of a decision: of one instance, or of all as a vector.
--- Built-in scorers can be asked at any other time, too, about a request and a candidate of one's
--- own: tables with the fields that the scorer reads.
---@param request blis.Request
---@param candidates blis.Candidate|blis.Columns
---@return number|blis.Vector
function scorer:score(request, candidates) end

--- The scores of all candidates, in their order; outside of decisions as with score. A candidate
--- may say which instance it is with index, else it is its place in the list.
---@param request blis.Request
---@param instances blis.Candidate[]
---@param scores? number[] filled and returned; left out, a new table
---@return number[]
function scorer:score_all(request, instances, scores) end

--- Tells a built-in scorer that is asked outside of runs where a request went, so that one with a
--- memory remembers it. In a run, scorers hear of decisions by themselves.
---@param request blis.Request
---@param instance blis.Candidate { index = 2 } will do
function scorer:observe(request, instance) end

--- A fault that an experiment declared.
---@class blis.FaultNote
---@field time_us integer
---@field instance string
---@field kind string
---@field is_missed boolean the instance was not there, or was down
---@field lost integer requests, at once
---@field rerouted integer
---@field retried integer that are sent again after a pause

--- A decision of an autoscaler that changed something, or was out of bounds.
---@class blis.ScaleEvent
---@field time_us integer
---@field from integer wanted before
---@field to integer wanted from then on
---@field proposed integer what it said
---@field is_oscillation boolean
---@field trigger "interval"|"queue-depth"|"slo-attainment" why the autoscaler was asked
---@field reason string

--- How many instances there are from a time on.
---@class blis.ScaleLevel
---@field time_us integer
---@field wanted integer
---@field ready integer they take requests
---@field paid integer from being asked for until they have gone

--- What an autoscaler may return instead of a number.
---@class blis.ScaleTarget
---@field target integer
---@field reason? string

--- An instance that is ready, as autoscalers see it.
---@class blis.ScaleInstance
---@field id string
---@field kv_utilization number
---@field queue_depth integer
---@field batch_size integer
---@field queued_prefill_tokens integer prompts of requests without a first token
---@field running_kv_tokens integer held by the batch
---@field queued_kv_tokens integer that the queue will hold
---@field kv_capacity_tokens integer
---@field context_length_tokens integer the longest request it takes

--- What an autoscaler saw at one of its last looks.
---@class blis.ScaleSample
---@field now_us integer
---@field replicas integer
---@field ready integer
---@field request_rate number
---@field requests_running number
---@field queue_depth number
---@field kv_utilization number
---@field gateway_queue_size number

--- An instance, for saturation detectors as functions: as it was when it was last read.
---@class blis.SaturationInstance
---@field queue_depth number
---@field kv_utilization number 0 to 1
---@field in_flight number requests that were routed there and have not left
---@field in_flight_tokens number their prompts
---@field age_us number since it was read

--- A tenant that waits in a band of the gateway's queue, for fairness as a function, which is asked
--- where several do.
---@class blis.Flow
---@field tenant string
---@field waiting integer requests
---@field head_wait_us integer how long the one has waited that would be next
---@field service_tokens number attained of late: prompt tokens and twice the output tokens

--- A band of the gateway's queue with requests, for band_selection; the highest priority first. If
--- the chosen band is closed, or none is chosen, nobody leaves.
---@class blis.Band
---@field priority integer
---@field waiting integer requests
---@field longest_wait_us integer
---@field ceiling number it is open while saturation is below that
---@field is_open boolean
---@field dispatched integer requests since the start of the run
---@field dispatched_tokens number the same in prompt tokens

--- A look at a cluster, for blis.autoscaler.
---@class blis.ScaleContext
---@field now_us integer
---@field since_last_scale_us? integer nil: it has not scaled yet
---@field replicas integer wanted as of now
---@field ready integer
---@field starting integer asked for and not ready yet
---@field draining integer on their way out, with requests left
---@field pool "all"|"prefill"|"decode" whose number it is
---@field trigger "interval"|"queue-depth"|"slo-attainment" why it is asked
---@field min integer
---@field max integer
---@field avg_queue_depth number mean wait queue of the ready instances
---@field avg_utilization number mean KV use of the ready instances
---@field samples blis.ScaleSample[] up to 32 looks, oldest first; the last one is this
---@field instances blis.ScaleInstance[] those that are ready
---@field gateway_queue_size number requests that wait at the gateway for the pool
---@field requests_running number requests that were given to instances and have not ended
---@field pool_saturation number how full the pool is, 1 = full; may be above
---@field inflight_tokens number prompt tokens of requests that have not had their first token
---@field kv_utilization number used share of the KV blocks, summed over instances
---@field queue_depth number requests in wait queues, summed over instances
---@field batch_size number requests in batches, summed over instances
---@field request_rate number arrivals since the last look, per second
---@field ttft_p90_us number 90th percentile of the first tokens of the last minute
---@field tpot_p90_us number 90th percentile of the mean times per output token of requests that ended in the last minute
---@field slo_attainment number share of the requests of the last minute that kept their target
---@field prompt_tokens_mean number mean prompt of the arrivals since the last look
---@field output_tokens_mean number mean output of the requests that ended since the last look

--- A simulation that is driven by hand.
---@class blis.Simulation
---@field now_us integer
---@field seed integer
---@field instances blis.Instance[]
---@field injected integer requests that have arrived
---@field routed integer
---@field rejected integer
---@field completed integer
---@field timed_out integer
---@field unservable integer
---@field failed integer lost with their instance
---@field escalated integer times that a cascade asked another model
---@field rerouted integer taken from an instance and routed once more
---@field retried integer lost with their instance and sent once more
---@field in_flight integer arrived and not ended
---@field next_us integer? of the next event; nil when there is none
---@operator len: integer instances
local simulation = {}

--- Something that is scheduled.
---@class blis.PendingEvent
---@field time_us integer
---@field kind "arrival"|"admission"|"routing"|"hand-off"|"queue"|"encoder"|"call"|"instance"|"scaling"
---@field request? string of an arrival, admission or routing
---@field instance? string whose next event it is

--- The event queue as it is: everything that is scheduled, in the order in which it will happen if
--- nothing comes between. Of the source, its next arrival; of an instance, its next event.
---@return blis.PendingEvent[]
function simulation:events() end

--- Executes the next event; false when there was none.
---@return boolean
function simulation:step() end

--- Executes everything up to and including that time.
---@param t_us integer
---@return blis.Simulation self
function simulation:run_until(t_us) end

--- Executes everything and returns the result.
---@return blis.Result
function simulation:run() end

--- Calls fn once at that time, before the instances do anything at it. Also inside hooks.
---@param t_us integer
---@param fn fun(sim: blis.Simulation)
---@return blis.Simulation self
function simulation:at(t_us, fn) end

--- New values of some parameters of a built-in routing policy, for the decisions from now on:
--- `sim:change_routing { kv = 0.1, load = 0.7 }`. An error names one that is fixed for the run.
---@param parameters table<string, number|string|boolean>
---@return blis.Simulation
function simulation:change_routing(parameters) end

--- Decides beforehand where the next routing decision sends a request: the policy is shown that
--- instance alone, as if the others were not there. Stops the run when it is no candidate then; a
--- note of the result tells when no decision came.
---@param request string "request_17"
---@param instance string "instance_2"
---@param stage? "any"|"prefill"|"decode" with pools: of which decision (default "any", the next one)
---@return blis.Simulation self
function simulation:pin(request, instance, stage) end

--- Shows the cluster on standard error from now on while sim:run and sim:run_until go on, as watch =
--- true does in an experiment: on a terminal a picture that is drawn again and again and goes away at
--- the end, elsewhere a line every ten seconds.
---@param interval_ms? integer wall-clock time between two pictures
---@return blis.Simulation self
function simulation:watch(interval_ms) end

--- A second simulation in the same state, made by doing everything that was done to this one once
--- more: it takes as long as this one has taken so far. From then on both go their own ways.
--- Functions of the script are shared; it is an error when one of them remembers so much that the
--- clone came to another state. Not inside hooks; callbacks of sim:at should use the simulation that
--- they are given.
---@return blis.Simulation
function simulation:clone() end

--- Gives its memory back; results stay.
function simulation:close() end

--- One instance of a simulation, live: the signals of blis.Candidate that are not about a request,
--- and these.
---@class blis.Instance : blis.Candidate
---@field completed integer
---@field timed_out integer
---@field unservable integer
---@field steps integer
---@field cache_hits integer blocks
---@field cache_misses integer blocks
---@field used_kv_blocks integer
---@field state "active"|"draining"|"drained"|"failed"
---@field model string "" = it serves any
---@field gpu string
local instance = {}

--- The instance fails: its requests are lost (state "failed"), or go back to routing. Faults are for
--- functions of sim:at and for between steps, not for policies.
---@param options? { reroute?: boolean }
---@return blis.Instance self
function instance:fail(options) end

--- It gets nothing new, and is gone when it has finished what it has; what only waits there can go
--- back to routing.
---@param options? { reroute?: boolean }
---@return blis.Instance self
function instance:drain(options) end

--- It serves again; after a failure or a completed drain, with an empty cache.
---@return blis.Instance self
function instance:restart() end

--- Its prefix cache is emptied; requests in the batch keep their blocks.
---@return blis.Instance self
function instance:lose_cache() end

--- From its next step on, steps take this many times as long as its latency model says; 1 = as at
--- first.
---@param factor number from 0.001 to 1000000
---@return blis.Instance self
function instance:slow(factor) end

--- One serving engine by itself: `blis.instance {...}`.
---@class blis.LoneInstance
---@field now_us integer
---@field next_us integer? of its next event; nil when there is none
---@field waiting string[] ids of the requests in the wait queue, in the order in which they came
---@field running string[] ids of the requests in the batch, in the order in which they came
---@field queue_depth integer waiting
---@field batch_size integer running
---@field kv_blocks integer
---@field used_kv_blocks integer held by requests
---@field free_kv_blocks integer
---@field kv_utilization number 0 to 1
---@field block_size integer tokens of a block
---@field cache_hits integer blocks found so far
---@field cache_misses integer blocks looked for and not found
---@field preemptions integer
---@field completed integer
---@field timed_out integer
---@field unservable integer
---@field steps integer
---@field output_tokens integer of completed requests
---@operator len: integer requests that are here
local lone = {}

--- Gives it a request at a time, by default that of its arrival: one of a list, or a table with
--- prompt_tokens, output_tokens, and perhaps content, arrival_us, deadline_us, slo_class, priority
--- and labels. Returns its id.
---@param workload blis.Workload|table
---@param i? integer place in the list, from 1; left out for a table
---@param now_us? integer
---@return string
function lone:add(workload, i, now_us) end

--- Leading tokens of a request whose blocks are in the KV cache; arguments as for add.
---@param workload blis.Workload|table
---@param i? integer
---@return integer
function lone:cached_tokens(workload, i) end

--- Does what is to be done at next_us. Returns the records of the requests that ended, for
--- `blis.records():add(record)`; nil when there is nothing to do.
---@return blis.RequestRecord[]?
function lone:step() end

--- Lets go of everything; the instance is of no more use.
function lone:close() end

--- Requests in memory, in order of arrival: a trace, or generated ones.
---@class blis.Workload
---@field [integer] table a request
---@operator len: integer
local list = {}

--- Length and reuse statistics; reuse is counted in blocks of that many tokens, 16 by default.
---@param block_size? integer
---@return table
function list:statistics(block_size) end

--- for i, request in workload:requests() do
---@return fun(list: blis.Workload, i: integer): integer?, table? next
---@return blis.Workload
---@return integer
function list:requests() end

--- Some of the requests, with their numbers and times.
---@param first integer
---@param count integer
---@return blis.Workload
function list:slice(first, count) end

--- Those that arrive in a window: `list:cut { start_us = blis.minutes(5), end_us = blis.minutes(10),
--- from_zero = true }`. Like all methods that return a workload it makes a new one; deadlines move
--- with their arrivals.
---@param options? blis.CutOptions
---@return blis.Workload
function list:cut(options) end

--- The same at another rate: 2 sends twice as many requests per second.
---@param factor number above 0
---@return blis.Workload
function list:scale(factor) end

--- The same in a time that runs now faster, now slower: what arrives at a point's first time then
--- arrives at its second one, with straight lines between the points.
---@param points integer[][] { { from_us, to_us }, ... }, the first times rise, the second never fall
---@return blis.Workload
function list:warp(points) end

--- At most the first max_turns requests of every session, and all without a session.
---@param max_turns integer
---@return blis.Workload
function list:cap(max_turns) end

--- The requests that a function is true for.
---@param test fun(request: table): any
---@return blis.Workload
function list:filter(test) end

--- Writes a trace that blis.trace.read reads back; the file appears when it is complete. tracev2
--- is a pair of files, NAME.csv and NAME.yaml.
---@param path string
---@param options? blis.TraceWriteOptions
function list:write(path, options) end

--- What should be known about the input.
---@return string[]
function list:notes() end

--- What was good enough where the requests come from: the goodput_slo_targets of a tracev2 header.
--- Results have goodput by them, unless slo_targets says otherwise.
---@return blis.SloTarget[]
function list:goodput_targets() end

--- What it is and where it comes from.
---@return string
function list:description() end

--- When the last request arrives; 0 when there is none.
---@return integer
function list:last_arrival_us() end

--- A new list. fn gets each request as a table and returns a table of what changes, or nil to leave
--- the request out. Content stays as it is; a deadline moves with its arrival.
---@param fn fun(request: table): table?
---@return blis.Workload
function list:map(fn) end

--- A trace that stays in its file: blis.trace.stream. Every loop, method and run reads the file
--- anew, each for itself, so memory does not grow with its rows, only with what is different in them
--- (60 to 100 bytes for every session, say). What is printed of it, or written, is what a list would
--- give. A file that changes meanwhile is an error.
---@class blis.TraceStream
---@operator len: integer counts the requests, which may take a pass over the file
local stream = {}

--- for i, request in stream:requests() do
---@return fun(stream: blis.TraceStream, i: integer): integer?, table? next
---@return blis.TraceStream
---@return integer
---@return table closes the file when the loop is left
function stream:requests() end

--- All requests in memory.
---@return blis.Workload
function stream:list() end

---@param block_size? integer
---@return table
function stream:statistics(block_size) end

--- When the last request arrives; 0 when there is none.
---@return integer
function stream:last_arrival_us() end

---@return string[]
function stream:notes() end

---@return blis.SloTarget[]
function stream:goodput_targets() end

---@return string
function stream:description() end

--- Another stream, as the methods of blis.Workload make other lists; the file is read when somebody
--- wants its requests.
---@param options? blis.CutOptions
---@return blis.TraceStream
function stream:cut(options) end

---@param factor number above 0
---@return blis.TraceStream
function stream:scale(factor) end

---@param points integer[][] { { from_us, to_us }, ... }
---@return blis.TraceStream
function stream:warp(points) end

--- Asks the function at once, for every request, and keeps a bit of each.
---@param test fun(request: table): any
---@return blis.TraceStream
function stream:filter(test) end

--- A list: which turns are the first is only known when all were seen.
---@param max_turns integer
---@return blis.Workload
function stream:cap(max_turns) end

---@param path string
---@param options? blis.TraceWriteOptions
function stream:write(path, options) end

---@class blis.Rng a random stream
local rng = {}

--- A whole number from 1 to n, or from m to n.
---@param m integer
---@param n? integer
---@return integer
function rng:integer(m, n) end

--- Uniform from 0 to 1, without 1.
---@return number
function rng:number() end

--- Exponentially distributed.
---@param mean? number 1 by default
---@return number
function rng:exponential(mean) end

--- Normally distributed.
---@param mean? number 0 by default
---@param std_dev? number 1 by default
---@return number
function rng:normal(mean, std_dev) end

--- Shuffles a list in place and returns it.
---@param items any[]
---@return any[] items
function rng:shuffle(items) end

--- Events in the order of time, class, pushing.
---@class blis.EventQueue
---@operator len: integer
local queue = {}

--- Adds an event.
---@param time_us integer
---@param value any
---@param class? integer lower ones first among equal times; 0 by default
---@return integer handle
function queue:push(time_us, value, class) end

--- Takes the next event out; nil when there is none.
---@return integer? time_us
---@return any value
---@return integer class
function queue:pop() end

--- When the next event is; nil when there is none.
---@return integer? time_us
function queue:next_us() end

--- Takes an event out, wherever it is.
---@param handle integer
---@return boolean is_cancelled false when it is pending no longer
function queue:cancel(handle) end

--- Gives an event another time.
---@param handle integer
---@param time_us integer
---@return boolean is_moved false when it is pending no longer
function queue:reschedule(handle, time_us) end

--- Drops all events; it cannot be used any more.
function queue:close() end

--- A prompt by content: a number of tokens of its own, or a list of { name, tokens } parts whose
--- content is equal wherever the name is, with a number of own tokens at the end.
---@alias blis.Prompt integer|(any[]|integer)[]

---@class blis.KvCache
---@field blocks integer
---@field block_size integer
---@field free_blocks integer
---@field used_blocks integer
---@field hits integer found blocks that were claimed
---@field misses integer blocks taken for new content
---@operator len: integer used_blocks
local cache = {}

--- Leading tokens of a prompt whose blocks are in the cache.
---@param prompt blis.Prompt
---@return integer tokens
function cache:match(prompt) end

--- Blocks for a whole prompt, cached ones shared; nil without room.
---@param prompt blis.Prompt
---@return blis.KvHolder?
function cache:allocate(prompt) end

--- Room for one output token; false without.
---@param holder blis.KvHolder
---@return boolean
function cache:append(holder) end

--- Gives the blocks back; they can be found until they are needed for something else.
---@param holder blis.KvHolder
function cache:release(holder) end

--- Gives its memory back; holders of its blocks hold nothing then.
function cache:close() end

---@class blis.KvHolder
---@field blocks integer
---@field tokens integer
---@field cached_tokens integer found in the cache when it was allocated
---@operator len: integer blocks

--- A router's own memory of the prompts it has sent where: what blis.prefix_index returns. Prompts are
--- the request that the policy was called with, while it is being admitted or routed, or contents
--- (blis.Prompt); one index holds one of the two sorts. Instances are what policies and observers
--- get, or their index. `#index` is the number of blocks over all instances, and `pairs(index)` goes
--- over instances and their blocks in order.
---@class blis.PrefixIndex
---@field capacity integer blocks per instance
---@field block_size integer
---@operator len: integer
local prefix_index = {}

--- The prompt goes to that instance. Its blocks become the most recent ones there.
---@param prompt blis.Request|blis.Prompt
---@param instance blis.Candidate|blis.Instance|integer
function prefix_index:record(prompt, instance) end

--- Leading tokens of the prompt, in full blocks, that the instance was sent before; of all
--- candidates as a vector when asked with columns. It changes nothing.
---@param prompt blis.Request|blis.Prompt
---@param instance blis.Candidate|blis.Instance|integer|blis.Columns
---@return integer|blis.Vector tokens
function prefix_index:match(prompt, instance) end

--- The same of several instances, in their order; left out, of all.
---@param prompt blis.Request|blis.Prompt
---@param instances? (blis.Candidate|blis.Instance|integer)[]
---@param tokens? integer[] filled and returned; left out, a new table
---@return integer[] tokens
function prefix_index:match_all(prompt, instances, tokens) end

--- Blocks that it believes at an instance, at most the capacity.
---@param instance blis.Candidate|blis.Instance|integer
---@return integer blocks
function prefix_index:size(instance) end

--- The instance has nothing any more: it has failed or was restarted.
---@param instance blis.Candidate|blis.Instance|integer
function prefix_index:forget(instance) end

--- Nobody has anything any more.
function prefix_index:clear() end

--- Gives its memory back; it cannot be used any more.
function prefix_index:close() end

--- What a latency model in Lua sees of an engine step. The table is the same for every step; keep
--- numbers, not the table. Requests whose prompt is not all computed are prefills, the others
--- decodes.
---@class blis.Batch
---@field [integer] blis.BatchRequest from 1 to requests; none with from_sums = true
---@field requests integer
---@field prefill_tokens integer prompt tokens that the step computes
---@field decode_requests integer each computes one token
---@field decode_context_tokens integer tokens before these, over all decodes
---@field prefill_attention integer sum of new * (2 * prompt + new) over the prefills
---@field prefill_pairs integer twice the pairs of a new token of a prefill and a token before it
---@field prefill_context_tokens integer tokens of the prefills that are computed already
---@operator len: integer

---@class blis.BatchRequest one request of a step, before it
---@field progress_tokens integer computed already
---@field new_tokens integer computed by the step
---@field prompt_tokens integer
---@field is_prefill boolean
---@field is_decode boolean

--- A request of a batch that a script makes: by names, or in this order.
---@class blis.GivenBatchRequest
---@field progress? integer tokens computed before the step, 0 by default
---@field new integer tokens that the step computes
---@field prompt integer
---@field output? integer output tokens; only whether there are any matters

--- A latency model: what blis.latency_model returns.
---@class blis.LatencyModel
---@field name string
---@field from_sums boolean sums over the batch are enough
local latency_model = {}

--- Microseconds of a step.
---@param batch blis.GivenBatchRequest[]|integer[][]|blis.Batch
---@return integer us
function latency_model:step_time(batch) end

--- The same from sums alone; nil when they are not enough.
---@param sums table<string, integer> fields of blis.Batch, 0 by default
---@return integer? us
function latency_model:step_time_from_sums(sums) end

--- From a request's arrival at an instance to the wait queue.
---@param prompt_tokens integer
---@return integer us
function latency_model:queueing_time(prompt_tokens) end

--- Added to the time of every output token, not to the time of the step.
---@return integer us
function latency_model:output_token_time() end

--- Added once to the latency of a request.
---@return integer us
function latency_model:fixed_overhead() end

--- What blis.kv_capacity returns; GiB are over all tp GPUs.
---@class blis.KvCapacity
---@field model string
---@field hardware string
---@field tp integer
---@field dp integer
---@field block_size integer
---@field blocks integer
---@field tokens integer blocks * block_size
---@field bytes_per_token number of KV cache, on one GPU
---@field bytes_per_block integer
---@field params integer weights of the model
---@field weight_bytes integer
---@field allocatable_bytes integer what is left for blocks
---@field memory_gib number what the engine may use
---@field weights_gib number
---@field activations_gib number
---@field non_torch_gib number
---@field reserved_gib number
---@field overhead_gib number sum of the four above
