/*
 * groups.h - a run by SLO class, tenant, model, adapter, session or program.
 *
 * The last two may be as many as there are requests: a group takes about 500
 * bytes.
 */
#ifndef BLIS_RESULTS_GROUPS_H
#define BLIS_RESULTS_GROUPS_H

#include "results/recorder.h"
#include "results/times.h"

typedef enum blis_group_key {
  BLIS_GROUP_SLO_CLASS,
  BLIS_GROUP_TENANT,
  BLIS_GROUP_MODEL,
  BLIS_GROUP_ADAPTER,
  BLIS_GROUP_SESSION,
  BLIS_GROUP_PROGRAM
} blis_group_key;

typedef struct blis_group {
  uint32_t text;    /* of the key: number in the workload's string table */
  const char *name; /* that text; borrowed from the table */
  blis_state_counts counts;
  BLIS_GROUP_FIGURES(BLIS_FIGURE_MEMBER)
  blis_times times;              /* inter-token latencies are the requests' own means */
  blis_percentiles gateway_wait; /* of those that left the gateway's queue */
  blis_percentiles adapter_wait; /* of those admitted with an adapter */
} blis_group;

typedef struct blis_groups {
  blis_group *items; /* in the byte order of their names */
  size_t count;
} blis_groups;

/* strings is the workload's table. On failure there is nothing to deinit. */
BLIS_MUSTUSE blis_status blis_groups_init(blis_groups *groups, const blis_alloc *alloc,
                                          const blis_recorder *recorder, blis_group_key key,
                                          const blis_intern *strings, blis_error *error);
void blis_groups_deinit(blis_groups *groups, const blis_alloc *alloc);

/*
 * Adds the selected records to the counts of a group, and sets its times.
 * BLIS_ERR_NOMEM leaves nothing to free.
 */
BLIS_MUSTUSE blis_status blis__group_fill(blis_group *group, const blis_alloc *alloc,
                                          const blis__selection *selection);

#endif
