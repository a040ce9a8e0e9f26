/*
 * instance.h - one serving engine: wait queue, continuous batching with chunked
 * prefill and preemption, paged KV cache with prefix reuse.
 *
 * Behavior follows BLIS (Go, inference-sim f90a1e3a), which follows vLLM's v1
 * scheduler; blis_engine_rules are the differences of real engines. Every change of
 * state belongs to an event of this instance, ordered by (time, class, sequence):
 * arrival, queued, adapter loaded, step, timeout. A step computes its tokens at its
 * start; a rule determines when they are emitted.
 *
 * The caller owns the clock: it queries the time of the next event, and lets the
 * instance execute it.
 */
#ifndef BLIS_INSTANCE_INSTANCE_H
#define BLIS_INSTANCE_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/block_chain.h"
#include "base/error.h"
#include "base/time.h"
#include "instance/config/instance_config.h"
#include "instance/config/instance_events.h"
#include "instance/config/instance_stats.h"
#include "instance/parts/remote_kv.h"

typedef struct blis_instance blis_instance;

/*
 * Copies *config and *events. BLIS_ERR_INVALID names the field, its value, and the
 * allowed values. The caller owns *instance.
 */
BLIS_MUSTUSE blis_status blis_instance_new(const blis_alloc *alloc,
                                           const blis_instance_config *config,
                                           const blis_instance_events *events,
                                           blis_instance **instance, blis_error *error);

/* Requests still with the instance are not freed: they are their owner's. */
void blis_instance_free(blis_instance *instance);

/*
 * A request is delivered at now_us (not before any event executed so far).
 * It enters the wait queue after the latency model's queueing time. On
 * success the instance has the request until ended() returns it.
 */
BLIS_MUSTUSE blis_status blis_instance_inject(blis_instance *instance, blis_live_request *request,
                                              int64_t now_us, blis_error *error);

/*
 * Removes request at now_us in any state: in transit to the queue, in the queue, or
 * in the batch. Its blocks are released and it belongs to the owner again, without
 * ended() and with its last state; the effects of the current step remain. Must not
 * be called from the instance's own events. BLIS_ERR_NOMEM leaves the instance fit
 * only to be freed.
 */
BLIS_MUSTUSE blis_status blis_instance_evict(blis_instance *instance, blis_live_request *request,
                                             int64_t now_us, blis_error *error);

/* Is the request short enough for the instance, all its guards included? */
bool blis_instance_serves(const blis_instance *instance, const blis_live_request *request);

/*
 * Reserves blocks for a request that no other instance has under this record, and
 * whose blocks are named. The instance serves it, unless the whole prompt is
 * expected without a first token (BLIS, Go) and one more token fits. *is_done =
 * false: there are too few free blocks, and nothing has changed. Otherwise the
 * request is with this instance, and *cached_tokens of the demand are already
 * cached.
 */
BLIS_MUSTUSE blis_status blis_instance_reserve(blis_instance *instance, blis_live_request *request,
                                               const blis_kv_demand *demand, int64_t *cached_tokens,
                                               bool *is_done, blis_error *error);

/*
 * The request, which was reserved for and whose deadline is not over, enters
 * the wait queue at now_us.
 */
BLIS_MUSTUSE blis_status blis_instance_activate(blis_instance *instance, blis_live_request *request,
                                                const blis_kv_arrival *arrival, int64_t now_us,
                                                blis_error *error);

/*
 * Gives request another deadline, which is after every event executed so far; request is with the
 * instance. Not to be called from the instance's own events. BLIS_ERR_NOMEM leaves the instance fit
 * only to be freed.
 */
BLIS_MUSTUSE blis_status blis_instance_leave_at(blis_instance *instance, blis_live_request *request,
                                                int64_t deadline_us, blis_error *error);

/*
 * Restarts the engine with an empty cache; counters continue. No request may be
 * with the instance. BLIS_ERR_NOMEM leaves it unchanged.
 */
BLIS_MUSTUSE blis_status blis_instance_restart(blis_instance *instance, blis_error *error);

/*
 * Empties the prefix cache. Requests in the batch keep their blocks, which other
 * requests may continue to find; the CPU tier keeps its contents. Must not be
 * called from the instance's own events.
 */
BLIS_MUSTUSE blis_status blis_instance_forget_cache(blis_instance *instance, blis_error *error);

/*
 * Sets the factor (> 0, finite) of the latency model's step times, since the next
 * step; initially 1.
 */
void blis_instance_slow_down(blis_instance *instance, double factor);

/* The latency model of the configuration, however slow it is now; borrowed. */
const blis_latency_model *blis_instance_usual_latency(const blis_instance *instance);

/*
 * Stops all steps, the current one included, until the engine restarts
 * (blis_instance_restart). Requests still arrive, time out, and may be removed. If
 * a step has its effects at its start (profile go-blis), the current step has had
 * them. Must not be called from the instance's own events.
 */
BLIS_MUSTUSE blis_status blis_instance_hang(blis_instance *instance, blis_error *error);

/* Time of the next event, BLIS_TIME_NEVER_US without events. */
int64_t blis_instance_next_us(const blis_instance *instance);

/*
 * Like blis_instance_next_us, except for steps that repeat the previous step
 * without doing anything. In BLIS (Go) such steps are frequent if all blocks are
 * reserved; the fast engine executes all such steps before a limit at once.
 */
int64_t blis_instance_next_work_us(const blis_instance *instance);

/*
 * Executes the next event and all others of its time (a fast engine: and more
 * events, none at or after limit_us). An event must exist before limit_us that is
 * not after the horizon. *clock_moved is set if the event counted for the clock: a
 * timeout of a request that has already ended does not.
 *
 * Fails if the latency model, a scripted scheduler, or ended() fails, if memory
 * runs out, and with BLIS_ERR_STUCK if no request makes progress. The instance can
 * be inspected and freed after a failure; every later call fails in the same way.
 */
BLIS_MUSTUSE blis_status blis_instance_run_next(blis_instance *instance, int64_t limit_us,
                                                bool *clock_moved, blis_error *error);

/*
 * With a gate: duration of the open step on its own, 0 if it computes nothing; -1 =
 * no step is open. An instance with an open step has no next event.
 */
int64_t blis_instance_open_us(const blis_instance *instance);

/* Continues the open step at the time of its beginning, with a duration of step_us >= 1. Fails
   like run_next. */
BLIS_MUSTUSE blis_status blis_instance_go_on(blis_instance *instance, int64_t step_us,
                                             blis_error *error);

/* With a gate: marks its GPUs as busy from start_us for this duration, for the steps of other
   instances. Fails if the function for the power of steps fails. */
BLIS_MUSTUSE blis_status blis_instance_be_busy(blis_instance *instance, int64_t start_us,
                                               int64_t us, blis_error *error);

/* State after the last executed event. */
void blis_instance_get_stats(const blis_instance *instance, blis_instance_stats *stats);

/* Returns only the load, at a fraction of the cost of the full statistics. */
blis_instance_load blis_instance_get_load(const blis_instance *instance);

/* Statistics of its drafts; all zero without speculative decoding. */
void blis_instance_get_drafts(const blis_instance *instance, blis_draft_stats *stats);
/* Adds the values of *stats to *sum. */
void blis_draft_stats_add(blis_draft_stats *sum, const blis_draft_stats *stats);

/* All 0 without config.power. */
void blis_instance_get_energy(const blis_instance *instance, blis_instance_energy *energy);

/* Statistics of its adapters; all zero without adapters. */
void blis_instance_get_adapters(const blis_instance *instance, blis_adapter_stats *stats);
/* adapter >= 1, up to the count of the configuration. */
blis_adapter_state blis_instance_adapter(const blis_instance *instance, uint32_t adapter);

/*
 * How many leading full blocks of chain are in the prefix table right now.
 * Pure: changes neither the LRU order nor a counter.
 */
uint32_t blis_instance_cached_blocks(const blis_instance *instance, const blis_block_chain *chain);

/*
 * For views of the cache that lag behind: after the first mark, changes of the
 * prefix table are kept in a journal (kv/block_journal.h), which every later mark
 * empties. A restart is also a mark.
 */
void blis_instance_mark_cache(blis_instance *instance);

/*
 * As blis_instance_cached_blocks, of the prefix table at the last mark. There
 * has been one. BLIS_ERR_NOMEM when the journal found no memory since.
 */
BLIS_MUSTUSE blis_status blis_instance_cached_blocks_at_mark(const blis_instance *instance,
                                                             const blis_block_chain *chain,
                                                             uint32_t *count);

/* Its latency model is the current one, see blis_instance_slow_down. */
const blis_instance_config *blis_instance_get_config(const blis_instance *instance);

/*
 * After the last event: brings the records of the requests that are still
 * here up to date, and takes their inter-token latencies out of the
 * histogram, where a fast engine has counted them ahead of completion. Nothing
 * may be injected or executed afterwards. Fails when the histogram does.
 */
BLIS_MUSTUSE blis_status blis_instance_close(blis_instance *instance, blis_error *error);

/* Walks every structure; returns true if all invariants hold. For tests. */
bool blis_instance_check(const blis_instance *instance);

#endif
