#include "policy/gateways/least.h"

/* The best candidate so far, and those of its inputs that were computed. */
typedef struct champion {
  size_t candidate;
  double figures[BLIS__LEAST_MAX];
  size_t known;
} champion;

static void challenge(champion *best, const blis_question *q, const blis__least *least, size_t i) {
  for (size_t k = 0; k < BLIS__LEAST_MAX && least->by[k] != NULL; k++) {
    if (k == best->known) {
      best->figures[best->known++] = least->by[k](q, best->candidate);
    }
    double figure = least->by[k](q, i);
    if (figure > best->figures[k]) {
      return;
    }
    if (figure < best->figures[k]) {
      best->candidate = i;
      best->figures[k] = figure;
      best->known = k + 1;
      return;
    }
  }
  best->candidate = least->takes_last ? i : best->candidate;
}

size_t blis__least_of(const blis_question *q, const blis__least *least) {
  champion best = {.candidate = 0};
  for (size_t i = 1; i < q->view->count; i++) {
    challenge(&best, q, least, i);
  }
  return best.candidate;
}

double blis__in_flight(const blis_question *q, size_t i) {
  return blis__column_at(q, BLIS_SIGNAL_IN_FLIGHT, i);
}

double blis__kv_utilization(const blis_question *q, size_t i) {
  return blis__column_at(q, BLIS_SIGNAL_KV_UTILIZATION, i);
}

double blis__cached_negated(const blis_question *q, size_t i) {
  return 0 - blis__column_at(q, BLIS_SIGNAL_CACHED_TOKENS, i);
}
