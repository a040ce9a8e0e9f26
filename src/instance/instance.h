/*
 * instance.h - one serving engine, with a wait queue, continuous batching with chunked prefill and
 * preemption, and a paged KV cache with prefix reuse.
 *
 * Behavior follows BLIS (Go, inference-sim f90a1e3a), which follows vLLM's v1 scheduler;
 * blis_engine_rules contain the differences of real engines. Every state change belongs to an event
 * of this instance. Events are ordered by (time, class, sequence). Their classes are arrival,
 * queued, adapter loaded, step, timeout. A step computes its tokens at its start. A rule determines
 * when they are emitted.
 *
 * The caller owns the clock: it queries the time of the next event and makes the instance execute
 * that event.
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

/* Requests that are still with the instance are not freed, because their owner owns them. */
void blis_instance_free(blis_instance *instance);

/*
 * Delivers a request at now_us, which must not be earlier than any executed event. The request
 * enters the wait queue after the latency model's queueing time. On success, the instance owns the
 * request until ended() returns it.
 */
BLIS_MUSTUSE blis_status blis_instance_inject(blis_instance *instance, blis_live_request *request,
                                              int64_t now_us, blis_error *error);

/*
 * Removes request at now_us in any state: in transit to the queue, in the queue, or in the batch.
 * Its blocks are released. The owner owns it again; ended() is not called, and its state is
 * unchanged. The effects of the current step remain. Must not be called from the instance's own
 * events. After BLIS_ERR_NOMEM, the instance can only be freed.
 */
BLIS_MUSTUSE blis_status blis_instance_evict(blis_instance *instance, blis_live_request *request,
                                             int64_t now_us, blis_error *error);

/*
 * Returns whether the request is short enough for the instance, according to all its checks on
 * arrival.
 */
bool blis_instance_serves(const blis_instance *instance, const blis_live_request *request);

/*
 * Reserves blocks for a request. No other instance may hold this record, and the blocks must have
 * identities. blis_instance_serves must be true for the request, unless the whole prompt is
 * expected without a first token (BLIS, Go) and one more token fits. If there are too few free
 * blocks, *is_done is false and nothing has changed. Otherwise, the request is with this instance,
 * and *cached_tokens tokens of the demand are already cached.
 */
BLIS_MUSTUSE blis_status blis_instance_reserve(blis_instance *instance, blis_live_request *request,
                                               const blis_kv_demand *demand, int64_t *cached_tokens,
                                               bool *is_done, blis_error *error);

/*
 * Adds a request to the wait queue at now_us. Its blocks must have been reserved, and its deadline
 * must not have passed.
 */
BLIS_MUSTUSE blis_status blis_instance_activate(blis_instance *instance, blis_live_request *request,
                                                const blis_kv_arrival *arrival, int64_t now_us,
                                                blis_error *error);

/*
 * Sets a new deadline for a request of the instance. The deadline must be later than every executed
 * event. Must not be called from the instance's own events. After BLIS_ERR_NOMEM, the instance can
 * only be freed.
 */
BLIS_MUSTUSE blis_status blis_instance_leave_at(blis_instance *instance, blis_live_request *request,
                                                int64_t deadline_us, blis_error *error);

/*
 * Restarts the engine with an empty cache. Counters keep their values. No request may be with the
 * instance. BLIS_ERR_NOMEM leaves it unchanged.
 */
BLIS_MUSTUSE blis_status blis_instance_restart(blis_instance *instance, blis_error *error);

/*
 * Empties the prefix cache. Requests in the batch keep their blocks, and other requests can still
 * find these. The CPU tier keeps its contents. Must not be called from the instance's own events.
 */
BLIS_MUSTUSE blis_status blis_instance_forget_cache(blis_instance *instance, blis_error *error);

/*
 * Sets a factor (> 0, finite) for the latency model's step times, starting with the next step. The
 * initial factor is 1.
 */
void blis_instance_slow_down(blis_instance *instance, double factor);

/*
 * Returns the latency model of the configuration, without the factor of blis_instance_slow_down;
 * borrowed.
 */
const blis_latency_model *blis_instance_usual_latency(const blis_instance *instance);

/*
 * Stops all steps, the current one included, until the engine restarts (blis_instance_restart).
 * Requests still arrive and time out, and may be removed. If steps take effect at their start
 * (profile go-blis), the current step has already taken effect. Must not be called from the
 * instance's own events.
 */
BLIS_MUSTUSE blis_status blis_instance_hang(blis_instance *instance, blis_error *error);

/* Returns the time of the next event, or BLIS_TIME_NEVER_US if there is none. */
int64_t blis_instance_next_us(const blis_instance *instance);

/*
 * Like blis_instance_next_us, but ignores steps that do nothing and only repeat the previous step.
 * In BLIS (Go), such steps are frequent if all blocks are reserved. The fast engine executes all
 * such steps before a limit together.
 */
int64_t blis_instance_next_work_us(const blis_instance *instance);

/*
 * Executes the next event and all other events at the same time. The fast engine may execute more
 * events, but none at or after limit_us. There must be an event before limit_us and not after the
 * horizon. *clock_moved is set to whether the event advances the clock. The timeout of a request
 * that has already ended does not.
 *
 * Fails if the latency model, a scripted scheduler, or ended() fails, or if memory is exhausted.
 * Fails with BLIS_ERR_STUCK if no request makes progress. After a failure, the instance can be
 * inspected and freed, and every later call fails in the same way.
 */
BLIS_MUSTUSE blis_status blis_instance_run_next(blis_instance *instance, int64_t limit_us,
                                                bool *clock_moved, blis_error *error);

/*
 * With a gate: returns the duration that the open step would have without synchronization. 0 = it
 * computes nothing; -1 = no step is open. An instance with an open step has no next event.
 */
int64_t blis_instance_open_us(const blis_instance *instance);

/* Sets the duration of the open step to step_us >= 1 and continues it at its start time. Fails like
   blis_instance_run_next. */
BLIS_MUSTUSE blis_status blis_instance_go_on(blis_instance *instance, int64_t step_us,
                                             blis_error *error);

/* With a gate: counts the GPUs of this instance as busy for `us` microseconds from start_us, while
   other instances run their steps. Fails if the callback for the power draw fails. */
BLIS_MUSTUSE blis_status blis_instance_be_busy(blis_instance *instance, int64_t start_us,
                                               int64_t us, blis_error *error);

/* Stores the state after the last executed event. */
void blis_instance_get_stats(const blis_instance *instance, blis_instance_stats *stats);

/* Returns only the load, at a fraction of the cost of the full statistics. */
blis_instance_load blis_instance_get_load(const blis_instance *instance);

/* Stores the statistics of speculative decoding; all zero without it. */
void blis_instance_get_drafts(const blis_instance *instance, blis_draft_stats *stats);
/* Adds the values of *stats to *sum. */
void blis_draft_stats_add(blis_draft_stats *sum, const blis_draft_stats *stats);

/* Stores the energy; all zero without config.power. */
void blis_instance_get_energy(const blis_instance *instance, blis_instance_energy *energy);

/* Stores the statistics of adapters; all zero without adapters. */
void blis_instance_get_adapters(const blis_instance *instance, blis_adapter_stats *stats);
/* Returns the state of an adapter, numbered from 1 to the count of the configuration. */
blis_adapter_state blis_instance_adapter(const blis_instance *instance, uint32_t adapter);

/*
 * Returns how many leading full blocks of chain are currently in the prefix table. Has no side
 * effects: neither the LRU order nor a counter changes.
 */
uint32_t blis_instance_cached_blocks(const blis_instance *instance, const blis_block_chain *chain);

/*
 * Sets a mark, for stale views of the cache. After the first mark, changes to the prefix table are
 * recorded in a journal (kv/block_journal.h), which every later mark clears. A restart is also a
 * mark.
 */
void blis_instance_mark_cache(blis_instance *instance);

/*
 * Like blis_instance_cached_blocks, for the prefix table at the last mark. A mark must have been
 * set. BLIS_ERR_NOMEM if the journal has run out of memory since then.
 */
BLIS_MUSTUSE blis_status blis_instance_cached_blocks_at_mark(const blis_instance *instance,
                                                             const blis_block_chain *chain,
                                                             uint32_t *count);

/* Returns the configuration, with the current latency model (see blis_instance_slow_down). */
const blis_instance_config *blis_instance_get_config(const blis_instance *instance);

/*
 * Call it after the last event. It updates the records of the remaining requests and removes their
 * inter-token latencies from the histogram, because the fast engine counts them before a request is
 * completed. Afterwards, nothing may be injected or executed. Fails if the histogram fails.
 */
BLIS_MUSTUSE blis_status blis_instance_close(blis_instance *instance, blis_error *error);

/* Walks every structure. Returns whether all invariants hold. For tests. */
bool blis_instance_check(const blis_instance *instance);

#endif
