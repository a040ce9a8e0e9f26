#include "workload/graph/models.h"

#include <stdio.h>
#include <string.h>

/* Frees a list of strings, which may be incomplete. */
static void free_texts(const blis_alloc *alloc, const char *const *texts, size_t count) {
  for (size_t i = 0; texts != NULL && i < count && texts[i] != NULL; i++) {
    blis_alloc_free(alloc, (char *)texts[i], strlen(texts[i]) + 1);
  }
  blis_alloc_free(alloc, (const char **)texts, texts == NULL ? 0 : count * sizeof *texts);
}

/* Copies a list of strings. Returns NULL if the list is NULL or memory runs out. */
static const char *const *copy_texts(const blis_alloc *alloc, const char *const *texts,
                                     size_t count) {
  const char **copies = texts == NULL ? NULL : blis_alloc_zeroed(alloc, count, sizeof *copies);
  for (size_t i = 0; copies != NULL && i < count; i++) {
    size_t size = strlen(texts[i]) + 1;
    char *copy = blis_alloc_new(alloc, size);
    if (copy == NULL) {
      free_texts(alloc, copies, count);
      return NULL;
    }
    copies[i] = memcpy(copy, texts[i], size);
  }
  return copies;
}

blis_status blis__graph_names_init(blis__graph_names *names, const blis_alloc *alloc,
                                   const blis_graph_models *given, blis_intern *strings) {
  *names = (blis__graph_names){.alloc = *alloc, .strings = strings};
  blis_map_init(&names->served, alloc);
  if (given->count == 0) {
    return BLIS_OK;
  }
  names->given = (blis_graph_models){.recorded = copy_texts(alloc, given->recorded, given->count),
                                     .served = copy_texts(alloc, given->served, given->count),
                                     .count = given->count};
  bool is_whole =
      names->given.served != NULL && (names->given.recorded != NULL) == (given->recorded != NULL);
  return is_whole ? blis_map_reserve(&names->served, 16) : BLIS_ERR_NOMEM;
}

void blis__graph_names_deinit(blis__graph_names *names) {
  free_texts(&names->alloc, names->given.recorded, names->given.count);
  free_texts(&names->alloc, names->given.served, names->given.count);
  blis_map_deinit(&names->served);
  blis_array_deinit(&names->alloc, &names->seen);
}

/* Returns the index among the configured models; their count = not found. */
static size_t place_of(const blis__graph_names *names, blis_slice recorded) {
  const blis_graph_models *given = &names->given;
  if (given->recorded == NULL) {
    return names->seen.count % given->count;
  }
  size_t i = 0;
  while (i < given->count && !blis_slice_equals(recorded, given->recorded[i])) {
    i++;
  }
  return i;
}

static blis_status fail_unknown(const blis__graph_names *names, blis_json_value value,
                                blis_error *error) {
  char what[256];
  size_t length = (size_t)snprintf(what, sizeof what, "is not a name in 'models', expected ");
  for (size_t i = 0; i < names->given.count && length < sizeof what; i++) {
    const char *between = i == 0 ? "" : i + 1 == names->given.count ? " or " : ", ";
    length += (size_t)snprintf(what + length, sizeof what - length, "%s%s", between,
                               names->given.recorded[i]);
  }
  return blis_json_fail(value, what, error);
}

blis_status blis__graph_names_find(blis__graph_names *names, blis_json_value value, uint32_t *model,
                                   blis_error *error) {
  blis_slice text;
  uint32_t recorded, served;
  uint64_t known;
  *model = 0;
  if (names->given.count == 0 || !blis_json_has(value)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_text(value, &text, error));
  if (text.length == 0) {
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis_intern_add(names->strings, text.data, text.length, &recorded), error);
  if (blis_map_get(&names->served, recorded, &known)) {
    *model = (uint32_t)known;
    return BLIS_OK;
  }
  size_t place = place_of(names, text);
  if (place == names->given.count) {
    return fail_unknown(names, value, error);
  }
  const char *name = names->given.served[place];
  BLIS_TRY_MEM(blis_intern_add(names->strings, name, strlen(name), &served), error);
  BLIS_TRY_MEM(blis_map_put(&names->served, recorded, served), error);
  BLIS_TRY_MEM(blis_array_push(&names->alloc, &names->seen, recorded), error);
  *model = served;
  return BLIS_OK;
}

void blis__graph_names_show(const blis__graph_names *names, char *text, size_t size) {
  size_t length = 0;
  *text = '\0';
  for (size_t i = 0; i < names->seen.count && length < size; i++) {
    uint64_t served = 0;
    (void)blis_map_get(&names->served, names->seen.items[i], &served);
    length +=
        (size_t)snprintf(text + length, size - length, "%s'%.60s' is %.60s", i == 0 ? "" : ", ",
                         blis_intern_text(names->strings, names->seen.items[i]),
                         blis_intern_text(names->strings, (uint32_t)served));
  }
}
