#include "instance/config/front_end.h"

#include "base/minmax.h"
#include "base/time.h"
#include "latency/spec/numbers.h"

int64_t blis__front_end_take(blis__front_end *front_end, const blis_front_end_config *config,
                             int64_t prompt_tokens, int64_t now_us) {
  int64_t *first = &front_end->free_us[0];
  for (int64_t i = 1; i < config->servers; i++) {
    first = front_end->free_us[i] < *first ? &front_end->free_us[i] : first;
  }
  double busy_us = config->request_us + config->token_us * (double)prompt_tokens;
  *first = blis_time_after_us(blis_max_i64(*first, now_us), blis__truncate(busy_us));
  return blis_time_after_us(*first, config->delay_us);
}
