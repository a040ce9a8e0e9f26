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
  BLIS_SCHEDULER_SCRIPTED /* goes_before decides */
} blis_scheduler_kind;

typedef enum blis_preemption_kind {
  BLIS_PREEMPTION_FCFS,     /* the last of the batch */
  BLIS_PREEMPTION_PRIORITY, /* the least urgent, then the latest */
  BLIS_PREEMPTION_SCRIPTED  /* choose_victim decides */
} blis_preemption_kind;

/* A request of the batch, for choose_victim. */
typedef struct blis_running_request {
  const blis_live_request *request; /* its progress may be out of date */
  int64_t progress_tokens;          /* computed so far */
} blis_running_request;

/*
 * Input of a batch plan: the running requests in the order of the batch, followed
 * by the requests of the wait queue, in one numbering.
 */
typedef struct blis_batch_context {
  int64_t now_us;
  const blis_running_request *running;
  size_t running_count;
  const blis_running_request *waiting;
  size_t waiting_count;
  int64_t free_kv_blocks;
  const struct blis_instance_config *config; /* of the instance */
} blis_batch_context;

typedef struct blis_batch_entry {
  size_t index;   /* running requests first, then waiting ones */
  int64_t tokens; /* of its prefill, at most; 0 = as many as fit */
} blis_batch_entry;

/* Time until the next plan is requested after a plan without work. */
#define BLIS_PLAN_WAIT_US 1000

/* The requests that take part in a step, in order. All other requests compute nothing. */
typedef struct blis_batch_plan {
  blis_batch_entry *entries; /* capacity for all requests; each at most once */
  size_t count;
  bool *preempted; /* by running request: goes back to the queue; all false */
  int64_t wait_us; /* >= 1: the time of a step in which no request computes */
} blis_batch_plan;

typedef enum blis_engine_kind {
  BLIS_ENGINE_FAST,    /* exact fast-forward; falls back where it must */
  BLIS_ENGINE_STEPWISE /* every step, every request: the yardstick */
} blis_engine_kind;

/*
 * Rules of real engines that BLIS (Go) lacks. All false is BLIS (Go).
 */
typedef struct blis_engine_rules {
  /*
   * First tokens and completed requests leave when their step ends, not when it
   * begins, and the engine is busy during the step. The end of a request is the
   * time when its client has the last token: its arrival + its E2E latency.
   */
  bool leaves_at_step_end;
  /*
   * A preempted request continues after its last emitted token: its lost KV is
   * computed again as one prefill, together with the prompt. TTFT and scheduling
   * delay are the first ones. The lost time is between two tokens, as is the time
   * of steps that skipped the request.
   */
  bool resumes_preempted;
  /*
   * Hits and misses of the cache count the blocks of the prompt, once, when a
   * request is first admitted, and not the blocks of its output.
   */
  bool counts_prompt_blocks;
  /* The last block of a fully cached prompt is computed again, because the first token must be
     computed. */
  bool recomputes_last_token;
  /* The KV of a request's last token needs no block, because it is never read. */
  bool drops_last_kv;
  /* The first step of a request receives the number of cached context tokens. */
  bool knows_cached_context;
  /*
   * Asynchronous scheduling (vLLM since 0.14): the next batch is built while a step
   * runs, and tokens are emitted later than they are computed. The latency model's
   * blis_first_token is the delay of the first token. Later tokens follow it at
   * their usual distance.
   */
  bool schedules_ahead;
  /*
   * The next batch is formed when a step starts. A request that reaches the queue while a step runs
   * therefore joins the step after the next or a later one. If no step runs, it starts at once.
   * Requests whose KV arrives from elsewhere are not delayed.
   */
  bool looks_ahead;
  /* The base latency of the CPU tier is paid once for all blocks of an
     allocation that come back together, not for each of them. */
  bool pays_transfer_once;
  /* Output that fills a block at once makes it findable, as other full blocks
     are. Without it, output in blocks of one token never is; with it, every
     step of an instance with such blocks is computed. */
  bool names_whole_blocks;
  /* A request is admitted only if the free blocks suffice for its whole prompt (vLLM,
     scheduler_reserve_full_isl). Nothing is reserved. With it, every engine computes every step.
     Not with a KV layout. */
  bool admits_whole_prompts;
  /*
   * The next three rules come from RouteSim's design document. With any of them,
   * every engine computes every step.
   *
   * Requests join a batch only at boundaries: when it is empty, a prompt has been
   * computed, or a request has left.
   */
  bool joins_at_boundaries;
  /* The KV blocks of the whole request, output included, are taken when it is
     admitted; if there are too few, it is rejected ("kv-full"). */
  bool reserves_whole;
  /* Blocks that no other request may share are free when their request is over, and are evicted
     first (kv/block_pool.h). */
  bool keeps_shared_only;
} blis_engine_rules;

/* Ranks near this one make steps longer by factor per adapter of the batch. */
typedef struct blis_adapter_tier {
  int64_t rank;
  double factor; /* >= 0, finite */
} blis_adapter_tier;

/*
 * LoRA adapters, numbered from 1, as one engine serves them (adapters.h).
 *
 * A load takes load_us, plus fetch_us before it if the adapter is not on the host.
 * A step takes 1 + factor * n times as long with requests of n adapters in the
 * batch. factor belongs to the tier nearest to the largest of their ranks, the
 * lower of two equally near tiers. Everything is borrowed.
 */
typedef struct blis_adapter_config {
  uint32_t count;
  const int64_t *ranks;    /* by number - 1, >= 1 */
  const int64_t *load_us;  /* the same, >= 1 */
  const int64_t *fetch_us; /* the same, >= 0 */
  int64_t slots;           /* adapters on the GPUs at once, >= 1 */
  int64_t host_slots;      /* on the host, >= slots; 0 = no limit */
  const blis_adapter_tier *tiers;
  size_t tier_count; /* 0 = adapters cost no time */
  /* Later requests may pass a request that waits for its adapter, until it has waited for
     max_skip_us (0 = always). */
  bool skips;
  int64_t max_skip_us;
  /* A load is part of the step that its request joins, and the engine waits for it, as in vLLM;
     otherwise steps continue during a load. */
  bool loads_in_steps;
  /* A preempted request's adapter keeps its slot, as in BLIS (Go). */
  bool pins_preempted;
} blis_adapter_config;

/* Drafts of a sequence in a step, at most. */
enum { BLIS_SPECULATION_MAX = 16 };

/*
 * Speculative decoding (speculation.h). The verified tokens of a step, those
 * drafted and one more, enter its time as decodes; drafting is added to it.
 */
typedef struct blis_speculation_config {
  int64_t tokens; /* drafted per sequence and step, 1 to the limit above */
  /* Probability that draft i is accepted if all earlier drafts are, 0 to 1. */
  double acceptance[BLIS_SPECULATION_MAX];
  /*
   * Acceptance rates of one request: fills rates[tokens], each 0 to 1. Called once,
   * when the request reaches the instance. May fail. NULL = all requests have the
   * same rates.
   */
  blis_status (*rates_of)(void *ud, const blis_live_request *request, double *rates,
                          blis_error *error);
  void *rates_ud;
  /* A pass of the drafter, and more for each sequence that drafts; it takes as
     many as tokens are drafted, or one for all. */
  double pass_us;
  double pass_us_per_sequence;
  bool drafts_in_one_pass;
  int64_t max_batch; /* no drafts in larger batches; 0 = no limit */
  uint64_t seed;
} blis_speculation_config;

/*
 * Data-parallel ranks: instances with consecutive numbers are one deployment of
 * a model together, a group.
 */
typedef struct blis_rank_config {
  uint32_t count; /* of the group's ranks, >= 1 */
  /* Passes of all ranks begin and end together. */
  bool has_barrier;
  int64_t dummy_us;         /* of a pass without work; -1 = as a decode of one token */
  int64_t sync_every;       /* passes after which a group without work may stop; >= 1 */
  int64_t prefill_interval; /* prompts are computed only in every n-th pass; >= 1 */
  double expert_factor;     /* factor of step times, >= 1 */
  /*
   * Routers choose the group, and the group chooses the rank. It uses this number
   * of clients that see the load of ranks as published at this interval
   * (policy/memory/rank_balancer.h has the ranges).
   */
  bool balances_itself;
  uint32_t clients;
  int64_t publish_us;
} blis_rank_config;

/*
 * Begins and ends the steps of an instance together with the steps of others. Such
 * a step is formed, and stays open (blis_instance_open_us) until
 * blis_instance_go_on sets its duration.
 */
typedef struct blis_step_gate {
  void *ud;
  /* When a step may begin that could begin now, *at_us >= now_us. */
  blis_status (*begins_at)(void *ud, int64_t now_us, int64_t *at_us, blis_error *error);
  /* Whether the beginning step may compute prompts. */
  bool (*may_prefill)(const void *ud);
} blis_step_gate;

/* The input of a function for the power draw of a step. */
typedef struct blis_power_step {
  int64_t prefill_tokens;
  int64_t decode_tokens;
  int64_t kv_tokens; /* before these, of all requests */
  int64_t duration_us;
} blis_power_step;

/* Carbon dioxide per kWh after a start time. */
typedef struct blis_carbon_step {
  int64_t from_us; /* of the first one 0, and rising */
  double g_per_kwh;
  double before; /* g / kWh times us, from 0 to from_us */
} blis_carbon_step;

/* Power draw of one GPU of an engine while it computes (power.h), in W. */
typedef struct blis_power_config {
  double prefill_watts; /* in steps that compute prompt tokens, */
  double decode_watts;  /* in other steps */
  /* The power of mixed steps is between these, weighted by the times of both parts on their own. */
  bool mixes;
  double cap_watts;               /* none draws more */
  int64_t gpus;                   /* of the engine, >= 1 */
  const blis_carbon_step *carbon; /* borrowed; NULL = not counted */
  size_t carbon_count;
  /* Returns the power draw of a step, in place of the first three; NULL = not used. Over several
     engines, steps may be reported in another order than their times. May fail. */
  blis_status (*draw)(void *ud, const blis_power_step *step, double *watts, blis_error *error);
  void *draw_ud;
} blis_power_config;

typedef struct blis_instance_config {
  const blis_latency_model *latency; /* borrowed; outlives the instance */
  /* Factors of the time of steps that compute prompt tokens, and of other steps, for power caps;
     0 = 1. */
  double prefill_slowdown;
  double decode_slowdown;
  int64_t kv_blocks;         /* >= 1 */
  int64_t block_size_tokens; /* >= 1 */
  /*
   * KV groups of the model (kv/layout.h); borrowed. NULL: one group of full attention
   * with blocks of block_size_tokens. kv_blocks is the pool that all groups share,
   * and block_size_tokens is the block size under which prompts are named.
   * Requires rules.recomputes_last_token. Cannot be combined with
   * defects.has_plain_kv, a CPU tier, rules.reserves_whole,
   * rules.keeps_shared_only, or kv_source->evicted.
   */
  const blis_kv_layout *kv_layout;
  const blis_front_end_config *front_end; /* borrowed; NULL = requests reach the queue at once */
  int64_t max_num_seqs;                   /* running requests, >= 1 */
  int64_t max_batched_tokens;             /* token budget of a step, >= 1 */
  int64_t long_prefill_threshold_tokens;  /* chunk limit; 0 = off */
  int64_t max_model_len_tokens;           /* 0 = unlimited */
  int64_t horizon_us;                     /* events after it never happen */
  blis_scheduler_kind scheduler;
  blis_preemption_kind preemption;
  /*
   * Serving engine that forms batches; borrowed. NULL: vLLM. With it, block_size_tokens is the page
   * size, max_batched_tokens has no effect, and every engine computes every step. Requires the
   * rules of profile design. Cannot be combined with make_batch, other preemptions, adapters,
   * speculation, a gate, a KV layout, a KV source, a CPU tier, or the rules of RouteSim.
   */
  const blis_sglang_config *sglang;
  /* Likewise, with max_batched_tokens; not both. */
  const blis_trtllm_config *trtllm;
  blis_engine_kind engine;
  blis_instance_defects defects;
  blis_engine_rules rules;
  /* Maximum length of the wait queue. Later requests are rejected ("queue-full"); 0 = no limit. */
  int64_t max_queue_depth;
  /* Prompt and output of all running requests; a larger request runs on its own. 0 = off. */
  int64_t max_reserved_tokens;
  /* CPU tier of the KV cache; 0 blocks = none. */
  int64_t cpu_blocks;
  double cpu_bandwidth_tokens_per_us; /* > 0 with a tier */
  int64_t cpu_base_latency_us;
  double cpu_offload_threshold; /* 0 to 1, see kv_cache.h */
  /* NULL = requests are served alike, whatever adapter they name. */
  const blis_adapter_config *adapters;
  /* NULL = a step computes one token per sequence. With it, every engine computes every step. */
  const blis_speculation_config *speculation;
  /* Borrowed, equal for all of a group; NULL = none, and the instance is its own group. */
  const blis_rank_config *ranks;
  /* Borrowed; NULL = steps begin and end on their own. With it, every step is
     computed, whatever the engine. */
  const blis_step_gate *gate;
  /* NULL = power draw is not needed. */
  const blis_power_config *power;
  /*
   * For BLIS_SCHEDULER_SCRIPTED: whether a precedes b. Must be a strict weak order;
   * ties keep the order of the queue. May fail.
   */
  blis_status (*goes_before)(void *ud, const blis_live_request *a, const blis_live_request *b,
                             bool *before, blis_error *error);
  void *goes_before_ud;
  /*
   * For BLIS_PREEMPTION_SCRIPTED: which of the running requests (in the order of
   * the batch, count >= 1) is preempted; *victim < count. May fail.
   */
  blis_status (*choose_victim)(void *ud, const blis_running_request *running, size_t count,
                               size_t *victim, blis_error *error);
  void *choose_victim_ud;
  /*
   * Plans every batch, in place of the order of admission and of the queue; NULL =
   * these. A request without blocks still preempts as above. May fail. With it,
   * every engine computes every step.
   */
  blis_status (*make_batch)(void *ud, const blis_batch_context *context, blis_batch_plan *plan,
                            blis_error *error);
  /* request has entered the wait queue; with make_batch, or NULL. May fail. */
  blis_status (*request_queued)(void *ud, const blis_live_request *request, int64_t now_us,
                                blis_error *error);
  void *make_batch_ud; /* of both */
  /* Where KV comes from that is not in the cache, see kv_source.h; borrowed,
     outlives the instance. NULL = from nowhere. Not with
     defects.has_plain_kv. */
  const blis_kv_source *kv_source;
  /* Receives the changes of the prefix table; borrowed, outlives the instance. NULL = none. With
     it, the stepwise engine is used. */
  const blis_block_listener *blocks;
} blis_instance_config;

#endif
