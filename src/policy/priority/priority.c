#include "policy/priority/priority.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "policy/contract/entry.h"

#define SCORE_MAX 1e15

/* The priority of a class or tenant. */
typedef struct named {
  const char *name;
  double number;
} named;

typedef struct state {
  blis_arena arena;
  named *numbers;
  size_t count;
  double usual;    /* priority of all other classes */
  double realtime; /* used by slo-based, by class */
  double batch;
} state;

BLIS__POLICY_FREE(priority)

static void free_state(const blis_alloc *alloc, void *ud) {
  (void)alloc;
  state *self = ud;
  blis_arena_deinit(&self->arena);
}

static double number_of(const state *self, const blis_intern *strings, uint32_t text) {
  const char *name = blis_intern_text(strings, text);
  for (size_t i = 0; i < self->count; i++) {
    if (strcmp(self->numbers[i].name, name) == 0) {
      return self->numbers[i].number;
    }
  }
  return self->usual;
}

/* constant, slo-based */
static blis_status decide_by_class(void *ud, const blis_routing_request *request, int64_t now_us,
                                   double *priority, blis_error *error) {
  (void)now_us, (void)error;
  *priority = number_of(ud, request->strings, request->slo_class);
  return BLIS_OK;
}

/* tenant-priority */
static blis_status decide_by_tenant(void *ud, const blis_routing_request *request, int64_t now_us,
                                    double *priority, blis_error *error) {
  (void)now_us, (void)error;
  *priority = number_of(ud, request->strings, request->tenant);
  return BLIS_OK;
}

/* deadline-aware: the priority is the negated deadline, in seconds. */
static blis_status decide_by_deadline(void *ud, const blis_routing_request *request, int64_t now_us,
                                      double *priority, blis_error *error) {
  (void)now_us, (void)error;
  double deadline_us = (double)request->deadline_us;
  if (request->deadline_us == 0) {
    double target_ms = number_of(ud, request->strings, request->slo_class);
    deadline_us = target_ms < 0 ? (double)INFINITY : (double)request->arrival_us + target_ms * 1000;
  }
  *priority = -deadline_us / 1e6;
  return BLIS_OK;
}

/* inverted-slo: later arrivals have higher priority. */
static blis_status decide_newest(void *ud, const blis_routing_request *request, int64_t now_us,
                                 double *priority, blis_error *error) {
  (void)ud, (void)now_us, (void)error;
  *priority = (double)request->arrival_us / 1e6;
  return BLIS_OK;
}

#define SCORE(given_name, usual, ...)                                                              \
  BLIS__NUMBER(given_name, -SCORE_MAX, SCORE_MAX, usual, "", __VA_ARGS__)
#define SCORES(text) BLIS__TABLE("scores", -SCORE_MAX, SCORE_MAX, "", text)

static const blis_param_spec constant_params[] = {
    SCORE("score", 0, "of every request", BLIS__INTO(state, usual)),
};
static const blis_param_spec slo_params[] = {
    SCORE("realtime_score", 100, "of the SLO classes realtime and critical",
          BLIS__INTO(state, realtime)),
    SCORE("batch_score", 10, "of the SLO class batch", BLIS__INTO(state, batch)),
    SCORE("default_score", 50, "of every other class", BLIS__INTO(state, usual)),
    SCORES("of more classes, by class"),
};
static const blis_param_spec tenant_params[] = {
    SCORES("by tenant"),
    SCORE("default_score", 50, "of every other tenant", BLIS__INTO(state, usual)),
};
static const blis_param_spec deadline_params[] = {
    BLIS__TABLE("targets_ms", 0, 1e12, "ms",
                "by SLO class: time from arrival to the deadline, for requests "
                "without one of their own"),
};

static blis_status keep(state *self, const char *name, double number) {
  const char *copy = blis_arena_text(&self->arena, name, strlen(name));
  if (copy == NULL) {
    return BLIS_ERR_NOMEM;
  }
  self->numbers[self->count++] = (named){copy, number};
  return BLIS_OK;
}

/*
 * Stores the numbers. The table takes precedence over the parameters of classes. Since version 2,
 * workload specifications call class realtime `critical`.
 */
static blis_status keep_numbers(state *self, const blis_policy_setup *setup) {
  const blis_params *params = setup->params;
  size_t given = params == NULL ? 0 : params->count;
  self->numbers = blis_arena_new(&self->arena, (given + 3) * sizeof *self->numbers);
  if (self->numbers == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < given; i++) {
    const blis_param *param = &params->items[i];
    if (param->key != NULL) {
      BLIS_TRY(keep(self, param->key, param->number));
    }
  }
  if (setup->entry->params == slo_params) {
    BLIS_TRY(keep(self, "realtime", self->realtime));
    BLIS_TRY(keep(self, "critical", self->realtime));
    BLIS_TRY(keep(self, "batch", self->batch));
  }
  return BLIS_OK;
}

static blis_status init(void *ud, blis_policy_setup *setup, blis_error *error) {
  state *self = ud;
  blis_arena_init(&self->arena, setup->alloc);
  if (setup->entry->params == deadline_params) {
    self->usual = -1; /* priority of a class without a target */
  }
  BLIS_TRY_MEM(keep_numbers(self, setup), error);
  return BLIS_OK;
}

#define PLAN "BLIS macro-level implementation plan"

/* Initializers of an entry that uses this function. */
#define PRIORITY(function)                                                                         \
  .kind = BLIS_POLICY_PRIORITY,                                                                    \
  .ops = &(const blis_priority_ops){.decide = (function), .free = free_state},                     \
  .state_size = sizeof(state), .init = init

const blis_policy_entry blis__priority_constant = {
    PRIORITY(decide_by_class),
    .name = "constant",
    .summary = "the same for every request",
    .source = PLAN,
    BLIS__PARAMS(constant_params),
};

const blis_policy_entry blis__priority_slo_based = {
    PRIORITY(decide_by_class),
    .name = "slo-based",
    .summary = "by SLO class: realtime and critical 100, batch 10, any other "
               "50; higher is more urgent",
    .source = PLAN,
    BLIS__PARAMS(slo_params),
};

const blis_policy_entry blis__priority_tenant_priority = {
    PRIORITY(decide_by_tenant),
    .name = "tenant-priority",
    .summary = "by tenant; higher is more urgent",
    .source = PLAN "; the formula is ours",
    BLIS__PARAMS(tenant_params),
};

const blis_policy_entry blis__priority_deadline_aware = {
    PRIORITY(decide_by_deadline),
    .name = "deadline-aware",
    .summary = "earliest deadline first; requests without one last",
    .source = PLAN "; the formula is ours",
    BLIS__PARAMS(deadline_params),
};

const blis_policy_entry blis__priority_inverted_slo = {
    PRIORITY(decide_newest),
    .name = "inverted-slo",
    .summary = "latest arrival first; deliberately bad, for testing detectors",
    .source = PLAN,
};
