/*
 * flow_service.h - service that programs (tenants) have attained, which fades
 * with time, and the score of least attained service.
 *
 * Source: llm-d-router, program-aware-fairness: a completed request adds its
 * prompt tokens and twice its output tokens; service halves every half-life;
 * score = 0.8 (1 - norm(service)) + 0.2 norm(wait of the head), norm being
 * min-max over the programs that wait, and the highest score is served.
 */
#ifndef BLIS_POLICY_FLOW_FLOW_SERVICE_H
#define BLIS_POLICY_FLOW_FLOW_SERVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

typedef struct blis_flow_service_rules {
  double service_weight; /* 0.8 */
  double wait_weight;    /* 0.2 */
  double half_life_s;    /* 60; 0 = service never fades */
} blis_flow_service_rules;

typedef struct blis_flow_service blis_flow_service;

/* NULL when memory runs out. */
blis_flow_service *blis_flow_service_new(const blis_alloc *alloc,
                                         const blis_flow_service_rules *rules);
void blis_flow_service_free(blis_flow_service *service);

BLIS_MUSTUSE blis_status blis_flow_service_add(blis_flow_service *service,
                                               uint32_t program, int64_t now_us,
                                               int64_t prompt_tokens,
                                               int64_t output_tokens);
double blis_flow_service_of(const blis_flow_service *service, uint32_t program,
                            int64_t now_us);

/* A program that waits. */
typedef struct blis_flow_claim {
  uint32_t program;
  int64_t head_wait_us;
} blis_flow_claim;

/*
 * Index of the claim with the highest score, the first of equal ones. All
 * service fades alike, so it does not matter at what time it is compared.
 */
size_t blis_flow_service_pick(const blis_flow_service *service,
                              const blis_flow_claim *claims, size_t count);

#endif
