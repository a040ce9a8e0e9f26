/*
 * fast_engine.h - the state of the fast engine, shared by its files.
 *
 * The fast engine produces the results of the stepwise engine without visiting every running
 * request in every step. A decode step changes all running requests in the same way. Requests are
 * therefore described relative to the step counter, and a step updates only sums.
 *
 * Definitions:
 *
 *   progress of a decode before step s    s - decode_base
 *   its tokens in the KV cache            s - stored_base
 *   it needs a new block in step s if     (s - stored_base) mod block size = 0
 *   it has completed if                   s = finish.step
 *   its inter-token latencies             differences of a running total
 *
 * If a rule (blis_engine_rules) adds samples that are not step times, these are stored with their
 * requests.
 *
 * The step time comes from integer sums (latency_model.h), block needs from one counter per
 * residue, and completions from a heap. Only prefilling requests are visited individually, and with
 * FCFS preemption also preempted requests. In some steps the order of requests matters: if the
 * token budget is short, or if blocks are short with another preemption policy. Such a step is
 * formed carefully, request by request, on the same state (fast_batch.c).
 *
 * The engine is one module in several files. fast_engine.c contains events, fast_step.c steps, and
 * fast_decode.c runs of decode steps. fast_form.c forms batches without visiting requests;
 * fast_batch.c contains admission, and formation request by request. fast_preempt.c contains
 * preemption, fast_latency.c inter-token latencies, and fast_naming.c the naming of output blocks
 * for the prefix cache. fast_remote.c contains KV transfers, fast_load.c KV loads, fast_groups.c KV
 * layouts, and fast_request.c lists, arrivals, and records. The remaining files are fast_check.c,
 * finish_heap.c, and step_history.c.
 */
#ifndef BLIS_INSTANCE_FAST_FAST_ENGINE_H
#define BLIS_INSTANCE_FAST_FAST_ENGINE_H

#include "base/array.h"
#include "base/minmax.h"
#include "base/time.h"
#include "instance/config/front_end.h"
#include "instance/fast/finish_heap.h"
#include "instance/fast/step_history.h"
#include "instance/parts/adapters.h"
#include "instance/parts/power.h"
#include "instance/parts/remote_kv.h"
#include "instance/parts/wait_queue.h"
#include "kv/group_cache.h"
#include "kv/run_pool.h"

typedef struct fast_request fast_request;

/* The lists a request can be in. */
typedef enum fast_link_kind {
  FAST_LINK_BATCH,
  FAST_LINK_PREFILL,
  FAST_LINK_DEADLINE,
  FAST_LINK_NAMING,
  FAST_LINK_KEEPER,
  FAST_LINK_COUNT
} fast_link_kind;

struct fast_request {
  /* These keep their memory for the next request that uses this record. */
  blis_run_holder holder; /* its anonymous count is stale during decoding */
  /* Its decode steps before first_decode_step, in ascending order. */
  BLIS_ARRAY(step_range) kept_steps;
  /* With rules.resumes_preempted: latencies that are neither in kept_steps nor after
     first_decode_step. */
  BLIS_ARRAY(int64_t) own_itl_us;
  blis_group_holder groups; /* with a KV layout, in place of holder */
  struct {                  /* links of each list that contains the request */
    fast_request *previous;
    fast_request *next;
  } links[FAST_LINK_COUNT];

  blis_live_request *live; /* the first member that is cleared for a new request */
  blis__waiting waiting;   /* its entry in the wait queue */
  finish_entry finish;     /* during decoding; finish.order = order of admission */
  finish_entry change;     /* during decoding with a KV layout: when its blocks change */
  int64_t decode_base;
  int64_t stored_base;
  int64_t first_decode_step; /* the step since which it decodes without a break; INT64_MAX = none */
  uint64_t itl_total_before; /* the running total when decoding began */
  blis_drawn token_before;   /* value of power->token when decoding began */
  int64_t own_itl_sum_us;    /* sum of own_itl_us and of earlier decode latencies */
  int64_t gap_us;            /* time of the steps that skipped it since its last token */
  int64_t token_end_us;      /* while preempted: end of the step of its last token */
  int64_t furthest_tokens;   /* maximum progress at any of its preemptions */
  bool is_decoding;
  bool is_length_capped; /* will reach the model length before its output */
  bool is_tracked;       /* it was preempted, so all its prompt blocks are named */
  bool owns_prompt;      /* false if the whole prompt was cached */
  bool has_deadline;     /* it is in the list of deadlines */
  bool names_output;     /* other requests may reuse its output, see fast_naming.c */
  bool awaits_first;     /* it is in the list of first tokens */
  /* The next members are for KV transfers (remote_kv.h). */
  bool is_parked;    /* it has blocks, and is neither in the queue nor in the batch */
  bool has_kv;       /* it waits, and its blocks contain its computed KV */
  bool was_reserved; /* its blocks were reserved, so its first latency may be needed */
  bool is_loading;   /* it is parked until its KV is loaded (kv_source.h) */
  /* With a KV layout: blocks of its prefill that are loaded, including hits. */
  uint32_t awaited_blocks;
  uint32_t loaded_blocks; /* blocks that count as hits at its admission */
};

typedef struct fast_list {
  fast_request *head;
  fast_request *tail;
  fast_link_kind kind;
  int64_t count;
} fast_list;

/* A request in transit to the wait queue. */
typedef struct fast_arrival {
  int64_t queued_us;
  fast_request *request;
  bool has_waited; /* it has waited for a later step, see rules.looks_ahead */
} fast_arrival;

/* Arrivals by time, FIFO. items[first .. count) are pending. */
typedef struct fast_arrivals {
  BLIS_ARRAY(fast_arrival) pending;
  size_t first;
} fast_arrivals;

/* The state in which the first queued request that has its adapter could not be admitted. It avoids
   repeated attempts. */
typedef struct fast_block {
  const fast_request *head; /* NULL = unknown */
  uint64_t table_version;
  int64_t namings;
  int64_t releases;
  int64_t budget_tokens;
} fast_block;

/* Maximum number of decode steps computed ahead. */
enum { BLIS__STEPS_AHEAD = 64 };

/*
 * Durations of future steps next to end - 1, which only decode and need no further blocks. They are
 * used unless the batch, the queue, the pool, or the duration of steps changes. Steps before next
 * were executed, but their latencies are not recorded yet.
 */
typedef struct fast_ahead {
  size_t next;
  size_t end;
  int64_t step_us[BLIS__STEPS_AHEAD]; /* result of the latency model, not checked */
} fast_ahead;

typedef struct fast_engine {
  blis_alloc alloc;
  const blis_instance_config *config; /* borrowed */
  blis_instance_events events;
  blis__adapters *adapters; /* borrowed; NULL = no adapters */
  blis__power *power;       /* borrowed; NULL = power draw is not computed */
  int64_t output_token_us;
  int64_t fixed_overhead_us;

  int64_t clock_us;         /* time of the last executed event */
  int64_t left_us;          /* latest end of a step that completed a request, within the horizon */
  int64_t step_us;          /* time of the pending step; BLIS_TIME_NEVER_US = none */
  bool hangs;               /* there is no pending step, and there never will be one */
  bool idles;               /* the next step repeats the last one without doing anything */
  int64_t step_index;       /* index of the next step to form */
  int64_t last_decode_us;   /* duration of the last step of a decode run */
  int64_t last_step_us;     /* duration of the last step */
  int64_t last_step_end_us; /* end of the last step */

  fast_ahead ahead;

  blis__front_end front_end;
  fast_arrivals arrivals;
  fast_list deadlines; /* in order of time, then of queueing */
  blis__wait_queue queue;
  fast_list batch;    /* in order of admission */
  fast_list prefills; /* requests of the batch that still compute their prompt */
  fast_list loads;    /* requests whose KV is being loaded; uses the links of prefills */
  fast_list firsts;   /* requests with a first token in the current step; uses the links of
                         prefills */
  uint64_t next_order;
  fast_block block;

  /* The decoding requests of the batch. */
  int64_t decodes;
  int64_t decode_context; /* sum of progress before the next step */
  int64_t decode_prompts; /* sum of their prompts */
  int64_t gaps;           /* number of requests with a gap_us */
  int64_t *boundaries;    /* number of decodes by (stored_base mod block size) */
  /* Decodes that name their output, by the same residue; NULL until there is one. */
  fast_list *naming;
  finish_heap finishes;
  step_history history;
  fast_list keepers;     /* requests with kept_steps */
  uint64_t itl_total_us; /* sum over all steps, modulo 2^64 */

  blis_run_pool *pool; /* NULL with a KV layout, which uses the next members */
  blis_block_pool *block_pool;
  blis_group_cache *groups; /* NULL without a KV layout */
  blis_group_found found;   /* cached prefix of the request to admit */
  finish_heap changes;      /* decodes by the step in which their blocks change next */
  int64_t releases;         /* how often blocks were returned */
  int64_t namings;          /* how often blocks may have been named */
  int64_t pool_hits;
  int64_t pool_misses;
  blis_instance_stats stats;

  int64_t parked_blocks; /* anonymous blocks of requests that do not run */
  int64_t waiting_with_kv;
  int64_t fruitless_preemptions; /* consecutive ones, see fast_preempt.c */

  fast_request *spares; /* unused records, linked by links[FAST_LINK_BATCH].next */
  BLIS_ARRAY(fast_request *) records;
  BLIS_ARRAY(blis_batch_item) items;        /* scratch */
  BLIS_ARRAY(blis_running_request) running; /* for choose_victim */
} fast_engine;

/* The decisions of batch formation for one step. */
typedef struct fast_plan {
  int64_t budget_tokens; /* remaining token budget */
  bool is_preempted;     /* a request was preempted: no admission in this step */
  bool is_careful;       /* some decodes may have been skipped */
  blis_batch_sums sums;
} fast_plan;

/* fast_request.c */
/* Inserts request after `before`; NULL = at the front. */
void blis__fast_list_insert(fast_list *list, fast_request *request, fast_request *before);
void blis__fast_list_append(fast_list *list, fast_request *request);
void blis__fast_list_remove(fast_list *list, fast_request *request);
blis_status blis__fast_arrivals_add(fast_engine *engine, fast_arrival arrival);
/* Removes a request that is in transit to the queue. */
void blis__fast_arrivals_remove(fast_engine *engine, const fast_request *request);
blis_status blis__fast_request_new(fast_engine *engine, blis_live_request *live,
                                   fast_request **request);
/* Removes the request from every list except the queue and the batch, and recycles its record. */
void blis__fast_request_spare(fast_engine *engine, fast_request *request);
void blis__fast_deadline_add(fast_engine *engine, fast_request *request);

/* fast_step.c */
/*
 * Applies the effects of the step that ends now, if effects occur at the end of steps
 * (rules.leaves_at_step_end). Called before the next step.
 */
blis_status blis__fast_land(fast_engine *engine, blis_error *error);
blis_status blis__fast_step(fast_engine *engine, blis_error *error);
/* Removes a request from the decode sums, but not from the batch. */
void blis__fast_stop_decoding(fast_engine *engine, fast_request *request);
/* Returns the blocks of a request that has stored_tokens tokens stored. */
blis_status blis__fast_release(fast_engine *engine, fast_request *request, int64_t stored_tokens);

/* fast_decode.c */
/* Executes steps before limit_us for as long as nothing but decoding can happen. */
blis_status blis__fast_decode_run(fast_engine *engine, int64_t limit_us, blis_error *error);

/*
 * Executes empty steps up to limit_us. In BLIS (Go), an engine whose blocks are all reserved makes
 * empty steps, usually of 1 us, until the content of these blocks arrives. One such step must be
 * pending.
 */
BLIS_NOT_INLINE blis_status blis__fast_idle(fast_engine *engine, int64_t limit_us,
                                            blis_error *error);

static inline bool blis__fast_knows_ahead(const fast_engine *engine) {
  return engine->ahead.next < engine->ahead.end;
}

/* Part of blis__fast_end_run. */
blis_status blis__fast_book_run(fast_engine *engine, blis_error *error);

/*
 * Records the latencies of the decode run so far, and drops the planned steps.
 * Called before any event that is not part of the run.
 */
static inline blis_status blis__fast_end_run(fast_engine *engine, blis_error *error) {
  engine->idles = false;
  return engine->ahead.end == 0 ? BLIS_OK : blis__fast_book_run(engine, error);
}

/* fast_form.c */
/*
 * Decides how much each request of the batch computes in this step, and takes the blocks for it.
 * Preempts requests if there are too few blocks.
 */
blis_status blis__fast_form(fast_engine *engine, fast_plan *plan, blis_error *error);
/*
 * Adds chunk_tokens prompt tokens to the stored tokens of the request. There must be enough free
 * blocks.
 */
blis_status blis__fast_extend(fast_engine *engine, fast_request *request, int64_t chunk_tokens);
/* Returns the size of the next prefill chunk without the limit of the token budget. */
int64_t blis__fast_wanted_chunk(const fast_engine *engine, const fast_request *request);

/* fast_request.c */
/* Called when the request leaves the batch permanently; sets first_itl_us of its live record. */
void blis__fast_note_first_itl(const fast_engine *engine, const fast_request *request);
/* Returns the sum of the inter-token latencies so far of a decoding request. */
int64_t blis__fast_itl_sum_us(const fast_engine *engine, const fast_request *request);
/*
 * Updates the live record of a running request, because its progress and inter-token latencies are
 * not stored during decoding.
 */
void blis__fast_note_progress(const fast_engine *engine, fast_request *request);

/* Adds the energy of its tokens in the current decode run to the request. */
void blis__fast_note_energy(const fast_engine *engine, fast_request *request);
/* fast_check.c: returns whether sums, lists, heap, and pool agree with a walk over the batch. */
bool blis__fast_check(const fast_engine *engine);

/* fast_naming.c */
blis_status blis__fast_naming_add(fast_engine *engine, fast_request *request);
void blis__fast_naming_remove(fast_engine *engine, fast_request *request);
/* Returns the first of the decodes that fill a block in this step, in order of admission. */
fast_request *blis__fast_naming_first(const fast_engine *engine, int64_t step_index);
/*
 * Returns whether the names of the blocks that decodes fill in the next steps all differ from the
 * names of the next taken_blocks free blocks.
 */
bool blis__fast_names_avoid(const fast_engine *engine, size_t steps, int64_t taken_blocks);
/* Names the blocks that decodes fill in the next steps. The blocks must have been taken. */
blis_status blis__fast_name_outputs(fast_engine *engine, size_t steps);
/* Names the block that the last stored token has filled. */
blis_status blis__fast_name_output(fast_engine *engine, fast_request *request,
                                   int64_t stored_tokens);

/* fast_remote.c: these implement the functions of remote_kv.h with the same names. */
blis_status blis__fast_reserve(void *state, blis_live_request *live, const blis_kv_demand *demand,
                               int64_t *cached_tokens, bool *is_done, blis_error *error);
blis_status blis__fast_activate(void *state, blis_live_request *live,
                                const blis_kv_arrival *arrival, int64_t now_us, blis_error *error);
/* Completes the request with stored_tokens stored tokens. The request keeps its blocks. */
void blis__fast_hold(fast_engine *engine, fast_request *request, int64_t stored_tokens);
/* Returns the blocks of a request that has blocks but does not run to the pool. */
blis_status blis__fast_give_up_kv(fast_engine *engine, fast_request *request);
/*
 * Called if waiting requests that have their KV lack blocks for their next token. Preempts the last
 * of these requests that this instance can recompute, unless it is the only one.
 */
blis_status blis__fast_drop_kv(fast_engine *engine, bool *is_dropped);
/*
 * After a preemption that left nothing running: the last waiting request that has its KV, but whose
 * adapter is not in a slot, gives up its KV. Otherwise, the other requests could preempt each other
 * forever, because they need the blocks of a request that cannot run.
 */
blis_status blis__fast_drop_idle_kv(fast_engine *engine);
/* Admits a request that has its KV: takes a block for its next token, if one is free. */
blis_status blis__fast_try_with_kv(fast_engine *engine, fast_request *request, fast_plan *plan,
                                   bool *is_admitted);

/* fast_load.c: KV loads, as described in kv_source.h. */
/*
 * Called before the admission of a request to query its KV source. If *is_loading, the request has
 * left the queue. If *is_blocked, there are too few blocks for the KV to load. Otherwise, its KV
 * must be computed.
 */
blis_status blis__fast_load(fast_engine *engine, fast_request *request, int64_t now_us,
                            bool *is_loading, bool *is_blocked, blis_error *error);
blis_status blis__fast_loaded(void *state, blis_live_request *live, uint32_t end, int64_t now_us,
                              blis_error *error);
/* Called if the request leaves the engine while its KV is being loaded. */
blis_status blis__fast_cancel_load(fast_engine *engine, fast_request *request);

/* fast_remote.c: count the blocks of a request that neither runs nor is in a queue. */
void blis__fast_park(fast_engine *engine, fast_request *request);
void blis__fast_unpark(fast_engine *engine, fast_request *request);

/* fast_groups.c: blocks of several KV groups, with config.kv_layout. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_init(fast_engine *engine,
                                                                blis_error *error);
BLIS_NOT_INLINE void blis__fast_groups_deinit(fast_engine *engine);
/* start: the request starts decoding; with has_token, already in the current step, for which it has
   blocks. stop: it stops decoding. postpone: this step skips it. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_start(fast_engine *engine,
                                                                 fast_request *request,
                                                                 bool has_token);
BLIS_NOT_INLINE void blis__fast_groups_stop(fast_engine *engine, fast_request *request);
BLIS_NOT_INLINE void blis__fast_groups_postpone(fast_engine *engine, fast_request *request);
/*
 * Returns a lower bound on how many of the next n decode steps have enough blocks in any order of
 * requests.
 */
BLIS_NOT_INLINE size_t blis__fast_groups_steps(const fast_engine *engine, size_t n);
/* Updates the blocks of all decodes for the next steps. There must be enough free blocks. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_run(fast_engine *engine, size_t steps);
/*
 * Return the maximum number of blocks that a prefill chunk takes, and that all decodes take in this
 * step.
 */
BLIS_NOT_INLINE int64_t blis__fast_groups_need(const fast_engine *engine,
                                               const fast_request *request, int64_t chunk_tokens);
BLIS_NOT_INLINE int64_t blis__fast_groups_decode_need(fast_engine *engine);
/* Takes the blocks for this step for the whole batch. There must be enough free blocks. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_serve(fast_engine *engine,
                                                                 fast_plan *plan);
/*
 * Takes blocks for `tokens` more tokens of the request, preempting others if necessary, like
 * blis__fast_make_room.
 */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_schedule(fast_engine *engine,
                                                                    fast_plan *plan,
                                                                    fast_request *request,
                                                                    int64_t tokens, bool *is_there,
                                                                    blis_error *error);
/* Stores the last token of the request, after its stored tokens, if there are enough blocks. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_store_last(fast_engine *engine,
                                                                      fast_request *request,
                                                                      int64_t stored);
/*
 * Admit a waiting request without or with its KV. *is_admitted is false if this is not possible
 * now.
 */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_admit(fast_engine *engine,
                                                                 fast_request *request,
                                                                 fast_plan *plan,
                                                                 bool *is_admitted);
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_admit_with_kv(fast_engine *engine,
                                                                         fast_request *request,
                                                                         fast_plan *plan,
                                                                         bool *is_admitted);
/*
 * Reserves blocks for KV from another instance or from a tier. *is_done is false if there are too
 * few.
 */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_reserve(fast_engine *engine,
                                                                   fast_request *request,
                                                                   const blis_kv_demand *demand,
                                                                   int64_t *cached_tokens,
                                                                   bool *is_done);
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_count_cached(fast_engine *engine,
                                                                        const fast_request *request,
                                                                        uint32_t findable,
                                                                        uint32_t *blocks);
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_load(fast_engine *engine,
                                                                fast_request *request,
                                                                const blis_kv_stretch *stretch,
                                                                bool *is_done);
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_name(fast_engine *engine,
                                                                fast_request *request,
                                                                int64_t tokens);
BLIS_NOT_INLINE uint32_t blis__fast_groups_cached(const fast_engine *engine,
                                                  const blis_block_chain *chain, bool at_mark);
BLIS_NOT_INLINE bool blis__fast_groups_check(const fast_engine *engine);

/* fast_preempt.c */
/*
 * Preempts one request in favor of `request`. *is_there is false if `request` itself was preempted.
 */
BLIS_MUSTUSE blis_status blis__fast_preempt_one(fast_engine *engine, fast_plan *plan,
                                                const fast_request *request, bool *is_there,
                                                blis_error *error);
/*
 * A preempted request may find its own blocks again. After this call, all blocks that its prefills
 * fill are therefore named. The call first names the blocks that it holds; if it resumes, these
 * include blocks filled by decoding. Decoding does not name blocks of one token.
 */
blis_status blis__fast_track(fast_engine *engine, fast_request *request, int64_t stored_tokens);

/* fast_engine.c */
/* Adds the request to the wait queue at the current time of the engine. */
void blis__fast_enter_queue(fast_engine *engine, fast_request *request);
/* Schedules a step at the current time if no step is scheduled and a request waits. */
void blis__fast_wake(fast_engine *engine);
/*
 * fast_step.c: the next step is the first decode step of the request, which has at least
 * least_steps decode steps.
 */
blis_status blis__fast_start_decoding(fast_engine *engine, fast_request *request,
                                      int64_t least_steps);

/* fast_batch.c: admission. */
blis_status blis__fast_admit(fast_engine *engine, fast_plan *plan, int64_t now_us,
                             blis_error *error);
/*
 * Returns true if one step would prefill a waiting request that has nothing in the cache. Such a
 * request needs the blocks of its whole prompt, except cached blocks that others hold. Cached
 * blocks without holders count as free blocks.
 */
bool blis__fast_takes_whole(const fast_engine *engine, const fast_request *request,
                            int64_t budget_tokens);
/*
 * Returns true if a waiting request with its adapter certainly cannot be admitted. Since the last
 * attempt, the request cannot need fewer blocks, and the number of free blocks can only have
 * decreased. This no longer holds after blocks are returned, or after the prefix table, the
 * request, or the budget changes. For a request that blis__fast_takes_whole, removals from the
 * table do not matter, because no request holds the removed blocks. If no other request can have
 * any of its blocks, the first attempt is not needed either.
 */
bool blis__fast_is_blocked(const fast_engine *engine, const fast_request *request,
                           int64_t budget_tokens);
/*
 * Returns the request of the ordered queue that would be tried first. This is the head, unless
 * adapters change the order. NULL = none. *acts is set if the result depends on an adapter query.
 */
const fast_request *blis__fast_next_waiting(const fast_engine *engine, bool *acts);

/* fast_batch.c: formation request by request. */
blis_status blis__fast_form_carefully(fast_engine *engine, fast_plan *plan, blis_error *error);
/* Updates the decodes that the step skipped. Called after the step time is known. */
blis_status blis__fast_leave_behind(fast_engine *engine, int64_t itl_us, blis_error *error);

/* fast_preempt.c */
/*
 * Moves victim from the batch to the front of the queue. It keeps only its cached blocks and, if it
 * resumes, the tokens that its client has received. The blocks that it holds are named, so that it
 * may find them again. Blocks that had no names before never belong to another request.
 */
blis_status blis__fast_preempt(fast_engine *engine, fast_plan *plan, fast_request *victim,
                               blis_error *error);
/*
 * Preempts requests until this number of blocks is free. *is_there is false if `request` itself was
 * preempted.
 */
blis_status blis__fast_make_room(fast_engine *engine, fast_plan *plan, const fast_request *request,
                                 int64_t blocks, bool *is_there, blis_error *error);
/* Removes the request from the batch and its sums, and returns all its blocks. */
blis_status blis__fast_leave_batch(fast_engine *engine, fast_request *request,
                                   int64_t stored_tokens);

/* fast_latency.c */
/* Records the inter-token latencies of `decodes` requests in n steps. The latencies add up to
   sum_us. */
blis_status blis__fast_record_itl(fast_engine *engine, const int64_t *itl_us, size_t n,
                                  uint64_t sum_us, int64_t decodes, blis_error *error);
/* Removes all latencies of the request so far from the histogram. */
void blis__fast_withdraw_itl(fast_engine *engine, fast_request *request);
/* Keeps the latencies of the request in the histogram permanently. */
void blis__fast_forget_itl(fast_engine *engine, fast_request *request);
/* Called before the request stops decoding; its recorded latencies stay valid. */
blis_status blis__fast_keep_itl(fast_engine *engine, fast_request *request);
/* Excludes the latency of the current step for this request. */
blis_status blis__fast_skip_itl(fast_engine *engine, fast_request *request, int64_t itl_us);
/* Records a latency that only this request has. */
blis_status blis__fast_add_own_itl(fast_engine *engine, fast_request *request, int64_t itl_us,
                                   blis_error *error);
/* Makes the histogram exact, except for requests that have not ended. */
void blis__fast_settle_itl(fast_engine *engine);

/* Returns the time at which the current adapter load ends; BLIS_TIME_NEVER_US = no load. */
static inline int64_t blis__fast_load_end_us(const fast_engine *engine) {
  return engine->adapters == NULL ? BLIS_TIME_NEVER_US
                                  : blis__adapters_load_end_us(engine->adapters);
}

static inline int64_t blis__fast_progress(const fast_engine *engine, const fast_request *request) {
  return request->is_decoding ? engine->step_index - request->decode_base
                              : request->live->progress_tokens;
}

static inline int64_t blis__fast_stored(const fast_engine *engine, const fast_request *request) {
  return request->is_decoding ? engine->step_index - request->stored_base
                              : request->live->progress_tokens;
}

/* Returns the number of free blocks of the pool in use. */
static inline int64_t blis__fast_free_blocks(const fast_engine *engine) {
  return engine->groups == NULL ? blis_run_pool_free_blocks(engine->pool)
                                : blis_block_pool_free_blocks(engine->block_pool);
}

/* Returns the number of blocks for this number of tokens. */
static inline int64_t blis__fast_blocks_of(const fast_engine *engine, int64_t tokens) {
  int64_t size = engine->config->block_size_tokens;
  return (tokens + size - 1) / size;
}

/* Returns how many new blocks the request takes for chunk_tokens more prompt tokens. */
static inline int64_t blis__fast_blocks_for(const fast_engine *engine, const fast_request *request,
                                            int64_t chunk_tokens) {
  if (BLIS_UNLIKELY(engine->groups != NULL)) {
    return blis__fast_groups_need(engine, request, chunk_tokens);
  }
  int64_t stored = request->live->progress_tokens;
  return blis__fast_blocks_of(engine, stored + chunk_tokens) - blis__fast_blocks_of(engine, stored);
}

/* Returns all blocks of a request to the pool. Its holder must be up to date. */
static inline blis_status blis__fast_give_back(fast_engine *engine, fast_request *request) {
  engine->releases++;
  if (BLIS_UNLIKELY(engine->groups != NULL)) {
    blis_group_cache_release(engine->groups, &request->groups);
    return BLIS_OK;
  }
  return blis_run_pool_release(engine->pool, &request->holder);
}

/* Returns step_index modulo the block size, never negative. */
static inline int64_t blis__fast_residue(const fast_engine *engine, int64_t step_index) {
  int64_t size = engine->config->block_size_tokens;
  int64_t residue = step_index % size;
  return residue < 0 ? residue + size : residue;
}

/* Returns the counter of the decodes that need a new block in this step. */
static inline int64_t *blis__fast_boundary(fast_engine *engine, int64_t step_index) {
  return &engine->boundaries[blis__fast_residue(engine, step_index)];
}

#endif
