/* same_workload.h - whether two workloads say the same, for tests. */
#ifndef BLIS_TESTS_SAME_WORKLOAD_H
#define BLIS_TESTS_SAME_WORKLOAD_H

#include "base/containers/map.h"
#include "check.h"
#include "workload/workload.h"

static inline void same_text(const blis_workload *a, uint32_t a_id, const blis_workload *b,
                             uint32_t b_id) {
  CHECK_STR(blis_intern_text(blis_workload_strings(a), a_id),
            blis_intern_text(blis_workload_strings(b), b_id));
}

static inline void same_texts(const blis_workload *a, const blis_request *x, const blis_workload *b,
                              const blis_request *y) {
  same_text(a, x->tenant, b, y->tenant);
  same_text(a, x->slo_class, b, y->slo_class);
  same_text(a, x->model, b, y->model);
  same_text(a, x->session, b, y->session);
  same_text(a, x->client, b, y->client);
  same_text(a, x->prefix_group, b, y->prefix_group);
  same_text(a, x->adapter, b, y->adapter);
  same_text(a, x->cascade, b, y->cascade);
  same_text(a, x->mean_logprob, b, y->mean_logprob);
}

static inline void same_numbers(const blis_request *x, const blis_request *y) {
  CHECK_EQ_I64(x->number, y->number);
  CHECK_EQ_I64(x->arrival_us, y->arrival_us);
  CHECK_EQ_I64(x->deadline_us, y->deadline_us);
  CHECK_EQ_I64(x->prompt_tokens, y->prompt_tokens);
  CHECK_EQ_I64(x->output_tokens, y->output_tokens);
  CHECK_EQ_I64(x->max_output_tokens, y->max_output_tokens);
  CHECK_EQ_I64(x->shared_tokens, y->shared_tokens);
  CHECK_EQ_I64(x->prefix_tokens, y->prefix_tokens);
  CHECK_EQ_I64(x->round_index, y->round_index);
  CHECK_EQ_I64(x->slo_target_us, y->slo_target_us);
  CHECK_EQ_I64(x->has_think_time, y->has_think_time);
  CHECK_EQ_I64(x->think_us, y->think_us);
  CHECK_EQ_DOUBLE(x->reason_ratio, y->reason_ratio);
  CHECK_EQ_I64(x->text_tokens, y->text_tokens);
  CHECK_EQ_I64(x->image_tokens, y->image_tokens);
  CHECK_EQ_I64(x->audio_tokens, y->audio_tokens);
  CHECK_EQ_I64(x->video_tokens, y->video_tokens);
  CHECK_EQ_I64(x->is_streaming, y->is_streaming);
  CHECK_EQ_I64(x->shares_output, y->shares_output);
  CHECK_EQ_I64(x->shares_last_output, y->shares_last_output);
  CHECK_EQ_I64(x->segment_count, y->segment_count);
}

/* The number that a stream has by order of appearance. */
static inline uint64_t same_stream(blis_map *numbers, uint64_t stream) {
  uint64_t *number;
  CHECK(blis_map_add(numbers, stream, blis_map_count(numbers), &number, NULL) == BLIS_OK);
  return *number;
}

/* Streams may have other numbers, but the same ones must be equal. */
static inline void check_same(const blis_workload *a, const blis_workload *b) {
  blis_alloc heap = blis_alloc_heap();
  blis_map streams_a;
  blis_map streams_b;
  blis_map_init(&streams_a, &heap);
  blis_map_init(&streams_b, &heap);
  CHECK_EQ_I64(blis_workload_count(a), blis_workload_count(b));
  for (size_t i = 0; i < blis_workload_count(a); i++) {
    const blis_request *x = blis_workload_request(a, i);
    const blis_request *y = blis_workload_request(b, i);
    same_numbers(x, y);
    same_texts(a, x, b, y);
    for (uint32_t k = 0; k < x->segment_count; k++) {
      CHECK_EQ_I64(x->segments[k].length_tokens, y->segments[k].length_tokens);
      CHECK_EQ_I64(x->segments[k].offset_tokens, y->segments[k].offset_tokens);
      CHECK_EQ_I64(same_stream(&streams_a, x->segments[k].stream),
                   same_stream(&streams_b, y->segments[k].stream));
    }
  }
  blis_map_deinit(&streams_a);
  blis_map_deinit(&streams_b);
}

#endif
