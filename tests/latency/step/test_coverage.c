/* Which steps are beyond what was fitted, counted one by one and in a row. */
#include "base/random.h"
#include "latency/step/coverage.h"
#include "latency_fixture.h"

static blis_random random_stream;

static int64_t draw(int32_t least, int32_t most) {
  return least + blis_random_intn(&random_stream, most - least + 1);
}

static void test_limits(void) {
  const blis_coverage limits = {.tokens_max = 100, .requests_max = 4, .context_max = 50};
  const blis_coverage none = {0};
  static const struct {
    blis_batch_sums sums;
    bool is_beyond;
  } CASES[] = {
      {{0}, false},
      {{.requests = 4, .prefill_tokens = 97, .decode_requests = 3}, false},
      {{.requests = 4, .prefill_tokens = 98, .decode_requests = 3}, true},
      {{.requests = 5, .decode_requests = 5}, true},
      {{.requests = 2, .decode_requests = 2, .decode_context_tokens = 100}, false},
      {{.requests = 2, .decode_requests = 2, .decode_context_tokens = 101}, true},
      {{.requests = 2,
        .decode_requests = 1,
        .decode_context_tokens = 60,
        .prefill_tokens = 1,
        .prefill_context_tokens = 41},
       true},
      {{.requests = 1, .prefill_tokens = INT64_MAX, .prefill_context_tokens = INT64_MAX}, true},
  };
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    CHECK(blis_coverage_is_beyond(&limits, &CASES[i].sums) == CASES[i].is_beyond);
    CHECK(!blis_coverage_is_beyond(&none, &CASES[i].sums));
  }
}

static void test_steps_in_a_row_are_those_one_by_one(void) {
  for (int i = 0; i < 200000; i++) {
    const blis_coverage limits = {
        .tokens_max = draw(0, 40), .requests_max = draw(0, 40), .context_max = draw(0, 60)};
    blis_batch_sums sums = {.requests = draw(1, 30)};
    sums.decode_requests = sums.requests;
    sums.decode_context_tokens = sums.requests * draw(0, 60) + draw(0, 30);
    int64_t context = sums.decode_context_tokens;
    int64_t count = draw(0, 64);
    int64_t beyond = 0;
    for (int64_t j = 0; j < count; j++) {
      beyond += blis_coverage_is_beyond(&limits, &sums);
      sums.decode_context_tokens += sums.requests;
    }
    CHECK_EQ_I64(blis_coverage_beyond(&limits, sums.requests, context, count), beyond);
  }
}

static void test_models_and_phrases(void) {
  const blis_coverage limits = {.parameters_min = 7e9,
                                .parameters_max = 70e9,
                                .tp_max = 4,
                                .tokens_max = 8192,
                                .requests_max = 128,
                                .context_max = 4096};
  const blis_coverage none = {0};
  char text[256];
  CHECK(!blis_coverage_lacks(&limits, 7e9, 4, text, sizeof text));
  CHECK(text[0] == '\0');
  CHECK(blis_coverage_lacks(&limits, 71e9, 8, text, sizeof text));
  CHECK_CONTAINS(text, "71B parameters (fitted up to 70B), TP 8 (fitted up "
                       "to 4)");
  CHECK(blis_coverage_lacks(&limits, 3e9, 1, text, sizeof text));
  CHECK_CONTAINS(text, "3B parameters (fitted from 7B on)");
  CHECK(!blis_coverage_lacks(&none, 1e12, 64, text, sizeof text));
  blis_coverage_describe(&limits, text, sizeof text);
  CHECK_CONTAINS(text, "models of 7B to 70B parameters, TP up to 4, up to 8192 "
                       "tokens a step, up to 128 requests a step, up to 4096 "
                       "tokens of context");
  char cut[20];
  blis_coverage_describe(&limits, cut, sizeof cut);
  CHECK(strlen(cut) < sizeof cut);
  blis_coverage_describe(&none, text, sizeof text);
  CHECK(text[0] == '\0');
}

int main(void) {
  blis_random_init(&random_stream, 20261122);
  RUN(test_limits);
  RUN(test_steps_in_a_row_are_those_one_by_one);
  RUN(test_models_and_phrases);
  return check_done();
}
