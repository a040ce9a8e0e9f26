/*
 * groups.h - metrics of parts of a run: the requests with a label, a time window, and an instance.
 *
 * Labels are SLO class, tenant, model, adapter, session, and program. A run can have as many
 * sessions and programs as requests. A group takes about 500 bytes.
 *
 * The latencies of a window cover the requests that arrived in the window, regardless of when they
 * ended. Its throughput counts the requests that completed in the window.
 */
#ifndef BLIS_RESULTS_SUMMARY_GROUPS_H
#define BLIS_RESULTS_SUMMARY_GROUPS_H

#include "results/record/recorder.h"
#include "results/summary/times.h"

typedef enum blis_group_key {
  BLIS_GROUP_SLO_CLASS,
  BLIS_GROUP_TENANT,
  BLIS_GROUP_MODEL,
  BLIS_GROUP_ADAPTER,
  BLIS_GROUP_SESSION,
  BLIS_GROUP_PROGRAM
} blis_group_key;

typedef struct blis_group {
  uint32_t text;    /* text of the key; number in the workload's string table */
  const char *name; /* text of the key; borrowed from the table */
  blis_state_counts counts;
  BLIS_GROUP_FIGURES(BLIS_FIGURE_MEMBER)
  blis_times times;              /* inter-token latencies are the means of the requests */
  blis_percentiles gateway_wait; /* wait of requests that left the gateway queue */
  blis_percentiles adapter_wait; /* wait of requests admitted with an adapter */
} blis_group;

typedef struct blis_groups {
  blis_group *items; /* in byte order of their names */
  size_t count;
} blis_groups;

/* strings is the workload's string table. After a failure there is nothing to deinitialize. */
BLIS_MUSTUSE blis_status blis_groups_init(blis_groups *groups, const blis_alloc *alloc,
                                          const blis_recorder *recorder, blis_group_key key,
                                          const blis_intern *strings, blis_error *error);
void blis_groups_deinit(blis_groups *groups, const blis_alloc *alloc);

/*
 * Adds the selected records to the counts of a group, and sets its times. After BLIS_ERR_NOMEM
 * there is nothing to free.
 */
BLIS_MUSTUSE blis_status blis__group_fill(blis_group *group, const blis_alloc *alloc,
                                          const blis__selection *selection);

/* Windows. */

typedef struct blis_window {
  blis_group group;      /* requests that arrived in the window; without a name */
  int64_t completed;     /* requests that completed in the window, regardless of their arrival */
  int64_t output_tokens; /* output tokens of the requests that completed in the window */
  BLIS_WINDOW_FIGURES(BLIS_FIGURE_MEMBER)
} blis_window;

/* The window starts at from_us and ends before to_us > from_us. After BLIS_ERR_NOMEM there is
   nothing to free. */
BLIS_MUSTUSE blis_status blis_window_fill(blis_window *window, const blis_alloc *alloc,
                                          const blis_recorder *recorder, int64_t from_us,
                                          int64_t to_us);

/*
 * Fills a window with the requests that completed after the first count completed requests. The
 * window starts at their first arrival and ends at their last end. If no such request exists, the
 * window is empty, from 0 to 1. After BLIS_ERR_NOMEM there is nothing to free.
 *
 * Source: RouteSim's design document, "Warmup" and "Aggregation".
 */
BLIS_MUSTUSE blis_status blis_window_after_completed(blis_window *window, const blis_alloc *alloc,
                                                     const blis_recorder *recorder, size_t count);

/*
 * Fills a window with the completed requests that arrived from from_us to to_us (both inclusive).
 * The window starts at their first arrival and ends at their last end, and throughput is computed
 * over that interval.
 *
 * Source: the AgentX profile of AISimulate, its throughput interval.
 */
BLIS_MUSTUSE blis_status blis_window_of_cohort(blis_window *window, const blis_alloc *alloc,
                                               const blis_recorder *recorder, int64_t from_us,
                                               int64_t to_us);

/* Instances. */

typedef struct blis_instance_times {
  blis_state_counts counts; /* counts of the requests that were routed to the instance */
  blis_times times;
} blis_instance_times;

/*
 * Fills times[count]. itl_us[count] contains the inter-token latencies of each instance. All
 * percentiles of an instance without completed requests are 0. O(records log records). After
 * BLIS_ERR_NOMEM there is nothing to free.
 */
BLIS_MUSTUSE blis_status blis_instance_times_fill(blis_instance_times *times, uint32_t count,
                                                  const blis_alloc *alloc,
                                                  const blis_recorder *recorder,
                                                  blis_histogram *itl_us);

#endif
