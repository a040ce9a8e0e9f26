#include "policy/pipeline/scorer_list.h"

#include <string.h>

#include "base/invariant.h"
#include "base/number.h"
#include "base/slice.h"
#include "policy/pipeline/pieces.h"
#include "policy/pipeline/weighted.h"

enum { NAME_SIZE = 64 };

static blis_status find_entry(blis_slice name, const char *place, const blis_policy_entry **entry,
                              blis_error *error) {
  char text[NAME_SIZE];
  if (name.length >= sizeof text) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s: unknown scorer %s", place, blis_show(name).text);
  }
  memcpy(text, name.data, name.length);
  text[name.length] = '\0';
  blis_error cause;
  *entry = blis_policy_list_find(&blis__scorers, text, &cause);
  if (*entry == NULL) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s: %s", place, cause.message);
  }
  return BLIS_OK;
}

static blis_status parse_weight(blis_slice text, const char *scorer, const char *place,
                                double *weight, blis_error *error) {
  blis_number_fault fault = blis_parse_double(text, weight);
  if (fault != BLIS_NUMBER_OK) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: the weight of %s, %s, %s; expected a finite number "
                     "> 0",
                     place, scorer, blis_show(text).text, blis_number_fault_text(fault));
  }
  if (!(*weight > 0)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: the weight of %s is %g; expected a finite number > 0", place, scorer,
                     *weight);
  }
  return BLIS_OK;
}

static blis_status parse_part(blis_scorer_list *list, blis_slice part, const char *place,
                              blis_error *error) {
  part = blis_slice_trim(part);
  const char *colon = part.length == 0 ? NULL : memchr(part.data, ':', part.length);
  if (colon == NULL) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s: %s is not name:weight, like queue-depth:2",
                     place, blis_show(part).text);
  }
  size_t name_length = (size_t)(colon - part.data);
  blis_slice name = blis_slice_trim((blis_slice){part.data, name_length});
  blis_slice weight = blis_slice_trim((blis_slice){colon + 1, part.length - name_length - 1});
  const blis_policy_entry *entry;
  BLIS_TRY(find_entry(name, place, &entry, error));
  for (size_t i = 0; i < list->count; i++) {
    if (list->entries[i] == entry) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%s: %s is listed twice; each scorer may be listed once", place,
                       entry->name);
    }
  }
  BLIS_ASSERT(list->count < BLIS_SCORER_LIST_MAX);
  BLIS_TRY(parse_weight(weight, entry->name, place, &list->weights[list->count], error));
  list->entries[list->count++] = entry;
  return BLIS_OK;
}

blis_status blis_scorer_list_parse(blis_scorer_list *list, const char *text, const char *place,
                                   blis_error *error) {
  *list = (blis_scorer_list){0};
  if (blis_slice_trim(blis_slice_of(text)).length == 0) {
    return BLIS_OK;
  }
  for (;;) {
    size_t length = strcspn(text, ",");
    BLIS_TRY(parse_part(list, (blis_slice){text, length}, place, error));
    if (text[length] == '\0') {
      return BLIS_OK;
    }
    text += length + 1;
  }
}

blis_status blis_scorer_list_router(const blis_alloc *alloc, const blis_scorer_list *list,
                                    const blis_params *params, const blis_policy_context *context,
                                    blis_router *router, blis_error *error) {
  BLIS_ASSERT(list->count >= 1);
  blis_weighted_item items[BLIS_SCORER_LIST_MAX] = {0};
  for (size_t i = 0; i < list->count; i++) {
    blis_status status =
        blis_scorer_create(alloc, list->entries[i]->name, NULL, context, &items[i].scorer, error);
    if (status != BLIS_OK) {
      while (i-- > 0) {
        blis_scorer_free(&items[i].scorer);
      }
      return status;
    }
    items[i].weight = list->weights[i];
  }
  const blis_weighted_parts parts = {.items = items, .count = list->count};
  return blis_weighted_new(alloc, &parts, params, context, router, error);
}
