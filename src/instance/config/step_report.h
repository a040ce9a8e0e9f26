/*
 * step_report.h - a report of the work of one step, for receivers that need every
 * step.
 */
#ifndef BLIS_INSTANCE_CONFIG_STEP_REPORT_H
#define BLIS_INSTANCE_CONFIG_STEP_REPORT_H

#include <stdint.h>

typedef struct blis_step_report {
  int64_t start_us;
  int64_t end_us;           /* unless the instance is lost before */
  int64_t prefill_requests; /* that compute tokens of their prompts, */
  int64_t prefill_tokens;   /* prefill tokens among them */
  int64_t decode_requests;  /* that compute one token each, after the prefills */
  /* Requests in the wait queue, those included whose KV is being loaded. */
  int64_t waiting;
  int64_t used_kv_blocks; /* referenced by requests of the instance */
} blis_step_report;

#endif
