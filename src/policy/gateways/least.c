#include "policy/gateways/least.h"

/* Below 0 = a is less by what stands in by[k] and behind it; 0 = equal. */
static int compare(const blis_question *q, const blis__least *least, size_t k,
                   size_t a, size_t b) {
  int order = 0;
  for (; order == 0 && k < BLIS__LEAST_MAX && least->by[k] != NULL; k++) {
    double of_a = least->by[k](q, a);
    double of_b = least->by[k](q, b);
    order = (of_a > of_b) - (of_a < of_b);
  }
  return order;
}

size_t blis__least_of(const blis_question *q, const blis__least *least) {
  size_t best = 0;
  double lowest = least->by[0](q, 0);
  for (size_t i = 1; i < q->view->count; i++) {
    double value = least->by[0](q, i);
    int order = value != lowest ? (value > lowest) - (value < lowest)
                                : compare(q, least, 1, i, best);
    if (order < 0 || (order == 0 && least->takes_last)) {
      best = i;
      lowest = value;
    }
  }
  return best;
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
