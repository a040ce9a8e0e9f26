/*
 * instance_config.h - the configuration of one serving engine: its limits, scheduler, rules,
 * adapters, speculation, ranks, and power.
 */
#ifndef BLIS_INSTANCE_CONFIG_INSTANCE_CONFIG_H
#define BLIS_INSTANCE_CONFIG_INSTANCE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/time.h"
#include "instance/config/defects.h"
#include "instance/config/front_end.h"
#include "instance/config/sglang_config.h"
#include "instance/config/step_report.h"
#include "instance/config/trtllm_config.h"
#include "instance/request/kv_source.h"
#include "instance/request/live_request.h"
#include "kv/block_pool.h"
#include "kv/layout.h"
#include "latency/step/latency_model.h"

typedef enum blis_scheduler_kind {
  BLIS_SCHEDULER_FCFS,
  BLIS_SCHEDULER_PRIORITY_FCFS,
  BLIS_SCHEDULER_SJF,
  BLIS_SCHEDULER_REVERSE_PRIORITY,
  BLIS_SCHEDULER_SCRIPTED /* goes_before decides the order */
} blis_scheduler_kind;

typedef enum blis_preemption_kind {
  BLIS_PREEMPTION_FCFS,     /* the last request of the batch */
  BLIS_PREEMPTION_PRIORITY, /* the least urgent request; the latest one on a tie */
  BLIS_PREEMPTION_SCRIPTED  /* choose_victim selects the request */
} blis_preemption_kind;

/* A request of the batch, for choose_victim. */
typedef struct blis_running_request {
  const blis_live_request *request; /* its progress may be stale */
  int64_t progress_tokens;          /* tokens computed so far */
} blis_running_request;

/*
 * Input of a batch plan. Requests are numbered consecutively: first the running requests in the
 * order of the batch, then the requests of the wait queue.
 */
typedef struct blis_batch_context {
  int64_t now_us;
  const blis_running_request *running;
  size_t running_count;
  const blis_running_request *waiting;
  size_t waiting_count;
  int64_t free_kv_blocks;
  const struct blis_instance_config *config; /* configuration of the instance */
} blis_batch_context;

typedef struct blis_batch_entry {
  size_t index;   /* number of the request, running requests first */
  int64_t tokens; /* maximum number of prefill tokens; 0 = as many as fit */
} blis_batch_entry;

/* Default time until the next plan, after a plan without work. */
#define BLIS_PLAN_WAIT_US 1000

/* The requests that take part in a step, in order. Other requests compute nothing. */
typedef struct blis_batch_plan {
  blis_batch_entry *entries; /* capacity for all requests; each at most once */
  size_t count;
  bool *preempted; /* per running request: whether it returns to the queue; initially all false */
  int64_t wait_us; /* duration of a step in which no request computes; >= 1 */
} blis_batch_plan;

typedef enum blis_engine_kind {
  BLIS_ENGINE_FAST,    /* exact fast-forward; computes every step where it must */
  BLIS_ENGINE_STEPWISE /* visits every request in every step; the reference for tests */
} blis_engine_kind;

/*
 * Rules of real engines that BLIS (Go) does not have. BLIS (Go) corresponds to all members false.
 */
typedef struct blis_engine_rules {
  /*
   * First tokens and completed requests leave the engine when their step ends, not when it begins,
   * and the engine is busy during the step. A request ends when its client receives the last token:
   * arrival time + E2E latency.
   */
  bool leaves_at_step_end;
  /*
   * A preempted request continues after its last emitted token: its lost KV is computed again as
   * one prefill, together with the prompt. TTFT and scheduling delay keep their first values. The
   * lost time counts as time between two tokens, like the time of steps that skipped the request.
   */
  bool resumes_preempted;
  /*
   * Cache hits and misses count only prompt blocks, once per request, at its first admission.
   * Output blocks are not counted.
   */
  bool counts_prompt_blocks;
  /* The last block of a fully cached prompt is recomputed, because the engine must compute the
     first output token. */
  bool recomputes_last_token;
  /* The KV of a request's last token needs no block, because it is never read. */
  bool drops_last_kv;
  /*
   * The latency model receives the number of cached context tokens in the first step of a request.
   */
  bool knows_cached_context;
  /*
   * Asynchronous scheduling (vLLM since 0.14): the next batch is built while a step runs, and
   * tokens are emitted some time after they are computed. The latency model's blis_first_token is
   * the delay of the first token. Later tokens keep their usual intervals.
   */
  bool schedules_ahead;
  /*
   * The next batch is formed when a step starts. A request that reaches the queue while a step runs
   * therefore misses the next step and can join only a later one. If no step runs, it starts
   * immediately. Requests whose KV arrives from elsewhere are not delayed.
   */
  bool looks_ahead;
  /* The base latency of the CPU tier is added once for all blocks that an allocation reloads, not
     once per block. */
  bool pays_transfer_once;
  /* A block that output fills in one step is added to the prefix cache, like other full blocks.
     Without this rule, output in blocks of one token is never cached. With it, instances with
     blocks of one token compute every step. */
  bool names_whole_blocks;
  /* A request is admitted only if the free blocks suffice for its whole prompt (vLLM,
     scheduler_reserve_full_isl). Nothing is reserved. With it, every engine computes every step.
     Not with a KV layout. */
  bool admits_whole_prompts;
  /*
   * The next three rules come from RouteSim's design document. With any of them,
   * every engine computes every step.
   *
   * Requests join a batch only at boundaries: when the batch is empty, a prompt has been computed,
   * or a request has left.
   */
  bool joins_at_boundaries;
  /* The KV blocks of the whole request, including its output, are taken at admission. If there are
     too few free blocks, the request is rejected ("kv-full"). */
  bool reserves_whole;
  /* Blocks that no other request can share are freed when their request ends, and are reused first
     (kv/block_pool.h). */
  bool keeps_shared_only;
} blis_engine_rules;

/* The slowdown of steps for LoRA ranks near this rank. Each adapter in the batch adds factor. */
typedef struct blis_adapter_tier {
  int64_t rank;
  double factor; /* >= 0, finite */
} blis_adapter_tier;

/*
 * LoRA adapters, numbered from 1, as one engine serves them (adapters.h).
 *
 * A load takes load_us, after fetch_us if the adapter is not in host memory. If the batch has
 * requests of n adapters, a step takes 1 + factor * n times as long. factor comes from the tier
 * whose rank is nearest to the largest rank of these adapters, and from the lower tier on a tie.
 * Everything is borrowed.
 */
typedef struct blis_adapter_config {
  uint32_t count;
  const int64_t *ranks;    /* indexed by number - 1; >= 1 */
  const int64_t *load_us;  /* indexed by number - 1; >= 1 */
  const int64_t *fetch_us; /* indexed by number - 1; >= 0 */
  int64_t slots;           /* maximum number of adapters on the GPUs, >= 1 */
  int64_t host_slots;      /* maximum number in host memory, >= slots; 0 = no limit */
  const blis_adapter_tier *tiers;
  size_t tier_count; /* 0 = adapters do not slow down steps */
  /* Later requests may overtake a request that waits for its adapter, until that request has waited
     for max_skip_us (0 = no limit). */
  bool skips;
  int64_t max_skip_us;
  /* A load is part of the step that its request joins, and the engine waits for it, as in vLLM.
     Otherwise, steps continue during a load. */
  bool loads_in_steps;
  /* A preempted request's adapter keeps its slot, as in BLIS (Go). */
  bool pins_preempted;
} blis_adapter_config;

/* Maximum number of draft tokens per sequence and step. */
enum { BLIS_SPECULATION_MAX = 16 };

/*
 * Speculative decoding (speculation.h). A step verifies the draft tokens of a sequence and one more
 * token. These count as decode tokens in the step time. The time of drafting is added.
 */
typedef struct blis_speculation_config {
  int64_t tokens; /* draft tokens per sequence and step, 1 to BLIS_SPECULATION_MAX */
  /* Probability that draft i is accepted if all earlier drafts are, 0 to 1. */
  double acceptance[BLIS_SPECULATION_MAX];
  /*
   * Stores the acceptance rates of one request in rates[tokens], each 0 to 1. Called once per
   * request, when it reaches the instance. May fail. NULL = all requests have the rates above.
   */
  blis_status (*rates_of)(void *ud, const blis_live_request *request, double *rates,
                          blis_error *error);
  void *rates_ud;
  /* Time of a drafter pass, and additional time per sequence that drafts. A step needs one pass per
     draft token, or a single pass if drafts_in_one_pass. */
  double pass_us;
  double pass_us_per_sequence;
  bool drafts_in_one_pass;
  int64_t max_batch; /* larger batches draft nothing; 0 = no limit */
  uint64_t seed;
} blis_speculation_config;

/*
 * Data-parallel ranks. A group of instances with consecutive numbers forms one deployment of a
 * model.
 */
typedef struct blis_rank_config {
  uint32_t count; /* number of ranks in the group, >= 1 */
  /* The forward passes of all ranks begin and end together. */
  bool has_barrier;
  /* Duration of a pass without work; -1 = the duration of a decode of one token. */
  int64_t dummy_us;
  int64_t sync_every; /* passes after which a group without work may stop; >= 1 */
  /* Prompts are computed only in every n-th pass, with n = prefill_interval >= 1. */
  int64_t prefill_interval;
  double expert_factor; /* multiplies step times; >= 1 */
  /*
   * Routers choose the group, and the group chooses the rank. `clients` API server processes make
   * this choice from rank loads that are published every publish_us (see
   * policy/memory/rank_balancer.h for the ranges).
   */
  bool balances_itself;
  uint32_t clients;
  int64_t publish_us;
} blis_rank_config;

/*
 * Synchronizes the steps of an instance with those of other instances. After such a step is formed,
 * it stays open (blis_instance_open_us) until blis_instance_go_on sets its duration.
 */
typedef struct blis_step_gate {
  void *ud;
  /* Stores the time at which a step that is ready at now_us may begin; *at_us >= now_us. */
  blis_status (*begins_at)(void *ud, int64_t now_us, int64_t *at_us, blis_error *error);
  /* Returns whether the step that begins now may compute prompts. */
  bool (*may_prefill)(const void *ud);
} blis_step_gate;

/* The input of a function for the power draw of a step. */
typedef struct blis_power_step {
  int64_t prefill_tokens;
  int64_t decode_tokens;
  int64_t kv_tokens; /* context tokens of all requests, before these tokens */
  int64_t duration_us;
} blis_power_step;

/* Carbon intensity from a start time. */
typedef struct blis_carbon_step {
  int64_t from_us; /* ascending; 0 in the first entry */
  double g_per_kwh;
  double before; /* integral of the intensity from time 0 to from_us, in g / kWh * us */
} blis_carbon_step;

/* Power draw of one GPU of an engine while the engine computes (power.h), in W. */
typedef struct blis_power_config {
  double prefill_watts; /* in steps that compute prompt tokens */
  double decode_watts;  /* in other steps */
  /*
   * The power of mixed steps is the mean of these two values, weighted by the durations that the
   * two parts would have on their own.
   */
  bool mixes;
  double cap_watts;               /* upper limit of the power draw */
  int64_t gpus;                   /* number of GPUs of the engine, >= 1 */
  const blis_carbon_step *carbon; /* borrowed; NULL = emissions are not counted */
  size_t carbon_count;
  /* Stores the power draw of a step and replaces the first three members. NULL = not used. The
     steps of different engines may be reported out of time order. May fail. */
  blis_status (*draw)(void *ud, const blis_power_step *step, double *watts, blis_error *error);
  void *draw_ud;
} blis_power_config;

typedef struct blis_instance_config {
  const blis_latency_model *latency; /* borrowed; outlives the instance */
  /* Factors for the durations of steps that compute prompt tokens and of other steps, to model
     power caps. 0 means 1. */
  double prefill_slowdown;
  double decode_slowdown;
  int64_t kv_blocks;         /* >= 1 */
  int64_t block_size_tokens; /* >= 1 */
  /*
   * KV groups of the model (kv/layout.h); borrowed. NULL = one group of full attention with blocks
   * of block_size_tokens. kv_blocks is the size of the pool that all groups share.
   * block_size_tokens is the block size used to assign block identities to prompts. Requires
   * rules.recomputes_last_token. Cannot be combined with defects.has_plain_kv, a CPU tier,
   * rules.reserves_whole, rules.keeps_shared_only, or kv_source->evicted.
   */
  const blis_kv_layout *kv_layout;
  /* Borrowed; NULL = requests reach the queue immediately. */
  const blis_front_end_config *front_end;
  int64_t max_num_seqs;                  /* maximum number of running requests, >= 1 */
  int64_t max_batched_tokens;            /* token budget of a step, >= 1 */
  int64_t long_prefill_threshold_tokens; /* chunk limit; 0 = off */
  int64_t max_model_len_tokens;          /* 0 = unlimited */
  int64_t horizon_us;                    /* events after it never happen */
  blis_scheduler_kind scheduler;
  blis_preemption_kind preemption;
  /*
   * Serving engine that forms batches; borrowed; NULL = vLLM. With SGLang, block_size_tokens is the
   * page size, max_batched_tokens has no effect, and every engine computes every step. Requires the
   * rules of profile design. Cannot be combined with make_batch, other preemptions, adapters,
   * speculation, a gate, a KV layout, a KV source, a CPU tier, or the rules of RouteSim.
   */
  const blis_sglang_config *sglang;
  /* Like sglang, except that max_batched_tokens applies. Do not set both. */
  const blis_trtllm_config *trtllm;
  blis_engine_kind engine;
  blis_instance_defects defects;
  blis_engine_rules rules;
  /* Maximum length of the wait queue. Later requests are rejected ("queue-full"); 0 = no limit. */
  int64_t max_queue_depth;
  /*
   * Limit on the total prompt and output tokens of all running requests. A larger request runs
   * alone. 0 = no limit.
   */
  int64_t max_reserved_tokens;
  /* CPU tier of the KV cache; 0 blocks = none. */
  int64_t cpu_blocks;
  double cpu_bandwidth_tokens_per_us; /* > 0 with a tier */
  int64_t cpu_base_latency_us;
  double cpu_offload_threshold; /* 0 to 1, see kv_cache.h */
  /* NULL = the adapters that requests name are ignored. */
  const blis_adapter_config *adapters;
  /* NULL = a step computes one token per sequence. With it, every engine computes every step. */
  const blis_speculation_config *speculation;
  /*
   * Borrowed; must be equal for all instances of a group. NULL = no ranks: the instance is a group
   * on its own.
   */
  const blis_rank_config *ranks;
  /* Borrowed; NULL = steps are not synchronized. With a gate, every engine computes every step. */
  const blis_step_gate *gate;
  /* NULL = power draw is not computed. */
  const blis_power_config *power;
  /*
   * For BLIS_SCHEDULER_SCRIPTED: stores whether a precedes b. This must be a strict weak order.
   * Ties keep the order of the queue. May fail.
   */
  blis_status (*goes_before)(void *ud, const blis_live_request *a, const blis_live_request *b,
                             bool *before, blis_error *error);
  void *goes_before_ud;
  /*
   * For BLIS_PREEMPTION_SCRIPTED: stores the index of the running request to preempt; *victim <
   * count. Requests are in the order of the batch, and count >= 1. May fail.
   */
  blis_status (*choose_victim)(void *ud, const blis_running_request *running, size_t count,
                               size_t *victim, blis_error *error);
  void *choose_victim_ud;
  /*
   * Plans every batch. NULL = batches follow the order of admission and of the queue. A request
   * that lacks blocks still preempts others as described above. May fail. With make_batch, every
   * engine computes every step.
   */
  blis_status (*make_batch)(void *ud, const blis_batch_context *context, blis_batch_plan *plan,
                            blis_error *error);
  /*
   * Called when a request has entered the wait queue. Used only with make_batch; may be NULL. May
   * fail.
   */
  blis_status (*request_queued)(void *ud, const blis_live_request *request, int64_t now_us,
                                blis_error *error);
  void *make_batch_ud; /* for make_batch and request_queued */
  /* Source of KV that is not in the cache, see kv_source.h. Borrowed; outlives the instance. NULL =
     no source. Cannot be combined with defects.has_plain_kv. */
  const blis_kv_source *kv_source;
  /* Receives the changes of the prefix table. Borrowed; outlives the instance. NULL = none. If it
     is set, the stepwise engine is used. */
  const blis_block_listener *blocks;
} blis_instance_config;

#endif
