/*
 * adapters.h - the LoRA adapters of one engine: slots, loads, and users.
 *
 * A request that names an adapter can be admitted to the batch only while the adapter is in a slot.
 * A missing adapter is loaded when it is the request's turn. At the start of the load, the least
 * recently used adapter loses its slot. Only one load runs at a time. An adapter keeps its slot
 * while a running request uses it; with pins_preempted, also while a preempted request does. If
 * host memory holds only some of the adapters, a missing adapter is first fetched, which takes
 * longer.
 *
 * Main invariant: the number of loaded and loading adapters never exceeds the number of slots.
 * Every change results from calls that both engines make in the same order: admissions,
 * preemptions, and ends in the order of the batch. An engine may skip queries without an effect
 * (see blis__adapters_look).
 *
 * A request costs O(1). A load costs O(slots), plus O(adapters in host memory) if their number is
 * limited. Rules: BLIS (Go), LoRA control plane of 2026-07-15; vLLM v1 (max_loras, max_cpu_loras).
 */
#ifndef BLIS_INSTANCE_PARTS_ADAPTERS_H
#define BLIS_INSTANCE_PARTS_ADAPTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "instance/config/instance_config.h"
#include "instance/config/instance_events.h"
#include "instance/config/instance_stats.h"

typedef struct blis__adapters blis__adapters;

/*
 * Borrows *config, which must have passed blis__adapters_check, and *events. NULL = out of memory.
 */
blis__adapters *blis__adapters_new(const blis_alloc *alloc, const blis_adapter_config *config,
                                   const blis_instance_events *events);
void blis__adapters_free(blis__adapters *adapters);

/*
 * Called when the engine restarts. It then has no adapters and no requests; counters keep their
 * values.
 */
void blis__adapters_restart(blis__adapters *adapters);

/* BLIS_ERR_INVALID names the value that is out of range. */
BLIS_MUSTUSE blis_status blis__adapters_check(const blis_adapter_config *config, blis_error *error);

/*
 * These calls report the lifecycle of a request: it enters the wait queue, joins the batch, returns
 * to the queue, and leaves the queue or the batch permanently.
 */
void blis__adapters_queued(blis__adapters *adapters, blis_live_request *request);
void blis__adapters_admitted(blis__adapters *adapters, blis_live_request *request);
void blis__adapters_preempted(blis__adapters *adapters, blis_live_request *request);
void blis__adapters_left_queue(blis__adapters *adapters, blis_live_request *request);
void blis__adapters_left_batch(blis__adapters *adapters, blis_live_request *request);

/*
 * Called when a waiting request could join the batch. Returns true if its adapter is loaded.
 * Otherwise, a load may have started, and *goes_on is set to whether later requests may be tried.
 */
bool blis__adapters_ask(blis__adapters *adapters, blis_live_request *request, int64_t now_us,
                        bool *goes_on);

/* The outcome that blis__adapters_ask would have. */
typedef enum blis__adapter_look {
  BLIS__ADAPTER_READY,  /* the adapter is loaded */
  BLIS__ADAPTER_ACTS,   /* the call would change the state and must be made */
  BLIS__ADAPTER_WAITS,  /* nothing would change; later requests may be tried */
  BLIS__ADAPTER_BLOCKS, /* nothing would change; later requests must not be tried */
} blis__adapter_look;

blis__adapter_look blis__adapters_look(const blis__adapters *adapters,
                                       const blis_live_request *request, int64_t now_us);

/* Returns the end of the current load; BLIS_TIME_NEVER_US = no load. */
int64_t blis__adapters_load_end_us(const blis__adapters *adapters);
/* Ends the load: the adapter is ready. */
void blis__adapters_loaded(blis__adapters *adapters);

/* Returns the duration of a step that would take step_us without adapters. */
int64_t blis__adapters_step_us(const blis__adapters *adapters, int64_t step_us);
/* Returns the time of the loads that the step being formed waits for, and resets it. */
int64_t blis__adapters_take_load_us(blis__adapters *adapters);
/* Returns whether the batch has requests with adapters that slow down steps. */
bool blis__adapters_slow_steps(const blis__adapters *adapters);

void blis__adapters_get_stats(const blis__adapters *adapters, blis_adapter_stats *stats);
blis_adapter_state blis__adapters_state(const blis__adapters *adapters, uint32_t adapter);

/* Returns whether the counts agree with each other; for tests. */
bool blis__adapters_are_sound(const blis__adapters *adapters);

#endif
