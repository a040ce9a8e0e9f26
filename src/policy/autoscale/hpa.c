#include "policy/autoscale/hpa.h"

#include <math.h>

#include "base/minmax.h"

blis_hpa_rules blis_hpa_default_rules(void) {
  return (blis_hpa_rules){
      .up = {.pods = 4,
             .pods_period_s = 15,
             .percent = 100,
             .percent_period_s = 15,
             .tolerance = 0.1},
      .down = {.window_s = 300, .percent = 100, .percent_period_s = 15, .tolerance = 0.1},
  };
}

int64_t blis_hpa_milli(double value) {
  return llround(value * 1000);
}

/* Proposals */

static bool is_within(const blis_hpa_rules *rules, double ratio) {
  return 1 - rules->down.tolerance <= ratio && ratio <= 1 + rules->up.tolerance;
}

int64_t blis_hpa_average_value(const blis_hpa_rules *rules, int64_t value_milli,
                               int64_t target_milli, int64_t replicas) {
  double ratio = (double)value_milli / ((double)target_milli * (double)replicas);
  if (replicas > 0 && is_within(rules, ratio)) {
    return replicas;
  }
  return (int64_t)ceil((double)value_milli / (double)target_milli);
}

int64_t blis_hpa_value(const blis_hpa_rules *rules, int64_t value_milli, int64_t target_milli,
                       int64_t replicas, int64_t ready) {
  double ratio = (double)value_milli / (double)target_milli;
  if (replicas == 0) {
    return (int64_t)ceil(ratio);
  }
  return is_within(rules, ratio) ? replicas : (int64_t)ceil(ratio * (double)ready);
}

static int64_t sum_of(const int64_t *values, size_t count) {
  int64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum += values[i];
  }
  return sum;
}

/* Returns the ratio of the mean over some pods to the target. The mean is rounded to
   thousandths. */
static double ratio_of(int64_t sum_milli, int64_t pods, int64_t target_milli) {
  return (double)(sum_milli / pods) / (double)target_milli;
}

int64_t blis_hpa_pods(const blis_hpa_rules *rules, const int64_t *values_milli, size_t count,
                      int64_t missing, int64_t unready, int64_t target_milli, int64_t replicas) {
  int64_t with_value = (int64_t)count;
  if (with_value == 0) {
    return replicas;
  }
  int64_t sum = sum_of(values_milli, count);
  double ratio = ratio_of(sum, with_value, target_milli);
  bool is_up = ratio > 1;
  if (missing == 0 && !(unready > 0 && is_up)) {
    return is_within(rules, ratio) ? replicas : (int64_t)ceil(ratio * (double)with_value);
  }
  // Unknown values are assumed to be those that cause the smaller change.
  int64_t pods = with_value + missing + (is_up ? unready : 0);
  if (ratio < 1) {
    sum += missing * target_milli;
  }
  double cautious = ratio_of(sum, pods, target_milli);
  if (is_within(rules, cautious) || (ratio < 1) != (cautious < 1)) {
    return replicas;
  }
  int64_t wanted = (int64_t)ceil(cautious * (double)pods);
  bool is_against = cautious < 1 ? wanted > replicas : wanted < replicas;
  return is_against ? replicas : wanted;
}

/* Replicas over time */

typedef struct bounds {
  int64_t least;
  int64_t most;
} bounds;

/* Returns the lowest proposal in the scale-up window and the highest in the scale-down window,
   including the new proposal. */
static bounds stabilized(const blis_hpa *hpa, const blis_hpa_rules *rules, int64_t now_us,
                         int64_t proposal) {
  bounds result = {proposal, proposal};
  int64_t up_us = blis_scale_window_start_us(now_us, rules->up.window_s);
  int64_t down_us = blis_scale_window_start_us(now_us, rules->down.window_s);
  for (size_t i = hpa->proposals.count; i-- > 0;) {
    const blis_scale_point *past = &hpa->proposals.items[i];
    int64_t number = (int64_t)past->value;
    if (past->time_us > up_us && number < result.least) {
      result.least = number;
    }
    if (past->time_us > down_us && number > result.most) {
      result.most = number;
    }
    if (past->time_us <= up_us && past->time_us <= down_us) {
      break;
    }
  }
  return result;
}

/* Returns the number of replicas at the start of a period that ends now. */
static int64_t at_start(const blis_hpa *hpa, int64_t now_us, double period_s, int64_t replicas) {
  int64_t start_us = blis_scale_window_start_us(now_us, period_s);
  for (size_t i = hpa->changes.count; i-- > 0;) {
    if (hpa->changes.items[i].time_us <= start_us) {
      break;
    }
    replicas -= (int64_t)hpa->changes.items[i].value;
  }
  return replicas;
}

/* Returns the limit of a change in one direction; sign is +1 for up and -1 for down. */
static int64_t limit_of(const blis_hpa *hpa, const blis_hpa_direction *rule, int sign,
                        int64_t now_us, int64_t replicas) {
  if (rule->select == BLIS_HPA_DISABLED) {
    return replicas;
  }
  int64_t limits[2];
  size_t count = 0;
  if (rule->pods_period_s > 0) {
    int64_t start = at_start(hpa, now_us, rule->pods_period_s, replicas);
    limits[count++] = start + sign * (int64_t)rule->pods;
  }
  if (rule->percent_period_s > 0) {
    double start = (double)at_start(hpa, now_us, rule->percent_period_s, replicas);
    double limit = start * (1 + sign * rule->percent / 100);
    limits[count++] = (int64_t)(sign > 0 ? ceil(limit) : trunc(limit));
  }
  if (count == 0) {
    return sign > 0 ? INT64_MAX : 0;
  }
  int64_t limit = limits[0];
  if (count == 2) {
    bool is_farther = sign * limits[1] > sign * limits[0];
    limit = limits[is_farther == (rule->select == BLIS_HPA_MAX)];
  }
  return sign * limit > sign * replicas ? limit : replicas;
}

static blis_status remember(blis_hpa *hpa, const blis_alloc *alloc, const blis_hpa_rules *rules,
                            int64_t now_us, int64_t proposal) {
  double window_s = fmax(rules->up.window_s, rules->down.window_s);
  return blis_scale_history_add(&hpa->proposals, alloc, now_us, window_s, (double)proposal);
}

static blis_status note_change(blis_hpa *hpa, const blis_alloc *alloc, const blis_hpa_rules *rules,
                               int64_t now_us, int64_t change) {
  double period_s = fmax(fmax(rules->up.pods_period_s, rules->up.percent_period_s),
                         fmax(rules->down.pods_period_s, rules->down.percent_period_s));
  return blis_scale_history_add(&hpa->changes, alloc, now_us, period_s, (double)change);
}

/* Clamps to the rate limits, then to min and max. */
static int64_t limited(const blis_hpa *hpa, const blis_hpa_rules *rules, int64_t now_us,
                       int64_t replicas, int64_t wanted, bounds allowed) {
  if (wanted > replicas) {
    int64_t limit = limit_of(hpa, &rules->up, 1, now_us, replicas);
    return blis_min_i64(blis_min_i64(wanted, allowed.most), limit);
  }
  if (wanted < replicas) {
    int64_t limit = limit_of(hpa, &rules->down, -1, now_us, replicas);
    return blis_max_i64(blis_max_i64(wanted, allowed.least), limit);
  }
  return replicas;
}

blis_status blis_hpa_sync(blis_hpa *hpa, const blis_alloc *alloc, const blis_hpa_rules *rules,
                          int64_t now_us, int64_t replicas, int64_t proposal, int64_t min,
                          int64_t max, int64_t *target) {
  if (!hpa->has_synced) {
    hpa->has_synced = true;
    BLIS_TRY(remember(hpa, alloc, rules, now_us, replicas));
  }
  if (replicas == 0 && min != 0) {
    *target = replicas;
  } else if (replicas > max) {
    *target = max;
  } else if (replicas < min) {
    *target = min;
  } else {
    bounds window = stabilized(hpa, rules, now_us, proposal);
    BLIS_TRY(remember(hpa, alloc, rules, now_us, proposal));
    int64_t wanted = blis_min_i64(blis_max_i64(replicas, window.least), window.most);
    *target = limited(hpa, rules, now_us, replicas, wanted, (bounds){.least = min, .most = max});
  }
  return *target == replicas ? BLIS_OK : note_change(hpa, alloc, rules, now_us, *target - replicas);
}

void blis_hpa_deinit(blis_hpa *hpa, const blis_alloc *alloc) {
  blis_array_deinit(alloc, &hpa->proposals);
  blis_array_deinit(alloc, &hpa->changes);
}
