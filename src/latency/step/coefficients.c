#include "latency/step/coefficients.h"

#include <math.h>
#include <string.h>

#include "latency/spec/numbers.h"

static blis_status check_values(const double *values, size_t count, const char *name,
                                const char *model, blis_error *error) {
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(values[i]) || values[i] < 0.0) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%s: %s[%zu] must be finite and not negative, got %g", model, name, i,
                       values[i]);
    }
  }
  return BLIS_OK;
}

blis_status blis_coefficients_validate(const blis_coefficients *coefficients, size_t beta_min,
                                       const char *model, blis_error *error) {
  if (coefficients->alpha_count < BLIS_ALPHA_COUNT) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: alpha needs %d coefficients (--alpha-coeffs), "
                     "got %zu",
                     model, BLIS_ALPHA_COUNT, coefficients->alpha_count);
  }
  if (coefficients->beta_count < beta_min) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: beta needs at least %zu coefficients "
                     "(--beta-coeffs), got %zu",
                     model, beta_min, coefficients->beta_count);
  }
  BLIS_TRY(check_values(coefficients->alpha, coefficients->alpha_count, "alpha", model, error));
  return check_values(coefficients->beta, coefficients->beta_count, "beta", model, error);
}

blis__alpha blis__alpha_from(const blis_coefficients *coefficients) {
  blis__alpha alpha;
  memcpy(alpha.values, coefficients->alpha, sizeof alpha.values);
  return alpha;
}

static const double *values_of(const void *state) {
  const blis__alpha *alpha = state;
  return alpha->values;
}

int64_t blis__alpha_linear_queueing(const void *state, int64_t prompt_tokens) {
  const double *a = values_of(state);
  return blis__truncate(a[0] + a[1] * (double)prompt_tokens);
}

int64_t blis__alpha_constant_queueing(const void *state, int64_t prompt_tokens) {
  (void)prompt_tokens;
  return blis__truncate(values_of(state)[0]);
}

int64_t blis__alpha_overhead(const void *state) {
  return blis__truncate(values_of(state)[1]);
}

int64_t blis__alpha_token_time(const void *state) {
  return blis__truncate(values_of(state)[2]);
}
