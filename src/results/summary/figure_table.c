#include "results/summary/figure_table.h"

#include "cluster/handoff/handoff.h"
#include "results/summary/goodput.h"
#include "results/summary/groups.h"
#include "results/summary/summary.h"
#include "results/summary/tasks.h"
#include "results/summary/tier_summary.h"

/* Strings for the words of the maps. */
#define MORE "more"
#define LESS "less"
#define NEUTRAL "neutral"

#define FIGURE(place, kind, name, ...)                                                             \
  {name, BLIS_FIGURE_##kind, offsetof(OWNER, place), __VA_ARGS__},

/* Metrics of a map as members of the struct OWNER, or of a nested struct. */
#define MEMBER(kind, name, ...) FIGURE(name, kind, #name, __VA_ARGS__)
#define OF_STATS(kind, name, ...) FIGURE(stats.name, kind, #name, __VA_ARGS__)
#define OF_COUNTS(kind, name, ...) FIGURE(counts.name, kind, #name, __VA_ARGS__)

#define OWNER blis_percentiles
static const blis_figure percentiles_figures[] = {
#define XX(constant, name, percent)                                                                \
  FIGURE(at_ms[BLIS_##constant], NUMBER, name, "ms", LESS, "",                                     \
         #percent " % of the times are at most this")
    FIGURE(count, INTEGER, "count", "", NEUTRAL, "", "how many times there are")
        FIGURE(mean_ms, NUMBER, "mean", "ms", LESS, "", "arithmetic mean")
            FIGURE(min_ms, NUMBER, "min", "ms", LESS, "", "the shortest") BLIS_PERCENTILE_MAP(XX)
                FIGURE(max_ms, NUMBER, "max", "ms", LESS, "", "the longest")
#undef XX
};
#undef OWNER

#define OWNER blis_state_counts
static const blis_figure counts_figures[] = {
#define XX(state, name, better, text) FIGURE(name, INTEGER, #name, "requests", better, "", text)
    FIGURE(arrived, INTEGER, "arrived", "requests", NEUTRAL, "",
           "the sum of all below but length_capped") BLIS_REQUEST_STATE_MAP(XX)
#undef XX
};
#undef OWNER

#define OWNER blis_times
static const blis_figure times_figures[] = {
#define XX(name, text) FIGURE(name, TIMES, #name "_ms", "ms", LESS, "", text)
    BLIS_TIME_MAP(XX)
#undef XX
};
#undef OWNER

#define OWNER blis_summary
static const blis_figure result_figures[] = {BLIS_RESULT_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_group
static const blis_figure group_figures[] = {BLIS_GROUP_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_window
static const blis_figure window_figures[] = {BLIS_WINDOW_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_instance_summary
static const blis_figure instance_figures[] = {BLIS_INSTANCE_FIGURES(MEMBER)
                                                   BLIS_INSTANCE_COUNT_MAP(OF_STATS)};
#undef OWNER

#define OWNER blis_belief
static const blis_figure cache_belief_figures[] = {BLIS_BELIEF_COUNT_MAP(OF_COUNTS)
                                                       BLIS_BELIEF_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_handoff_summary
static const blis_figure handoffs_figures[] = {BLIS_HANDOFF_COUNT_MAP(OF_COUNTS)
                                                   BLIS_HANDOFF_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_link_summary
static const blis_figure link_figures[] = {BLIS_LINK_COUNT_MAP(OF_COUNTS)
                                               BLIS_LINK_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_tiers_summary
static const blis_figure tiers_figures[] = {BLIS_TIERS_COUNT_MAP(OF_COUNTS)
                                                BLIS_TIERS_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_tier_summary
static const blis_figure tier_figures[] = {BLIS_TIER_COUNT_MAP(OF_COUNTS)
                                               BLIS_TIER_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_queue_summary
static const blis_figure queue_figures[] = {BLIS_QUEUE_COUNT_MAP(OF_COUNTS)
                                                BLIS_QUEUE_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_queue_band
static const blis_figure band_figures[] = {BLIS_BAND_COUNT_MAP(OF_COUNTS)
                                               BLIS_BAND_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_speculation_summary
static const blis_figure speculation_figures[] = {BLIS_SPECULATION_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_ranks_summary
static const blis_figure ranks_figures[] = {BLIS_RANKS_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_lora_summary
static const blis_figure lora_figures[] = {BLIS_LORA_COUNT_MAP(OF_COUNTS)
                                               BLIS_LORA_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_adapter_summary
static const blis_figure adapter_figures[] = {BLIS_ADAPTER_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_regions_summary
static const blis_figure regions_figures[] = {BLIS_REGIONS_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_region_summary
static const blis_figure region_figures[] = {BLIS_REGION_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_goodput
static const blis_figure goodput_figures[] = {BLIS_GOODPUT_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_attempt_figures
static const blis_figure attempts_figures[] = {BLIS_ATTEMPT_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_cascade_figures
static const blis_figure cascade_figures[] = {BLIS_CASCADE_FIGURES(MEMBER)};
#undef OWNER

#define OWNER blis_task_summary
static const blis_figure tasks_figures[] = {BLIS_TASK_FIGURES(MEMBER)};
#undef OWNER

static const struct {
  const char *name;
  const blis_figure *figures;
  size_t count;
} lists[] = {
#define XX(constant, name) {#name, name##_figures, sizeof name##_figures / sizeof *name##_figures},
    BLIS_FIGURE_LIST_MAP(XX)
#undef XX
};

const char *blis_figure_list_name(blis_figure_list list) {
  return lists[list].name;
}

const blis_figure *blis_figures(blis_figure_list list, size_t *count) {
  *count = lists[list].count;
  return lists[list].figures;
}
