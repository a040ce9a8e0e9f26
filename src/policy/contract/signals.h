/*
 * signals.h - all inputs of policies about an instance, by name.
 *
 * The list serves C and Lua policies, error messages, and documentation. A signal is one column of
 * doubles over the candidates. Counts are exact up to 2^53.
 */
#ifndef BLIS_POLICY_CONTRACT_SIGNALS_H
#define BLIS_POLICY_CONTRACT_SIGNALS_H

#include <stdint.h>

/*
 * XX(constant, group, combination, name, unit, description).
 *
 * The group is the source of the value, and determines when the value is available.
 *
 *   FACT        stated for the instance; does not change
 *   BOOKS       always counted by the cluster
 *   COUNTED     counted by the cluster from the start of the run, if a policy declares the signal
 *   ENGINE      state of the instance
 *   HISTORY     computed from the COUNTED signals and the ends of requests
 *   TIME        computed like HISTORY; also changes when no event occurs
 *   CACHE       cached part of a prompt on the instance, with the delay of cache signals
 *   LIVE_CACHE  cached part of a prompt on the instance, without delay
 *   ESTIMATE    computed from HISTORY and CACHE
 *   ADAPTERS    LoRA adapters of the instance
 *   ADAPTER     LoRA adapter of a request
 *
 * The combination defines the value for several instances that a router sees as one: SUM or MEAN.
 */
#define BLIS_SIGNAL_MAP(XX)                                                                        \
  XX(QUEUE_DEPTH, ENGINE, SUM, "queue_depth", "requests", "waiting, not yet in a batch")           \
  XX(BATCH_SIZE, ENGINE, SUM, "batch_size", "requests", "in the running batch")                    \
  XX(PENDING, BOOKS, SUM, "pending", "requests", "routed here, not yet in the wait queue")         \
  XX(IN_FLIGHT, BOOKS, SUM, "in_flight", "requests", "routed here and not finished")               \
  XX(REQUESTS, BOOKS, SUM, "requests", "requests", "another name of in_flight")                    \
  XX(EFFECTIVE_LOAD, ENGINE, SUM, "effective_load", "requests",                                    \
     "queue_depth + batch_size + pending (profile go-blis: + in_flight)")                          \
  XX(KV_UTILIZATION, ENGINE, MEAN, "kv_utilization", "0 to 1",                                     \
     "share of the KV blocks held by live requests")                                               \
  XX(FREE_KV_BLOCKS, ENGINE, SUM, "free_kv_blocks", "blocks", "not held by a live request")        \
  XX(KV_BLOCKS, FACT, SUM, "kv_blocks", "blocks", "size of the KV cache")                          \
  XX(CACHED_TOKENS, CACHE, MEAN, "cached_tokens", "tokens",                                        \
     "leading prompt tokens whose blocks are in the KV cache")                                     \
  XX(PREFIX_HIT, CACHE, MEAN, "prefix_hit", "0 to 1",                                              \
     "cached full blocks of the prompt / all full blocks of the prompt")                           \
  XX(LIVE_PREFIX_HIT, LIVE_CACHE, MEAN, "live_prefix_hit", "0 to 1",                               \
     "prefix_hit as of now, whatever the delay of cache signals")                                  \
  XX(PENDING_PREFILL_TOKENS, COUNTED, SUM, "pending_prefill_tokens", "tokens",                     \
     "uncached prompt tokens routed here that have no first token yet")                            \
  XX(DECODED_TOKENS, ENGINE, SUM, "decoded_tokens", "tokens",                                      \
     "generated tokens in the contexts of the running batch")                                      \
  XX(OUTPUT_TOKENS, ENGINE, SUM, "output_tokens", "tokens",                                        \
     "decoded_tokens + outputs of the requests that completed here")                               \
  XX(PREEMPTIONS, ENGINE, SUM, "preemptions", "requests", "preempted so far")                      \
  XX(CACHE_HIT_RATE, ENGINE, MEAN, "cache_hit_rate", "0 to 1",                                     \
     "blocks found / blocks looked for, so far")                                                   \
  XX(MAX_NUM_SEQS, FACT, SUM, "max_num_seqs", "requests", "limit of the running batch")            \
  XX(MAX_NUM_BATCHED_TOKENS, FACT, SUM, "max_num_batched_tokens", "tokens", "limit of a step")     \
  XX(TP, FACT, SUM, "tp", "GPUs", "of the instance, as stated; 0 = not stated")                    \
  XX(WATTS, FACT, SUM, "watts", "W", "mean power draw, as stated; 0 = not stated")                 \
  XX(CAPACITY, FACT, MEAN, "capacity", "0 to 1", "relative capacity, as stated; 1 = not stated")   \
  XX(COST_PER_HOUR, FACT, SUM, "cost_per_hour", "USD/h", "as stated; 0 = not stated")              \
  XX(ROLE, FACT, MEAN, "role", "roles",                                                            \
     "sum of what it does: 1 prefill, 2 decode, 4 encode; 0 = no pools")                           \
  XX(ONGOING_TOKENS, COUNTED, SUM, "ongoing_tokens", "tokens",                                     \
     "prompts of the requests in flight")                                                          \
  XX(ONGOING_DECODE_TOKENS, COUNTED, SUM, "ongoing_decode_tokens", "tokens",                       \
     "prompts of those that have their first token")                                               \
  XX(REQUESTS_SERVED, HISTORY, SUM, "requests_served", "requests", "completed here so far")        \
  XX(RECENT_TTFT_US, HISTORY, MEAN, "recent_ttft_us", "us",                                        \
     "moving mean of the TTFT, each new one with 1/16; 0 = none yet")                              \
  XX(RECENT_TPOT_US, HISTORY, MEAN, "recent_tpot_us", "us",                                        \
     "moving mean of the mean time between the tokens of a request; 0 = none "                     \
     "yet")                                                                                        \
  XX(ESTIMATED_WAIT_US, HISTORY, MEAN, "estimated_wait_us", "us",                                  \
     "to compute pending_prefill_tokens beside the running batch, by the "                         \
     "latency model; 0 for one in Lua")                                                            \
  XX(ESTIMATED_TTFT_US, ESTIMATE, MEAN, "estimated_ttft_us", "us",                                 \
     "estimated_wait_us + the same of what is not cached of the prompt; with composed, also the "  \
     "front end and the wait for the batch after the next")                                        \
  XX(UTILIZATION, TIME, MEAN, "utilization", "0 to 1",                                             \
     "share of the last 30 s in which it had requests")                                            \
  XX(ROLLING_WATTS, TIME, SUM, "rolling_watts", "W",                                               \
     "mean power draw of the last 30 s: gpu_idle_watts, and the rest of "                          \
     "watts "                                                                                      \
     "by utilization")                                                                             \
  XX(TOKENS_PER_SEC, ENGINE, SUM, "tokens_per_sec", "tokens/s",                                    \
     "what a decode step of the running batch yields, by the latency model; "                      \
     "0 without a batch, and for a model in Lua")                                                  \
  XX(TIERED_PREFIX_HIT, CACHE, MEAN, "tiered_prefix_hit", "0 to 1",                                \
     "prefix_hit that goes on in the KV tiers, each block with the weight of "                     \
     "where it is; tiers as of now")                                                               \
  XX(ADAPTER_SLOTS, FACT, SUM, "adapter_slots", "adapters",                                        \
     "LoRA adapters that it has room for at once; 0 = there are none")                             \
  XX(ADAPTERS_LOADED, ADAPTERS, SUM, "adapters_loaded", "adapters", "in these slots")              \
  XX(ADAPTERS_RUNNING, ADAPTERS, SUM, "adapters_running", "adapters",                              \
     "of requests in the running batch")                                                           \
  XX(ADAPTERS_WAITING, ADAPTERS, SUM, "adapters_waiting", "adapters",                              \
     "of requests in the wait queue")                                                              \
  XX(ADAPTER_LOADED, ADAPTER, MEAN, "adapter_loaded", "0 or 1",                                    \
     "the adapter of the request is in a slot")                                                    \
  XX(ADAPTER_LOADING, ADAPTER, MEAN, "adapter_loading", "0 or 1", "it is on its way there")        \
  XX(ADAPTER_RUNNING, ADAPTER, SUM, "adapter_running", "requests",                                 \
     "of the running batch that have the same adapter")                                            \
  XX(ADAPTER_WAITING, ADAPTER, SUM, "adapter_waiting", "requests",                                 \
     "of the wait queue that have the same adapter")

typedef enum blis_signal {
#define XX(constant, ...) BLIS_SIGNAL_##constant,
  BLIS_SIGNAL_MAP(XX)
#undef XX
      BLIS_SIGNAL_COUNT
} blis_signal;

/* A set of signals, such as the inputs of a policy. Only signals in such a set are maintained. */
typedef uint64_t blis_signal_set;

#define BLIS_SIGNAL_BIT(signal) ((blis_signal_set)1 << (signal))

/* Groups of signals, as bits. */
enum {
  BLIS__IN_FACT = 1 << 0,
  BLIS__IN_BOOKS = 1 << 1,
  BLIS__IN_COUNTED = 1 << 2,
  BLIS__IN_ENGINE = 1 << 3,
  BLIS__IN_HISTORY = 1 << 4,
  BLIS__IN_TIME = 1 << 5,
  BLIS__IN_CACHE = 1 << 6,
  BLIS__IN_LIVE_CACHE = 1 << 7,
  BLIS__IN_ESTIMATE = 1 << 8,
  BLIS__IN_ADAPTERS = 1 << 9,
  BLIS__IN_ADAPTER = 1 << 10
};

/* The bit of a signal if its group is in groups, otherwise 0. The sets below are defined with
   this macro. */
#define BLIS_SIGNAL_IF(groups, constant, group)                                                    \
  | ((BLIS__IN_##group & (groups)) != 0 ? BLIS_SIGNAL_BIT(BLIS_SIGNAL_##constant) : 0)

/*
 * Signals with a cost per request: a policy that may ever read one declares it before its first
 * decision.
 *
 * Signals that are delayed by a refresh interval or by the delay of cache signals also need their
 * past values. A policy that may request such a signal late, with view->column, declares that
 * signal or a signal of this set.
 */
#define BLIS__WITH_HISTORY(constant, group, ...) BLIS_SIGNAL_IF(BLIS__IN_COUNTED, constant, group)
#define BLIS_SIGNALS_WITH_HISTORY ((blis_signal_set)0 BLIS_SIGNAL_MAP(BLIS__WITH_HISTORY))

/* Signals computed from such counts. They are available if any of the counts is declared. */
#define BLIS__OF_HISTORY(constant, group, ...)                                                     \
  BLIS_SIGNAL_IF(BLIS__IN_HISTORY | BLIS__IN_TIME | BLIS__IN_ESTIMATE, constant, group)
#define BLIS_SIGNALS_OF_HISTORY ((blis_signal_set)0 BLIS_SIGNAL_MAP(BLIS__OF_HISTORY))

/* Signals about a request and an instance: the cached part of the request's prompt. */
#define BLIS__OF_PROMPT(constant, group, ...)                                                      \
  BLIS_SIGNAL_IF(BLIS__IN_CACHE | BLIS__IN_LIVE_CACHE | BLIS__IN_ESTIMATE, constant, group)
#define BLIS_SIGNALS_OF_PROMPT ((blis_signal_set)0 BLIS_SIGNAL_MAP(BLIS__OF_PROMPT))
/* Signals about a request and an instance: the request's adapter. */
#define BLIS__OF_ADAPTER(constant, group, ...) BLIS_SIGNAL_IF(BLIS__IN_ADAPTER, constant, group)
#define BLIS_SIGNALS_OF_ADAPTER ((blis_signal_set)0 BLIS_SIGNAL_MAP(BLIS__OF_ADAPTER))
/* All signals about a request and an instance. */
#define BLIS_SIGNALS_OF_REQUEST (BLIS_SIGNALS_OF_PROMPT | BLIS_SIGNALS_OF_ADAPTER)

/* Engine signals of an optional part of the cluster. They are 0 without that part. */
#define BLIS__OF_PARTS(constant, group, ...)                                                       \
  BLIS_SIGNAL_IF(BLIS__IN_ADAPTERS | BLIS__IN_ADAPTER, constant, group)
#define BLIS_SIGNALS_OF_PARTS ((blis_signal_set)0 BLIS_SIGNAL_MAP(BLIS__OF_PARTS))

/* Several instances that a router sees as one have the mean of these signals and the sum of all
   other signals. */
#define BLIS__MEAN_BIT(constant, group, combination, ...) BLIS__##combination##_BIT_OF(constant)
#define BLIS__SUM_BIT_OF(constant)
#define BLIS__MEAN_BIT_OF(constant) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_##constant)
#define BLIS_MEAN_SIGNALS ((blis_signal_set)0 BLIS_SIGNAL_MAP(BLIS__MEAN_BIT))

/* Returns the name of a signal, in static storage. */
const char *blis_signal_name(blis_signal signal);
const char *blis_signal_unit(blis_signal signal);
const char *blis_signal_summary(blis_signal signal);
/* Returns the cluster option that delays the signal, if any. */
const char *blis_signal_freshness(blis_signal signal);

/* Returns BLIS_SIGNAL_COUNT if no signal has that name. */
blis_signal blis_signal_find(const char *name);

#endif
