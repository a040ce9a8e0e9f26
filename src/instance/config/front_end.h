/*
 * front_end.h - the API server before the scheduler: it parses, tokenizes, and forwards requests.
 *
 * Each API server process handles one request at a time, in order of arrival, which takes a fixed
 * time plus a time per prompt token. A request goes to the process that is free first. A fixed
 * delay is added after the process. Bursts of requests therefore wait here: 64 prompts of 1,024
 * tokens take 0.44 s with the default times.
 *
 * O(servers) per request. The structs are plain values and may be copied.
 */
#ifndef BLIS_INSTANCE_CONFIG_FRONT_END_H
#define BLIS_INSTANCE_CONFIG_FRONT_END_H

#include <stdint.h>

enum { BLIS_FRONT_END_SERVERS_MAX = 16 };

typedef struct blis_front_end_config {
  int64_t servers;   /* API server processes, 1 to BLIS_FRONT_END_SERVERS_MAX */
  double request_us; /* time of a process per request; >= 0, finite */
  double token_us;   /* time of a process per prompt token; >= 0, finite */
  int64_t delay_us;  /* delay after the process; >= 0 */
} blis_front_end_config;

/* The time until which each process is busy. Zero it before the first use. */
typedef struct blis__front_end {
  int64_t free_us[BLIS_FRONT_END_SERVERS_MAX];
} blis__front_end;

/* Accepts a request that arrives at now_us. Returns the time at which it leaves the front end.
   Arrival times must not decrease between calls. */
int64_t blis__front_end_take(blis__front_end *front_end, const blis_front_end_config *config,
                             int64_t prompt_tokens, int64_t now_us);

#endif
