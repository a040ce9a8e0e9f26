#include "policy/priority/priority.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/nearest.h"
#include "base/time.h"
#include "policy/contract/policy.h"

enum { PER_SCORE = 1000 };

#define SCORE_MAX 2e6 /* times PER_SCORE it is still an int32_t */
#define LAST INT32_MAX

/* A number of some class or tenant. */
typedef struct named {
  const char *name;
  double number;
} named;

typedef struct state {
  blis_arena arena;
  named *numbers;
  size_t count;
  double usual; /* of the others */
  int64_t last_arrival_us;
  int32_t arrivals; /* at different times so far */
} state;

void blis_priority_free(blis_priority *priority) {
  if (priority->free != NULL) {
    priority->free(&priority->alloc, priority->state);
  }
  *priority = (blis_priority){0};
}

static void free_state(const blis_alloc *alloc, void *ud) {
  state *self = ud;
  blis_arena_deinit(&self->arena);
  blis_alloc_free(alloc, self, sizeof *self);
}

static double number_of(const state *self, const blis_intern *strings,
                        uint32_t text) {
  const char *name = blis_intern_text(strings, text);
  for (size_t i = 0; i < self->count; i++) {
    if (strcmp(self->numbers[i].name, name) == 0) {
      return self->numbers[i].number;
    }
  }
  return self->usual;
}

static int32_t priority_of_score(double score) {
  return (int32_t)-lround(score * PER_SCORE);
}

/* constant, slo-based */
static blis_status decide_by_class(void *ud,
                                   const blis_routing_request *request,
                                   int64_t now_us, int32_t *priority,
                                   blis_error *error) {
  (void)now_us, (void)error;
  *priority =
      priority_of_score(number_of(ud, request->strings, request->slo_class));
  return BLIS_OK;
}

/* tenant-priority */
static blis_status decide_by_tenant(void *ud,
                                    const blis_routing_request *request,
                                    int64_t now_us, int32_t *priority,
                                    blis_error *error) {
  (void)now_us, (void)error;
  *priority =
      priority_of_score(number_of(ud, request->strings, request->tenant));
  return BLIS_OK;
}

/* deadline-aware: the time of the deadline, in milliseconds. */
static blis_status decide_by_deadline(void *ud,
                                      const blis_routing_request *request,
                                      int64_t now_us, int32_t *priority,
                                      blis_error *error) {
  (void)now_us, (void)error;
  int64_t deadline_us = request->deadline_us;
  if (deadline_us == 0) {
    double target_ms = number_of(ud, request->strings, request->slo_class);
    deadline_us = target_ms < 0
                      ? BLIS_TIME_NEVER_US
                      : blis_time_after_us(request->arrival_us,
                                           (int64_t)(target_ms * 1000));
  }
  int64_t deadline_ms = deadline_us / 1000;
  *priority = deadline_ms < LAST ? (int32_t)deadline_ms : LAST;
  return BLIS_OK;
}

/* inverted-slo: who arrives later goes first. */
static blis_status decide_newest(void *ud, const blis_routing_request *request,
                                 int64_t now_us, int32_t *priority,
                                 blis_error *error) {
  (void)now_us, (void)error;
  state *self = ud;
  if (request->arrival_us != self->last_arrival_us &&
      self->arrivals < INT32_MAX) {
    self->last_arrival_us = request->arrival_us;
    self->arrivals++;
  }
  *priority = -self->arrivals;
  return BLIS_OK;
}

#define SCORE(given_name, usual, text)                                         \
  {                                                                            \
    .name = given_name, .kind = BLIS_PARAM_NUMBER, .minimum = -SCORE_MAX,      \
    .maximum = SCORE_MAX, .fallback = usual, .unit = "", .summary = text       \
  }
#define SCORES(text)                                                           \
  {                                                                            \
    .name = "scores", .kind = BLIS_PARAM_TABLE, .minimum = -SCORE_MAX,         \
    .maximum = SCORE_MAX, .unit = "", .summary = text                          \
  }

static const blis_param_spec constant_params[] = {
    SCORE("score", 0, "of every request"),
};
static const blis_param_spec slo_params[] = {
    SCORE("realtime_score", 100, "of the SLO class realtime"),
    SCORE("batch_score", 10, "of the SLO class batch"),
    SCORE("default_score", 50, "of every other class"),
    SCORES("of more classes, by class"),
};
static const blis_param_spec tenant_params[] = {
    SCORES("by tenant"),
    SCORE("default_score", 50, "of every other tenant"),
};
static const blis_param_spec deadline_params[] = {
    {.name = "targets_ms",
     .kind = BLIS_PARAM_TABLE,
     .minimum = 0,
     .maximum = 1e12,
     .unit = "ms",
     .summary = "by SLO class: from arrival to the deadline of a request "
                "without one of its own"},
};

#define PLAN "BLIS macro-level implementation plan"
#define PARAMS(specs) specs, sizeof specs / sizeof *specs

/* What it is called, and how it decides. */
static const struct {
  blis_priority_entry entry;
  blis_status (*decide)(void *ud, const blis_routing_request *request,
                        int64_t now_us, int32_t *priority, blis_error *error);
  const char *usual; /* parameter of those that are not named; NULL: -1 */
} policies[] = {
    {{"constant", "", "every request is as urgent as any other", PLAN,
      PARAMS(constant_params)},
     decide_by_class,
     "score"},
    {{"slo-based", "",
      "by SLO class: realtime 100, batch 10, any other 50; higher is more "
      "urgent",
      PLAN, PARAMS(slo_params)},
     decide_by_class,
     "default_score"},
    {{"tenant-priority", "", "by tenant; higher is more urgent",
      PLAN "; the formula is ours", PARAMS(tenant_params)},
     decide_by_tenant,
     "default_score"},
    {{"deadline-aware", "",
      "the least time to the deadline first, to the millisecond; without "
      "deadline last",
      PLAN "; the formula is ours", PARAMS(deadline_params)},
     decide_by_deadline,
     NULL},
    {{"inverted-slo", "",
      "who arrives later goes first: bad on purpose, to try detectors on", PLAN,
      NULL, 0},
     decide_newest,
     NULL},
};

enum { POLICIES = sizeof policies / sizeof *policies };

size_t blis_priority_entry_count(void) {
  return POLICIES;
}

const blis_priority_entry *blis_priority_entry_at(size_t index) {
  return &policies[index].entry;
}

/* Its place; POLICIES when there is none. */
static size_t find(const char *name, blis_error *error) {
  blis_nearest nearest = {.wanted = name};
  char names[256] = "";
  for (size_t i = 0; i < POLICIES; i++) {
    const blis_priority_entry *entry = &policies[i].entry;
    if (blis__policy_is_named(name, entry->name, entry->aliases)) {
      return i;
    }
    blis_nearest_offer(&nearest, entry->name);
    blis_word_list_add(names, sizeof names, entry->name);
  }
  blis__policy_fail_unknown("priority policy", name, &nearest, names, error);
  return POLICIES;
}

static blis_status keep(state *self, const char *name, double number) {
  const char *copy = blis_arena_text(&self->arena, name, strlen(name));
  if (copy == NULL) {
    return BLIS_ERR_NOMEM;
  }
  self->numbers[self->count++] = (named){copy, number};
  return BLIS_OK;
}

/* What the table says goes before the two classes with a parameter. */
static blis_status keep_numbers(state *self, size_t policy,
                                const blis_params *params) {
  const blis_priority_entry *entry = &policies[policy].entry;
  size_t given = params == NULL ? 0 : params->count;
  self->numbers =
      blis_arena_new(&self->arena, (given + 2) * sizeof *self->numbers);
  if (self->numbers == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < given; i++) {
    const blis_param *param = &params->items[i];
    if (param->key != NULL) {
      BLIS_TRY(keep(self, param->key, param->number));
    }
  }
  if (entry->params == slo_params) {
    BLIS_TRY(keep(self, "realtime",
                  blis_params_number(params, entry->params, entry->param_count,
                                     "realtime_score")));
    BLIS_TRY(keep(self, "batch",
                  blis_params_number(params, entry->params, entry->param_count,
                                     "batch_score")));
  }
  self->usual =
      policies[policy].usual == NULL
          ? -1
          : blis_params_number(params, entry->params, entry->param_count,
                               policies[policy].usual);
  return BLIS_OK;
}

blis_status blis_priority_create(const blis_alloc *alloc, const char *name,
                                 const blis_params *params,
                                 const blis_policy_context *context,
                                 blis_priority *priority, blis_error *error) {
  (void)context;
  size_t policy = find(name, error);
  if (policy == POLICIES) {
    return BLIS_ERR_INVALID;
  }
  const blis_priority_entry *entry = &policies[policy].entry;
  char owner[64];
  snprintf(owner, sizeof owner, "priority policy %s", entry->name);
  BLIS_TRY(blis_params_check(params, entry->params, entry->param_count, owner,
                             error));
  state *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  BLIS_TRY_NEW(self, error);
  self->last_arrival_us = -1;
  blis_arena_init(&self->arena, alloc);
  if (keep_numbers(self, policy, params) != BLIS_OK) {
    free_state(alloc, self);
    return blis_fail_nomem(error);
  }
  *priority = (blis_priority){.decide = policies[policy].decide,
                              .state = self,
                              .alloc = *alloc,
                              .free = free_state};
  return BLIS_OK;
}
