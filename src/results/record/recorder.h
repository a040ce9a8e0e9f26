/*
 * recorder.h - stores the records of a run and computes its result hash.
 *
 * The hash is the sum modulo 2^64 of the records' hashes, so it does not
 * depend on the order in which requests end.
 */
#ifndef BLIS_RESULTS_RECORD_RECORDER_H
#define BLIS_RESULTS_RECORD_RECORDER_H

#include "cluster/handoff/handoff.h"
#include "cluster/tiers/kv_tiers.h"
#include "results/record/attempts.h"
#include "results/record/record_store.h"
#include "results/record/tally.h"

typedef struct blis_recorder blis_recorder;

/* Creates a recorder that keeps a record of every request. Copies *alloc. NULL = out of memory. */
blis_recorder *blis_recorder_new(const blis_alloc *alloc);

/*
 * Creates a recorder that keeps no records, only counts and quantile sketches. Memory does not grow
 * with the number of requests, which allows runs with 10^8 requests. Percentiles are at most 1/256
 * too low (base/sketch.h); everything else is exact. There are no metrics by class, tenant, or
 * model.
 */
blis_recorder *blis_recorder_new_streaming(const blis_alloc *alloc);

/* NULL is allowed. */
void blis_recorder_free(blis_recorder *recorder);

/* Returns the sink for a cluster; it lives as long as the recorder. */
const blis_request_sink *blis_recorder_sink(blis_recorder *recorder);

/*
 * Sorts records and attempts by arrival, then number. This order does not depend on the engine.
 * Call it before records are listed. Costs almost nothing if they are sorted. After BLIS_ERR_NOMEM
 * records are in the order in which requests ended.
 */
BLIS_MUSTUSE blis_status blis_recorder_sort(blis_recorder *recorder);

/* Returns false for a streaming recorder. */
bool blis_recorder_keeps_records(const blis_recorder *recorder);

size_t blis_recorder_count(const blis_recorder *recorder);

/* Returns a record, index < count. Records that are added after a sort follow the sorted
   records. */
blis_record blis_recorder_record(const blis_recorder *recorder, size_t index);

/*
 * Fills indices[0 .. result) with the completed requests with the highest E2E, at most `wanted`.
 * The slowest request is first; equal ones are in list order. O(records * log wanted) on average.
 * Uses no memory.
 */
size_t blis_recorder_slowest(const blis_recorder *recorder, size_t *indices, size_t wanted);

/* Returns an extra field of record index; -1 = not set. */
int64_t blis_recorder_extra(const blis_recorder *recorder, size_t index, blis_record_extra extra);

/* Returns whether any record has set the extra field. */
bool blis_recorder_has(const blis_recorder *recorder, blis_record_extra extra);

/*
 * Adds a record that does not come from a cluster. reason NULL = none. hits NULL = none; otherwise
 * the extra field cached_tokens is set from hits. After BLIS_ERR_NOMEM the recorder can only be
 * read and freed.
 */
BLIS_MUSTUSE blis_status blis_recorder_add(blis_recorder *recorder, const blis_record *record,
                                           const char *reason, double priority,
                                           const blis_record_extras *extras,
                                           const blis_kv_hits *hits);

/*
 * Gets the priority of record index; higher is more urgent. Returns false if all requests had the
 * same priority.
 */
bool blis_recorder_priority(const blis_recorder *recorder, size_t index, double *priority);

/* Returns the number of KV tiers of the records; 0 without tiers or without admitted requests. */
uint32_t blis_recorder_tier_count(const blis_recorder *recorder);

/* Returns the prompt tokens of record index that were loaded from a tier; -1 = the request was
   not admitted. */
int64_t blis_recorder_tier_tokens(const blis_recorder *recorder, size_t index, uint32_t tier);

/* Returns the reason for the rejection of a request; "" for all other outcomes. */
const char *blis_recorder_reason(const blis_recorder *recorder, const blis_record *record);

/* Returns the attempts of a cascade; all sums are 0 without a cascade. The recorder owns them. */
const blis_attempts *blis_recorder_attempts(const blis_recorder *recorder);

/* Returns the reason for the rejection or failure of an attempt; "" for all other outcomes. */
const char *blis_recorder_attempt_reason(const blis_recorder *recorder,
                                         const blis_attempt_record *attempt);

/* Returns the result hash over records and attempts. */
uint64_t blis_recorder_hash(const blis_recorder *recorder);

/* Returns the counts so far. The recorder owns them. */
const blis_tally *blis_recorder_tally(const blis_recorder *recorder);

/* Returns the records in the order in which requests ended. The recorder owns them. */
const blis__record_store *blis__recorder_store(const blis_recorder *recorder);

/* Metrics of all records; count is their number. */
typedef struct blis__whole {
  size_t count;
  int64_t prompt_tokens;
  int64_t output_tokens; /* output tokens of completed requests */
  blis_times times;      /* inter-token latencies are the means of the requests */
} blis__whole;

/* Returns the cached metrics of all records, for the code that computes them. The recorder owns
   them. */
blis__whole *blis__recorder_whole(const blis_recorder *recorder);

#endif
