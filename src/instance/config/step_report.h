/* step_report.h - a report on the work of one step, for code that needs every step. */
#ifndef BLIS_INSTANCE_CONFIG_STEP_REPORT_H
#define BLIS_INSTANCE_CONFIG_STEP_REPORT_H

#include <stdint.h>

typedef struct blis_step_report {
  int64_t start_us;
  int64_t end_us;           /* planned end; the instance may be lost earlier */
  int64_t prefill_requests; /* requests that compute prompt tokens */
  int64_t prefill_tokens;   /* prompt tokens of these requests */
  int64_t decode_requests;  /* requests that compute one token each, after the prefills */
  /* Requests in the wait queue, including requests whose KV is being loaded. */
  int64_t waiting;
  int64_t used_kv_blocks; /* blocks that requests of the instance reference */
} blis_step_report;

#endif
