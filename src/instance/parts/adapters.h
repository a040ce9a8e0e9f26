/*
 * adapters.h - the LoRA adapters of one engine: slots, loads, and users.
 *
 * A request that names an adapter can be admitted to the batch only while the
 * adapter is in a slot. A missing adapter is loaded when the request is next: the
 * least recently used adapter loses its slot at the start of the load, and one load
 * runs at a time. An adapter in use, by a running request (with pins_preempted also
 * by one that was running), keeps its slot. If the host has capacity for only some
 * adapters, a missing one is fetched first, which takes longer.
 *
 * Main invariant: loaded and loading adapters never exceed the slots, and every
 * change follows from calls whose order both engines share: admissions,
 * preemptions, and ends in the order of the batch. An engine may skip queries
 * without an effect (see blis__adapters_look).
 *
 * A request costs O(1), a load O(slots), and O(adapters on the host) where these
 * are limited. Rules: BLIS (Go), LoRA control plane of 2026-07-15; vLLM v1
 * (max_loras, max_cpu_loras).
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
 * NULL = out of memory. Borrows *config, which has been checked
 * (blis__adapters_check), and *events.
 */
blis__adapters *blis__adapters_new(const blis_alloc *alloc, const blis_adapter_config *config,
                                   const blis_instance_events *events);
void blis__adapters_free(blis__adapters *adapters);

/* The engine restarts without adapters and requests; counters continue. */
void blis__adapters_restart(blis__adapters *adapters);

/* BLIS_ERR_INVALID names the value that is out of range. */
BLIS_MUSTUSE blis_status blis__adapters_check(const blis_adapter_config *config, blis_error *error);

/*
 * The lifecycle of a request: it enters the wait queue, joins the batch, returns to
 * the queue, and leaves the queue or the batch permanently.
 */
void blis__adapters_queued(blis__adapters *adapters, blis_live_request *request);
void blis__adapters_admitted(blis__adapters *adapters, blis_live_request *request);
void blis__adapters_preempted(blis__adapters *adapters, blis_live_request *request);
void blis__adapters_left_queue(blis__adapters *adapters, blis_live_request *request);
void blis__adapters_left_batch(blis__adapters *adapters, blis_live_request *request);

/*
 * A waiting request asks to join the batch now. Returns true if its adapter is
 * loaded. Otherwise a load may have begun, and goes_on is set if later requests may
 * still be tried.
 */
bool blis__adapters_ask(blis__adapters *adapters, blis_live_request *request, int64_t now_us,
                        bool *goes_on);

/* What asking would come to. */
typedef enum blis__adapter_look {
  BLIS__ADAPTER_READY,  /* it is loaded */
  BLIS__ADAPTER_ACTS,   /* something would change: ask */
  BLIS__ADAPTER_WAITS,  /* nothing would; later requests may be tried */
  BLIS__ADAPTER_BLOCKS, /* nothing would, and these may not */
} blis__adapter_look;

blis__adapter_look blis__adapters_look(const blis__adapters *adapters,
                                       const blis_live_request *request, int64_t now_us);

/* End of the current load; BLIS_TIME_NEVER_US = none. */
int64_t blis__adapters_load_end_us(const blis__adapters *adapters);
/* Ends the load: the adapter is ready. */
void blis__adapters_loaded(blis__adapters *adapters);

/* How long a step takes that would take step_us without adapters. */
int64_t blis__adapters_step_us(const blis__adapters *adapters, int64_t step_us);
/* Time of the loads that the step being formed waits for; resets it. */
int64_t blis__adapters_take_load_us(blis__adapters *adapters);
/* The batch has requests with adapters that make steps longer. */
bool blis__adapters_slow_steps(const blis__adapters *adapters);

void blis__adapters_get_stats(const blis__adapters *adapters, blis_adapter_stats *stats);
blis_adapter_state blis__adapters_state(const blis__adapters *adapters, uint32_t adapter);

/* The counts agree with each other; for tests. */
bool blis__adapters_are_sound(const blis__adapters *adapters);

#endif
