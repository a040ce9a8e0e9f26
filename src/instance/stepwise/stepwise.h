/*
 * stepwise.h - the plain engine: every step, every request, every block.
 *
 * It follows BLIS (Go, inference-sim f90a1e3a) rule by rule and is the reference
 * for the fast engine, so it is written for readability. A step costs O(running
 * requests), and O(waiting ones) where the scheduler sorts.
 *
 * One module in several files. stepwise.c executes events, and step.c is one step.
 * batch.c forms its batch, and batch_scripted.c forms it by a plan. stepwise_kv.c
 * stores its blocks with or without a KV layout, stepwise_remote.c handles KV
 * transfers, and stepwise_load.c handles KV loads. sequence.c recycles the records
 * of requests. serving.h is the interface of serving engines, which form the batches
 * and store the KV; vllm.c is vLLM's.
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
 * After this number of steps in which no request exceeds its earlier progress, the
 * simulation is stuck. Such steps are either empty, 1 us each, or repeat work that
 * a preemption has undone; an ordinary recomputation needs at most a few thousand
 * of them.
 */
enum { BLIS__STUCK_STEPS = 1 << 24, BLIS__STUCK_PLANS = 10000 };

/* Buffers for a plan of a batch (batch_scripted.c). */
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
  bool is_open;        /* a step is formed, and its gate has not closed it: */
  bool open_prefills;  /* whether it computes prompts, and its duration; */
  int64_t open_us;     /* 0 = it computes nothing */
  int64_t step_us;     /* how long the last step takes, */
  int64_t step_end_us; /* and until when */

  const blis__serving_ops *serving;
  void *serving_state;
  blis_kv_cache *cache;     /* of serving engines with blocks; others leave it empty */
  blis_group_cache *groups; /* on the pool of the cache; NULL without a KV layout */
  blis__sequences sequences;
  blis__wait_queue waiting;
  blis__adapters *adapters;           /* borrowed; NULL = requests need none */
  blis__power *power;                 /* borrowed; NULL = power draw is not needed */
  BLIS_ARRAY(blis__sequence *) batch; /* running, in order of admission */

  /* State of the step being formed. */
  int64_t budget_tokens;      /* not used yet */
  int64_t chunk_limit_tokens; /* of a prefill, as planned; 0 = none */
  int64_t wait_us;            /* as planned, if no request computes */
  int64_t batch_size;         /* before anybody left or joined */
  blis__plan_room plan;
  bool has_preempted;
  bool defers_prefills;                     /* to a later step, by config.ranks */
  int64_t decoding_steps;                   /* since the last step without decodes */
  bool is_at_boundary;                      /* others may join the batch, see joins_at_boundaries */
  bool has_progressed;                      /* a request got further than ever */
  blis_block_list found;                    /* prefix of the request to admit, */
  blis_group_found found_groups;            /* with a KV layout this prefix, */
  int64_t found_tokens;                     /* and its length in both cases */
  BLIS_ARRAY(blis_running_request) running; /* for choose_victim */
  BLIS_ARRAY(blis_batch_item) items;        /* scheduled, for the latency model */
  BLIS_ARRAY(blis_batch_item) wasted;       /* computed for requests that have ended */

  int64_t parked_blocks; /* of requests in neither queue nor batch */
  int64_t waiting_with_kv;
  int64_t loading;            /* parked, while their KV is brought */
  int64_t idle_steps;         /* since the last step with progress */
  blis_instance_stats counts; /* only the counters */
  blis_draft_stats drafts;
};

/*
 * Decides who computes how many tokens in this step (new_tokens), and gets the
 * KV blocks for them: running requests first, in order of admission and with
 * preemption, then new ones from the head of the queue.
 */
BLIS_MUSTUSE blis_status blis__batch_form(blis__stepwise *engine, blis_error *error);

/* The same as config.make_batch plans it. */
BLIS_MUSTUSE blis_status blis__batch_form_planned(blis__stepwise *engine, blis_error *error);

/*
 * Computes the planned tokens of the running request at index, if it gets blocks;
 * goes_on is false if it had to be preempted itself.
 */
BLIS_MUSTUSE blis_status blis__batch_run(blis__stepwise *engine, size_t index, bool *goes_on,
                                         blis_error *error);

/* Admits a waiting request to the batch, if it fits; otherwise goes_on is false. */
BLIS_MUSTUSE blis_status blis__batch_admit(blis__stepwise *engine, blis__sequence *sequence,
                                           bool *goes_on, blis_error *error);

/*
 * The request, which has its blocks and is not in a list yet, leaves the queue and joins the batch.
 * Its first cached_tokens are cached, hits is the number of blocks that count as such, and it
 * computes tokens now. The batch has room for it.
 */
void blis__batch_enter(blis__stepwise *engine, blis__sequence *sequence, int64_t cached_tokens,
                       int64_t tokens, int64_t hits);

/* A preempted request, which has left the batch and has no KV any more, waits again: at the front
   of the queue, or at its back. */
void blis__batch_requeue(blis__stepwise *engine, blis__sequence *sequence, bool at_back);

/* The running request at index goes back to the front of the queue. */
void blis__batch_preempt(blis__stepwise *engine, size_t index);

/* It waits, and is turned away for this reason. */
BLIS_MUSTUSE blis_status blis__stepwise_reject(blis__stepwise *engine, blis__sequence *sequence,
                                               const char *reason, blis_error *error);

/* stepwise_kv.c */

/* Sets the found prefix to the cached part of the chain's prompt_blocks. */
BLIS_MUSTUSE blis_status blis__kv_find(blis__stepwise *engine, const blis_block_chain *chain,
                                       blis_error *error);
/* Sets the found prefix to none. */
void blis__kv_find_nothing(blis__stepwise *engine);
/*
 * Stores *span, whose tokens before its start are computed, for the sequence. With
 * claims_found, a sequence without blocks claims the found prefix first. *is_done is
 * false when the free blocks do not suffice.
 */
BLIS_MUSTUSE blis_status blis__kv_store(blis__stepwise *engine, blis__sequence *sequence,
                                        const blis_block_span *span, bool claims_found,
                                        bool *is_done, blis_error *error);
/* Claims the found prefix and takes blocks for *span, whose content comes from
   elsewhere; otherwise as blis__kv_store. */
BLIS_MUSTUSE blis_status blis__kv_set_aside(blis__stepwise *engine, blis__sequence *sequence,
                                            const blis_block_span *span, bool *is_done,
                                            blis_error *error);
/* The full blocks of the first tokens tokens of the sequence become findable. */
BLIS_MUSTUSE blis_status blis__kv_name(blis__stepwise *engine, blis__sequence *sequence,
                                       int64_t tokens, blis_error *error);
/* Blocks that the sequence lacks for end_tokens tokens. */
int64_t blis__kv_lacking(const blis__stepwise *engine, const blis__sequence *sequence,
                         int64_t end_tokens);
/* Number of blocks that the sequence holds, without blocks for drafts. */
int64_t blis__kv_held(const blis__sequence *sequence);
/* Returns all blocks of the sequence, those for drafts excluded. */
void blis__kv_release(blis__stepwise *engine, blis__sequence *sequence);

/* Removes the request at index from the batch; the order of the rest is unchanged. */
void blis__batch_remove(blis__stepwise *engine, size_t index);

/* Tokens [start, start + count) of a request, for the KV cache. */
blis_block_span blis__span_of(const blis_live_request *request, int64_t start, int64_t count);

/* Schedules a step at the clock unless one is scheduled. */
BLIS_MUSTUSE blis_status blis__stepwise_wake(blis__stepwise *engine, blis_error *error);

/* It reaches the wait queue at the engine's clock. */
BLIS_MUSTUSE blis_status blis__stepwise_enqueue(blis__stepwise *engine, blis__sequence *sequence,
                                                blis_error *error);

/* stepwise_remote.c: what instance.h says of the functions of these names. */
BLIS_MUSTUSE blis_status blis__stepwise_reserve(void *state, blis_live_request *request,
                                                const blis_kv_demand *demand,
                                                int64_t *cached_tokens, bool *is_done,
                                                blis_error *error);
BLIS_MUSTUSE blis_status blis__stepwise_activate(void *state, blis_live_request *request,
                                                 const blis_kv_arrival *arrival, int64_t now_us,
                                                 blis_error *error);
/* Queries the acceptance rates of a new request, if it has its own. */
BLIS_MUSTUSE blis_status blis__stepwise_ask_rates(blis__stepwise *engine, blis__sequence *sequence,
                                                  blis_error *error);
/* It is completed, and keeps its blocks; it is in neither queue nor batch. */
void blis__stepwise_hold(blis__stepwise *engine, blis__sequence *sequence);
/*
 * Waiting requests with their KV lack blocks for one more token. Preempts the last
 * of them that could be computed here, unless it is the only one.
 */
bool blis__stepwise_drop_kv(blis__stepwise *engine);
/*
 * After a preemption that left nothing running: the last waiting request that has its KV and whose
 * adapter is in no slot gives the KV up. Otherwise the others could preempt themselves without end,
 * each time they lack the blocks of a request that cannot run.
 */
void blis__stepwise_drop_idle_kv(blis__stepwise *engine);
/* Called when the request leaves the batch permanently: see first_itl_us of its live record. */
void blis__stepwise_note_first_itl(const blis__stepwise *engine, const blis__sequence *sequence);
/* It has blocks, and is in neither queue nor batch. */
void blis__stepwise_park(blis__stepwise *engine, blis__sequence *sequence);
/* It is not to keep its blocks any longer, wherever it has them. */
void blis__stepwise_unpark(blis__stepwise *engine, blis__sequence *sequence);

/* stepwise_load.c: what kv_source.h says of it. */
/*
 * Called before admission: queries the source of a waiting request. *is_loading =
 * true: it has left the queue. *is_blocked = true: there are too few blocks for the
 * KV to load. Otherwise it must be computed.
 */
BLIS_MUSTUSE blis_status blis__stepwise_load(blis__stepwise *engine, blis__sequence *sequence,
                                             bool *is_loading, bool *is_blocked, blis_error *error);
BLIS_MUSTUSE blis_status blis__stepwise_loaded(void *state, blis_live_request *request,
                                               uint32_t end, int64_t now_us, blis_error *error);
/* It leaves the engine while its KV is being brought. */
void blis__stepwise_cancel_load(blis__stepwise *engine, blis__sequence *sequence);
/* An adapter is being loaded. */
static inline bool blis__stepwise_awaits_adapter(const blis__stepwise *engine) {
  return engine->adapters != NULL &&
         blis__adapters_load_end_us(engine->adapters) < BLIS_TIME_NEVER_US;
}

/* Executes a step at the engine's clock; with a gate, up to the gate. */
BLIS_MUSTUSE blis_status blis__step(blis__stepwise *engine, blis_error *error);
/* Continues the open step, with a duration of step_us. */
BLIS_MUSTUSE blis_status blis__step_go_on(blis__stepwise *engine, int64_t step_us,
                                          blis_error *error);

/*
 * Ends the request in its last state: releases its blocks and its timeout, and
 * notifies its owner. It is no longer in the batch or the queue.
 */
BLIS_MUSTUSE blis_status blis__stepwise_end(blis__stepwise *engine, blis__sequence *sequence,
                                            blis_request_state state, int64_t end_us,
                                            blis_error *error);

/* Schedules an event about sequence (NULL = none). */
BLIS_MUSTUSE blis_status blis__stepwise_schedule(blis__stepwise *engine, int64_t time_us,
                                                 int32_t event_class, blis__sequence *sequence,
                                                 blis_error *error);

#endif
