/*
 * fast_engine.h - the state of the fast engine, shared by its files.
 *
 * The fast engine has the results of the stepwise engine without visiting the running requests in
 * every step. A decode step changes every running request in the same way, so requests are
 * described relative to the step counter and a step updates sums.
 *
 * Definitions:
 *
 *   progress of a decode before step s    s - decode_base
 *   its tokens in the KV cache            s - stored_base
 *   it needs a new block in step s when   (s - stored_base) mod block size = 0
 *   it has completed when                 s = finish.step
 *   its inter-token latencies             differences of a running total
 *
 * If a rule (blis_engine_rules) adds samples that are not step times, they are stored with their
 * requests.
 *
 * The step time comes from integer sums (latency_model.h), block needs from one counter per
 * residue, completions from a heap. Only requests that are prefilling are visited one by one, and
 * under FCFS those that are preempted. A step in which the order of requests matters (a shortage of
 * token budget, or of blocks under another preemption) is formed carefully, request by request, on
 * the same state (fast_batch.c).
 *
 * One module in several files. fast_engine.c contains events, fast_step.c the step, and
 * fast_decode.c runs of decode steps. fast_form.c forms batches without visiting requests;
 * fast_batch.c contains admission, and formation request by request. fast_preempt.c contains
 * preemption, fast_latency.c inter-token latencies, and fast_naming.c output that can be found
 * again. fast_remote.c contains KV transfers, fast_load.c KV loads, fast_groups.c KV layouts, and
 * fast_request.c lists, arrivals, and records. The rest are fast_check.c, finish_heap.c, and
 * step_history.c.
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
  /* The memory of these stays with the record, for its next request. */
  blis_run_holder holder; /* its anonymous count is out of date during decoding */
  /* Its steps before first_decode_step, in ascending order. */
  BLIS_ARRAY(step_range) kept_steps;
  /* With rules.resumes_preempted: latencies that are neither in kept_steps nor since
     first_decode_step; */
  BLIS_ARRAY(int64_t) own_itl_us;
  blis_group_holder groups; /* with a KV layout, in place of holder */
  struct {                  /* while in that list */
    fast_request *previous;
    fast_request *next;
  } links[FAST_LINK_COUNT];

  blis_live_request *live; /* first member that is cleared for a new request */
  blis__waiting waiting;   /* its place in the wait queue */
  finish_entry finish;     /* while decoding; finish.order = order of admission */
  finish_entry change;     /* while decoding with a KV layout: when its blocks change */
  int64_t decode_base;
  int64_t stored_base;
  int64_t first_decode_step; /* that it decodes without a break since;
                                INT64_MAX = none */
  uint64_t itl_total_before; /* the running total when decoding began */
  blis_drawn token_before;   /* value of power->token when decoding began */
  int64_t own_itl_sum_us;    /* of own_itl_us and of its decoding before; */
  int64_t gap_us;            /* steps since its last token that skipped it; */
  int64_t token_end_us;      /* while preempted: end of the step of that token */
  int64_t furthest_tokens;   /* progress at the best of its preemptions */
  bool is_decoding;
  bool is_length_capped; /* will reach the model length before its output */
  bool is_tracked;       /* was preempted: all its prompt blocks are named */
  bool owns_prompt;      /* false when the whole prompt was cached */
  bool has_deadline;     /* is in the list of deadlines */
  bool names_output;     /* other requests may find its output: see fast_naming.c */
  bool awaits_first;     /* is in the list of first tokens */
  /* Where KV moves (remote_kv.h). */
  bool is_parked;          /* has blocks, and is neither in the queue nor in the batch */
  bool has_kv;             /* waits, and its blocks contain its computed KV */
  bool was_reserved;       /* its first latency may be wanted */
  bool is_loading;         /* parked, until its KV is brought (kv_source.h) */
  uint32_t awaited_blocks; /* with a KV layout: of its prefill that are loaded, hits included */
  uint32_t loaded_blocks;  /* that count as hits when it is admitted */
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
  bool has_waited; /* for the step after the next, see rules.looks_ahead */
} fast_arrival;

/* Arrivals by time, first in first out; items[first .. count) are pending. */
typedef struct fast_arrivals {
  BLIS_ARRAY(fast_arrival) pending;
  size_t first;
} fast_arrivals;

/* Why the first of the queue that has its adapter could not be admitted, to
   spare the next try. */
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
 * Future steps that only decode, and have their blocks: steps next to end - 1. They
 * become valid unless the batch, the queue, the pool, or the duration of steps
 * changes. Steps before next were executed, but their latencies are not recorded
 * yet.
 */
typedef struct fast_ahead {
  size_t next;
  size_t end;
  int64_t step_us[BLIS__STEPS_AHEAD]; /* as the model says, not checked */
} fast_ahead;

typedef struct fast_engine {
  blis_alloc alloc;
  const blis_instance_config *config; /* borrowed */
  blis_instance_events events;
  blis__adapters *adapters; /* borrowed; NULL = requests need none */
  blis__power *power;       /* borrowed; NULL = power draw is not needed */
  int64_t output_token_us;
  int64_t fixed_overhead_us;

  int64_t clock_us;         /* of the last executed event */
  int64_t left_us;          /* latest end, within the horizon, of a step that
                              completed a request */
  int64_t step_us;          /* the pending step, BLIS_TIME_NEVER_US = none */
  bool hangs;               /* there is none, and will be none */
  bool idles;               /* the next step repeats the last one without doing anything */
  int64_t step_index;       /* of the step to be formed next */
  int64_t last_decode_us;   /* how long the last step of a decode run took */
  int64_t last_step_us;     /* how long the last step takes, */
  int64_t last_step_end_us; /* and until when */

  fast_ahead ahead;

  blis__front_end front_end;
  fast_arrivals arrivals;
  fast_list deadlines; /* by time, then by order of queueing */
  blis__wait_queue queue;
  fast_list batch;    /* in order of admission */
  fast_list prefills; /* the part of the batch with prompt left */
  fast_list loads;    /* requests whose KV is brought; as the next one, of the
                         same links as prefills */
  fast_list firsts;   /* requests with a first token in the current step; uses the links of
                         prefills */
  uint64_t next_order;
  fast_block block;

  /* The part of the batch that decodes. */
  int64_t decodes;
  int64_t decode_context; /* sum of progress before the next step */
  int64_t decode_prompts; /* sum of their prompts */
  int64_t gaps;           /* requests with a gap_us */
  int64_t *boundaries;    /* decodes by (stored_base mod block size) */
  fast_list *naming;      /* decodes that name their output, by the same;
                             NULL until there is one */
  finish_heap finishes;
  step_history history;
  fast_list keepers;     /* requests with kept_steps */
  uint64_t itl_total_us; /* sum over all steps, modulo 2^64 */

  blis_run_pool *pool; /* NULL with a KV layout, which has these: */
  blis_block_pool *block_pool;
  blis_group_cache *groups; /* NULL without one */
  blis_group_found found;   /* prefix of the request to admit */
  finish_heap changes;      /* decodes by the step in which their blocks change next */
  int64_t releases;         /* how often blocks were returned, */
  int64_t namings;          /* and how often some may have got a name */
  int64_t pool_hits;
  int64_t pool_misses;
  blis_instance_stats stats;

  int64_t parked_blocks; /* anonymous, of requests that do not run; */
  int64_t waiting_with_kv;
  int64_t fruitless_preemptions; /* in a row, see fast_preempt.c */

  fast_request *spares; /* records not in use, by links[FAST_LINK_BATCH].next */
  BLIS_ARRAY(fast_request *) records;
  BLIS_ARRAY(blis_batch_item) items;        /* scratch */
  BLIS_ARRAY(blis_running_request) running; /* for choose_victim */
} fast_engine;

/* What forming the batch has decided for one step. */
typedef struct fast_plan {
  int64_t budget_tokens; /* left */
  bool is_preempted;     /* a request was preempted: no admission in this step */
  bool is_careful;       /* some decodes may have been skipped */
  blis_batch_sums sums;
} fast_plan;

/* fast_request.c */
/* Inserts request after before; NULL = at the front. */
void blis__fast_list_insert(fast_list *list, fast_request *request, fast_request *before);
void blis__fast_list_append(fast_list *list, fast_request *request);
void blis__fast_list_remove(fast_list *list, fast_request *request);
blis_status blis__fast_arrivals_add(fast_engine *engine, fast_arrival arrival);
/* The request is in transit to the queue. */
void blis__fast_arrivals_remove(fast_engine *engine, const fast_request *request);
blis_status blis__fast_request_new(fast_engine *engine, blis_live_request *live,
                                   fast_request **request);
/* Takes the request out of every list but the queue and the batch. */
void blis__fast_request_spare(fast_engine *engine, fast_request *request);
void blis__fast_deadline_add(fast_engine *engine, fast_request *request);

/* fast_step.c */
/*
 * Applies the effects of the step that ends now, if they are at its end
 * (rules.leaves_at_step_end). Called before the next step.
 */
blis_status blis__fast_land(fast_engine *engine, blis_error *error);
blis_status blis__fast_step(fast_engine *engine, blis_error *error);
/* Takes a request out of the decode sums, not out of the batch. */
void blis__fast_stop_decoding(fast_engine *engine, fast_request *request);
/* Returns the blocks of a request with that many tokens stored. */
blis_status blis__fast_release(fast_engine *engine, fast_request *request, int64_t stored_tokens);

/* fast_decode.c */
/* Steps while nothing but decoding can happen, none at or after limit_us. */
blis_status blis__fast_decode_run(fast_engine *engine, int64_t limit_us, blis_error *error);

/*
 * In BLIS (Go), an engine whose blocks are all reserved makes empty steps, of 1
 * us as a rule, until their content has come. All of these before limit_us; one
 * is pending.
 */
BLIS_NOT_INLINE blis_status blis__fast_idle(fast_engine *engine, int64_t limit_us,
                                            blis_error *error);

static inline bool blis__fast_knows_ahead(const fast_engine *engine) {
  return engine->ahead.next < engine->ahead.end;
}

/* For blis__fast_end_run. */
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
 * Decides how much each request of the batch computes in this step, and takes the
 * blocks for it. Requests that must release blocks are preempted.
 */
blis_status blis__fast_form(fast_engine *engine, fast_plan *plan, blis_error *error);
/* Gives the request chunk more prompt tokens; there are enough blocks for them. */
blis_status blis__fast_extend(fast_engine *engine, fast_request *request, int64_t chunk_tokens);
/* The chunk a prefill would like, before the token budget. */
int64_t blis__fast_wanted_chunk(const fast_engine *engine, const fast_request *request);

/* fast_request.c */
/* Called when the request leaves the batch permanently: see first_itl_us of its live record. */
void blis__fast_note_first_itl(const fast_engine *engine, const fast_request *request);
/* The sum of its inter-token latencies so far; it decodes. */
int64_t blis__fast_itl_sum_us(const fast_engine *engine, const fast_request *request);
/*
 * Brings the live record of a running request up to date: its progress and
 * inter-token latencies are only implied while it decodes.
 */
void blis__fast_note_progress(const fast_engine *engine, fast_request *request);

/* Adds the energy of its tokens in the current decode run to the request. */
void blis__fast_note_energy(const fast_engine *engine, fast_request *request);
/* fast_check.c: sums, lists, heap and pool agree with a walk over the batch. */
bool blis__fast_check(const fast_engine *engine);

/* fast_naming.c */
blis_status blis__fast_naming_add(fast_engine *engine, fast_request *request);
void blis__fast_naming_remove(fast_engine *engine, fast_request *request);
/* The decodes whose block fills up in that step, in order of admission. */
fast_request *blis__fast_naming_first(const fast_engine *engine, int64_t step_index);
/*
 * Whether the names of the blocks that decodes fill in the next steps differ from
 * the names of the next taken_blocks blocks to be taken.
 */
bool blis__fast_names_avoid(const fast_engine *engine, size_t steps, int64_t taken_blocks);
/* Names the blocks that decodes fill in the next steps; the blocks are taken. */
blis_status blis__fast_name_outputs(fast_engine *engine, size_t steps);
/* The token stored last has filled a block, which gets its name. */
blis_status blis__fast_name_output(fast_engine *engine, fast_request *request,
                                   int64_t stored_tokens);

/* fast_remote.c: what remote_kv.h says of the functions of these names. */
blis_status blis__fast_reserve(void *state, blis_live_request *live, const blis_kv_demand *demand,
                               int64_t *cached_tokens, bool *is_done, blis_error *error);
blis_status blis__fast_activate(void *state, blis_live_request *live,
                                const blis_kv_arrival *arrival, int64_t now_us, blis_error *error);
/* Completes the request with this number of stored tokens; it keeps its blocks. */
void blis__fast_hold(fast_engine *engine, fast_request *request, int64_t stored_tokens);
/* Returns the blocks of a request that has blocks but does not run. */
blis_status blis__fast_give_up_kv(fast_engine *engine, fast_request *request);
/*
 * Waiting requests with their KV lack blocks for one more token. Preempts the last
 * of them that could be computed here, unless it is the only one.
 */
blis_status blis__fast_drop_kv(fast_engine *engine, bool *is_dropped);
/*
 * After a preemption that left nothing running: the last waiting request that has its KV and whose
 * adapter is in no slot gives the KV up. Otherwise the others could preempt themselves without end,
 * each time they lack the blocks of a request that cannot run.
 */
blis_status blis__fast_drop_idle_kv(fast_engine *engine);
/* For a request with its KV: takes the block of its next token, if one is free. */
blis_status blis__fast_try_with_kv(fast_engine *engine, fast_request *request, fast_plan *plan,
                                   bool *is_admitted);

/* fast_load.c: what kv_source.h says of it. */
/*
 * Called before admission: queries its source. *is_loading = true: it has left the
 * queue. *is_blocked = true: there are too few blocks for the KV to load. Otherwise
 * it must be computed.
 */
blis_status blis__fast_load(fast_engine *engine, fast_request *request, int64_t now_us,
                            bool *is_loading, bool *is_blocked, blis_error *error);
blis_status blis__fast_loaded(void *state, blis_live_request *live, uint32_t end, int64_t now_us,
                              blis_error *error);
/* It leaves the engine while its KV is being brought. */
blis_status blis__fast_cancel_load(fast_engine *engine, fast_request *request);

/* fast_remote.c: blocks of a request that does not run, and that is in no
   queue. */
void blis__fast_park(fast_engine *engine, fast_request *request);
void blis__fast_unpark(fast_engine *engine, fast_request *request);

/* fast_groups.c: blocks of several KV groups, with config.kv_layout. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_init(fast_engine *engine,
                                                                blis_error *error);
BLIS_NOT_INLINE void blis__fast_groups_deinit(fast_engine *engine);
/* start: the request starts to decode, with has_token in the current step, for which it has its
   blocks. stop: it stops to decode. postpone: it is skipped in this step. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_start(fast_engine *engine,
                                                                 fast_request *request,
                                                                 bool has_token);
BLIS_NOT_INLINE void blis__fast_groups_stop(fast_engine *engine, fast_request *request);
BLIS_NOT_INLINE void blis__fast_groups_postpone(fast_engine *engine, fast_request *request);
/* How many of the next n decode steps find their blocks in any order; at least. */
BLIS_NOT_INLINE size_t blis__fast_groups_steps(const fast_engine *engine, size_t n);
/* Changes the blocks of all decodes in the next steps, for which there are blocks. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_run(fast_engine *engine, size_t steps);
/* Most blocks that a chunk of a prefill takes, and that all decodes take in this step. */
BLIS_NOT_INLINE int64_t blis__fast_groups_need(const fast_engine *engine,
                                               const fast_request *request, int64_t chunk_tokens);
BLIS_NOT_INLINE int64_t blis__fast_groups_decode_need(fast_engine *engine);
/* All of the batch get their blocks for this step, for which there are blocks. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_serve(fast_engine *engine,
                                                                 fast_plan *plan);
/* The request gets blocks for tokens more, as in blis__fast_make_room. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_schedule(fast_engine *engine,
                                                                    fast_plan *plan,
                                                                    fast_request *request,
                                                                    int64_t tokens, bool *is_there,
                                                                    blis_error *error);
/* Stores its last token, after its stored tokens, if there are blocks. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_store_last(fast_engine *engine,
                                                                      fast_request *request,
                                                                      int64_t stored);
/* Admits a waiting request, without or with its KV. *is_admitted = false: not now. */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_admit(fast_engine *engine,
                                                                 fast_request *request,
                                                                 fast_plan *plan,
                                                                 bool *is_admitted);
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__fast_groups_admit_with_kv(fast_engine *engine,
                                                                         fast_request *request,
                                                                         fast_plan *plan,
                                                                         bool *is_admitted);
/* Blocks for KV from another instance or from a tier. *is_done = false: too few. */
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
/* Preempts one request for request; *is_there = false: request itself had to go. */
BLIS_MUSTUSE blis_status blis__fast_preempt_one(fast_engine *engine, fast_plan *plan,
                                                const fast_request *request, bool *is_there,
                                                blis_error *error);
/*
 * A preempted request may find its own blocks again. All blocks that its prefills
 * fill are therefore named after this call, first the blocks it holds, including
 * blocks that decoding has filled if it resumes. Decoding does not name blocks of
 * one token.
 */
blis_status blis__fast_track(fast_engine *engine, fast_request *request, int64_t stored_tokens);

/* fast_engine.c */
/* It reaches the wait queue at the engine's clock. */
void blis__fast_enter_queue(fast_engine *engine, fast_request *request);
/* Schedules a step at the clock if none is scheduled and a request waits. */
void blis__fast_wake(fast_engine *engine);
/* fast_step.c: the next step is its first decode step, of at least least_steps. */
blis_status blis__fast_start_decoding(fast_engine *engine, fast_request *request,
                                      int64_t least_steps);

/* fast_batch.c: admission. */
blis_status blis__fast_admit(fast_engine *engine, fast_plan *plan, int64_t now_us,
                             blis_error *error);
/*
 * Returns true if a waiting request, with nothing in the cache, would be prefilled
 * in one step. It needs as many blocks as its prompt has, less those found in the
 * cache that others hold: cached blocks without holders are among the free ones.
 */
bool blis__fast_takes_whole(const fast_engine *engine, const fast_request *request,
                            int64_t budget_tokens);
/*
 * Returns true if a waiting request with its adapter certainly cannot be admitted.
 * Since its last attempt, its needs cannot have shrunk, and the number of free
 * blocks can only have fallen. This ends when blocks are returned, the prefix table
 * changes, or the request or the budget changes. For a request that takes the whole
 * prompt, removals from the table do not matter, because no request holds these
 * blocks. If no other request can have any of its blocks, no attempt is needed.
 */
bool blis__fast_is_blocked(const fast_engine *engine, const fast_request *request,
                           int64_t budget_tokens);
/*
 * Returns the request of the ordered queue that would be tried first: the head,
 * except for adapters. NULL = none. *acts is set if this depends on an adapter
 * query.
 */
const fast_request *blis__fast_next_waiting(const fast_engine *engine, bool *acts);

/* fast_batch.c: formation request by request. */
blis_status blis__fast_form_carefully(fast_engine *engine, fast_plan *plan, blis_error *error);
/* Called after the step time is known: updates decodes that were skipped. */
blis_status blis__fast_leave_behind(fast_engine *engine, int64_t itl_us, blis_error *error);

/* fast_preempt.c */
/*
 * Moves victim from the batch to the front of the queue. It keeps only its cached
 * blocks and, if it resumes, the tokens that its client has. The blocks it holds
 * get their names, so that it may find them again; blocks without earlier names
 * never belong to another request.
 */
blis_status blis__fast_preempt(fast_engine *engine, fast_plan *plan, fast_request *victim,
                               blis_error *error);
/*
 * Preempts until this number of blocks is free; *is_there = false: request itself
 * was preempted.
 */
blis_status blis__fast_make_room(fast_engine *engine, fast_plan *plan, const fast_request *request,
                                 int64_t blocks, bool *is_there, blis_error *error);
/* Removes the request from the batch and its sums, and returns all its blocks. */
blis_status blis__fast_leave_batch(fast_engine *engine, fast_request *request,
                                   int64_t stored_tokens);

/* fast_latency.c */
/* Books the inter-token latencies of decodes requests in n steps, which add up
   to sum_us. */
blis_status blis__fast_record_itl(fast_engine *engine, const int64_t *itl_us, size_t n,
                                  uint64_t sum_us, int64_t decodes, blis_error *error);
/* Removes all latencies of the request so far from the histogram. */
void blis__fast_withdraw_itl(fast_engine *engine, fast_request *request);
/* Keeps its latencies in the histogram permanently. */
void blis__fast_forget_itl(fast_engine *engine, fast_request *request);
/* Called before it stops decoding: its recorded latencies stay valid. */
blis_status blis__fast_keep_itl(fast_engine *engine, fast_request *request);
/* The latency of the current step does not count for the request. */
blis_status blis__fast_skip_itl(fast_engine *engine, fast_request *request, int64_t itl_us);
/* Records a latency that only this request has. */
blis_status blis__fast_add_own_itl(fast_engine *engine, fast_request *request, int64_t itl_us,
                                   blis_error *error);
/* Makes the histogram exact, except for requests that have not ended yet. */
void blis__fast_settle_itl(fast_engine *engine);

/* Time when the adapter that is being loaded is ready; BLIS_TIME_NEVER_US = none. */
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

/* Free blocks of the pool in use. */
static inline int64_t blis__fast_free_blocks(const fast_engine *engine) {
  return engine->groups == NULL ? blis_run_pool_free_blocks(engine->pool)
                                : blis_block_pool_free_blocks(engine->block_pool);
}

/* Number of blocks for this number of tokens. */
static inline int64_t blis__fast_blocks_of(const fast_engine *engine, int64_t tokens) {
  int64_t size = engine->config->block_size_tokens;
  return (tokens + size - 1) / size;
}

/* How many new blocks the request takes for chunk_tokens more prompt tokens. */
static inline int64_t blis__fast_blocks_for(const fast_engine *engine, const fast_request *request,
                                            int64_t chunk_tokens) {
  if (BLIS_UNLIKELY(engine->groups != NULL)) {
    return blis__fast_groups_need(engine, request, chunk_tokens);
  }
  int64_t stored = request->live->progress_tokens;
  return blis__fast_blocks_of(engine, stored + chunk_tokens) - blis__fast_blocks_of(engine, stored);
}

/* Returns the blocks of a request whose holder is up to date. */
static inline blis_status blis__fast_give_back(fast_engine *engine, fast_request *request) {
  engine->releases++;
  if (BLIS_UNLIKELY(engine->groups != NULL)) {
    blis_group_cache_release(engine->groups, &request->groups);
    return BLIS_OK;
  }
  return blis_run_pool_release(engine->pool, &request->holder);
}

/* step_index modulo the block size, never negative. */
static inline int64_t blis__fast_residue(const fast_engine *engine, int64_t step_index) {
  int64_t size = engine->config->block_size_tokens;
  int64_t residue = step_index % size;
  return residue < 0 ? residue + size : residue;
}

/* How many decodes need a new block in that step. */
static inline int64_t *blis__fast_boundary(fast_engine *engine, int64_t step_index) {
  return &engine->boundaries[blis__fast_residue(engine, step_index)];
}

#endif
