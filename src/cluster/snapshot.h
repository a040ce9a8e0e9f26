/*
 * snapshot.h - what policies are shown of the instances, and how fresh it is.
 *
 * One column of doubles per signal over all instances. Three kinds:
 *   engine signals (queue, batch, KV, ...): live with refresh_us 0. Otherwise
 *     read again, all together per instance, when a view is asked for at least
 *     refresh_us after the last time; zero until the first time. No event is
 *     scheduled for it (BLIS, Go, inference-sim f90a1e3a).
 *   counters of the router side (pending, in flight): always current.
 *   signals of one request and one instance (cached prefix): asked for when a
 *     view is made for a request.
 *
 * Work follows need: an instance is read again only if it has changed since,
 * and columns that nobody reads are not kept up. A view costs O(instances that
 * changed), plus O(instances) for each signal of the request.
 */
#ifndef BLIS_CLUSTER_SNAPSHOT_H
#define BLIS_CLUSTER_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "instance/instance.h"
#include "routing/view.h"

typedef struct blis__snapshot {
  blis_alloc alloc;
  uint32_t count;
  blis_instance *const *instances; /* borrowed */
  int64_t refresh_us;
  bool load_counts_in_flight;
  blis_signal_set kept; /* columns in use */

  double *values; /* all columns, one after the other */
  int64_t *refreshed_us;
  uint8_t *changes; /* what happened to an instance since the last view */
  BLIS_ARRAY(uint32_t) changed; /* the instances with changes; has room */

  blis_routing_view view;
  uint32_t *numbers;
  uint32_t *id_ranks;
  const blis_routing_request *request; /* of the view being shown */
} blis__snapshot;

typedef struct blis__snapshot_config {
  blis_instance *const *instances; /* borrowed, like ids */
  const char *const *ids;
  uint32_t count;
  int64_t refresh_us;
  bool load_counts_in_flight;
} blis__snapshot_config;

/* BLIS_ERR_NOMEM leaves nothing behind. */
BLIS_MUSTUSE blis_status
blis__snapshot_init(blis__snapshot *snapshot, const blis_alloc *alloc,
                    const blis__snapshot_config *config);
void blis__snapshot_deinit(blis__snapshot *snapshot);

/* These columns are kept up from now on. */
void blis__snapshot_need(blis__snapshot *snapshot, blis_signal_set signals);

/* Things that happen: to the instance itself, and to requests routed to it. */
void blis__snapshot_instance_changed(blis__snapshot *snapshot, uint32_t i);
void blis__snapshot_add_pending(blis__snapshot *snapshot, uint32_t i,
                                int change);
void blis__snapshot_add_in_flight(blis__snapshot *snapshot, uint32_t i,
                                  int change);
void blis__snapshot_add_prefill(blis__snapshot *snapshot, uint32_t i,
                                int64_t tokens);

/* A view is asked for at now_us: stale engine signals are read again. */
void blis__snapshot_refresh(blis__snapshot *snapshot, int64_t now_us);

/*
 * The view for a decision about request at now_us, valid until the next change
 * of anything. NULL = out of memory.
 */
const blis_routing_view *
blis__snapshot_show(blis__snapshot *snapshot,
                    const blis_routing_request *request, int64_t now_us);

/* The live value of a signal that does not depend on a request. */
double blis__snapshot_live(const blis__snapshot *snapshot, uint32_t i,
                           blis_signal signal);

#endif
