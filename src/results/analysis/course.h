/*
 * course.h - the course of a run between its first and last arrival: arrivals, waiting requests,
 * and requests in the system. It shows whether the run was overloaded.
 *
 * The time from the first arrival to the last is divided into equal parts. The time after the last
 * arrival is omitted, because queues always drain then.
 *
 * A request waits from its arrival until its last admission to a batch, or until it ends. It is in
 * the system from its arrival until it ends.
 */
#ifndef BLIS_RESULTS_ANALYSIS_COURSE_H
#define BLIS_RESULTS_ANALYSIS_COURSE_H

#include <stdint.h>

#include "results/record/recorder.h"

/* A multiple of 12, so that it can be divided into thirds, halves, and quarters. */
enum { BLIS_COURSE_PARTS = 24 };

typedef struct blis_course {
  int64_t requests; /* number of records; if it is 0, all other members are 0 */
  int64_t from_us;  /* first arrival */
  int64_t to_us;    /* last arrival */
  int64_t arrived[BLIS_COURSE_PARTS];
  int64_t waiting[BLIS_COURSE_PARTS];      /* requests that wait at the end of the part */
  int64_t in_system[BLIS_COURSE_PARTS];    /* requests in the system at the end of the part */
  int64_t first_tokens[BLIS_COURSE_PARTS]; /* arrivals in the part that got a first token */
  double ttft_us[BLIS_COURSE_PARTS];       /* mean TTFT of these requests; 0 if there are none */
  double running;          /* mean number of requests between their admission and their end */
  double held_tokens;      /* mean number of tokens in the KV cache, assuming no sharing: the whole
                              prompt and half of the output while a request runs */
  double prompt_of_token;  /* length of the prompt that a prompt token is part of, the mean over all
                              prompt tokens */
  double output_of_token;  /* planned length of the output that an output token is part of */
  double context_of_token; /* tokens before an output token, the mean over all output tokens */
  uint32_t least_prompt_tokens, most_prompt_tokens;
  uint32_t least_output_tokens, most_output_tokens;
} blis_course;

/* Measures the course of a run. O(records); allocates no memory. The order of the records does
   not matter. */
void blis_course_measure(blis_course *course, const blis_recorder *recorder);

#endif
