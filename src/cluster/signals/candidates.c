#include "cluster/signals/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "base/inline.h"
#include "base/invariant.h"

#define ANY_MODEL UINT32_MAX

typedef struct sorted_id {
  const char *id;
  uint32_t number;
} sorted_id;

static int compare_ids(const void *a, const void *b) {
  const sorted_id *left = a;
  const sorted_id *right = b;
  return strcmp(left->id, right->id);
}

static blis_status sort_ids(blis__candidates *c) {
  sorted_id *sorted = blis_alloc_new(&c->alloc, c->count * sizeof *sorted);
  if (sorted == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (uint32_t i = 0; i < c->count; i++) {
    sorted[i] = (sorted_id){c->ids[i], i};
  }
  qsort(sorted, c->count, sizeof *sorted, compare_ids);
  for (uint32_t k = 0; k < c->count; k++) {
    c->id_ranks[sorted[k].number] = k;
  }
  blis_alloc_free(&c->alloc, sorted, c->count * sizeof *sorted);
  return BLIS_OK;
}

/* Returns the index of a model among the names; names.count if it is new. Models are equal only if
   their names are equal, because x could be a/x or b/x. */
static uint32_t find_name(const blis__candidates *c, const char *model) {
  uint32_t k = 0;
  while (k < c->names.count && !blis__is_same_model(c->names.items[k], model)) {
    k++;
  }
  return k;
}

static blis_status note_models(blis__candidates *c) {
  for (uint32_t i = 0; i < c->count; i++) {
    const char *model = c->facts == NULL ? NULL : c->facts[i].model;
    c->models[i] = ANY_MODEL;
    if (model == NULL || *model == '\0') {
      continue;
    }
    c->models[i] = find_name(c, model);
    if (c->models[i] == c->names.count) {
      BLIS_TRY(blis_array_push(&c->alloc, &c->names, model));
    }
  }
  return BLIS_OK;
}

/* Returns the number of groups per stage. The groups of the names are followed by the group of all
   candidates, the group of instances for any model, and the group of all instances including
   represented ones. */
static size_t groups_of_stage(const blis__candidates *c) {
  return c->names.count + 2 + (c->fronts != NULL);
}

static bool has_those_behind(const blis__candidates *c, size_t index) {
  return c->fronts != NULL && index % groups_of_stage(c) == c->names.count + 2;
}

static size_t group_count(const blis__candidates *c) {
  return c->stages * groups_of_stage(c);
}

static bool has_role(const blis__candidates *c, uint32_t i, size_t stage) {
  return stage == 0 || (c->facts[i].roles & (1u << (stage - 1))) != 0;
}

/* Returns the number of stages. Without roles, every instance performs all stages. */
static uint32_t count_stages(const blis__candidates *c) {
  for (uint32_t i = 0; i < c->count && c->facts != NULL; i++) {
    if (c->facts[i].roles != 0) {
      return BLIS__STAGE_COUNT;
    }
  }
  return 1;
}

static blis_status allocate(blis__candidates *c) {
  c->id_ranks = blis_alloc_zeroed(&c->alloc, c->count, sizeof *c->id_ranks);
  c->is_out = blis_alloc_zeroed(&c->alloc, c->count, sizeof *c->is_out);
  c->models = blis_alloc_zeroed(&c->alloc, c->count, sizeof *c->models);
  if (c->id_ranks == NULL || c->is_out == NULL || c->models == NULL) {
    return BLIS_ERR_NOMEM;
  }
  BLIS_TRY(note_models(c));
  c->stages = count_stages(c);
  c->groups = blis_alloc_zeroed(&c->alloc, group_count(c), sizeof *c->groups);
  return c->groups == NULL ? BLIS_ERR_NOMEM : sort_ids(c);
}

blis_status blis__candidates_init(blis__candidates *candidates, const blis_alloc *alloc,
                                  const blis_instance_facts *facts, const char *const *ids,
                                  const uint32_t *fronts, uint32_t count) {
  *candidates = (blis__candidates){
      .alloc = *alloc, .count = count, .facts = facts, .ids = ids, .fronts = fronts, .version = 1};
  blis_status status = allocate(candidates);
  if (status != BLIS_OK) {
    blis__candidates_deinit(candidates);
  }
  return status;
}

static void free_group(const blis__candidates *c, blis__group *group) {
  blis_alloc_free(&c->alloc, group->instances, c->count * sizeof *group->instances);
  blis_alloc_free(&c->alloc, group->ids, c->count * sizeof *group->ids);
  blis_alloc_free(&c->alloc, group->id_ranks, c->count * sizeof *group->id_ranks);
  *group = (blis__group){0};
}

void blis__candidates_deinit(blis__candidates *candidates) {
  blis__candidates *c = candidates;
  for (size_t k = 0; c->groups != NULL && k < group_count(c); k++) {
    free_group(c, &c->groups[k]);
  }
  blis_alloc_free(&c->alloc, c->groups, group_count(c) * sizeof *c->groups);
  blis_alloc_free(&c->alloc, c->id_ranks, c->count * sizeof *c->id_ranks);
  blis_alloc_free(&c->alloc, c->is_out, c->count * sizeof *c->is_out);
  blis_alloc_free(&c->alloc, c->models, c->count * sizeof *c->models);
  blis_array_deinit(&c->alloc, &c->names);
  blis_array_deinit(&c->alloc, &c->group_of_model);
  *c = (blis__candidates){0};
}

bool blis__candidates_serve(const blis__candidates *candidates, const char *model) {
  const blis__candidates *c = candidates;
  for (uint32_t i = 0; i < c->count; i++) {
    if (c->models[i] == ANY_MODEL) {
      return true;
    }
  }
  return blis__candidates_find(c, model).found != NULL;
}

blis__model_search blis__candidates_find(const blis__candidates *candidates, const char *model) {
  blis__model_search search = {.wanted = model};
  for (uint32_t k = 0; k < candidates->names.count; k++) {
    blis__model_search_offer(&search, candidates->names.items[k], k);
  }
  return search;
}

bool blis__candidates_are_confusable(const blis__candidates *candidates) {
  for (size_t k = 0; k < candidates->names.count; k++) {
    const char *name = candidates->names.items[k];
    const char *owned = strrchr(name, '/');
    if (owned != NULL && blis__candidates_find(candidates, owned + 1).other != NULL) {
      return true;
    }
  }
  return false;
}

void blis__candidates_note_facts(blis__candidates *candidates, uint32_t i) {
  const char *model = candidates->facts == NULL ? NULL : candidates->facts[i].model;
  candidates->models[i] =
      model == NULL || *model == '\0' ? ANY_MODEL : find_name(candidates, model);
}

void blis__candidates_put_in_service(blis__candidates *candidates, uint32_t i, bool is_in_service) {
  candidates->out_count -= candidates->is_out[i];
  candidates->is_out[i] = !is_in_service;
  candidates->out_count += candidates->is_out[i];
  candidates->version++;
}

static blis_status make_room(const blis__candidates *c, blis__group *group) {
  if (group->instances != NULL) {
    return BLIS_OK;
  }
  group->instances = blis_alloc_zeroed(&c->alloc, c->count, sizeof *group->instances);
  group->ids = blis_alloc_zeroed(&c->alloc, c->count, sizeof *group->ids);
  group->id_ranks = blis_alloc_zeroed(&c->alloc, c->count, sizeof *group->id_ranks);
  if (group->instances == NULL || group->ids == NULL || group->id_ranks == NULL) {
    free_group(c, group);
    return BLIS_ERR_NOMEM;
  }
  return BLIS_OK;
}

/* Returns whether the instance serves the requests of a group. */
static bool belongs(const blis__candidates *c, size_t index, uint32_t i) {
  size_t stage = index / groups_of_stage(c);
  size_t model = index % groups_of_stage(c);
  bool is_shown = c->fronts == NULL || c->fronts[i] == i;
  if (!is_shown && !has_those_behind(c, index)) {
    return false;
  }
  bool takes_all = model == c->names.count || has_those_behind(c, index);
  bool serves = takes_all || c->models[i] == ANY_MODEL || c->models[i] == model;
  return serves && has_role(c, i, stage);
}

bool blis__may_be_candidate(const blis__candidates *candidates, const blis__group *group,
                            uint32_t i) {
  return belongs(candidates, (size_t)(group - candidates->groups), i);
}

static blis_status make_group(const blis__candidates *c, size_t index) {
  blis__group *group = &c->groups[index];
  BLIS_TRY(make_room(c, group));
  group->count = 0;
  for (uint32_t i = 0; i < c->count; i++) {
    if (!c->is_out[i] && belongs(c, index, i)) {
      uint32_t k = group->count++;
      group->instances[k] = i;
      group->ids[k] = c->ids[i];
      group->id_ranks[k] = c->id_ranks[i];
    }
  }
  bool is_each_alone = c->fronts == NULL || has_those_behind(c, index);
  group->is_prefix = group->count == 0 ||
                     (is_each_alone && group->instances[group->count - 1] + 1 == group->count);
  group->is_everybody = group->count + c->out_count == c->count;
  group->version = c->version;
  group->due_us = 0;
  return BLIS_OK;
}

/* Finds the index of the group, with one lookup per string. */
static blis_status find_group(blis__candidates *c, const blis_intern *strings, uint32_t model,
                              uint32_t *index) {
  size_t needed = (size_t)model + 1;
  BLIS_TRY(blis_array_reserve(&c->alloc, &c->group_of_model, needed));
  while (c->group_of_model.count < needed) {
    c->group_of_model.items[c->group_of_model.count++] = 0;
  }
  uint32_t *known = &c->group_of_model.items[model];
  if (*known == 0) {
    uint32_t all = (uint32_t)c->names.count;
    const blis__model_search search = blis__candidates_find(c, blis_intern_text(strings, model));
    *known = (blis__model_search_is_clear(&search) ? search.number : all + 1) + 1;
  }
  *index = *known - 1;
  return BLIS_OK;
}

/* Returns the updated group; NULL = out of memory. */
static BLIS_ALWAYS_INLINE blis__group *group_at(blis__candidates *c, uint32_t index,
                                                uint32_t role) {
  BLIS_ASSERT(role == 0 || c->stages > 1);
  index += blis__stage_of(role) * (uint32_t)groups_of_stage(c);
  blis__group *group = &c->groups[index];
  if (group->version != c->version && make_group(c, index) != BLIS_OK) {
    return NULL;
  }
  return group;
}

blis__group *blis__candidates_for(blis__candidates *candidates, const blis_intern *strings,
                                  uint32_t model, uint32_t role) {
  blis__candidates *c = candidates;
  uint32_t index = (uint32_t)c->names.count;
  if (model != 0 && c->names.count > 0 && find_group(c, strings, model, &index) != BLIS_OK) {
    return NULL;
  }
  return group_at(c, index, role);
}

blis__group *blis__candidates_all(blis__candidates *candidates, uint32_t role) {
  uint32_t index = (uint32_t)candidates->names.count;
  return group_at(candidates, candidates->fronts == NULL ? index : index + 2, role);
}
