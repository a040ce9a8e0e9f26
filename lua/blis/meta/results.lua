---@meta
--- Parts of results whose values come from C, as types for editors. This file is never run.

--- Outcome of a request, for on_completion and on_rejection. The same table is reused for all calls
--- of a run: copy values that you keep. Times that do not exist are nil.
---@class blis.Outcome
---@field state "completed"|"length_capped"|"timed_out"|"unservable"|"failed"|"rejected"
---@field ttft_us? integer
---@field e2e_us? integer
---@field end_us? integer
---@field scheduling_delay_us? integer
---@field mean_itl_us number 0 without inter-token latencies
---@field output_tokens integer
---@field steps integer number of models called; 1 without a cascade
---@field model? string model of the response; nil without a cascade

--- A finished attempt of a cascade, for escalate, on_escalation (the same table is reused for all
--- calls of a run: copy values that you keep), and result.requests[i].attempts.
---@class blis.Attempt
---@field model string called model
---@field step integer which attempt of the request it is, from 1
---@field stage integer place in the chain, from 1
---@field stages integer length of the chain
---@field next? string next model in the chain; only for escalate
---@field state "completed"|"length_capped"|"timed_out"|"unservable"|"failed"|"rejected"
---@field reason? string of a rejection or failure
---@field instance? string
---@field start_us integer when it began
---@field ttft_us? integer from the arrival of the request on
---@field end_us integer
---@field prompt_tokens integer 0 if it never reached a wait queue
---@field output_tokens integer 0 if it failed
---@field mean_logprob? number of its tokens; nil if it failed
---@field verdict? "accept"|"escalate"|"accept_last"|"fail"|"unfinished" in results

--- A task: the outcome of a session graph. The critical path leads from its last end back to its
--- start, from each request to the dependency that ended last. queue_us, prefill_us, decode_us,
--- tool_us, and delay_us are its parts, and add up to end_us - start_us.
---@class blis.Task
---@field program string the name of its graph
---@field play integer how often the graph had been played before
---@field state string "completed", "broken" or "unfinished"
---@field requests integer of its graph
---@field submitted integer of these
---@field completed integer of these
---@field path_requests integer on the critical path
---@field start_us integer
---@field end_us integer of its last request that is not in the background
---@field queue_us integer from arrivals to admissions to a batch
---@field prefill_us integer from then to first tokens
---@field decode_us integer from then to ends
---@field tool_us integer waiting for tools
---@field delay_us integer other delays before requests
---@field request_us integer of all its requests, from arrival to end
---@field waited_us integer of all its requests, delays and tools
---@field prompt_tokens integer of completed requests
---@field output_tokens integer of these
---@field cached_tokens integer of their prompts, found in caches or brought from KV tiers when they were first admitted
---@field cached_share number cached_tokens / prompt_tokens

--- The requests of a run in the order of their arrival: `result.requests`.
---@class blis.Requests
---@field [integer] blis.RequestRecord
---@operator len: integer
local requests = {}

--- Metrics by label, as a list that can also be indexed by name. Requests without a label are in
--- the group "". A program is a session graph with all its replays.
---@param key "slo_class"|"tenant"|"model"|"adapter"|"session"|"program"
---@return table<string|integer, blis.Group>
function requests:groups(key) end

--- Metrics of the requests that arrived from from_us until before to_us.
---@param from_us integer
---@param to_us integer
---@return blis.Window
function requests:window(from_us, to_us) end

--- Metrics of the requests completed after this number of first completions, from their first
--- arrival to their last end.
---@param count integer
---@return blis.Window
function requests:after_completed(count) end

--- Metrics of the completed requests that arrived from from_us to to_us. Throughput covers the time
--- from their first arrival to their last end.
---@param from_us integer
---@param to_us integer
---@return blis.Window
function requests:cohort(from_us, to_us) end

--- Start of the measurement of session graphs, after their warm-up, and end of arrivals; nil
--- without a measurement window (see duration_us and warm_up_requests of their workload).
---@return integer? from_us
---@return integer? to_us
function requests:measured() end

--- SLO attainment, in the order of the targets.
---@param targets { slo_class: string, ttft_ms?: number, itl_ms?: number, e2e_ms?: number }[]
---@return blis.ClassGoodput[]
function requests:goodput(targets) end

--- Requests that arrived in a part of a run.
---@class blis.GoodputSpan
---@field from_us integer the next span begins where this one ends
---@field arrived integer
---@field judged integer of these: their class has a target
---@field good integer of these: they kept it

--- SLO attainment over time, by arrival; the last interval has no end.
---@param times_us integer[] where spans begin, in ascending order
---@param targets { slo_class: string, ttft_ms?: number, itl_ms?: number, e2e_ms?: number }[]
---@return blis.GoodputSpan[]
function requests:goodput_over_time(times_us, targets) end

--- Quantiles of a time over the run, in equal intervals of the arrivals from 0 to to_us. The result
--- has a list per quantile, in microseconds; false in an interval without such requests.
---@param time "ttft_us"|"itl_us"|"e2e_us"|"scheduling_delay_us" itl_us: the request's mean
---@param to_us integer
---@param intervals integer 1 to 1000
---@param quantiles number[] each from 0 to 1
---@return (number|false)[][]
function requests:over_time(time, to_us, intervals, quantiles) end

--- Histogram of times in count equal intervals; values outside count in the first or last interval.
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

--- The course of a run from its first arrival to its last, in 24 equal parts. Lists have a value for
--- each part.
---@class blis.Course
---@field requests integer
---@field from_us integer first arrival
---@field to_us integer last arrival
---@field arrived integer[]
---@field waiting integer[] requests that waited for their admission to a batch at the end of a part
---@field in_system integer[] requests that had arrived and not ended at the end of a part
---@field first_tokens integer[] arrivals that got a first token
---@field ttft_ms (number|false)[] mean TTFT of these arrivals; false without any
---@field running number mean number of requests between their admission and their end
---@field held_tokens number mean number of tokens of these: the prompt and half of the output
---@field least_prompt_tokens integer
---@field most_prompt_tokens integer
---@field least_output_tokens integer
---@field most_output_tokens integer

--- Returns arrivals, queues, and TTFT over the course of the run, for judging it.
---@return blis.Course
function requests:course() end

--- What instances had to do over time: means over equal intervals.
---@class blis.InstanceLoad
---@field waiting number[] requests that had reached the instance and were not admitted yet
---@field running number[] admitted requests (final admission, after preemptions)

---@class blis.Load
---@field arrived integer[] requests
---@field completed integer[]
---@field transferring number[] hand-offs in a KV transfer
---@field before_transfer number[] hand-offs between their prefill and their transfer
---@field instances blis.InstanceLoad[]

--- Activity from 0 to to_us, in count equal intervals.
---@param instances integer minimum number of entries
---@param to_us integer
---@param count integer
---@return blis.Load
function requests:load(instances, to_us, count) end

--- The places in this list of the completed requests with the longest E2E, the longest first.
---@param count integer maximum number of entries
---@return integer[]
function requests:slowest(count) end

---@class blis.TurnedAway
---@field state "rejected"|"failed"|"unservable"|"timed_out"
---@field reason? string
---@field requests integer
---@field first integer place in this list of the first of them

--- Outcomes of unserved requests with their reasons, in order of their first request.
---@return blis.TurnedAway[]
function requests:unserved() end

--- Deprecated name of `unserved`.
---@return blis.TurnedAway[]
function requests:turned_away() end

--- End of the warm-up (MSER-5 over TTFT): the time from which requests count, 0 if all do; and
--- false if the run is too short.
---@return integer from_us
---@return boolean is_settled
function requests:warm_up() end

---@class blis.BatchTarget
---@field latency "ttft"|"itl"|"e2e"|"scheduling_delay"
---@field share? number percentile, such as 0.99; default: mean
---@field limit_ms number

---@class blis.BatchFigures
---@field batches? number[] shares that were not served within the limit; or means in ms
---@field tail? number[] shares beyond the percentile itself
---@field value_ms? number the percentile; incomplete requests are the slowest; nil
--- if it is one of these

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

--- Differences between parts of a run, for the requests that arrived from from_us.
---@param from_us integer
---@param targets blis.BatchTarget[]
---@return blis.Batches
function requests:batches(from_us, targets) end

--- The hash of the records, 16 hexadecimal digits.
---@return string
function requests:hash() end

--- Latencies over all expected requests, for evaluations: means and p99 of TTFT and E2E. An
--- incomplete request counts with its wait until end_us, at least patience_us. Requests missing
--- from planned count in the same way. worst is the index of the slowest request.
---@param patience_us integer
---@param end_us integer
---@param planned integer
---@return { ttft_mean_ms: number, ttft_p99_ms: number, e2e_mean_ms: number, e2e_p99_ms: number, itl_mean_ms: number, offered: integer, completed: integer, rejected: integer, worst: integer? }
function requests:outcomes(patience_us, end_us, planned) end

--- The tasks of session graphs, in the order in which they ended, unfinished ones last; none without
--- graphs. An error where the result was loaded from a file, which does not keep them.
---@return blis.Task[]
function requests:tasks() end

--- Adds a record to a list of `blis.records()`. Request fields that records do not have are
--- allowed. Any other name is an error, and so is a completed request without ttft_us, e2e_us, or
--- end_us.
---@param record blis.RequestRecord
function requests:add(record) end

--- A fault that an experiment declared.
---@class blis.FaultNote
---@field time_us integer
---@field instance string
---@field kind string
---@field is_missed boolean the instance did not exist or was down
---@field recover_us? integer from its start, of a reclaim from the stop, until full recovery
---@field factor? number slowdown factor of steps, for kind slow
---@field lost integer requests, at once
---@field rerouted integer
---@field retried integer that are sent again after a pause
---@field recomputed_tokens integer prompt and output tokens that are computed again

--- Number of instances from a time, with faults or spot capacity. A group of data-parallel ranks
--- counts as one.
---@class blis.PresenceLevel
---@field time_us integer
---@field serving integer they take requests
---@field leaving integer draining: they finish their requests
---@field starting integer they do not serve yet, or not again

--- Available spot capacity from a time.
---@class blis.SpotOffer
---@field time_us integer
---@field group integer that it is for, from 1
---@field available integer instances
---@field gpu_price_per_hour number? USD; nil = unknown

--- An autoscaler decision that changed the number of instances, or was clamped.
---@class blis.ScaleEvent
---@field time_us integer
---@field from integer wanted before
---@field to integer new target
---@field proposed integer reason reported by the autoscaler
---@field is_oscillation boolean
---@field trigger "interval"|"queue-depth"|"slo-attainment" cause of the evaluation
---@field reason string

--- Number of instances from a time.
---@class blis.ScaleLevel
---@field time_us integer
---@field wanted integer
---@field ready integer they take requests
---@field paid integer from the scale-up decision to the stop

--- The table that an autoscaler can return instead of a number.
---@class blis.ScaleTarget
---@field target integer
---@field reason? string
---@field unconstrained_target? integer the target without shared limits, which other pools see
