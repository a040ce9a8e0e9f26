#include "workload/statistics.h"

#include <math.h>

#include "base/array.h"
#include "base/containers/histogram.h"
#include "workload/block_namer.h"

enum { SECOND_US = 1000000 };

/* Strings of a request that are counted: each kind has a bit that records the strings already
   seen. */
enum { TENANT, SLO_CLASS, MODEL, SESSION, CLIENT, PREFIX_GROUP };

/* Times of the last second, oldest first, in a ring. */
typedef struct last_second {
  int64_t *times_us;
  size_t size; /* a power of two, or 0 */
  size_t first;
  size_t count;
} last_second;

typedef struct measuring {
  const blis_alloc *alloc;
  uint32_t block_size;
  blis_workload_statistics result;
  blis_histogram prompts;
  blis_histogram outputs;
  blis_block_namer *namer;
  BLIS_ARRAY(uint8_t) seen;   /* one bit per kind, by string number */
  BLIS_ARRAY(uint32_t) turns; /* requests, by string number of the session */
  last_second second;
  double mean_gap_us; /* mean so far, and the sum of squared deviations from it */
  double gap_squares;
} measuring;

/* Arrivals. */

static blis_status grow_second(measuring *m) {
  last_second *s = &m->second;
  size_t size = s->size > 0 ? 2 * s->size : 64;
  int64_t *times_us = blis_alloc_zeroed(m->alloc, size, sizeof *times_us);
  if (times_us == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < s->count; i++) {
    times_us[i] = s->times_us[(s->first + i) % s->size];
  }
  blis_alloc_free(m->alloc, s->times_us, s->size * sizeof *times_us);
  s->times_us = times_us;
  s->size = size;
  s->first = 0;
  return BLIS_OK;
}

static blis_status add_to_second(measuring *m, int64_t now_us) {
  last_second *s = &m->second;
  while (s->count > 0 && now_us - s->times_us[s->first] >= SECOND_US) {
    s->first = (s->first + 1) % s->size;
    s->count--;
  }
  if (s->count == s->size) {
    BLIS_TRY(grow_second(m));
  }
  s->times_us[(s->first + s->count++) % s->size] = now_us;
  if ((int64_t)s->count > m->result.busiest_second) {
    m->result.busiest_second = (int64_t)s->count;
  }
  return BLIS_OK;
}

/* Adds an arrival. Welford's algorithm computes the variance in one pass without cancellation. */
static blis_status add_arrival(measuring *m, int64_t now_us) {
  blis_workload_statistics *result = &m->result;
  if (result->count == 0) {
    result->first_arrival_us = now_us;
  } else {
    double gap_us = (double)(now_us - result->last_arrival_us);
    double off_us = gap_us - m->mean_gap_us;
    m->mean_gap_us += off_us / (double)result->count;
    m->gap_squares += off_us * (gap_us - m->mean_gap_us);
  }
  result->last_arrival_us = now_us;
  result->count++;
  return add_to_second(m, now_us);
}

static void finish_arrivals(measuring *m) {
  blis_workload_statistics *result = &m->result;
  double span_us = (double)result->last_arrival_us - (double)result->first_arrival_us;
  if (span_us > 0) {
    double gaps = (double)(result->count - 1);
    result->requests_per_sec = gaps / span_us * 1e6;
    result->gap_cv = sqrt(m->gap_squares / gaps) / (span_us / gaps);
  }
}

/* Reuse. */

/* Adds reused tokens. Ids of shared blocks increase, so a block that has appeared before has an
   id that is not above the highest. */
static blis_status add_reuse(measuring *m, const blis_request *request) {
  blis_block_id highest = blis_block_namer_shared_count(m->namer);
  blis_block_chain chain;
  BLIS_TRY(blis_block_namer_chain(m->namer, request, m->block_size, &chain, NULL));
  uint32_t known = 0;
  uint32_t limit = blis_block_chain_of_prompt(&chain).shared_count;
  while (known < limit && chain.shared[known] <= highest) {
    known++;
  }
  m->result.reused_tokens += (int64_t)known * m->block_size;
  blis_block_namer_release(m->namer, &chain);
  return BLIS_OK;
}

/* Strings. */

/* Counts a string in *counter if it is new for this kind. */
static blis_status add_text(measuring *m, uint32_t text, unsigned place, uint32_t *counter) {
  if (text == 0) {
    return BLIS_OK;
  }
  while (m->seen.count <= text) {
    BLIS_TRY(blis_array_push(m->alloc, &m->seen, 0));
    BLIS_TRY(blis_array_push(m->alloc, &m->turns, 0));
  }
  uint8_t *seen = &m->seen.items[text];
  if ((*seen & 1u << place) == 0) {
    *seen |= (uint8_t)(1u << place);
    ++*counter;
  }
  return BLIS_OK;
}

static blis_status add_texts(measuring *m, const blis_request *request) {
  blis_workload_statistics *result = &m->result;
  BLIS_TRY(add_text(m, request->tenant, TENANT, &result->tenants));
  BLIS_TRY(add_text(m, request->slo_class, SLO_CLASS, &result->slo_classes));
  BLIS_TRY(add_text(m, request->model, MODEL, &result->models));
  BLIS_TRY(add_text(m, request->session, SESSION, &result->sessions));
  BLIS_TRY(add_text(m, request->client, CLIENT, &result->clients));
  BLIS_TRY(add_text(m, request->prefix_group, PREFIX_GROUP, &result->prefix_groups));
  if (request->session != 0) {
    m->turns.items[request->session]++;
  }
  return BLIS_OK;
}

/* Lengths. */

/* Returns the smallest value that at least percent of all values do not exceed. */
static uint32_t percentile(blis_histogram *lengths, uint64_t percent) {
  uint64_t count = blis_histogram_total(lengths);
  uint64_t rank = (count / 100) * percent + (count % 100 * percent + 99) / 100;
  return (uint32_t)blis_histogram_at_rank(lengths, rank - 1);
}

static blis_length_statistics measure_lengths(blis_histogram *lengths) {
  uint64_t count = blis_histogram_total(lengths);
  blis_length_statistics result = {0};
  if (count == 0) {
    return result;
  }
  result.sum = (int64_t)blis_histogram_sum(lengths);
  result.mean = (double)result.sum / (double)count;
  result.min = (uint32_t)blis_histogram_min(lengths);
  result.p50 = percentile(lengths, 50);
  result.p90 = percentile(lengths, 90);
  result.p99 = percentile(lengths, 99);
  result.max = (uint32_t)blis_histogram_max(lengths);
  return result;
}

static blis_status finish_turns(measuring *m) {
  blis_histogram turns;
  blis_histogram_init(&turns, m->alloc);
  blis_status status = BLIS_OK;
  for (size_t i = 0; status == BLIS_OK && i < m->turns.count; i++) {
    if (m->turns.items[i] > 0) {
      status = blis_histogram_add(&turns, m->turns.items[i], 1);
    }
  }
  if (status == BLIS_OK) {
    m->result.turns = measure_lengths(&turns);
  }
  blis_histogram_deinit(&turns);
  return status;
}

/* Measurement. */

static blis_status add_request(measuring *m, const blis_request *request) {
  BLIS_TRY(add_arrival(m, request->arrival_us));
  BLIS_TRY(blis_histogram_add(&m->prompts, request->prompt_tokens, 1));
  BLIS_TRY(blis_histogram_add(&m->outputs, request->output_tokens, 1));
  BLIS_TRY(add_texts(m, request));
  return add_reuse(m, request);
}

static blis_status add_requests(measuring *m, const blis_request_source *source,
                                blis_error *error) {
  for (;;) {
    blis_request request;
    bool done;
    BLIS_TRY(source->next(source->state, &request, &done, error));
    if (done) {
      return BLIS_OK;
    }
    blis_status status = add_request(m, &request);
    if (source->release != NULL) {
      source->release(source->state, &request);
    }
    BLIS_TRY_MEM(status, error);
  }
}

static blis_status measure(measuring *m, const blis_request_source *source, blis_error *error) {
  BLIS_TRY_NEW(m->namer, error);
  BLIS_TRY(add_requests(m, source, error));
  BLIS_TRY_MEM(finish_turns(m), error);
  finish_arrivals(m);
  blis_workload_statistics *result = &m->result;
  result->prompt = measure_lengths(&m->prompts);
  result->output = measure_lengths(&m->outputs);
  result->shareable_blocks = (int64_t)blis_block_namer_shared_count(m->namer);
  if (result->prompt.sum > 0) {
    result->reused_share = (double)result->reused_tokens / (double)result->prompt.sum;
  }
  return BLIS_OK;
}

blis_status blis_source_measure(const blis_alloc *alloc, const blis_request_source *source,
                                uint32_t block_size, blis_workload_statistics *statistics,
                                blis_error *error) {
  measuring m = {.alloc = alloc, .block_size = block_size, .namer = blis_block_namer_new(alloc)};
  blis_histogram_init(&m.prompts, alloc);
  blis_histogram_init(&m.outputs, alloc);
  blis_status status = measure(&m, source, error);
  if (status == BLIS_OK) {
    *statistics = m.result;
  }
  blis_histogram_deinit(&m.prompts);
  blis_histogram_deinit(&m.outputs);
  blis_block_namer_free(m.namer);
  blis_array_deinit(alloc, &m.seen);
  blis_array_deinit(alloc, &m.turns);
  blis_alloc_free(alloc, m.second.times_us, m.second.size * sizeof *m.second.times_us);
  return status;
}

blis_status blis_workload_measure(const blis_alloc *alloc, const blis_workload *workload,
                                  uint32_t block_size, blis_workload_statistics *statistics,
                                  blis_error *error) {
  blis_workload_cursor cursor;
  const blis_request_source source = blis_workload_source(workload, &cursor);
  return blis_source_measure(alloc, &source, block_size, statistics, error);
}
