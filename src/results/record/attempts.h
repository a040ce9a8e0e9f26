/*
 * attempts.h - the attempts of a run's cascade, and sums over them.
 *
 * Memory: 88 bytes per attempt if records are kept. Sums by model are always kept.
 */
#ifndef BLIS_RESULTS_RECORD_ATTEMPTS_H
#define BLIS_RESULTS_RECORD_ATTEMPTS_H

#include "base/array.h"
#include "base/containers/sketch.h"
#include "policy/cascade/cascade.h"
#include "results/metrics/figures.h"
#include "workload/request.h"

typedef struct blis_attempt_record {
  int64_t number; /* number of the request */
  int64_t arrival_us;
  int64_t start_us;
  int64_t ttft_us; /* time since the arrival; -1 = no first token */
  int64_t end_us;
  double mean_logprob; /* NAN if unknown */
  uint32_t model;      /* number in the workload's string table */
  int32_t instance;    /* -1 = none */
  uint32_t prompt_tokens;
  uint32_t output_tokens;
  uint32_t reason; /* reason for a rejection or failure: a number of the recorder; 0 = none */
  uint16_t step;   /* number of the attempt, from 1 */
  uint16_t stage;  /* index in the chain, from 0 */
  uint16_t stage_count;
  uint8_t state;   /* blis_request_state */
  uint8_t verdict; /* blis_cascade_verdict */
} blis_attempt_record;

/* Sums of the attempts with one model, or of all attempts. */
typedef struct blis_attempt_sums {
  uint32_t model;
  int64_t attempts;
  int64_t verdicts[BLIS_CASCADE_VERDICT_COUNT];
  int64_t prompt_tokens;
  int64_t output_tokens;
  int64_t dropped_output_tokens; /* output tokens of answers that were not accepted */
  int64_t answers;               /* number of completed attempts */
  double logprob_sum;            /* over answers */
  int64_t duration_us;           /* sum of times from start to end, over answers */
} blis_attempt_sums;

/* Metrics computed from the sums. */
typedef struct blis_attempt_figures {
  BLIS_ATTEMPT_FIGURES(BLIS_FIGURE_MEMBER)
} blis_attempt_figures;

typedef struct blis_cascade_figures {
  BLIS_CASCADE_FIGURES(BLIS_FIGURE_MEMBER)
} blis_cascade_figures;

typedef struct blis_attempts {
  blis_alloc alloc;
  bool keeps_records;
  BLIS_ARRAY(blis_attempt_record) records;
  size_t sorted;                        /* number of records at the last sort */
  BLIS_ARRAY(blis_attempt_sums) models; /* in order of appearance */
  blis_attempt_sums all;
  BLIS_ARRAY(int64_t) steps; /* number of requests by number of attempts, from 1 */
  /* Time from arrival to the last attempt, for requests with more than one attempt. */
  blis_sketch earlier_us;
  uint64_t hash; /* part of the result hash; 0 without attempts */
} blis_attempts;

void blis_attempts_init(blis_attempts *attempts, const blis_alloc *alloc, bool keeps_records);
void blis_attempts_deinit(blis_attempts *attempts);

/* After BLIS_ERR_NOMEM the attempts can only be freed. */
BLIS_MUSTUSE blis_status blis_attempts_add(blis_attempts *attempts, const blis_request *request,
                                           const blis_cascade_attempt *attempt,
                                           blis_cascade_verdict verdict, uint32_t reason);

/* Sorts the attempts by arrival, number, and step. */
void blis_attempts_sort(blis_attempts *attempts);

/*
 * Returns the attempts, in order, of the request with this arrival and number; *count = 0 if it has
 * none. Requires sorted attempts.
 */
const blis_attempt_record *blis_attempts_of(const blis_attempts *attempts, int64_t arrival_us,
                                            int64_t number, size_t *count);

/*
 * Computes the time that requests spent on answers that were not good enough. The result is exact
 * if records are kept.
 */
BLIS_MUSTUSE blis_status blis_attempts_earlier(const blis_attempts *attempts,
                                               blis_percentiles *result);

blis_attempt_figures blis_attempts_figures(const blis_attempt_sums *sums);
blis_cascade_figures blis_attempts_cascade(const blis_attempts *attempts);

#endif
