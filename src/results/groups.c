#include "results/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "base/map.h"

static uint32_t text_of(const blis_record *record, blis_group_key key) {
  switch (key) {
  case BLIS_GROUP_SLO_CLASS:
    return record->slo_class;
  case BLIS_GROUP_TENANT:
    return record->tenant;
  case BLIS_GROUP_MODEL:
    break;
  }
  return record->model;
}

/* The records sorted by group, groups in the order of first sight. */
typedef struct grouping {
  const blis_record *records;
  size_t count;
  BLIS_ARRAY(uint32_t) texts; /* of the groups */
  BLIS_ARRAY(size_t) ends;    /* in which */
  uint32_t *which;            /* records */
  blis_map group_of_text;
} grouping;

static void deinit(grouping *g, const blis_alloc *alloc) {
  blis_array_deinit(alloc, &g->texts);
  blis_array_deinit(alloc, &g->ends);
  blis_map_deinit(&g->group_of_text);
  blis_alloc_free(alloc, g->which, g->count * sizeof *g->which);
}

/* ends[k] becomes the size of group k. */
static blis_status count_groups(grouping *g, const blis_alloc *alloc,
                                blis_group_key key) {
  for (size_t i = 0; i < g->count; i++) {
    uint32_t text = text_of(&g->records[i], key);
    uint64_t *group;
    bool is_new;
    BLIS_TRY(
        blis_map_add(&g->group_of_text, text, g->texts.count, &group, &is_new));
    if (is_new) {
      BLIS_TRY(blis_array_push(alloc, &g->texts, text));
      BLIS_TRY(blis_array_push(alloc, &g->ends, 0));
    }
    g->ends.items[*group]++;
  }
  return BLIS_OK;
}

/* First ends[k] is where group k starts, and moves on with each record. */
static void distribute(grouping *g, blis_group_key key) {
  size_t start = 0;
  for (size_t k = 0; k < g->ends.count; k++) {
    size_t size = g->ends.items[k];
    g->ends.items[k] = start;
    start += size;
  }
  for (size_t i = 0; i < g->count; i++) {
    uint64_t group = 0;
    blis_map_get(&g->group_of_text, text_of(&g->records[i], key), &group);
    g->which[g->ends.items[group]++] = (uint32_t)i;
  }
  BLIS_ASSERT(start == g->count && g->ends.items[g->ends.count - 1] == start);
}

static blis_status arrange(grouping *g, const blis_alloc *alloc,
                           blis_group_key key) {
  BLIS_TRY(count_groups(g, alloc, key));
  g->which = blis_alloc_new(alloc, g->count * sizeof *g->which);
  if (g->which == NULL) {
    return BLIS_ERR_NOMEM;
  }
  distribute(g, key);
  return BLIS_OK;
}

blis_status blis__group_fill(blis_group *group, const blis_alloc *alloc,
                             const blis__selection *selection) {
  for (size_t i = 0; i < selection->count; i++) {
    const blis_record *record = blis__selected(selection, i);
    blis_state_counts_add(&group->counts, record);
    group->prompt_tokens += record->prompt_tokens;
    if (blis_record_is_completed(record)) {
      group->output_tokens += record->output_tokens;
    }
  }
  return blis__times_fill(&group->times, alloc, selection, NULL);
}

static int compare_names(const void *a, const void *b) {
  const blis_group *left = a;
  const blis_group *right = b;
  return strcmp(left->name, right->name);
}

static blis_status fill_groups(blis_groups *groups, const grouping *g,
                               const blis_alloc *alloc,
                               const blis_intern *strings) {
  groups->items =
      blis_alloc_zeroed(alloc, g->texts.count, sizeof *groups->items);
  if (groups->items == NULL) {
    return BLIS_ERR_NOMEM;
  }
  groups->count = g->texts.count;
  size_t start = 0;
  for (size_t k = 0; k < groups->count; k++) {
    blis_group *group = &groups->items[k];
    group->text = g->texts.items[k];
    group->name = blis_intern_text(strings, group->text);
    const blis__selection selection = {g->records, g->which + start,
                                       g->ends.items[k] - start};
    BLIS_TRY(blis__group_fill(group, alloc, &selection));
    start = g->ends.items[k];
  }
  BLIS_ASSERT(start == g->count);
  qsort(groups->items, groups->count, sizeof *groups->items, compare_names);
  return BLIS_OK;
}

blis_status blis_groups_init(blis_groups *groups, const blis_alloc *alloc,
                             const blis_recorder *recorder, blis_group_key key,
                             const blis_intern *strings, blis_error *error) {
  *groups = (blis_groups){0};
  grouping g = {.records = blis_recorder_records(recorder),
                .count = blis_recorder_count(recorder)};
  if (g.count == 0) {
    return BLIS_OK;
  }
  blis_map_init(&g.group_of_text, alloc);
  blis_status status = arrange(&g, alloc, key);
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
