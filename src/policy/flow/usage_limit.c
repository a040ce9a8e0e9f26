#include "policy/flow/usage_limit.h"

#include <math.h>

#include "policy/contract/entry.h"

typedef struct state {
  double least;
  double most;
  uint32_t mode;  /* holdback_mode */
  uint64_t ticks; /* used by soft-reflective */
} state;

typedef enum holdback_mode { BY_RANK, BY_VALUE } holdback_mode;

BLIS__POLICY_FREE(usage_limit)

static blis_status same(void *ud, double saturation, const int32_t *priorities, size_t count,
                        double *ceilings, blis_error *error) {
  (void)saturation, (void)priorities, (void)error;
  const state *self = ud;
  for (size_t i = 0; i < count; i++) {
    ceilings[i] = self->most;
  }
  return BLIS_OK;
}

/* Returns the position of a band between the lowest (0) and the highest (1). */
static double place_of(const state *self, const int32_t *priorities, size_t count, size_t i) {
  if (self->mode == BY_RANK) {
    return 1 - (double)i / (double)(count - 1);
  }
  double lowest = priorities[count - 1];
  return ((double)priorities[i] - lowest) / ((double)priorities[0] - lowest);
}

static blis_status hold_back(void *ud, double saturation, const int32_t *priorities, size_t count,
                             double *ceilings, blis_error *error) {
  (void)saturation, (void)error;
  const state *self = ud;
  for (size_t i = 0; i < count; i++) {
    ceilings[i] = count == 1 ? self->most
                             : self->least + place_of(self, priorities, count, i) *
                                                 (self->most - self->least);
  }
  return BLIS_OK;
}

/* Uses the same order of arithmetic as the reference. */
static blis_status go_down(void *ud, double saturation, const int32_t *priorities, size_t count,
                           double *ceilings, blis_error *error) {
  (void)saturation, (void)priorities, (void)error;
  const state *self = ud;
  for (size_t i = 0; i < count; i++) {
    ceilings[i] = count == 1 ? 1 : 1 - (double)i * (1 - self->least) / (double)(count - 1);
  }
  return BLIS_OK;
}

/* Returns whether the lower bands are open in this call; all of them open and close together. */
static bool is_turn(state *self, double saturation) {
  if (saturation >= 1 || saturation < 1 - saturation) {
    return false;
  }
  uint64_t period = (uint64_t)fmax(1, round(saturation / (1 - saturation)));
  return ++self->ticks % period == 0;
}

static blis_status reflect(void *ud, double saturation, const int32_t *priorities, size_t count,
                           double *ceilings, blis_error *error) {
  (void)priorities, (void)error;
  bool has_turn = is_turn(ud, saturation);
  for (size_t i = 0; i < count; i++) {
    double reach = i == 0 ? 1 : 1 - (double)i * saturation / (double)(count - 1);
    bool is_open = i == 0 || saturation < reach || has_turn;
    ceilings[i] = is_open ? 1 : 0;
  }
  return BLIS_OK;
}

static blis_status init_holdback(void *ud, blis_policy_setup *setup, blis_error *error) {
  const state *self = ud;
  if (self->least > self->most) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "usage limit %s: min_ceiling %g is above max_ceiling %g", setup->entry->name,
                     self->least, self->most);
  }
  return BLIS_OK;
}

static const blis_param_spec static_params[] = {
    BLIS__NUMBER("ceiling", 1e-9, 1e9, 1, "", "of every band", BLIS__INTO(state, most)),
};

static const blis_param_spec holdback_params[] = {
    BLIS__NUMBER("min_ceiling", 0, 1e9, 0.5, "",
                 "of the lowest band; llm-d-router has no default, 0.5 is this "
                 "program's",
                 BLIS__INTO(state, least)),
    BLIS__NUMBER("max_ceiling", 1e-9, 1e9, 1, "", "of the highest band", BLIS__INTO(state, most)),
    BLIS__CHOICE("mode", "rank|value",
                 "what places the bands between: their order or their "
                 "priorities",
                 BLIS__INTO(state, mode)),
};

static const blis_param_spec linear_params[] = {
    BLIS__NUMBER("threshold", 1e-9, 1, 1, "0 to 1", "of the lowest band", BLIS__INTO(state, least)),
};

#define LIMIT(function, pure)                                                                      \
  .kind = BLIS_POLICY_USAGE_LIMIT,                                                                 \
  .ops = &(const blis_usage_limit_ops){.ceilings = (function), .is_pure = (pure)},                 \
  .state_size = sizeof(state)

const blis_policy_entry blis__usage_limit_static = {
    LIMIT(same, true),
    .name = "static",
    .aliases = "static-usage-limit-policy",
    .summary = "the same ceiling for every band",
    .source = "llm-d-router, static-usage-limit-policy",
    BLIS__PARAMS(static_params),
};

const blis_policy_entry blis__usage_limit_linear = {
    LIMIT(go_down, true),
    .name = "linear",
    .summary = "1 for the highest band, down to a threshold for the lowest",
    .source = "BLIS (Go), --usage-limit-threshold",
    BLIS__PARAMS(linear_params),
};

const blis_policy_entry blis__usage_limit_priority_holdback = {
    LIMIT(hold_back, true),
    .name = "priority-holdback",
    .aliases = "priority-holdback-policy",
    .summary = "ceilings between those of the lowest and the highest band",
    .source = "llm-d-router, priority-holdback-policy",
    BLIS__PARAMS(holdback_params),
    .init = init_holdback,
};

const blis_policy_entry blis__usage_limit_soft_reflective = {
    LIMIT(reflect, false),
    .name = "soft-reflective",
    .aliases = "soft-reflective-ceiling-policy",
    .summary = "lower bands are closed the sooner the lower they are, and "
               "opened together now and then",
    .source = "llm-d-router, soft-reflective-ceiling-policy",
};
