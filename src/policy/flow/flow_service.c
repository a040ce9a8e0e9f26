#include "policy/flow/flow_service.h"

#include <math.h>

#include "base/array.h"

/* Maximum number of half-lives since the base; with more, the numbers would become too large. */
#define HALVES_MAX 512.0

/*
 * Instead of reducing earlier service over time, service that is added later gets a higher weight.
 * Token counts are relative to base_us.
 */
struct blis_flow_service {
  blis_alloc alloc;
  blis_flow_service_rules rules;
  int64_t base_us;
  BLIS_ARRAY(double) tokens; /* by program */
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
  blis_array_deinit(&alloc, &service->tokens);
  blis_alloc_free(&alloc, service, sizeof *service);
}

static double halves_since_base(const blis_flow_service *service, int64_t now_us) {
  double half_life_s = service->rules.half_life_s;
  return half_life_s <= 0 ? 0 : (double)(now_us - service->base_us) / 1e6 / half_life_s;
}

static void move_base(blis_flow_service *service, int64_t now_us) {
  double factor = exp2(-halves_since_base(service, now_us));
  for (size_t i = 0; i < service->tokens.count; i++) {
    service->tokens.items[i] *= factor;
  }
  service->base_us = now_us;
}

blis_status blis_flow_service_add(blis_flow_service *service, uint32_t program, int64_t now_us,
                                  int64_t prompt_tokens, int64_t output_tokens) {
  while (service->tokens.count <= program) {
    BLIS_TRY(blis_array_push(&service->alloc, &service->tokens, 0));
  }
  if (halves_since_base(service, now_us) > HALVES_MAX) {
    move_base(service, now_us);
  }
  service->tokens.items[program] +=
      (double)(prompt_tokens + 2 * output_tokens) * exp2(halves_since_base(service, now_us));
  return BLIS_OK;
}

static inline double tokens_of(const blis_flow_service *service, uint32_t program) {
  return program < service->tokens.count ? service->tokens.items[program] : 0;
}

double blis_flow_service_of(const blis_flow_service *service, uint32_t program, int64_t now_us) {
  return tokens_of(service, program) * exp2(-halves_since_base(service, now_us));
}

double blis_flow_service_share(const blis_flow_service *service, uint32_t program) {
  return tokens_of(service, program);
}

int64_t blis_flow_service_base(const blis_flow_service *service) {
  return service->base_us;
}

const blis_flow_service_rules *blis_flow_service_get_rules(const blis_flow_service *service) {
  return &service->rules;
}
