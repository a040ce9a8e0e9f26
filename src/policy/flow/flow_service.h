/*
 * flow_service.h - service that programs (tenants) have attained. It decays with time;
 * flow_claims.h computes scores from it.
 *
 * Source: llm-d-router, program-aware-fairness: a completed request adds its prompt tokens and
 * twice its output tokens. Service halves every half-life.
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
  double half_life_s;    /* 60; 0 = no decay */
} blis_flow_service_rules;

typedef struct blis_flow_service blis_flow_service;

/* NULL if memory runs out. */
blis_flow_service *blis_flow_service_new(const blis_alloc *alloc,
                                         const blis_flow_service_rules *rules);
void blis_flow_service_free(blis_flow_service *service);

BLIS_MUSTUSE blis_status blis_flow_service_add(blis_flow_service *service, uint32_t program,
                                               int64_t now_us, int64_t prompt_tokens,
                                               int64_t output_tokens);
double blis_flow_service_of(const blis_flow_service *service, uint32_t program, int64_t now_us);

/*
 * Returns the service before decay. It can be compared between programs, because all service decays
 * at the same rate. The value of a program changes when service is added, and all values change
 * with blis_flow_service_base.
 */
double blis_flow_service_share(const blis_flow_service *service, uint32_t program);
int64_t blis_flow_service_base(const blis_flow_service *service);
const blis_flow_service_rules *blis_flow_service_get_rules(const blis_flow_service *service);

#endif
