#include "results/summary/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/containers/map.h"
#include "base/invariant.h"

/* Returns whether all records of an origin have the same key, and therefore the same group. Keys
   of sessions and programs are stored in each record instead. */
static bool is_of_origin(blis_group_key key) {
  return key != BLIS_GROUP_SESSION && key != BLIS_GROUP_PROGRAM;
}

static uint32_t text_of_origin(const blis__origin *origin, blis_group_key key) {
  switch (key) {
  case BLIS_GROUP_SLO_CLASS:
    return origin->slo_class;
  case BLIS_GROUP_TENANT:
    return origin->tenant;
  case BLIS_GROUP_ADAPTER:
    return origin->adapter;
  default:
    return origin->model;
  }
}

/* Returns the text of a key; place is the index of an origin or of a record. */
static uint32_t text_at(const blis__record_store *store, blis_group_key key, size_t place) {
  if (is_of_origin(key)) {
    return text_of_origin(&store->origins.items[place], key);
  }
  blis_record_extra extra = key == BLIS_GROUP_SESSION ? BLIS_EXTRA_session : BLIS_EXTRA_program;
  int64_t text = blis__record_store_extra(store, place, extra);
  return text < 0 ? 0 : (uint32_t)text;
}

/* Records sorted by group; groups are in order of first appearance. */
typedef struct grouping {
  const blis_recorder *recorder;
  const blis__record_store *store;
  blis_group_key key;
  BLIS_ARRAY(uint32_t) texts; /* texts of the groups */
  BLIS_ARRAY(uint32_t) at;    /* group of each origin, or of each record */
  BLIS_ARRAY(size_t) ends;    /* ends of the groups in `which` */
  uint32_t *which;            /* record indices; NULL = one group contains all records */
} grouping;

static void deinit(grouping *g, const blis_alloc *alloc) {
  blis_array_deinit(alloc, &g->texts);
  blis_array_deinit(alloc, &g->at);
  blis_array_deinit(alloc, &g->ends);
  blis_alloc_free(alloc, g->which, g->store->records.count * sizeof *g->which);
}

/* Finds the groups: records with the same text form one group. */
static blis_status find_groups(grouping *g, const blis_alloc *alloc, blis_map *group_of_text) {
  size_t count = is_of_origin(g->key) ? g->store->origins.count : g->store->records.count;
  BLIS_TRY(blis_array_reserve(alloc, &g->at, count));
  for (size_t i = 0; i < count; i++) {
    uint32_t text = text_at(g->store, g->key, i);
    uint64_t *group;
    bool is_new;
    BLIS_TRY(blis_map_add(group_of_text, text, g->texts.count, &group, &is_new));
    if (is_new) {
      BLIS_TRY(blis_array_push(alloc, &g->texts, text));
      BLIS_TRY(blis_array_push(alloc, &g->ends, 0));
    }
    g->at.items[g->at.count++] = (uint32_t)*group;
  }
  return BLIS_OK;
}

static uint32_t group_of(const grouping *g, size_t record) {
  return g->at.items[is_of_origin(g->key) ? g->store->records.items[record].origin : record];
}

/* Distributes the records. Initially ends[k] is the start of group k; it advances with each
   record. */
static void distribute(grouping *g) {
  size_t count = g->store->records.count;
  for (size_t i = 0; i < count; i++) {
    g->ends.items[group_of(g, i)]++;
  }
  size_t start = 0;
  for (size_t k = 0; k < g->ends.count; k++) {
    size_t size = g->ends.items[k];
    g->ends.items[k] = start;
    start += size;
  }
  for (size_t i = 0; i < count; i++) {
    g->which[g->ends.items[group_of(g, i)]++] = (uint32_t)i;
  }
  BLIS_ASSERT(start == count && g->ends.items[g->ends.count - 1] == start);
}

static blis_status arrange(grouping *g, const blis_alloc *alloc) {
  blis_map group_of_text;
  blis_map_init(&group_of_text, alloc);
  blis_status status = find_groups(g, alloc, &group_of_text);
  blis_map_deinit(&group_of_text);
  BLIS_TRY(status);
  size_t count = g->store->records.count;
  if (g->texts.count == 1) {
    g->ends.items[0] = count;
    return BLIS_OK;
  }
  g->which = blis_alloc_new(alloc, count * sizeof *g->which);
  if (g->which == NULL) {
    return BLIS_ERR_NOMEM;
  }
  distribute(g);
  return BLIS_OK;
}

static void put_hit_rate(blis_group *group, int64_t hits) {
  int64_t completed = group->counts.completed;
  group->request_hit_rate = completed > 0 ? (double)hits / (double)completed : 0;
}

static blis_status fill_waits(blis_group *group, const blis_alloc *alloc,
                              const blis__selection *selection) {
  BLIS_TRY(blis__waits_fill(&group->gateway_wait, alloc, selection, BLIS_EXTRA_gateway_wait_us));
  return blis__waits_fill(&group->adapter_wait, alloc, selection, BLIS_EXTRA_adapter_wait_us);
}

blis_status blis__group_fill(blis_group *group, const blis_alloc *alloc,
                             const blis__selection *selection) {
  int64_t hits = 0;
  for (size_t i = 0; i < selection->count; i++) {
    const blis__short_record *record = blis__selected(selection, i);
    blis_state_counts_add(&group->counts, record->state);
    group->prompt_tokens += BLIS__WORD(selection->store, record, prompt_tokens);
    if (blis_request_is_completed(record->state)) {
      group->output_tokens += BLIS__WORD(selection->store, record, output_tokens);
      hits += record->had_hit;
    }
  }
  put_hit_rate(group, hits);
  BLIS_TRY(fill_waits(group, alloc, selection));
  return blis__times_fill(&group->times, alloc, selection, NULL);
}

static blis_status fill_with_all(blis_group *group, const blis_alloc *alloc,
                                 const blis_recorder *recorder) {
  const blis__whole *whole;
  BLIS_TRY(blis__times_of_whole(recorder, alloc, &whole));
  group->counts = blis_recorder_tally(recorder)->counts;
  group->prompt_tokens = whole->prompt_tokens;
  group->output_tokens = whole->output_tokens;
  group->times = whole->times;
  put_hit_rate(group, blis_recorder_tally(recorder)->hits);
  const blis__record_store *store = blis__recorder_store(recorder);
  const blis__selection all = {.store = store, .count = store->records.count};
  return fill_waits(group, alloc, &all);
}

static int compare_names(const void *a, const void *b) {
  const blis_group *left = a;
  const blis_group *right = b;
  return strcmp(left->name, right->name);
}

static blis_status fill_groups(blis_groups *groups, const grouping *g, const blis_alloc *alloc,
                               const blis_intern *strings) {
  groups->items = blis_alloc_zeroed(alloc, g->texts.count, sizeof *groups->items);
  if (groups->items == NULL) {
    return BLIS_ERR_NOMEM;
  }
  groups->count = g->texts.count;
  size_t start = 0;
  for (size_t k = 0; k < groups->count; k++) {
    blis_group *group = &groups->items[k];
    group->text = g->texts.items[k];
    group->name = blis_intern_text(strings, group->text);
    if (g->which == NULL) {
      BLIS_TRY(fill_with_all(group, alloc, g->recorder));
    } else {
      const blis__selection selection = {g->store, g->which + start, g->ends.items[k] - start};
      BLIS_TRY(blis__group_fill(group, alloc, &selection));
    }
    start = g->ends.items[k];
  }
  BLIS_ASSERT(start == g->store->records.count);
  qsort(groups->items, groups->count, sizeof *groups->items, compare_names);
  return BLIS_OK;
}

blis_status blis_groups_init(blis_groups *groups, const blis_alloc *alloc,
                             const blis_recorder *recorder, blis_group_key key,
                             const blis_intern *strings, blis_error *error) {
  *groups = (blis_groups){0};
  grouping g = {.recorder = recorder, .store = blis__recorder_store(recorder), .key = key};
  if (g.store->records.count == 0) {
    return BLIS_OK;
  }
  blis_status status = arrange(&g, alloc);
  if (status == BLIS_OK) {
    status = fill_groups(groups, &g, alloc, strings);
  }
  deinit(&g, alloc);
  if (status != BLIS_OK) {
    blis_groups_deinit(groups, alloc);
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

void blis_groups_deinit(blis_groups *groups, const blis_alloc *alloc) {
  blis_alloc_free(alloc, groups->items, groups->count * sizeof *groups->items);
  *groups = (blis_groups){0};
}

/* Windows. */

static bool is_in(const blis_window *window, int64_t time_us) {
  return time_us >= window->from_us && time_us < window->to_us;
}

static void put_throughput(blis_window *window, const blis_recorder *recorder) {
  size_t count = blis_recorder_count(recorder);
  for (size_t i = 0; i < count; i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    if (blis_record_is_completed(&record) && is_in(window, record.end_us)) {
      window->completed++;
      window->output_tokens += record.output_tokens;
    }
  }
  double seconds = ((double)window->to_us - (double)window->from_us) / 1e6;
  window->requests_per_sec = (double)window->completed / seconds;
  window->tokens_per_sec = (double)window->output_tokens / seconds;
}

blis_status blis_window_fill(blis_window *window, const blis_alloc *alloc,
                             const blis_recorder *recorder, int64_t from_us, int64_t to_us) {
  *window = (blis_window){.group = {.name = ""}, .from_us = from_us, .to_us = to_us};
  const blis__record_store *store = blis__recorder_store(recorder);
  size_t count = store->records.count;
  blis__selection arrived = {.store = store};
  size_t size = count * sizeof *arrived.which;
  uint32_t *which = NULL;
  if (count > 0) {
    which = blis_alloc_new(alloc, size);
    if (which == NULL) {
      return BLIS_ERR_NOMEM;
    }
  }
  for (size_t i = 0; i < count; i++) {
    if (is_in(window, store->records.items[i].arrival_us)) {
      which[arrived.count++] = (uint32_t)i;
    }
  }
  arrived.which = which;
  blis_status status =
      arrived.count == 0 ? BLIS_OK : blis__group_fill(&window->group, alloc, &arrived);
  blis_alloc_free(alloc, which, size);
  if (status == BLIS_OK) {
    put_throughput(window, recorder);
  }
  return status;
}

/* A completed request, with the time of its completion. */
typedef struct completion {
  int64_t end_us;
  int64_t number;
  uint32_t index;
} completion;

static int compare_completions(const void *a, const void *b) {
  const completion *left = a;
  const completion *right = b;
  if (left->end_us != right->end_us) {
    return left->end_us < right->end_us ? -1 : 1;
  }
  return (left->number > right->number) - (left->number < right->number);
}

/* Lists the completions of requests that arrived from from_us to to_us. */
static size_t list_completions(completion *list, const blis_recorder *recorder, int64_t from_us,
                               int64_t to_us) {
  size_t found = 0;
  for (size_t i = 0; i < blis_recorder_count(recorder); i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    if (blis_record_is_completed(&record) && record.arrival_us >= from_us &&
        record.arrival_us <= to_us) {
      list[found++] = (completion){record.end_us, record.number, (uint32_t)i};
    }
  }
  qsort(list, found, sizeof *list, compare_completions);
  return found;
}

/* Fills the window from the kept completions, which are in order of completion. */
static blis_status fill_with_completions(blis_window *window, const blis_alloc *alloc,
                                         const blis_recorder *recorder, const completion *kept,
                                         size_t count, uint32_t *which) {
  const blis__record_store *store = blis__recorder_store(recorder);
  window->from_us = store->records.items[kept[0].index].arrival_us;
  window->to_us = kept[count - 1].end_us;
  for (size_t i = 0; i < count; i++) {
    int64_t arrival_us = store->records.items[kept[i].index].arrival_us;
    window->from_us = arrival_us < window->from_us ? arrival_us : window->from_us;
    which[i] = kept[i].index;
  }
  const blis__selection selection = {store, which, count};
  BLIS_TRY(blis__group_fill(&window->group, alloc, &selection));
  window->completed = window->group.counts.completed;
  window->output_tokens = window->group.output_tokens;
  double seconds = (double)(window->to_us - window->from_us) / 1e6;
  if (seconds > 0) {
    window->requests_per_sec = (double)window->completed / seconds;
    window->tokens_per_sec = (double)window->output_tokens / seconds;
  }
  return BLIS_OK;
}

/* Fills the window from the completions of these arrivals, without the first `skipped` ones. */
static blis_status fill_behind(blis_window *window, const blis_alloc *alloc,
                               const blis_recorder *recorder, int64_t from_us, int64_t to_us,
                               size_t skipped) {
  *window = (blis_window){.group = {.name = ""}, .to_us = 1};
  size_t room = blis_recorder_count(recorder);
  if (room == 0) {
    return BLIS_OK;
  }
  completion *list = blis_alloc_new(alloc, room * sizeof *list);
  uint32_t *which = blis_alloc_new(alloc, room * sizeof *which);
  blis_status status = list == NULL || which == NULL ? BLIS_ERR_NOMEM : BLIS_OK;
  if (status == BLIS_OK) {
    size_t found = list_completions(list, recorder, from_us, to_us);
    if (found > skipped) {
      status =
          fill_with_completions(window, alloc, recorder, list + skipped, found - skipped, which);
    }
  }
  blis_alloc_free(alloc, list, room * sizeof *list);
  blis_alloc_free(alloc, which, room * sizeof *which);
  return status;
}

blis_status blis_window_after_completed(blis_window *window, const blis_alloc *alloc,
                                        const blis_recorder *recorder, size_t count) {
  return fill_behind(window, alloc, recorder, INT64_MIN, INT64_MAX, count);
}

blis_status blis_window_of_cohort(blis_window *window, const blis_alloc *alloc,
                                  const blis_recorder *recorder, int64_t from_us, int64_t to_us) {
  return fill_behind(window, alloc, recorder, from_us, to_us, 0);
}

/* Instances. */

/* Indexes of the records, grouped by instance. */
typedef struct arrangement {
  const blis__record_store *store;
  size_t count;
  uint32_t *which;
  size_t *ends; /* ends in `which`, by instance */
} arrangement;

static void count_by_instance(const arrangement *a, blis_instance_times *times) {
  for (size_t i = 0; i < a->count; i++) {
    const blis__short_record *record = &a->store->records.items[i];
    int64_t instance = BLIS__WORD(a->store, record, instance);
    if (instance >= 0) {
      blis_state_counts_add(&times[instance].counts, record->state);
    }
  }
}

/* Distributes the records. Initially ends[k] is the start of instance k; it advances with each
   record. */
static void distribute_by_instance(arrangement *a, const blis_instance_times *times,
                                   uint32_t instances) {
  size_t start = 0;
  for (uint32_t k = 0; k < instances; k++) {
    a->ends[k] = start;
    start += (size_t)times[k].counts.arrived;
  }
  BLIS_ASSERT(start <= a->count);
  for (size_t i = 0; i < a->count; i++) {
    int64_t instance = BLIS__WORD(a->store, &a->store->records.items[i], instance);
    if (instance >= 0) {
      a->which[a->ends[instance]++] = (uint32_t)i;
    }
  }
  BLIS_ASSERT(instances == 0 || a->ends[instances - 1] == start);
}

static blis_status fill_instances(blis_instance_times *times, uint32_t count,
                                  const blis_alloc *alloc, const arrangement *a,
                                  blis_histogram *itl_us) {
  size_t start = 0;
  for (uint32_t k = 0; k < count; k++) {
    const blis__selection own = {a->store, a->which + start, a->ends[k] - start};
    if (times[k].counts.completed > 0) {
      BLIS_TRY(blis__times_fill(&times[k].times, alloc, &own, &itl_us[k]));
    }
    start = a->ends[k];
  }
  return BLIS_OK;
}

blis_status blis_instance_times_fill(blis_instance_times *times, uint32_t count,
                                     const blis_alloc *alloc, const blis_recorder *recorder,
                                     blis_histogram *itl_us) {
  arrangement a = {.store = blis__recorder_store(recorder), .count = blis_recorder_count(recorder)};
  for (uint32_t k = 0; k < count; k++) {
    times[k] = (blis_instance_times){0};
  }
  if (a.count == 0) {
    return BLIS_OK;
  }
  count_by_instance(&a, times);
  a.which = blis_alloc_new(alloc, a.count * sizeof *a.which);
  a.ends = blis_alloc_new(alloc, count * sizeof *a.ends);
  blis_status status = BLIS_ERR_NOMEM;
  if (a.which != NULL && a.ends != NULL) {
    distribute_by_instance(&a, times, count);
    status = fill_instances(times, count, alloc, &a, itl_us);
  }
  blis_alloc_free(alloc, a.which, a.count * sizeof *a.which);
  blis_alloc_free(alloc, a.ends, count * sizeof *a.ends);
  return status;
}
