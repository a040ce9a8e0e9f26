#include "instance/request/slo_priority.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"

enum { OTHER_VALUE = 3 };

typedef struct entry {
  char *slo_class;
  int32_t value;
} entry;

struct blis_slo_priority {
  blis_alloc alloc;
  BLIS_ARRAY(entry) entries;
  int32_t highest;
};

static const blis_slo_override built_in[] = {
    {"critical", 4}, {"standard", 3}, {"batch", -1}, {"sheddable", -2}, {"background", -3},
};

static entry *find(const blis_slo_priority *priorities, const char *slo_class) {
  for (size_t i = 0; i < priorities->entries.count; i++) {
    if (strcmp(priorities->entries.items[i].slo_class, slo_class) == 0) {
      return &priorities->entries.items[i];
    }
  }
  return NULL;
}

static blis_status set(blis_slo_priority *priorities, const blis_slo_override *override) {
  int32_t value = (int32_t) override->value;
  entry *found = find(priorities, override->slo_class);
  if (found != NULL) {
    found->value = value;
    return BLIS_OK;
  }
  size_t size = strlen(override->slo_class) + 1;
  char *name = blis_alloc_new(&priorities->alloc, size);
  if (name == NULL) {
    return BLIS_ERR_NOMEM;
  }
  memcpy(name, override->slo_class, size);
  entry added = {.slo_class = name, .value = value};
  blis_status status = blis_array_push(&priorities->alloc, &priorities->entries, added);
  if (status != BLIS_OK) {
    blis_alloc_free(&priorities->alloc, name, size);
  }
  return status;
}

static blis_status set_all(blis_slo_priority *priorities, const blis_slo_override *overrides,
                           size_t count) {
  for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++) {
    BLIS_TRY(set(priorities, &built_in[i]));
  }
  for (size_t i = 0; i < count; i++) {
    BLIS_TRY(set(priorities, &overrides[i]));
  }
  priorities->highest = OTHER_VALUE;
  for (size_t i = 0; i < priorities->entries.count; i++) {
    int32_t value = priorities->entries.items[i].value;
    if (value > priorities->highest) {
      priorities->highest = value;
    }
  }
  return BLIS_OK;
}

blis_status blis_slo_priority_new(const blis_alloc *alloc, const blis_slo_override *overrides,
                                  size_t count, blis_slo_priority **priorities, blis_error *error) {
  for (size_t i = 0; i < count; i++) {
    if (overrides[i].value < BLIS_SLO_VALUE_MIN || overrides[i].value > BLIS_SLO_VALUE_MAX) {
      return blis_fail(
          error, BLIS_ERR_INVALID, "priority of SLO class '%s' is %" PRId64 "; expected %d to %d",
          overrides[i].slo_class, overrides[i].value, BLIS_SLO_VALUE_MIN, BLIS_SLO_VALUE_MAX);
    }
  }
  blis_slo_priority *p = blis_alloc_zeroed(alloc, 1, sizeof *p);
  BLIS_TRY_NEW(p, error);
  p->alloc = *alloc;
  if (set_all(p, overrides, count) != BLIS_OK) {
    blis_slo_priority_free(p);
    return blis_fail_nomem(error);
  }
  *priorities = p;
  return BLIS_OK;
}

void blis_slo_priority_free(blis_slo_priority *priorities) {
  if (priorities == NULL) {
    return;
  }
  blis_alloc alloc = priorities->alloc;
  for (size_t i = 0; i < priorities->entries.count; i++) {
    char *name = priorities->entries.items[i].slo_class;
    blis_alloc_free(&alloc, name, strlen(name) + 1);
  }
  blis_array_deinit(&alloc, &priorities->entries);
  blis_alloc_free(&alloc, priorities, sizeof *priorities);
}

int32_t blis_slo_priority_value(const blis_slo_priority *priorities, const char *slo_class) {
  const entry *found = find(priorities, slo_class);
  return found != NULL ? found->value : OTHER_VALUE;
}

int32_t blis_slo_priority_of(const blis_slo_priority *priorities, const char *slo_class) {
  return priorities->highest - blis_slo_priority_value(priorities, slo_class);
}
