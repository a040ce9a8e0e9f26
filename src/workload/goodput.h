/*
 * goodput.h - service-level targets in descriptions of requests.
 */
#ifndef BLIS_WORKLOAD_GOODPUT_H
#define BLIS_WORKLOAD_GOODPUT_H

/* The targets of one SLO class; 0 = no target. */
typedef struct blis_goodput_target {
  const char *slo_class;
  double ttft_ms;
  double itl_ms;
  double e2e_ms;
} blis_goodput_target;

#endif
