/*
 * stepwise.h - the simple engine, which visits every step, every request, and every block.
 *
 * It follows BLIS (Go, inference-sim f90a1e3a) rule by rule. It is the reference for the fast
 * engine, so it is written for readability. A step costs O(running requests), plus O(waiting
 * requests) if the scheduler sorts.
 *
 * The engine is one module in several files. stepwise.c executes events, and step.c executes one
 * step. batch.c forms the batch, and batch_scripted.c forms it from a plan. stepwise_kv.c stores KV
 * blocks with or without a KV layout, stepwise_remote.c handles KV transfers, and stepwise_load.c
 * handles KV loads. sequence.c recycles the records of requests. serving.h is the interface of
 * serving engines, which form the batches and store the KV; vllm.c is vLLM's.
 */
#ifndef BLIS_INSTANCE_STEPWISE_STEPWISE_H
#define BLIS_INSTANCE_STEPWISE_STEPWISE_H

#include "base/array.h"
#include "base/containers/event_queue.h"
#include "base/time.h"
#include "instance/parts/engine.h"
#include "instance/parts/wait_queue.h"
#include "instance/stepwise/sequence.h"
#include "instance/stepwise/serving.h"
#include "kv/kv_cache.h"
#include "latency/step/latency_model.h"

/*
 * After this number of steps (or empty plans) in which no request exceeds its earlier progress, the
 * simulation counts as stuck. Such steps are either empty, of 1 us each, or repeat work that was
 * lost in a preemption. An ordinary recomputation needs at most a few thousand of them.
 */
enum { BLIS__STUCK_STEPS = 1 << 24, BLIS__STUCK_PLANS = 10000 };

/* Buffers for a batch plan (batch_scripted.c). */
typedef struct blis__plan_room {
  BLIS_ARRAY(blis_running_request) shown;
  BLIS_ARRAY(blis__sequence *) sequences;
  BLIS_ARRAY(blis_batch_entry) entries;
  BLIS_ARRAY(bool) preempted;
} blis__plan_room;

struct blis__stepwise {
  blis_alloc alloc;
  const blis_instance_config *config;
  blis_instance_events events;
  blis_event_queue *queue;
  int64_t clock_us; /* time of the last executed event */
  bool step_pending;
  bool hangs;
  blis__front_end front_end;
  bool is_open;       /* a step is formed and waits for its gate */
  bool open_prefills; /* whether the open step computes prompts */
  /*
   * duration of the open step; duration of the open step; duration of the open step; 0 = it
   * computes nothing
   */
  int64_t open_us;
  int64_t step_us;     /* duration of the last step */
  int64_t step_end_us; /* end of the last step */

  const blis__serving_ops *serving;
  void *serving_state;
  blis_kv_cache *cache;     /* for serving engines with blocks; empty otherwise */
  blis_group_cache *groups; /* uses the pool of the cache; NULL without a KV layout */
  blis__sequences sequences;
  blis__wait_queue waiting;
  blis__adapters *adapters;           /* borrowed; NULL = no adapters */
  blis__power *power;                 /* borrowed; NULL = power draw is not computed */
  BLIS_ARRAY(blis__sequence *) batch; /* running requests, in order of admission */

  /* State of the step being formed. */
  int64_t budget_tokens;      /* remaining token budget */
  int64_t chunk_limit_tokens; /* planned limit of a prefill; 0 = none */
  int64_t wait_us;            /* planned duration if no request computes */
  int64_t batch_size;         /* size before requests left or joined */
  blis__plan_room plan;
  bool has_preempted;
  /* Prefills wait for a later step, because of config.ranks. */
  bool defers_prefills;
  int64_t decoding_steps; /* steps steps steps since the last step without decodes */
  /* requests may join the batch, see joins_at_boundaries */
  bool is_at_boundary;
  bool has_progressed;                      /* a request exceeded its earlier progress */
  blis_block_list found;                    /* cached prefix of the request to admit */
  blis_group_found found_groups;            /* the same prefix, with a KV layout */
  int64_t found_tokens;                     /* its length in both cases */
  BLIS_ARRAY(blis_running_request) running; /* for choose_victim */
  BLIS_ARRAY(blis_batch_item) items;        /* scheduled work, for the latency model */
  BLIS_ARRAY(blis_batch_item) wasted;       /* computed for requests that have ended */

  int64_t parked_blocks; /* blocks of requests that are neither in the queue nor in the batch */
  int64_t waiting_with_kv;
  int64_t loading;            /* parked requests whose KV is being loaded */
  int64_t idle_steps;         /* steps steps steps since the last step with progress */
  blis_instance_stats counts; /* only its counters are used */
  blis_draft_stats drafts;
};

/*
 * Decides how many tokens each request computes in this step (new_tokens), and takes the KV blocks
 * for them. Running requests come first, in order of admission and with preemption. Then requests
 * are admitted from the head of the queue.
 */
BLIS_MUSTUSE blis_status blis__batch_form(blis__stepwise *engine, blis_error *error);

/* Like blis__batch_form, following the plan of config.make_batch. */
BLIS_MUSTUSE blis_status blis__batch_form_planned(blis__stepwise *engine, blis_error *error);

/*
 * Schedules the tokens of the running request at index if it gets blocks. *goes_on is false if the
 * request itself was preempted.
 */
BLIS_MUSTUSE blis_status blis__batch_run(blis__stepwise *engine, size_t index, bool *goes_on,
                                         blis_error *error);

/* Admits a waiting request to the batch if it fits; otherwise *goes_on is false. */
BLIS_MUSTUSE blis_status blis__batch_admit(blis__stepwise *engine, blis__sequence *sequence,
                                           bool *goes_on, blis_error *error);

/*
 * Moves a request, which has its blocks and is not in a list yet, from the queue to the batch. Its
 * first cached_tokens tokens are cached, hits is the number of blocks that count as hits, and it
 * computes tokens tokens now. The batch must have room for it.
 */
void blis__batch_enter(blis__stepwise *engine, blis__sequence *sequence, int64_t cached_tokens,
                       int64_t tokens, int64_t hits);

/* Returns a preempted request, which has left the batch and no longer has KV, to the front or the
   back of the queue. */
void blis__batch_requeue(blis__stepwise *engine, blis__sequence *sequence, bool at_back);

/* Moves the running request at index back to the front of the queue. */
void blis__batch_preempt(blis__stepwise *engine, size_t index);

/* Rejects a waiting request for this reason. */
BLIS_MUSTUSE blis_status blis__stepwise_reject(blis__stepwise *engine, blis__sequence *sequence,
                                               const char *reason, blis_error *error);

/* stepwise_kv.c */

/* Sets the found prefix to the cached part of the chain's prompt_blocks. */
BLIS_MUSTUSE blis_status blis__kv_find(blis__stepwise *engine, const blis_block_chain *chain,
                                       blis_error *error);
/* Sets the found prefix to none. */
void blis__kv_find_nothing(blis__stepwise *engine);
/*
 * Stores *span for the sequence. The tokens before the span must be computed. With claims_found, a
 * sequence without blocks first claims the found prefix. *is_done is false if there are not enough
 * free blocks.
 */
BLIS_MUSTUSE blis_status blis__kv_store(blis__stepwise *engine, blis__sequence *sequence,
                                        const blis_block_span *span, bool claims_found,
                                        bool *is_done, blis_error *error);
/* Like blis__kv_store with claims_found, for a *span whose content comes from elsewhere. */
BLIS_MUSTUSE blis_status blis__kv_set_aside(blis__stepwise *engine, blis__sequence *sequence,
                                            const blis_block_span *span, bool *is_done,
                                            blis_error *error);
/* Adds the full blocks of the first `tokens` tokens of the sequence to the prefix table. */
BLIS_MUSTUSE blis_status blis__kv_name(blis__stepwise *engine, blis__sequence *sequence,
                                       int64_t tokens, blis_error *error);
/* Returns the number of blocks that the sequence lacks for end_tokens tokens. */
int64_t blis__kv_lacking(const blis__stepwise *engine, const blis__sequence *sequence,
                         int64_t end_tokens);
/* Returns the number of blocks that the sequence holds, without blocks for drafts. */
int64_t blis__kv_held(const blis__sequence *sequence);
/* Returns all blocks of the sequence to the pool, except blocks for drafts. */
void blis__kv_release(blis__stepwise *engine, blis__sequence *sequence);

/* Removes the request at index from the batch; the order of the rest is unchanged. */
void blis__batch_remove(blis__stepwise *engine, size_t index);

/* Returns the span of tokens [start, start + count) of a request, for the KV cache. */
blis_block_span blis__span_of(const blis_live_request *request, int64_t start, int64_t count);

/* Schedules a step at the current time unless a step is scheduled. */
BLIS_MUSTUSE blis_status blis__stepwise_wake(blis__stepwise *engine, blis_error *error);

/* Adds the request to the wait queue at the current time of the engine. */
BLIS_MUSTUSE blis_status blis__stepwise_enqueue(blis__stepwise *engine, blis__sequence *sequence,
                                                blis_error *error);

/* stepwise_remote.c: these implement the functions of instance.h with the same names. */
BLIS_MUSTUSE blis_status blis__stepwise_reserve(void *state, blis_live_request *request,
                                                const blis_kv_demand *demand,
                                                int64_t *cached_tokens, bool *is_done,
                                                blis_error *error);
BLIS_MUSTUSE blis_status blis__stepwise_activate(void *state, blis_live_request *request,
                                                 const blis_kv_arrival *arrival, int64_t now_us,
                                                 blis_error *error);
/* Queries the acceptance rates of a new request if requests have their own rates. */
BLIS_MUSTUSE blis_status blis__stepwise_ask_rates(blis__stepwise *engine, blis__sequence *sequence,
                                                  blis_error *error);
/*
 * Completes a request that is neither in the queue nor in the batch. The request keeps its blocks.
 */
void blis__stepwise_hold(blis__stepwise *engine, blis__sequence *sequence);
/*
 * Called if waiting requests that have their KV lack blocks for their next token. Preempts the last
 * of these requests that this instance can recompute, unless it is the only one.
 */
bool blis__stepwise_drop_kv(blis__stepwise *engine);
/*
 * After a preemption that left nothing running: the last waiting request that has its KV, but whose
 * adapter is not in a slot, gives up its KV. Otherwise, the other requests could preempt each other
 * forever, because they need the blocks of a request that cannot run.
 */
void blis__stepwise_drop_idle_kv(blis__stepwise *engine);
/* Called when the request leaves the batch permanently; sets first_itl_us of its live record. */
void blis__stepwise_note_first_itl(const blis__stepwise *engine, const blis__sequence *sequence);
/* Records that the request has blocks and is neither in the queue nor in the batch. */
void blis__stepwise_park(blis__stepwise *engine, blis__sequence *sequence);
/*
 * Ends the state in which the request keeps blocks without running. Its blocks can then be
 * released.
 */
void blis__stepwise_unpark(blis__stepwise *engine, blis__sequence *sequence);

/* stepwise_load.c: KV loads, as described in kv_source.h. */
/*
 * Called before admission: queries the source of a waiting request. If *is_loading, the request has
 * left the queue. If *is_blocked, there are too few blocks for the KV to load. Otherwise, its KV
 * must be computed.
 */
BLIS_MUSTUSE blis_status blis__stepwise_load(blis__stepwise *engine, blis__sequence *sequence,
                                             bool *is_loading, bool *is_blocked, blis_error *error);
BLIS_MUSTUSE blis_status blis__stepwise_loaded(void *state, blis_live_request *request,
                                               uint32_t end, int64_t now_us, blis_error *error);
/* Called if the request leaves the engine while its KV is being loaded. */
void blis__stepwise_cancel_load(blis__stepwise *engine, blis__sequence *sequence);
/* Returns whether an adapter is being loaded. */
static inline bool blis__stepwise_awaits_adapter(const blis__stepwise *engine) {
  return engine->adapters != NULL &&
         blis__adapters_load_end_us(engine->adapters) < BLIS_TIME_NEVER_US;
}

/* Executes a step at the current time of the engine; with a gate, only up to the gate. */
BLIS_MUSTUSE blis_status blis__step(blis__stepwise *engine, blis_error *error);
/* Continues the open step, with a duration of step_us. */
BLIS_MUSTUSE blis_status blis__step_go_on(blis__stepwise *engine, int64_t step_us,
                                          blis_error *error);

/*
 * Ends the request in its final state: releases its blocks, cancels its timeout, and notifies its
 * owner. It must no longer be in the batch or the queue.
 */
BLIS_MUSTUSE blis_status blis__stepwise_end(blis__stepwise *engine, blis__sequence *sequence,
                                            blis_request_state state, int64_t end_us,
                                            blis_error *error);

/* Schedules an event for sequence (NULL = no sequence). */
BLIS_MUSTUSE blis_status blis__stepwise_schedule(blis__stepwise *engine, int64_t time_us,
                                                 int32_t event_class, blis__sequence *sequence,
                                                 blis_error *error);

#endif
