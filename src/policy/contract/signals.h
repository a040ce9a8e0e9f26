/*
 * signals.h - everything a policy may know about an instance, by name.
 *
 * One list for C and Lua policies, errors and documentation. A signal is one
 * column of doubles over the candidates. Counts are exact up to 2^53.
 */
#ifndef BLIS_POLICY_CONTRACT_SIGNALS_H
#define BLIS_POLICY_CONTRACT_SIGNALS_H

#include <stdint.h>

/* XX(constant, name, unit, what it is) */
#define BLIS_SIGNAL_MAP(XX)                                                                        \
  XX(QUEUE_DEPTH, "queue_depth", "requests", "waiting, not yet in a batch")                        \
  XX(BATCH_SIZE, "batch_size", "requests", "in the running batch")                                 \
  XX(PENDING, "pending", "requests", "routed here, not yet in the wait queue")                     \
  XX(IN_FLIGHT, "in_flight", "requests", "routed here and not finished")                           \
  XX(REQUESTS, "requests", "requests", "another name of in_flight")                                \
  XX(EFFECTIVE_LOAD, "effective_load", "requests",                                                 \
     "queue_depth + batch_size + pending (profile go-blis: + in_flight)")                          \
  XX(KV_UTILIZATION, "kv_utilization", "0 to 1", "share of the KV blocks held by live requests")   \
  XX(FREE_KV_BLOCKS, "free_kv_blocks", "blocks", "not held by a live request")                     \
  XX(KV_BLOCKS, "kv_blocks", "blocks", "size of the KV cache")                                     \
  XX(CACHED_TOKENS, "cached_tokens", "tokens",                                                     \
     "leading prompt tokens whose blocks are in the KV cache")                                     \
  XX(PREFIX_HIT, "prefix_hit", "0 to 1",                                                           \
     "cached full blocks of the prompt / all full blocks of the prompt")                           \
  XX(LIVE_PREFIX_HIT, "live_prefix_hit", "0 to 1",                                                 \
     "prefix_hit as of now, whatever the delay of cache signals")                                  \
  XX(PENDING_PREFILL_TOKENS, "pending_prefill_tokens", "tokens",                                   \
     "uncached prompt tokens routed here that have no first token yet")                            \
  XX(DECODED_TOKENS, "decoded_tokens", "tokens",                                                   \
     "generated tokens in the contexts of the running batch")                                      \
  XX(OUTPUT_TOKENS, "output_tokens", "tokens",                                                     \
     "decoded_tokens + outputs of the requests that completed here")                               \
  XX(PREEMPTIONS, "preemptions", "requests", "preempted so far")                                   \
  XX(CACHE_HIT_RATE, "cache_hit_rate", "0 to 1", "blocks found / blocks looked for, so far")       \
  XX(MAX_NUM_SEQS, "max_num_seqs", "requests", "limit of the running batch")                       \
  XX(MAX_NUM_BATCHED_TOKENS, "max_num_batched_tokens", "tokens", "limit of a step")                \
  XX(TP, "tp", "GPUs", "of the instance, as stated; 0 = not stated")                               \
  XX(WATTS, "watts", "W", "mean power draw, as stated; 0 = not stated")                            \
  XX(CAPACITY, "capacity", "0 to 1", "relative capacity, as stated; 1 = not stated")               \
  XX(COST_PER_HOUR, "cost_per_hour", "USD/h", "as stated; 0 = not stated")                         \
  XX(ROLE, "role", "roles", "sum of what it does: 1 prefill, 2 decode, 4 encode; 0 = no pools")    \
  XX(ONGOING_TOKENS, "ongoing_tokens", "tokens", "prompts of the requests in flight")              \
  XX(ONGOING_DECODE_TOKENS, "ongoing_decode_tokens", "tokens",                                     \
     "prompts of those that have their first token")                                               \
  XX(REQUESTS_SERVED, "requests_served", "requests", "completed here so far")                      \
  XX(RECENT_TTFT_US, "recent_ttft_us", "us",                                                       \
     "moving mean of the TTFT, each new one with 1/16; 0 = none yet")                              \
  XX(RECENT_TPOT_US, "recent_tpot_us", "us",                                                       \
     "moving mean of the mean time between the tokens of a request; 0 = none "                     \
     "yet")                                                                                        \
  XX(ESTIMATED_WAIT_US, "estimated_wait_us", "us",                                                 \
     "to compute pending_prefill_tokens beside the running batch, by the "                         \
     "latency model; 0 for one in Lua")                                                            \
  XX(ESTIMATED_TTFT_US, "estimated_ttft_us", "us",                                                 \
     "estimated_wait_us + the same of what is not cached of the prompt")                           \
  XX(UTILIZATION, "utilization", "0 to 1", "share of the last 30 s in which it had requests")      \
  XX(ROLLING_WATTS, "rolling_watts", "W",                                                          \
     "mean power draw of the last 30 s: gpu_idle_watts, and the rest of "                          \
     "watts "                                                                                      \
     "by utilization")                                                                             \
  XX(TOKENS_PER_SEC, "tokens_per_sec", "tokens/s",                                                 \
     "what a decode step of the running batch yields, by the latency model; "                      \
     "0 without a batch, and for a model in Lua")                                                  \
  XX(TIERED_PREFIX_HIT, "tiered_prefix_hit", "0 to 1",                                             \
     "prefix_hit that goes on in the KV tiers, each block with the weight of "                     \
     "where it is; tiers as of now")                                                               \
  XX(ADAPTER_SLOTS, "adapter_slots", "adapters",                                                   \
     "LoRA adapters that it has room for at once; 0 = there are none")                             \
  XX(ADAPTERS_LOADED, "adapters_loaded", "adapters", "in these slots")                             \
  XX(ADAPTERS_RUNNING, "adapters_running", "adapters", "of requests in the running batch")         \
  XX(ADAPTERS_WAITING, "adapters_waiting", "adapters", "of requests in the wait queue")            \
  XX(ADAPTER_LOADED, "adapter_loaded", "0 or 1", "the adapter of the request is in a slot")        \
  XX(ADAPTER_LOADING, "adapter_loading", "0 or 1", "it is on its way there")                       \
  XX(ADAPTER_RUNNING, "adapter_running", "requests",                                               \
     "of the running batch that have the same adapter")                                            \
  XX(ADAPTER_WAITING, "adapter_waiting", "requests", "of the wait queue that have the same adapter")

typedef enum blis_signal {
#define XX(constant, name, unit, what) BLIS_SIGNAL_##constant,
  BLIS_SIGNAL_MAP(XX)
#undef XX
      BLIS_SIGNAL_COUNT
} blis_signal;

/* A set of signals: what a policy reads, so that nothing else is kept up. */
typedef uint64_t blis_signal_set;

#define BLIS_SIGNAL_BIT(signal) ((blis_signal_set)1 << (signal))

/*
 * Signals that count what happened since the start at a cost per request: a
 * policy that may ever read one declares it before its first decision.
 *
 * The past is needed also where signals lag behind, by a refresh interval or a
 * delay of cache signals. A policy that may ask for such a signal late, with
 * view->column, declares that signal or one of these.
 */
#define BLIS_SIGNALS_WITH_HISTORY                                                                  \
  (BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING_PREFILL_TOKENS) |                                           \
   BLIS_SIGNAL_BIT(BLIS_SIGNAL_ONGOING_TOKENS) |                                                   \
   BLIS_SIGNAL_BIT(BLIS_SIGNAL_ONGOING_DECODE_TOKENS))

/* Signals that come of such counts and of nothing else: they can be had where
   any of those is declared. */
#define BLIS_SIGNALS_OF_HISTORY                                                                    \
  (BLIS_SIGNAL_BIT(BLIS_SIGNAL_REQUESTS_SERVED) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_RECENT_TTFT_US) |    \
   BLIS_SIGNAL_BIT(BLIS_SIGNAL_RECENT_TPOT_US) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_ESTIMATED_WAIT_US) |  \
   BLIS_SIGNAL_BIT(BLIS_SIGNAL_ESTIMATED_TTFT_US) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_UTILIZATION) |     \
   BLIS_SIGNAL_BIT(BLIS_SIGNAL_ROLLING_WATTS))

/* Signals about one request and one instance: what is cached of a prompt... */
#define BLIS_SIGNALS_OF_PROMPT                                                                     \
  (BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_PREFIX_HIT) |          \
   BLIS_SIGNAL_BIT(BLIS_SIGNAL_LIVE_PREFIX_HIT) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_TIERED_PREFIX_HIT) | \
   BLIS_SIGNAL_BIT(BLIS_SIGNAL_ESTIMATED_TTFT_US))
/* ...its adapter, which is an engine signal... */
#define BLIS_SIGNALS_OF_ADAPTER                                                                    \
  (BLIS_SIGNAL_BIT(BLIS_SIGNAL_ADAPTER_LOADED) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_ADAPTER_LOADING) |    \
   BLIS_SIGNAL_BIT(BLIS_SIGNAL_ADAPTER_RUNNING) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_ADAPTER_WAITING))
/* ...and all of them. */
#define BLIS_SIGNALS_OF_REQUEST (BLIS_SIGNALS_OF_PROMPT | BLIS_SIGNALS_OF_ADAPTER)

/* Static storage. */
const char *blis_signal_name(blis_signal signal);
const char *blis_signal_unit(blis_signal signal);
const char *blis_signal_summary(blis_signal signal);

/* BLIS_SIGNAL_COUNT when there is no signal of that name. */
blis_signal blis_signal_find(const char *name);

#endif
