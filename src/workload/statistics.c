#include "workload/statistics.h"

#include <math.h>
#include <string.h>

#include "workload/block_namer.h"

/* Sorts by one byte after the other, lowest first; the result is in values. */
static void radix_sort(uint32_t *values, uint32_t *spare, size_t count) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    size_t starts[257] = {0};
    for (size_t i = 0; i < count; i++) {
      starts[(values[i] >> shift & 0xff) + 1]++;
    }
    for (size_t digit = 0; digit < 256; digit++) {
      starts[digit + 1] += starts[digit];
    }
    for (size_t i = 0; i < count; i++) {
      spare[starts[values[i] >> shift & 0xff]++] = values[i];
    }
    memcpy(values, spare, count * sizeof *values);
  }
}

/* The smallest value that at least percent of all do not exceed. */
static uint32_t percentile(const uint32_t *sorted, size_t count,
                           size_t percent) {
  size_t rank = (count / 100) * percent + (count % 100 * percent + 99) / 100;
  return sorted[rank - 1];
}

static blis_length_statistics measure_lengths(uint32_t *lengths,
                                              uint32_t *spare, size_t count) {
  blis_length_statistics result = {0};
  if (count == 0) {
    return result;
  }
  for (size_t i = 0; i < count; i++) {
    result.sum += lengths[i];
  }
  radix_sort(lengths, spare, count);
  result.mean = (double)result.sum / (double)count;
  result.min = lengths[0];
  result.p50 = percentile(lengths, count, 50);
  result.p90 = percentile(lengths, count, 90);
  result.p99 = percentile(lengths, count, 99);
  result.max = lengths[count - 1];
  return result;
}

static blis_status measure_both_lengths(const blis_alloc *alloc,
                                        const blis_workload *workload,
                                        blis_workload_statistics *statistics) {
  size_t count = blis_workload_count(workload);
  size_t size = count > 0 ? 2 * count * sizeof(uint32_t) : 1;
  uint32_t *lengths = blis_alloc_new(alloc, size);
  if (lengths == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < count; i++) {
    lengths[i] = blis_workload_request(workload, i)->prompt_tokens;
  }
  statistics->prompt = measure_lengths(lengths, lengths + count, count);
  for (size_t i = 0; i < count; i++) {
    lengths[i] = blis_workload_request(workload, i)->output_tokens;
  }
  statistics->output = measure_lengths(lengths, lengths + count, count);
  blis_alloc_free(alloc, lengths, size);
  return BLIS_OK;
}

/* Names of shared blocks count up, so an old one is not above the highest. */
static blis_status measure_reuse(const blis_alloc *alloc,
                                 const blis_workload *workload,
                                 uint32_t block_size,
                                 blis_workload_statistics *statistics) {
  blis_block_namer *namer = blis_block_namer_new(alloc);
  blis_status status = namer != NULL ? BLIS_OK : BLIS_ERR_NOMEM;
  size_t count = blis_workload_count(workload);
  for (size_t i = 0; status == BLIS_OK && i < count; i++) {
    blis_block_id highest = blis_block_namer_shared_count(namer);
    blis_block_chain chain;
    status = blis_block_namer_chain(namer, blis_workload_request(workload, i),
                                    block_size, &chain, NULL);
    if (status == BLIS_OK) {
      uint32_t known = 0;
      uint32_t limit = blis_block_chain_of_prompt(&chain).shared_count;
      while (known < limit && chain.shared[known] <= highest) {
        known++;
      }
      statistics->reused_tokens += (int64_t)known * block_size;
      blis_block_namer_release(namer, &chain);
    }
  }
  if (status == BLIS_OK) {
    statistics->shareable_blocks =
        (int64_t)blis_block_namer_shared_count(namer);
  }
  blis_block_namer_free(namer);
  return status;
}

/* Counts text in *counter unless bit was already set for it. */
static void count_text(uint8_t *seen, uint32_t text, unsigned bit,
                       uint32_t *counter) {
  if (text != 0 && (seen[text] & 1u << bit) == 0) {
    seen[text] |= (uint8_t)(1u << bit);
    ++*counter;
  }
}

static blis_status count_texts(const blis_alloc *alloc,
                               const blis_workload *workload,
                               blis_workload_statistics *statistics) {
  size_t texts = blis_intern_count(blis_workload_strings(workload));
  uint8_t *seen = blis_alloc_zeroed(alloc, texts, 1);
  if (seen == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < blis_workload_count(workload); i++) {
    const blis_request *request = blis_workload_request(workload, i);
    count_text(seen, request->tenant, 0, &statistics->tenants);
    count_text(seen, request->slo_class, 1, &statistics->slo_classes);
    count_text(seen, request->model, 2, &statistics->models);
    count_text(seen, request->session, 3, &statistics->sessions);
    count_text(seen, request->client, 4, &statistics->clients);
    count_text(seen, request->prefix_group, 5, &statistics->prefix_groups);
  }
  blis_alloc_free(alloc, seen, texts);
  return BLIS_OK;
}

/* counts: by text, and room for as many more. */
static void measure_turns(const blis_workload *workload, uint32_t *counts,
                          size_t texts, blis_workload_statistics *statistics) {
  for (size_t i = 0; i < blis_workload_count(workload); i++) {
    counts[blis_workload_request(workload, i)->session]++;
  }
  size_t sessions = 0;
  for (size_t text = 1; text < texts; text++) {
    if (counts[text] > 0) {
      counts[sessions++] = counts[text];
    }
  }
  statistics->turns = measure_lengths(counts, counts + texts, sessions);
}

static blis_status measure_sessions(const blis_alloc *alloc,
                                    const blis_workload *workload,
                                    blis_workload_statistics *statistics) {
  size_t texts = blis_intern_count(blis_workload_strings(workload));
  uint32_t *counts = blis_alloc_zeroed(alloc, 2 * texts, sizeof *counts);
  if (counts == NULL) {
    return BLIS_ERR_NOMEM;
  }
  measure_turns(workload, counts, texts, statistics);
  blis_alloc_free(alloc, counts, 2 * texts * sizeof *counts);
  return BLIS_OK;
}

static void measure_arrivals(const blis_workload *workload,
                             blis_workload_statistics *result) {
  size_t count = blis_workload_count(workload);
  if (count == 0) {
    return;
  }
  result->first_arrival_us = blis_workload_request(workload, 0)->arrival_us;
  result->last_arrival_us =
      blis_workload_request(workload, count - 1)->arrival_us;
  double span_us =
      (double)result->last_arrival_us - (double)result->first_arrival_us;
  double mean_gap_us = span_us / (double)(count - 1);
  double squares = 0;
  size_t start = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t now_us = blis_workload_request(workload, i)->arrival_us;
    while (now_us - blis_workload_request(workload, start)->arrival_us >=
           1000000) {
      start++;
    }
    if ((int64_t)(i - start) >= result->busiest_second) {
      result->busiest_second = (int64_t)(i - start) + 1;
    }
    if (i > 0) {
      int64_t last_us = blis_workload_request(workload, i - 1)->arrival_us;
      double off_us = (double)(now_us - last_us) - mean_gap_us;
      squares += off_us * off_us;
    }
  }
  if (span_us > 0) {
    result->requests_per_sec = (double)(count - 1) / span_us * 1e6;
    result->gap_cv = sqrt(squares / (double)(count - 1)) / mean_gap_us;
  }
}

blis_status blis_workload_measure(const blis_alloc *alloc,
                                  const blis_workload *workload,
                                  uint32_t block_size,
                                  blis_workload_statistics *statistics,
                                  blis_error *error) {
  size_t count = blis_workload_count(workload);
  blis_workload_statistics result = {.count = (int64_t)count};
  measure_arrivals(workload, &result);
  if (measure_both_lengths(alloc, workload, &result) != BLIS_OK ||
      measure_reuse(alloc, workload, block_size, &result) != BLIS_OK ||
      count_texts(alloc, workload, &result) != BLIS_OK ||
      measure_sessions(alloc, workload, &result) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  if (result.prompt.sum > 0) {
    result.reused_share =
        (double)result.reused_tokens / (double)result.prompt.sum;
  }
  *statistics = result;
  return BLIS_OK;
}
