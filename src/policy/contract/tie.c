#include "policy/contract/tie.h"

#include <stdio.h>
#include <string.h>

#include "base/containers/reduce.h"
#include "base/format/key.h"
#include "base/invariant.h"

void blis_policy_random_init(blis_random *random, int64_t master_seed, const char *name) {
  char stream[64];
  snprintf(stream, sizeof stream, "policy/%s", name);
  blis_random_init_named(random, master_seed, stream);
}

blis_tie_rule blis_tie_rule_of(const char *word) {
  char name[16];
  size_t length = strcspn(word, "|");
  if (length >= sizeof name) {
    return BLIS_TIE_RULE_COUNT;
  }
  memcpy(name, word, length);
  name[length] = '\0';
  int index = blis_key_choice(BLIS_TIE_CHOICES, name);
  return index < 0 ? BLIS_TIE_RULE_COUNT : (blis_tie_rule)index;
}

void blis_tie_init(blis_tie *tie, blis_tie_rule rule, int64_t master_seed, const char *stream) {
  tie->rule = rule;
  tie->rotation = 0;
  blis_random_init_named(&tie->random, master_seed, stream);
}

void blis_tie_init_of(blis_tie *tie, blis_tie_rule rule, int64_t master_seed, const char *policy) {
  tie->rule = rule;
  tie->rotation = 0;
  blis_policy_random_init(&tie->random, master_seed, policy);
}

/* Returns the n-th candidate, from 0, whose value is the best. It must exist. */
static size_t nth_tied(const double *values, double best, size_t n) {
  size_t i = 0;
  while (values[i] != best || n-- > 0) {
    i++;
  }
  return i;
}

bool blis_tie_draw(blis_tie *tie, size_t tied, size_t *n) {
  BLIS_ASSERT(tied > 0);
  *n = 0;
  if (tied == 1) {
    return true;
  }
  switch (tie->rule) {
  case BLIS_TIE_RANDOM:
    *n = (size_t)blis_random_intn(&tie->random, (int32_t)tied);
    return true;
  case BLIS_TIE_ROTATE:
    *n = (size_t)(tie->rotation++ % tied);
    return true;
  case BLIS_TIE_LAST:
    *n = tied - 1;
    return true;
  case BLIS_TIE_FIRST:
    return true;
  case BLIS_TIE_LOWEST_ID:
  case BLIS_TIE_RULE_COUNT:
    break;
  }
  return false;
}

static size_t pick_tied(blis_tie *tie, const double *values, double best,
                        const blis_routing_view *view) {
  size_t tied = 0; /* ends up at least 1, because values contain no NaN */
  size_t lowest = 0;
  for (size_t i = 0; i < view->count; i++) {
    if (values[i] == best) {
      bool is_lower = tied == 0 || view->id_ranks[i] < view->id_ranks[lowest];
      lowest = is_lower ? i : lowest;
      tied++;
    }
  }
  size_t n;
  bool is_by_place = blis_tie_draw(tie, tied, &n);
  return is_by_place && tied > 1 ? nth_tied(values, best, n) : lowest;
}

size_t blis_tie_pick_max(blis_tie *tie, const double *values, const blis_routing_view *view) {
  return pick_tied(tie, values, blis_greatest_of(values, view->count), view);
}

size_t blis_tie_pick_min(blis_tie *tie, const double *values, const blis_routing_view *view) {
  return pick_tied(tie, values, blis_least_of(values, view->count), view);
}

size_t blis_tie_pick_least(blis_tie *tie, const blis_least_tree *values) {
  size_t n;
  return blis_tie_draw(tie, blis_least_tree_tied(values), &n)
             ? blis_least_tree_nth(values, (uint32_t)n)
             : blis_least_tree_lowest(values);
}
