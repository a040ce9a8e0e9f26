/*
 * smg_bucket.c - routing policy smg.bucket: every instance serves prompts of a range of lengths.
 * The ranges are adjusted to recent prompts, so that each contains about the same number of
 * characters. If one instance has received too many characters, the instance with the fewest is
 * chosen.
 *
 * A range belongs to an index in the list of candidates, so the ranges restart as equal when the
 * number of candidates changes.
 */
#include <stdlib.h>

#include "base/invariant.h"
#include "policy/gateways/gateway.h"
#include "policy/memory/recent.h"

enum { BALANCE_ABSOLUTE, BALANCE_RELATIVE, PERIOD, FIRST_RANGE, CHARACTERS_PER_TOKEN };

static const blis_param_spec params_of[] = {
    BLIS__NUMBER("balance_abs_threshold", 0, 1e15, 64, "characters",
                 "balance if the loads differ by more (library: 32)"),
    BLIS__NUMBER("balance_rel_threshold", 0, 1e12, 1.5, "",
                 "and the highest is more than this multiple of the lowest "
                 "(library: 1.0001)"),
    BLIS__INTEGER("period_us", 1, 1e15, 5e6, "us",
                  "window in which prompts count, and interval between adjustments"),
    BLIS__INTEGER("first_range_characters", 1, 1e9, 4096, "characters",
                  "lengths shared equally by the instances at first"),
    BLIS__NUMBER("characters_per_token", 1e-3, 1e3, 4, "characters",
                 "unit to which prompt lengths in characters are rounded down"),
};

typedef struct bucket {
  blis__recent prompts;           /* prompts of the period, in characters, by instance */
  BLIS_ARRAY(int64_t) characters; /* sums over prompts, by instance number */
  BLIS_ARRAY(int64_t) longest;    /* longest prompt of each range except the last */
  BLIS_ARRAY(int64_t) lengths;    /* scratch */
  size_t ranges;                  /* 0 = not created yet */
  int64_t round;                  /* period of the last adjustment */
  double load;                    /* characters per range in that period */
} bucket;

static void deinit_own(blis__gateway *self) {
  bucket *own = self->own;
  blis__recent_deinit(&self->alloc, &own->prompts);
  blis_array_deinit(&self->alloc, &own->characters);
  blis_array_deinit(&self->alloc, &own->longest);
  blis_array_deinit(&self->alloc, &own->lengths);
}

static blis_status forget_old(blis__gateway *self, const blis_routing_view *view) {
  bucket *own = self->own;
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(&self->alloc, &own->characters, instances));
  while (own->characters.count < instances) {
    own->characters.items[own->characters.count++] = 0;
  }
  int64_t begin_us = view->now_us - (int64_t)self->values[PERIOD];
  blis__recent_item item;
  while (blis__recent_expire(&own->prompts, begin_us, &item)) {
    own->characters.items[item.key] -= item.amount;
    BLIS_ASSERT(own->characters.items[item.key] >= 0);
  }
  return BLIS_OK;
}

static blis_status begin_ranges(blis__gateway *self, size_t count) {
  bucket *own = self->own;
  if (own->ranges == count) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_array_reserve(&self->alloc, &own->longest, count));
  own->ranges = count;
  own->load = 0;
  for (size_t k = 0; k + 1 < count; k++) {
    double end = self->values[FIRST_RANGE] * (double)(k + 1) / (double)count;
    own->longest.items[k] = (int64_t)end - 1;
  }
  return BLIS_OK;
}

static int compare_lengths(const void *a, const void *b) {
  const int64_t *left = a;
  const int64_t *right = b;
  return (*left > *right) - (*left < *right);
}

/* Computes the ranges. Range k ends with the prompt that completes its part of all characters. */
static void share_out(bucket *own, double total) {
  double sum = 0;
  size_t range = 0;
  for (size_t i = 0; i < own->lengths.count; i++) {
    sum += (double)own->lengths.items[i];
    while (range + 1 < own->ranges && sum >= total * (double)(range + 1) / (double)own->ranges) {
      own->longest.items[range++] = own->lengths.items[i];
      BLIS_ASSERT(range < 2 || own->longest.items[range - 2] <= own->lengths.items[i]);
    }
  }
  BLIS_ASSERT(sum == total);
}

/* Returns whether the load has changed since the ranges were created. */
static bool has_changed(const bucket *own, double load) {
  return own->load == 0 || load > 2 * own->load || 2 * load < own->load;
}

static blis_status adjust_when_due(blis__gateway *self, int64_t now_us) {
  bucket *own = self->own;
  int64_t round = now_us / (int64_t)self->values[PERIOD];
  if (round == own->round) {
    return BLIS_OK;
  }
  own->round = round;
  size_t count = blis__recent_count(&own->prompts);
  BLIS_TRY(blis_array_reserve(&self->alloc, &own->lengths, own->prompts.items.capacity));
  double total = 0;
  for (own->lengths.count = 0; own->lengths.count < count;) {
    int64_t length = blis__recent_at(&own->prompts, own->lengths.count)->amount;
    own->lengths.items[own->lengths.count++] = length;
    total += (double)length;
  }
  double load = total / (double)own->ranges;
  if (total > 0 && has_changed(own, load)) {
    own->load = load;
    qsort(own->lengths.items, count, sizeof *own->lengths.items, compare_lengths);
    share_out(own, total);
  }
  return BLIS_OK;
}

static size_t range_of(const bucket *own, int64_t length) {
  size_t range = 0;
  while (range + 1 < own->ranges && length > own->longest.items[range]) {
    range++;
  }
  return range;
}

/* Returns the first instance with the fewest characters if the instances are imbalanced,
   otherwise count. */
static size_t least_of_imbalanced(const blis__gateway *self, const blis_routing_view *view) {
  const bucket *own = self->own;
  size_t least = 0;
  int64_t high = 0;
  for (size_t i = 0; i < view->count; i++) {
    int64_t here = own->characters.items[view->instances[i]];
    high = here > high ? here : high;
    least = here < own->characters.items[view->instances[least]] ? i : least;
  }
  int64_t low = own->characters.items[view->instances[least]];
  bool is_imbalanced = (double)(high - low) > self->values[BALANCE_ABSOLUTE] &&
                       (double)high > self->values[BALANCE_RELATIVE] * (double)low;
  return is_imbalanced ? least : view->count;
}

static blis_status choose(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  bucket *own = self->own;
  BLIS_TRY_MEM(forget_old(self, view), q->error);
  BLIS_TRY_MEM(begin_ranges(self, view->count), q->error);
  BLIS_TRY_MEM(adjust_when_due(self, view->now_us), q->error);
  int64_t length =
      (int64_t)((double)q->request->prompt_tokens * self->values[CHARACTERS_PER_TOKEN]);
  *chosen = least_of_imbalanced(self, view);
  if (*chosen == view->count) {
    *chosen = range_of(own, length);
  }
  const blis__recent_item item = {
      .at_us = view->now_us, .amount = length, .key = view->instances[*chosen]};
  own->characters.items[item.key] += length;
  BLIS_TRY_MEM(blis__recent_add(&self->alloc, &own->prompts, &item), q->error);
  return BLIS_OK;
}

const blis_policy_entry blis__router_smg_bucket = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "smg.bucket",
    .summary = "the instance that serves prompts of this length; when loads "
               "diverge, the one with the fewest recent characters",
    .source = "SMG 73da68ca, defaults of its command line; 4 characters per "
              "token, and all instances instead of the prefill ones",
    BLIS__PARAMS(params_of),
    BLIS__GATEWAY(0, .choose = choose, .own_size = sizeof(bucket), .deinit_own = deinit_own),
};
