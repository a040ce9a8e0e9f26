#include "policy/cascade/cascade.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/random.h"
#include "policy/cascade/entries.h"

void blis_cascade_free(blis_cascade *cascade) {
  if (cascade->ops != NULL && cascade->ops->free != NULL) {
    cascade->ops->free(&cascade->alloc, cascade->state);
  }
  *cascade = (blis_cascade){0};
}

const char *blis_cascade_verdict_name(blis_cascade_verdict verdict) {
  static const char *const names[BLIS_CASCADE_VERDICT_COUNT] = {
      [BLIS_CASCADE_ACCEPT] = "accept",
      [BLIS_CASCADE_ESCALATE] = "escalate",
      [BLIS_CASCADE_ACCEPT_LAST] = "accept_last",
      [BLIS_CASCADE_FAIL] = "fail",
      [BLIS_CASCADE_UNFINISHED] = "unfinished",
  };
  return names[verdict];
}

static const blis_cascade_entry *const entries[] = {
#define XX(name) &blis__cascade_##name,
    BLIS__CASCADE_MAP(XX)
#undef XX
};

enum { ENTRY_COUNT = sizeof entries / sizeof entries[0] };

size_t blis_cascade_entry_count(void) {
  return ENTRY_COUNT;
}

const blis_cascade_entry *blis_cascade_entry_at(size_t index) {
  return entries[index];
}

static const blis_cascade_entry *find_entry(const char *name,
                                            blis_error *error) {
  blis_nearest nearest = {.wanted = name};
  char names[128] = "";
  for (size_t i = 0; i < ENTRY_COUNT; i++) {
    if (blis__policy_is_named(name, entries[i]->name, entries[i]->aliases)) {
      return entries[i];
    }
    blis_nearest_offer(&nearest, entries[i]->name);
    blis_word_list_add(names, sizeof names, entries[i]->name);
  }
  blis__policy_fail_unknown("cascade", name, &nearest, names, error);
  return NULL;
}

blis_status blis_cascade_create(const blis_alloc *alloc, const char *name,
                                const blis_params *params,
                                const blis_policy_context *context,
                                blis_cascade *cascade, blis_error *error) {
  const blis_cascade_entry *entry = find_entry(name, error);
  if (entry == NULL) {
    return BLIS_ERR_INVALID;
  }
  char owner[64];
  snprintf(owner, sizeof owner, "cascade %s", entry->name);
  BLIS_TRY(blis_params_check(params, entry->params, entry->param_count, owner,
                             error));
  return entry->create(alloc, params, context, cascade, error);
}

void blis_cascade_random(blis_random *random, int64_t seed,
                         const blis_routing_request *request) {
  char name[192];
  snprintf(name, sizeof name, "policy/cascade/%" PRId64 "/%.128s",
           request->number, blis_intern_text(request->strings, request->model));
  blis_random_init_named(random, seed, name);
}

double blis_cascade_substitute_logprob(int64_t output_tokens) {
  double tokens = output_tokens < 1 ? 1 : (double)output_tokens;
  return -1 / fmax(log(tokens), 0.5);
}
