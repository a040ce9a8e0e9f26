/*
 * goodput.h - service targets, as descriptions of requests state them.
 */
#ifndef BLIS_WORKLOAD_GOODPUT_H
#define BLIS_WORKLOAD_GOODPUT_H

/* The targets of one SLO class; 0 = not gated. */
typedef struct blis_goodput_target {
  const char *slo_class;
  double ttft_ms;
  double itl_ms;
  double e2e_ms;
} blis_goodput_target;

#endif
