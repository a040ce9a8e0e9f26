/*
 * groups.h - a run seen by SLO class, tenant or model.
 */
#ifndef BLIS_RESULTS_GROUPS_H
#define BLIS_RESULTS_GROUPS_H

#include "results/percentiles.h"
#include "results/recorder.h"
#include "results/summary.h"
#include "results/times.h"

typedef enum blis_group_key {
  BLIS_GROUP_SLO_CLASS,
  BLIS_GROUP_TENANT,
  BLIS_GROUP_MODEL
} blis_group_key;

typedef struct blis_group {
  uint32_t text;    /* of the key: number in the workload's string table */
  const char *name; /* that text; borrowed from the table */
  blis_state_counts counts;
  int64_t prompt_tokens;
  int64_t output_tokens; /* of completed requests */
  blis_percentiles ttft;
  blis_percentiles itl; /* of the requests' own means */
  blis_percentiles e2e;
  blis_percentiles scheduling_delay;
} blis_group;

typedef struct blis_groups {
  blis_group *items; /* in the byte order of their names */
  size_t count;
} blis_groups;

/* strings is the workload's table. On failure there is nothing to deinit. */
BLIS_MUSTUSE blis_status blis_groups_init(
    blis_groups *groups, const blis_alloc *alloc, const blis_recorder *recorder,
    blis_group_key key, const blis_intern *strings, blis_error *error);
void blis_groups_deinit(blis_groups *groups, const blis_alloc *alloc);

/*
 * Adds the selected records to the counts of a group, and sets its times.
 * BLIS_ERR_NOMEM leaves nothing to free.
 */
BLIS_MUSTUSE blis_status blis__group_fill(blis_group *group,
                                          const blis_alloc *alloc,
                                          const blis__selection *selection);

/* Jain's index of the output tokens of the groups with a name; 0 = none. */
BLIS_MUSTUSE blis_status blis_groups_fairness(const blis_groups *groups,
                                              const blis_alloc *alloc,
                                              double *fairness);

#endif
