/*
 * course.h - the course of a run between its first and its last arrival: arrivals, requests that
 * wait, and requests in the system. It shows whether the run was overloaded.
 *
 * The time from the first arrival to the last is divided into equal parts. The time after the last
 * arrival is omitted, because the queues of any run drain then.
 *
 * A request waits from its arrival until its last admission to a batch, or until it ends. It is in
 * the system from its arrival until it ends.
 */
#ifndef BLIS_RESULTS_ANALYSIS_COURSE_H
#define BLIS_RESULTS_ANALYSIS_COURSE_H

#include <stdint.h>

#include "results/record/recorder.h"

/* A multiple of 4, for thirds, halves, and quarters. */
enum { BLIS_COURSE_PARTS = 24 };

typedef struct blis_course {
  int64_t requests; /* records; all other members are 0 without any */
  int64_t from_us;  /* first arrival */
  int64_t to_us;    /* last arrival */
  int64_t arrived[BLIS_COURSE_PARTS];
  int64_t waiting[BLIS_COURSE_PARTS];      /* requests that wait at the end of the part */
  int64_t in_system[BLIS_COURSE_PARTS];    /* requests in the system at the end of the part */
  int64_t first_tokens[BLIS_COURSE_PARTS]; /* arrivals of the part that got a first token */
  double ttft_us[BLIS_COURSE_PARTS];       /* mean TTFT of these; 0 without any */
  double running;     /* mean number of requests between their admission and their end */
  double held_tokens; /* mean number of tokens in the KV cache, if no request shares any: all of
                         the prompt and half of the output while a request runs */
  uint32_t least_prompt_tokens, most_prompt_tokens;
  uint32_t least_output_tokens, most_output_tokens;
} blis_course;

/* O(records) and no memory; the order of the records does not matter. */
void blis_course_measure(blis_course *course, const blis_recorder *recorder);

#endif
