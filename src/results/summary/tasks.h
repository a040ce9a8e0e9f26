/*
 * tasks.h - metrics of the tasks of session graphs.
 *
 * Times cover completed tasks. Parts of times cover the critical paths of these tasks, so the mean
 * of task_ms is the sum of the means of its parts.
 */
#ifndef BLIS_RESULTS_SUMMARY_TASKS_H
#define BLIS_RESULTS_SUMMARY_TASKS_H

#include "base/alloc.h"
#include "results/metrics/figures.h"
#include "workload/graph/player.h"

typedef struct blis_task_summary {
  BLIS_TASK_FIGURES(BLIS_FIGURE_MEMBER)
} blis_task_summary;

/* Summarizes the tasks. duration_us is the duration of the run. After BLIS_ERR_NOMEM there is
   nothing to free. */
BLIS_MUSTUSE blis_status blis_tasks_summarise(const blis_alloc *alloc, const blis_task *tasks,
                                              size_t count, int64_t duration_us,
                                              blis_task_summary *summary);

#endif
