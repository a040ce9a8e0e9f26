#include "policy/flow/flow_claims.h"

#include <math.h>
#include <string.h>

#include "base/invariant.h"

enum { GROUP = 16 };

void blis_flow_claims_deinit(blis_flow_claims *claims,
                             const blis_alloc *alloc) {
  blis_array_deinit(alloc, &claims->items);
  blis_array_deinit(alloc, &claims->groups);
}

static void forget_from(blis_flow_claims *claims, size_t place) {
  for (size_t g = place / GROUP; g < claims->groups.count; g++) {
    claims->groups.items[g].is_known = false;
  }
}

blis_status blis_flow_claims_insert(blis_flow_claims *claims,
                                    const blis_alloc *alloc, size_t place) {
  size_t count = claims->items.count + 1;
  BLIS_TRY(blis_array_reserve(alloc, &claims->items, count));
  BLIS_TRY(blis_array_reserve(alloc, &claims->groups, count / GROUP + 1));
  blis_flow_claim *items = claims->items.items;
  memmove(&items[place + 1], &items[place],
          (claims->items.count - place) * sizeof *items);
  items[place] = (blis_flow_claim){0};
  claims->items.count = count;
  claims->groups.count = (count + GROUP - 1) / GROUP;
  forget_from(claims, place);
  return BLIS_OK;
}

void blis_flow_claims_remove(blis_flow_claims *claims, size_t place) {
  blis_flow_claim *items = claims->items.items;
  size_t count = --claims->items.count;
  memmove(&items[place], &items[place + 1], (count - place) * sizeof *items);
  claims->groups.count = (count + GROUP - 1) / GROUP;
  forget_from(claims, place);
}

void blis_flow_claims_set(blis_flow_claims *claims, size_t place,
                          const blis_flow_claim *claim) {
  claims->items.items[place] = *claim;
  claims->groups.items[place / GROUP].is_known = false;
}

static size_t end_of(const blis_flow_claims *claims, size_t group) {
  size_t end = (group + 1) * GROUP;
  return end < claims->items.count ? end : claims->items.count;
}

static const blis__claim_group *bounds_of(blis_flow_claims *claims, size_t g) {
  blis__claim_group *group = &claims->groups.items[g];
  if (group->is_known) {
    return group;
  }
  *group = (blis__claim_group){.least_service = INFINITY,
                               .most_service = -INFINITY,
                               .first_us = INT64_MAX,
                               .last_us = INT64_MIN,
                               .is_known = true};
  for (size_t i = g * GROUP; i < end_of(claims, g); i++) {
    const blis_flow_claim *its = &claims->items.items[i];
    group->least_service = its->service < group->least_service
                               ? its->service
                               : group->least_service;
    group->most_service =
        its->service > group->most_service ? its->service : group->most_service;
    group->first_us =
        its->enqueue_us < group->first_us ? its->enqueue_us : group->first_us;
    group->last_us =
        its->enqueue_us > group->last_us ? its->enqueue_us : group->last_us;
  }
  return group;
}

/* How scores follow from claims, at this choice. */
typedef struct measure {
  double least_service;
  double per_token; /* 1 of the most service makes service_weight */
  double least_wait_us;
  double per_us;
  double service_weight;
  int64_t now_us;
} measure;

static double share_of(double range, double weight) {
  return range > 0 ? weight / range : 0;
}

static measure measure_all(blis_flow_claims *claims, double service_weight,
                           double wait_weight, int64_t now_us) {
  double least = INFINITY;
  double most = -INFINITY;
  int64_t first_us = INT64_MAX;
  int64_t last_us = INT64_MIN;
  for (size_t g = 0; g < claims->groups.count; g++) {
    const blis__claim_group *its = bounds_of(claims, g);
    least = its->least_service < least ? its->least_service : least;
    most = its->most_service > most ? its->most_service : most;
    first_us = its->first_us < first_us ? its->first_us : first_us;
    last_us = its->last_us > last_us ? its->last_us : last_us;
  }
  double least_wait_us = (double)(now_us - last_us);
  double most_wait_us = (double)(now_us - first_us);
  return (measure){.least_service = least,
                   .per_token = share_of(most - least, service_weight),
                   .least_wait_us = least_wait_us,
                   .per_us =
                       share_of(most_wait_us - least_wait_us, wait_weight),
                   .service_weight = service_weight,
                   .now_us = now_us};
}

/* It falls with service and with the enqueue, also as rounded. */
static inline double score(const measure *m, double service,
                           int64_t enqueue_us) {
  return m->service_weight - (service - m->least_service) * m->per_token +
         ((double)(m->now_us - enqueue_us) - m->least_wait_us) * m->per_us;
}

typedef struct winner {
  size_t place;
  double score;
} winner;

static void look_at(const blis_flow_claims *claims, size_t g, const measure *m,
                    winner *best) {
  for (size_t i = g * GROUP; i < end_of(claims, g); i++) {
    const blis_flow_claim *its = &claims->items.items[i];
    double its_score = score(m, its->service, its->enqueue_us);
    if (its_score > best->score ||
        (its_score == best->score && i < best->place)) {
      *best = (winner){i, its_score};
    }
  }
}

static double bound(const measure *m, const blis__claim_group *group) {
  return score(m, group->least_service, group->first_us);
}

/* The group that promises most is looked at first: few of the others can have
   the winner then. */
size_t blis_flow_claims_pick(blis_flow_claims *claims, double service_weight,
                             double wait_weight, int64_t now_us) {
  BLIS_ASSERT(claims->items.count > 0);
  measure m = measure_all(claims, service_weight, wait_weight, now_us);
  const blis__claim_group *groups = claims->groups.items;
  size_t first = 0;
  double promise = -INFINITY;
  for (size_t g = 0; g < claims->groups.count; g++) {
    double its = bound(&m, &groups[g]);
    first = its > promise ? g : first;
    promise = its > promise ? its : promise;
  }
  winner best = {SIZE_MAX, -INFINITY};
  look_at(claims, first, &m, &best);
  for (size_t g = 0; g < claims->groups.count; g++) {
    if (g != first && bound(&m, &groups[g]) >= best.score) {
      look_at(claims, g, &m, &best);
    }
  }
  return best.place;
}
