#include "instance/parts/timing.h"

#include <inttypes.h>
#include <math.h>

#include "base/inline.h"
#include "base/minmax.h"
#include "base/time.h"

blis_status blis__check_latency_constants(const blis_latency_model *latency, blis_error *error) {
  blis_first_token first = blis_latency_first_token(latency);
  const struct {
    const char *name;
    int64_t us;
  } constants[] = {
      {"time per output token", blis_latency_output_token_time(latency)},
      {"fixed overhead", blis_latency_fixed_overhead(latency)},
      {"delay of first tokens", first.delay_us},
  };
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
    int64_t us = constants[i].us;
    if (us < 0 || us > BLIS__DURATION_MAX_US) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "latency model %s: the %s is %" PRId64 " us; expected 0 to %" PRId64,
                       latency->ops->name, constants[i].name, us, BLIS__DURATION_MAX_US);
    }
  }
  if (!(first.depth >= 0 && isfinite(first.depth))) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "latency model %s: first tokens wait for %g steps; expected 0 or more",
                     latency->ops->name, first.depth);
  }
  return BLIS_OK;
}

/* Returns when the request leaves the front end. */
static BLIS_NOT_INLINE int64_t pass_front_end(const blis_front_end_config *config,
                                              blis__front_end *front_end,
                                              blis_live_request *request, int64_t now_us) {
  int64_t left_us = blis__front_end_take(front_end, config, request->prompt_tokens, now_us);
  request->frontend_us = left_us - now_us;
  return left_us;
}

int64_t blis__queued_at_us(const blis_instance_config *config, blis__front_end *front_end,
                           blis_live_request *request, int64_t now_us) {
  if (config->front_end != NULL) {
    now_us = pass_front_end(config->front_end, front_end, request, now_us);
  }
  int64_t delay_us = blis_latency_queueing_time(config->latency, request->prompt_tokens);
  return blis_time_after_us(now_us, blis_max_i64(delay_us, 0));
}

blis_status blis__check_step_time(const blis_latency_model *latency, int64_t *step_us,
                                  blis_error *error) {
  *step_us = blis_max_i64(*step_us, 1);
  if (*step_us <= BLIS__DURATION_MAX_US) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "latency model %s: a step takes %" PRId64 " us; expected up to %" PRId64,
                   latency->ops->name, *step_us, BLIS__DURATION_MAX_US);
}

blis_status blis__tell_computing(const blis_instance_events *events, blis_live_request *request,
                                 int64_t start_us, int64_t end_us, blis_error *error) {
  if (!request->holds_kv || events->computing == NULL) {
    return BLIS_OK;
  }
  const blis_prefill_step step = {.start_us = start_us,
                                  .end_us = end_us,
                                  .from_tokens = request->progress_tokens,
                                  .to_tokens = request->computed_tokens};
  return events->computing(events->ud, request, &step, error);
}

blis_status blis__tell_completed(const blis_instance_events *events,
                                 const blis_live_request *request, int64_t end_us, bool *counts_itl,
                                 blis_error *error) {
  *counts_itl = true;
  return events->completed == NULL
             ? BLIS_OK
             : events->completed(events->ud, request, end_us, counts_itl, error);
}

blis_status blis__count_itl(blis_histogram *itl_us, const int64_t *us, size_t n, int64_t count,
                            blis_error *error) {
  if (itl_us == NULL || count == 0) { /* no request decodes, or latencies are not recorded */
    return BLIS_OK;
  }
  blis_status status = blis_histogram_add_each(itl_us, us, n, (uint64_t)count);
  if (status == BLIS_ERR_INVALID) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the inter-token latencies add up to more than 2^64 us");
  }
  return status == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}
