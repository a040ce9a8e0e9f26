#include "policy/flow/flow_claims.h"

#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "base/minmax.h"

typedef blis_flow_claim item;
typedef blis__claim_group group;

enum { GROUP_MAX = BLIS__CLAIM_GROUP_MAX };

void blis_flow_claims_deinit(blis_flow_claims *claims, const blis_alloc *alloc) {
  blis_array_deinit(alloc, &claims->groups);
}

/* Groups */

static inline bool is_before(const item *a, const item *b) {
  return a->service != b->service ? a->service < b->service : strcmp(a->name, b->name) < 0;
}

/* Returns the group that contains the claim, or in which it belongs. */
static size_t group_of(const blis_flow_claims *claims, const item *wanted) {
  const group *groups = claims->groups.items;
  size_t low = 0;
  size_t high = claims->groups.count;
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    if (is_before(wanted, &groups[middle].items[0])) {
      high = middle;
    } else {
      low = middle;
    }
  }
  return low;
}

/* Returns the number of claims in the group that precede this claim. */
static size_t place_in(const group *in, const item *wanted) {
  size_t place = 0;
  while (place < in->count && is_before(&in->items[place], wanted)) {
    place++;
  }
  return place;
}

/* Widens the range of a group to include these times. */
static inline void widen(group *its, int64_t first_us, int64_t last_us) {
  its->first_us = blis_min_i64(its->first_us, first_us);
  its->last_us = blis_max_i64(its->last_us, last_us);
}

/* Updates the range of a group after a claim with this time was removed. */
static inline void narrow(group *its, int64_t enqueue_us) {
  its->is_known = its->is_known && its->first_us < enqueue_us && enqueue_us < its->last_us;
}

/* Inserts an empty group at g; memory for it is reserved. */
static void open_group(blis_flow_claims *claims, size_t g) {
  group *at = &claims->groups.items[g];
  BLIS_ASSERT(claims->groups.count < claims->groups.capacity);
  memmove(at + 1, at, (claims->groups.count++ - g) * sizeof *at);
  at->count = 0;
  at->is_known = false;
  at->first_us = INT64_MAX;
  at->last_us = INT64_MIN;
}

static void close_group(blis_flow_claims *claims, size_t g) {
  group *at = &claims->groups.items[g];
  memmove(at, at + 1, (--claims->groups.count - g) * sizeof *at);
}

/* Moves the upper half of a full group to a separate group. */
static void split(blis_flow_claims *claims, size_t g) {
  open_group(claims, g + 1);
  group *lower = &claims->groups.items[g];
  group *upper = lower + 1;
  upper->count = GROUP_MAX / 2;
  lower->count -= upper->count;
  memcpy(upper->items, &lower->items[lower->count], upper->count * sizeof(item));
  lower->is_known = false;
}

/* Merges two adjacent groups that have few claims. */
static void merge(blis_flow_claims *claims, size_t g) {
  group *lower = &claims->groups.items[g];
  const group *upper = lower + 1;
  if (g + 1 < claims->groups.count && lower->count + upper->count <= GROUP_MAX / 2) {
    memcpy(&lower->items[lower->count], upper->items, upper->count * sizeof(item));
    lower->count += upper->count;
    lower->is_known = lower->is_known && upper->is_known;
    widen(lower, upper->first_us, upper->last_us);
    close_group(claims, g + 1);
  }
}

/* Claims */

static void put(blis_flow_claims *claims, const item *added) {
  if (claims->groups.count == 0) {
    open_group(claims, 0);
  }
  size_t g = group_of(claims, added);
  if (claims->groups.items[g].count == GROUP_MAX) {
    split(claims, g);
    g = group_of(claims, added);
  }
  group *in = &claims->groups.items[g];
  size_t place = place_in(in, added);
  memmove(&in->items[place + 1], &in->items[place], (in->count++ - place) * sizeof(item));
  in->items[place] = *added;
  widen(in, added->enqueue_us, added->enqueue_us);
}

static void take(blis_flow_claims *claims, const item *gone) {
  size_t g = group_of(claims, gone);
  group *in = &claims->groups.items[g];
  size_t place = place_in(in, gone);
  BLIS_ASSERT(place < in->count && in->items[place].owner == gone->owner);
  memmove(&in->items[place], &in->items[place + 1], (--in->count - place) * sizeof(item));
  narrow(in, gone->enqueue_us);
  if (in->count == 0) {
    close_group(claims, g);
  }
  merge(claims, g);
  if (g > 0) {
    merge(claims, g - 1);
  }
}

blis_status blis_flow_claims_add(blis_flow_claims *claims, const blis_alloc *alloc,
                                 const blis_flow_claim *claim) {
  /* The maximum number of groups for this number of claims. */
  size_t most = (claims->count + 1) / (GROUP_MAX / 4) + 2;
  BLIS_TRY(blis_array_reserve(alloc, &claims->groups, most));
  claims->count++;
  put(claims, claim);
  return BLIS_OK;
}

void blis_flow_claims_remove(blis_flow_claims *claims, const blis_flow_claim *claim) {
  take(claims, claim);
  claims->count--;
}

void blis_flow_claims_change(blis_flow_claims *claims, blis_flow_claim *claim, double service,
                             int64_t enqueue_us) {
  bool stays = service == claim->service;
  if (stays && enqueue_us == claim->enqueue_us) {
    return;
  }
  if (stays) {
    group *in = &claims->groups.items[group_of(claims, claim)];
    in->items[place_in(in, claim)].enqueue_us = enqueue_us;
    narrow(in, claim->enqueue_us);
    widen(in, enqueue_us, enqueue_us);
  } else {
    take(claims, claim);
  }
  claim->service = service;
  claim->enqueue_us = enqueue_us;
  if (!stays) {
    put(claims, claim);
  }
}

/* Choosing */

static const group *with_range(group *its) {
  if (!its->is_known) {
    its->first_us = its->items[0].enqueue_us;
    its->last_us = its->first_us;
    for (size_t i = 1; i < its->count; i++) {
      its->first_us = blis_min_i64(its->first_us, its->items[i].enqueue_us);
      its->last_us = blis_max_i64(its->last_us, its->items[i].enqueue_us);
    }
    its->is_known = true;
  }
  return its;
}

/* Coefficients that compute scores from claims, for the current choice. */
typedef struct measure {
  double least_service;
  double per_token; /* scales the highest service to service_weight */
  double least_wait_us;
  double per_us;
  double service_weight;
  int64_t first_us; /* earliest enqueue time of all claims */
  int64_t now_us;
} measure;

static double share_of(double range, double weight) {
  return range > 0 ? weight / range : 0;
}

static measure measure_all(const blis_flow_claims *claims, double service_weight,
                           double wait_weight, int64_t now_us) {
  int64_t first_us = INT64_MAX;
  int64_t last_us = INT64_MIN;
  for (size_t g = 0; g < claims->groups.count; g++) {
    const group *its = with_range(&claims->groups.items[g]);
    first_us = blis_min_i64(first_us, its->first_us);
    last_us = blis_max_i64(last_us, its->last_us);
  }
  const group *lowest = claims->groups.items;
  const group *highest = &lowest[claims->groups.count - 1];
  double least = lowest->items[0].service;
  double most = highest->items[highest->count - 1].service;
  double least_wait_us = (double)(now_us - last_us);
  double most_wait_us = (double)(now_us - first_us);
  return (measure){.least_service = least,
                   .per_token = share_of(most - least, service_weight),
                   .least_wait_us = least_wait_us,
                   .per_us = share_of(most_wait_us - least_wait_us, wait_weight),
                   .service_weight = service_weight,
                   .first_us = first_us,
                   .now_us = now_us};
}

/* The score decreases with service and with the enqueue time, even after rounding. */
static inline double score(const measure *m, double service, int64_t enqueue_us) {
  return m->service_weight - (service - m->least_service) * m->per_token +
         ((double)(m->now_us - enqueue_us) - m->least_wait_us) * m->per_us;
}

/* The best claim so far, in order of service. */
typedef struct winner {
  const item *claim;
  double score;
  int64_t first_us; /* earliest enqueue time of all claims examined so far */
} winner;

static void look_at(const group *its, const measure *m, winner *best) {
  for (const item *at = its->items; at < its->items + its->count; at++) {
    if (at->enqueue_us >= best->first_us) {
      continue; /* a claim with less service has waited longer */
    }
    best->first_us = at->enqueue_us;
    double its_score = score(m, at->service, at->enqueue_us);
    if (its_score > best->score) {
      best->claim = at;
      best->score = its_score;
    }
  }
}

void *blis_flow_claims_pick(blis_flow_claims *claims, double service_weight, double wait_weight,
                            int64_t now_us) {
  BLIS_ASSERT(claims->count > 0);
  const measure m = measure_all(claims, service_weight, wait_weight, now_us);
  winner best = {NULL, -INFINITY, INT64_MAX};
  for (const group *its = claims->groups.items; best.first_us > m.first_us; its++) {
    if (its->first_us < best.first_us) {
      look_at(its, &m, &best);
    }
  }
  return best.claim->owner;
}
