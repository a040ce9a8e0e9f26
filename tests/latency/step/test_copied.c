/* A batch that several replicas have: times of as many copies of it. */
#include "latency/step/copied.h"

#include "check.h"
#include "latency/step/blackbox.h"

static blis_latency_model linear(const blis_alloc *alloc) {
  static const double alpha[] = {500, 0.1, 0};
  static const double beta[] = {6000, 15, 40};
  blis_coefficients coefficients = {alpha, 3, beta, 3};
  blis_latency_model model;
  CHECK(blis_blackbox_new(alloc, &coefficients, &model, NULL) == BLIS_OK);
  return model;
}

static const blis_batch_item batch[] = {
    {.progress_tokens = 0, .new_tokens = 100, .prompt_tokens = 300},
    {.progress_tokens = 300, .new_tokens = 1, .prompt_tokens = 300, .output_tokens = 9}};

static void a_batch_counts_once_for_each(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_error error;
  blis_latency_model inner = linear(&heap);
  blis_latency_model model;
  CHECK_OK(blis_copied_latency_new(&heap, &inner, 3, &model, &error), &error);
  CHECK(inner.ops == NULL);
  int64_t step_us;
  CHECK_OK(blis_latency_step_time(&model, batch, 2, &step_us, &error), &error);
  CHECK_EQ_I64(step_us, 6000 + 3 * (15 * 100 + 40));
  blis_batch_sums sums = blis_batch_sums_of(batch, 2);
  CHECK(blis_latency_step_time_from_sums(&model, &sums, &step_us));
  CHECK_EQ_I64(step_us, 6000 + 3 * (15 * 100 + 40));
  sums.prefill_attention = INT64_MAX; /* stays as much as there can be */
  CHECK(blis_latency_step_time_from_sums(&model, &sums, &step_us));
  CHECK_EQ_I64(blis_latency_queueing_time(&model, 100), 510);
  blis_latency_free(&model);
}

/* A model that needs the requests: 10 us for each. */
static blis_status ten_each(void *state, const blis_batch_item *items, size_t count,
                            int64_t *step_us, blis_error *error) {
  (void)state;
  (void)error;
  CHECK(items != NULL);
  *step_us = 10 * (int64_t)count;
  return BLIS_OK;
}

static const blis_latency_ops needs_items = {.name = "ten each", .step_time = ten_each};

static void requests_are_copied_for_who_needs_them(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_error error;
  blis_latency_model inner = {.ops = &needs_items, .alloc = heap};
  blis_latency_model model;
  CHECK_OK(blis_copied_latency_new(&heap, &inner, 3, &model, &error), &error);
  int64_t step_us;
  for (int again = 0; again < 2; again++) {
    CHECK_OK(blis_latency_step_time(&model, batch, 2, &step_us, &error), &error);
    CHECK_EQ_I64(step_us, 60);
  }
  blis_latency_free(&model);
}

static void memory_may_run_out(void) {
  for (long at = 1; at <= 2; at++) {
    blis_alloc_probe memory = {.fail_at = at, .fail_forever = 1};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_alloc heap = blis_alloc_heap();
    blis_latency_model inner = {.ops = &needs_items, .alloc = heap};
    blis_latency_model model = {0};
    blis_error error;
    blis_status status = blis_copied_latency_new(&alloc, &inner, 2, &model, &error);
    CHECK((status == BLIS_OK) == (at == 2) && inner.ops == NULL);
    if (status == BLIS_OK) {
      int64_t step_us;
      CHECK(blis_latency_step_time(&model, batch, 2, &step_us, &error) == BLIS_ERR_NOMEM);
    }
    blis_latency_free(&model);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

int main(void) {
  RUN(a_batch_counts_once_for_each);
  RUN(requests_are_copied_for_who_needs_them);
  RUN(memory_may_run_out);
  return check_done();
}
