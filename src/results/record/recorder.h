/*
 * recorder.h - keeps the records of a run and its result hash.
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

/* Keeps a record of every request. Copies *alloc. NULL = out of memory. */
blis_recorder *blis_recorder_new(const blis_alloc *alloc);

/*
 * Keeps no records, only counts and quantile sketches: memory does not grow with the number of
 * requests (for runs of 10^8 of them). Percentiles are at most 1/256 too low (base/sketch.h),
 * everything else is exact. There are no metrics by class, tenant, or model.
 */
blis_recorder *blis_recorder_new_streaming(const blis_alloc *alloc);

/* NULL is allowed. */
void blis_recorder_free(blis_recorder *recorder);

/* For a cluster; lives as long as the recorder. */
const blis_request_sink *blis_recorder_sink(blis_recorder *recorder);

/*
 * Sorts records and attempts by arrival, then number, which does not depend on the engine. Call it
 * before records are listed. Costs almost nothing if they are sorted. After BLIS_ERR_NOMEM records
 * are in the order in which requests ended.
 */
BLIS_MUSTUSE blis_status blis_recorder_sort(blis_recorder *recorder);

/* False for a streaming one. */
bool blis_recorder_keeps_records(const blis_recorder *recorder);

size_t blis_recorder_count(const blis_recorder *recorder);

/* index < count. Records added after a sort follow the sorted ones. */
blis_record blis_recorder_record(const blis_recorder *recorder, size_t index);

/*
 * Fills indices[0 .. result) with the completed requests of the greatest E2E, at most `wanted`. The
 * slowest come first, equal ones in list order. O(records * log wanted) on average. Uses no memory.
 */
size_t blis_recorder_slowest(const blis_recorder *recorder, size_t *indices, size_t wanted);

/* An extra field of record index; -1 = not set. */
int64_t blis_recorder_extra(const blis_recorder *recorder, size_t index, blis_record_extra extra);

/* Has any record set the extra field? */
bool blis_recorder_has(const blis_recorder *recorder, blis_record_extra extra);

/*
 * Adds a record that does not come from a cluster. reason NULL = none; hits NULL = none, else
 * their cached_tokens are the extra field of that name. After BLIS_ERR_NOMEM the recorder can only
 * be read and freed.
 */
BLIS_MUSTUSE blis_status blis_recorder_add(blis_recorder *recorder, const blis_record *record,
                                           const char *reason, double priority,
                                           const blis_record_extras *extras,
                                           const blis_kv_hits *hits);

/*
 * The priority of record index, higher is more urgent; false when all requests
 * have had the same one.
 */
bool blis_recorder_priority(const blis_recorder *recorder, size_t index, double *priority);

/* Returns the number of KV tiers of the records; 0 without tiers or without admitted requests. */
uint32_t blis_recorder_tier_count(const blis_recorder *recorder);

/* Prompt tokens of record index that were loaded from a tier; -1 = it was not admitted. */
int64_t blis_recorder_tier_tokens(const blis_recorder *recorder, size_t index, uint32_t tier);

/* Why a request was rejected; "" for all other outcomes. */
const char *blis_recorder_reason(const blis_recorder *recorder, const blis_record *record);

/* The attempts of a cascade; all-zero sums without one. The recorder owns them. */
const blis_attempts *blis_recorder_attempts(const blis_recorder *recorder);

/* Why an attempt was rejected or failed; "" for all other outcomes. */
const char *blis_recorder_attempt_reason(const blis_recorder *recorder,
                                         const blis_attempt_record *attempt);

/* Over records and attempts. */
uint64_t blis_recorder_hash(const blis_recorder *recorder);

/* The counts so far. The recorder owns them. */
const blis_tally *blis_recorder_tally(const blis_recorder *recorder);

/* Its records in the order in which requests ended; the recorder's own. */
const blis__record_store *blis__recorder_store(const blis_recorder *recorder);

/* Metrics of all records; count is their number. */
typedef struct blis__whole {
  size_t count;
  int64_t prompt_tokens;
  int64_t output_tokens; /* of the completed ones */
  blis_times times;      /* inter-token latencies are the requests' own means */
} blis__whole;

/* The cached metrics of all records, for the code that computes them. The recorder owns them. */
blis__whole *blis__recorder_whole(const blis_recorder *recorder);

#endif
