#include "latency/step/piecewise.h"

#include "latency/spec/numbers.h"

typedef struct piecewise {
  blis_piecewise_params params;
} piecewise;

blis_piecewise_params blis_piecewise_defaults(void) {
  return (blis_piecewise_params){
      .prefill_tokens_per_sec = 50000.0,
      .decode_tokens_per_sec_batch1 = 80.0,
      .decode_saturation_batch = 64.0,
      .decode_tokens_per_sec_saturated = 3200.0,
  };
}

static double prefill_ms(const blis_piecewise_params *params, double tokens) {
  return tokens / params->prefill_tokens_per_sec * 1000.0;
}

static double throughput(const blis_piecewise_params *params, double batch) {
  double first = params->decode_tokens_per_sec_batch1;
  double last = params->decode_tokens_per_sec_saturated;
  double saturation = params->decode_saturation_batch;
  if (batch >= saturation) {
    return last;
  }
  /*
   * Below saturation, the saturation batch is larger than one request, so there is no division by
   * 0.
   */
  return first + (batch - 1.0) / fmax(saturation - 1.0, 1.0) * (last - first);
}

static double decode_ms(const blis_piecewise_params *params, double batch) {
  return batch == 0.0 ? 0.0 : batch / throughput(params, batch) * 1000.0;
}

/*
 * Rounds up to whole units. A value that is whole except for rounding errors is not rounded up:
 * 10.24 ms is 10,240 us, not 10,241 us.
 */
static double round_up(double value) {
  double nearest = nearbyint(value);
  return fabs(value - nearest) <= 1e-9 * value ? nearest : ceil(value);
}

static bool piecewise_from_sums(const void *state, const blis_batch_sums *sums, int64_t *step_us) {
  const piecewise *p = state;
  double ms = fmax(prefill_ms(&p->params, (double)sums->prefill_tokens),
                   decode_ms(&p->params, (double)sums->decode_requests));
  *step_us =
      blis__step_us(p->params.whole_milliseconds ? round_up(ms) * 1000.0 : round_up(ms * 1000.0));
  return true;
}

static blis_status piecewise_step_time(void *state, const blis_batch_item *items, size_t count,
                                       int64_t *step_us, blis_error *error) {
  (void)error;
  blis_batch_sums sums = blis_batch_sums_of(items, count);
  (void)piecewise_from_sums(state, &sums, step_us);
  return BLIS_OK;
}

static void piecewise_free(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(piecewise));
}

static const blis_latency_ops OPS = {
    .name = "piecewise",
    .step_time = piecewise_step_time,
    .step_time_from_sums = piecewise_from_sums,
    .may_look_ahead = true,
    .free = piecewise_free,
};

static blis_status check(const char *name, double value, double least, blis_error *error) {
  if (!isfinite(value) || value <= 0.0 || value < least) {
    return blis_fail(error, BLIS_ERR_INVALID, "piecewise: %s must be positive%s, got %g", name,
                     least > 0.0 ? " and at least 1" : "", value);
  }
  return BLIS_OK;
}

blis_status blis_piecewise_new(const blis_alloc *alloc, const blis_piecewise_params *params,
                               blis_latency_model *model, blis_error *error) {
  BLIS_TRY(check("prefill_tokens_per_sec", params->prefill_tokens_per_sec, 0.0, error));
  BLIS_TRY(check("decode_tokens_per_sec_batch1", params->decode_tokens_per_sec_batch1, 0.0, error));
  BLIS_TRY(check("decode_saturation_batch", params->decode_saturation_batch, 1.0, error));
  BLIS_TRY(check("decode_tokens_per_sec_saturated", params->decode_tokens_per_sec_saturated, 0.0,
                 error));
  piecewise *p = blis_alloc_new(alloc, sizeof *p);
  BLIS_TRY_NEW(p, error);
  p->params = *params;
  *model = (blis_latency_model){.ops = &OPS, .state = p, .alloc = *alloc};
  return BLIS_OK;
}
