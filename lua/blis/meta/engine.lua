---@meta
--- KV caches, latency models, instances by themselves: types whose values come from C, for editors;
--- nothing here is ever run.

--- One serving engine by itself: `blis.instance {...}`.
---@class blis.LoneInstance
---@field now_us integer
---@field next_us integer? time of its next event; nil if there are no events
---@field waiting string[] ids of the requests in the wait queue, in the order in which they came
---@field running string[] ids of the requests in the batch, in the order in which they came
---@field queue_depth integer waiting
---@field batch_size integer running
---@field kv_blocks integer
---@field used_kv_blocks integer reserved by requests
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
---@operator len: integer requests on this instance
local lone = {}

--- Adds a request at a time (default: its arrival): an item of a list, or a table with
--- prompt_tokens, output_tokens, and optionally content, arrival_us, deadline_us, slo_class,
--- priority, and labels. Returns its ID.
---@param workload blis.Workload|table
---@param i? integer index in the list, from 1; omit it for a table
---@param now_us? integer
---@return string
function lone:add(workload, i, now_us) end

--- Leading tokens of a request whose blocks are in the KV cache; arguments as for add.
---@param workload blis.Workload|table
---@param i? integer
---@return integer
function lone:cached_tokens(workload, i) end

--- Processes the event at next_us. Returns the records of the requests that ended, for
--- `blis.records():add(record)`; nil if there are no events.
---@return blis.RequestRecord[]?
function lone:step() end

--- Lets go of everything; the instance is of no more use.
function lone:close() end

--- A prompt by content: a number of unique tokens, or a list of { name, tokens } parts, where equal
--- names mean equal content, optionally followed by a number of unique tokens.
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

--- Allocates blocks for a whole prompt and shares cached ones; nil if the cache is full.
---@param prompt blis.Prompt
---@return blis.KvHolder?
function cache:allocate(prompt) end

--- Allocates space for one output token; false if the cache is full.
---@param holder blis.KvHolder
---@return boolean
function cache:append(holder) end

--- Frees the blocks; they remain in the prefix cache until they are reused.
---@param holder blis.KvHolder
function cache:release(holder) end

--- Frees the cache's memory; blocks of its holders become empty.
function cache:close() end

---@class blis.KvHolder
---@field blocks integer
---@field tokens integer
---@field cached_tokens integer found in the cache when it was allocated
---@operator len: integer blocks

--- An engine step as seen by a Lua latency model. The same table is reused for every step: copy
--- numbers, do not keep the table. Requests whose prompt is not fully computed are prefills, other
--- requests decodes.
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

--- A latency model: the result of blis.latency_model.
---@class blis.LatencyModel
---@field name string
---@field from_sums boolean sums over the batch are enough
local latency_model = {}

--- Microseconds of a step.
---@param batch blis.GivenBatchRequest[]|integer[][]|blis.Batch
---@return integer us
function latency_model:step_time(batch) end

--- The step time from sums only; nil if sums are not sufficient.
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

--- The result of blis.kv_capacity; GiB are totals over all tp GPUs.
---@class blis.KvCapacity
---@field model string
---@field hardware string
---@field tp integer
---@field dp integer
---@field block_size integer
---@field blocks integer
---@field tokens integer blocks * block_size
---@field logged_tokens integer the number that vLLM logs; less than tokens with several KV groups
---@field bytes_per_token number of KV cache, on one GPU
---@field bytes_per_block integer
---@field params integer weights of the model
---@field weight_bytes integer
---@field allocatable_bytes integer memory for KV blocks
---@field memory_gib number memory that the engine may use
---@field weights_gib number
---@field activations_gib number
---@field non_torch_gib number
---@field reserved_gib number
---@field overhead_gib number sum of the four above
