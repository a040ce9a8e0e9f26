#include "policy/flow/flow_service.h"

#include <math.h>

#include "base/array.h"

typedef struct attained {
  double tokens;
  int64_t time_us; /* as of */
} attained;

struct blis_flow_service {
  blis_alloc alloc;
  blis_flow_service_rules rules;
  BLIS_ARRAY(attained) programs; /* by number */
};

blis_flow_service *blis_flow_service_new(const blis_alloc *alloc,
                                         const blis_flow_service_rules *rules) {
  blis_flow_service *service = blis_alloc_new(alloc, sizeof *service);
  if (service != NULL) {
    *service = (blis_flow_service){.alloc = *alloc, .rules = *rules};
  }
  return service;
}

void blis_flow_service_free(blis_flow_service *service) {
  if (service == NULL) {
    return;
  }
  blis_alloc alloc = service->alloc;
  blis_array_deinit(&alloc, &service->programs);
  blis_alloc_free(&alloc, service, sizeof *service);
}

static double faded(const blis_flow_service *service, const attained *program,
                    int64_t now_us) {
  if (service->rules.half_life_s <= 0) {
    return program->tokens;
  }
  double halves =
      (double)(now_us - program->time_us) / 1e6 / service->rules.half_life_s;
  return program->tokens * exp2(-halves);
}

blis_status blis_flow_service_add(blis_flow_service *service, uint32_t program,
                                  int64_t now_us, int64_t prompt_tokens,
                                  int64_t output_tokens) {
  while (service->programs.count <= program) {
    BLIS_TRY(blis_array_push(&service->alloc, &service->programs,
                             ((attained){.time_us = now_us})));
  }
  attained *its = &service->programs.items[program];
  its->tokens =
      faded(service, its, now_us) + (double)(prompt_tokens + 2 * output_tokens);
  its->time_us = now_us;
  return BLIS_OK;
}

double blis_flow_service_of(const blis_flow_service *service, uint32_t program,
                            int64_t now_us) {
  return program < service->programs.count
             ? faded(service, &service->programs.items[program], now_us)
             : 0;
}

typedef struct range {
  double least;
  double most;
} range;

static void widen(range *r, double value) {
  r->least = fmin(r->least, value);
  r->most = fmax(r->most, value);
}

static double normal(const range *r, double value) {
  return r->most > r->least ? (value - r->least) / (r->most - r->least) : 0;
}

size_t blis_flow_service_pick(const blis_flow_service *service,
                              const blis_flow_claim *claims, size_t count,
                              int64_t now_us) {
  range services = {INFINITY, -INFINITY};
  range waits = {INFINITY, -INFINITY};
  for (size_t i = 0; i < count; i++) {
    widen(&services, blis_flow_service_of(service, claims[i].program, now_us));
    widen(&waits, (double)claims[i].head_wait_us);
  }
  size_t best = 0;
  double best_score = -INFINITY;
  for (size_t i = 0; i < count; i++) {
    double attained_tokens =
        blis_flow_service_of(service, claims[i].program, now_us);
    double score = service->rules.service_weight *
                       (1 - normal(&services, attained_tokens)) +
                   service->rules.wait_weight *
                       normal(&waits, (double)claims[i].head_wait_us);
    if (score > best_score) {
      best = i;
      best_score = score;
    }
  }
  return best;
}
