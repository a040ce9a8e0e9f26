/*
 * figure_table.h - the metrics of results/metrics/figures.h as lists at run time: the name, the
 * type, and the offset of each metric in its struct.
 */
#ifndef BLIS_RESULTS_SUMMARY_FIGURE_TABLE_H
#define BLIS_RESULTS_SUMMARY_FIGURE_TABLE_H

#include <stddef.h>

typedef enum blis_figure_type {
  BLIS_FIGURE_INTEGER,
  BLIS_FIGURE_NUMBER,
  BLIS_FIGURE_TIMES /* blis_percentiles */
} blis_figure_type;

typedef struct blis_figure {
  const char *name; /* name of the Lua field */
  blis_figure_type type;
  size_t offset;
  const char *unit;   /* "" = none */
  const char *better; /* "more", "less" or "neutral" */
  const char *shown;
  const char *text;
} blis_figure;

/* XX(constant, name): lists of metrics, by the struct that contains them. */
#define BLIS_FIGURE_LIST_MAP(XX)                                                                   \
  XX(PERCENTILES, percentiles)   /* blis_percentiles */                                            \
  XX(COUNTS, counts)             /* blis_state_counts */                                           \
  XX(TIMES, times)               /* blis_times */                                                  \
  XX(RESULT, result)             /* blis_summary */                                                \
  XX(GROUP, group)               /* blis_group */                                                  \
  XX(WINDOW, window)             /* blis_window */                                                 \
  XX(INSTANCE, instance)         /* blis_instance_summary */                                       \
  XX(CACHE_BELIEF, cache_belief) /* blis_belief */                                                 \
  XX(HANDOFFS, handoffs)         /* blis_handoff_summary */                                        \
  XX(LINK, link)                 /* blis_link_summary */                                           \
  XX(TIERS, tiers)               /* blis_tiers_summary */                                          \
  XX(TIER, tier)                 /* blis_tier_summary */                                           \
  XX(QUEUE, queue)               /* blis_queue_summary */                                          \
  XX(BAND, band)                 /* blis_queue_band */                                             \
  XX(SPECULATION, speculation)   /* blis_speculation_summary */                                    \
  XX(RANKS, ranks)               /* blis_ranks_summary */                                          \
  XX(LORA, lora)                 /* blis_lora_summary */                                           \
  XX(ADAPTER, adapter)           /* blis_adapter_summary */                                        \
  XX(REGIONS, regions)           /* blis_regions_summary */                                        \
  XX(REGION, region)             /* blis_region_summary */                                         \
  XX(GOODPUT, goodput)           /* blis_goodput */                                                \
  XX(ATTEMPTS, attempts)         /* blis_attempt_figures */                                        \
  XX(CASCADE, cascade)           /* blis_cascade_figures */                                        \
  XX(TASKS, tasks)               /* blis_task_summary */

typedef enum blis_figure_list {
#define XX(constant, name) BLIS_FIGURES_##constant,
  BLIS_FIGURE_LIST_MAP(XX)
#undef XX
      BLIS_FIGURE_LIST_COUNT
} blis_figure_list;

/* Static storage. */
const char *blis_figure_list_name(blis_figure_list list);
const blis_figure *blis_figures(blis_figure_list list, size_t *count);

#endif
