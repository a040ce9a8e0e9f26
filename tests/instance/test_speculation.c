/* How many tokens a step drafts, how many hold, what drafting takes: by hand.
 */
#include "instance/parts/speculation.h"

#include <math.h>

#include "check.h"
#include "instance/parts/timing.h"

static blis_speculation_config drafts_of(int64_t tokens, double acceptance) {
  blis_speculation_config config = {.tokens = tokens, .seed = 7};
  for (int i = 0; i < BLIS_SPECULATION_MAX; i++) {
    config.acceptance[i] = acceptance;
  }
  return config;
}

static void check_refused(const blis_speculation_config *config, const char *what) {
  blis_error error = {0};
  CHECK_STATUS(blis__speculation_check(config, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, what);
}

static void bounds_are_allowed_and_nothing_beyond(void) {
  blis_error error = {0};
  for (int64_t tokens = 1; tokens <= BLIS_SPECULATION_MAX; tokens += BLIS_SPECULATION_MAX - 1) {
    blis_speculation_config config = drafts_of(tokens, tokens == 1 ? 0 : 1);
    config.pass_us = tokens == 1 ? 0 : 1e9;
    config.pass_us_per_sequence = tokens == 1 ? 1e9 : 0;
    CHECK_OK(blis__speculation_check(&config, &error), &error);
  }
  blis_speculation_config config = drafts_of(0, 0.5);
  check_refused(&config, "drafts 0 tokens");
  config = drafts_of(BLIS_SPECULATION_MAX + 1, 0.5);
  check_refused(&config, "expected 1 to");
  static const double wrong[] = {-1e-9, 1.000001, NAN};
  for (int i = 0; i < 3; i++) {
    config = drafts_of(3, 0.5);
    config.acceptance[2] = wrong[i];
    check_refused(&config, "draft 3 holds with probability");
    config.tokens = 2; /* what is behind does not matter */
    CHECK_OK(blis__speculation_check(&config, &error), &error);
    config.pass_us = wrong[i] > 0 ? 1.1e9 : wrong[i];
    check_refused(&config, "a draft costs");
    config.pass_us_per_sequence = config.pass_us;
    config.pass_us = 0;
    check_refused(&config, "a draft costs");
  }
}

/* A request with 100 tokens of prompt and 50 of output, of which so many are
   computed, on an instance of 20 blocks of 16. */
static blis__burst burst_at(const blis_speculation_config *drafts, int64_t number,
                            int64_t progress_tokens, int64_t max_model_len_tokens,
                            int64_t budget_tokens) {
  const blis_instance_config config = {.kv_blocks = 20,
                                       .block_size_tokens = 16,
                                       .max_model_len_tokens = max_model_len_tokens,
                                       .speculation = drafts};
  const blis_live_request request = {.number = number,
                                     .prompt_tokens = 100,
                                     .output_tokens = 50,
                                     .progress_tokens = progress_tokens};
  return blis__speculate(&config, &request, drafts->acceptance, 1, budget_tokens);
}

static void check_burst(blis__burst burst, int64_t drafted, int64_t tokens) {
  CHECK_EQ_I64(burst.drafted, drafted);
  CHECK_EQ_I64(burst.tokens, tokens);
}

static void bursts_end_with_output_model_and_budget(void) {
  const blis_speculation_config drafts = drafts_of(4, 1);
  check_burst(burst_at(&drafts, 1, 100, 0, 1000), 4, 5);
  check_burst(burst_at(&drafts, 1, 100, 0, 3), 2, 3);
  check_burst(burst_at(&drafts, 1, 100, 0, 1), 0, 1);
  /* The last of the output is given and not computed: 149 - 147 are left. */
  check_burst(burst_at(&drafts, 1, 147, 0, 1000), 4, 2);
  check_burst(burst_at(&drafts, 1, 149, 0, 1000), 0, 1);
  /* The same of a model that ends at 110 tokens, and has room for so many. */
  check_burst(burst_at(&drafts, 1, 105, 110, 1000), 4, 4);
  check_burst(burst_at(&drafts, 1, 107, 110, 1000), 2, 2);
  check_burst(burst_at(&drafts, 1, 109, 110, 1000), 0, 1);
}

static void whether_drafts_hold_goes_by_request_and_place(void) {
  const blis_speculation_config drafts = drafts_of(8, 0.5);
  int by_number = 0, by_place = 0;
  int64_t tokens = 0;
  for (int64_t i = 0; i < 40; i++) {
    blis__burst one = burst_at(&drafts, i, 100, 0, 1000);
    tokens += one.tokens;
    CHECK_EQ_I64(burst_at(&drafts, i, 100, 0, 1000).tokens, one.tokens);
    by_number += one.tokens != burst_at(&drafts, i + 1, 100, 0, 1000).tokens;
    by_place += one.tokens != burst_at(&drafts, i, 120, 0, 1000).tokens;
    /* A draft that has held is the token before the next one's. */
    if (one.tokens > 1) {
      CHECK_EQ_I64(burst_at(&drafts, i, 101, 0, 1000).tokens >= one.tokens - 1, true);
    }
  }
  CHECK(by_number > 10);
  CHECK(by_place > 10);
  /* 1 + 0.5 + 0.25 + ...: nearly two tokens a step. */
  CHECK(tokens > 60 && tokens < 100);
}

static void drafts_take_passes(void) {
  blis_speculation_config drafts = drafts_of(3, 1);
  drafts.pass_us = 100;
  drafts.pass_us_per_sequence = 10;
  CHECK_EQ_I64(blis__draft_us(&drafts, 4, 3), 3 * (100 + 4 * 10));
  drafts.drafts_in_one_pass = true;
  CHECK_EQ_I64(blis__draft_us(&drafts, 4, 3), 100 + 4 * 10);
  drafts.pass_us_per_sequence = 1e9;
  CHECK_EQ_I64(blis__draft_us(&drafts, INT64_C(1) << 60, 3), BLIS__DURATION_MAX_US);
}

static void accepted_drafts_are_counted_by_position(void) {
  blis_draft_stats stats = {0};
  blis_live_request request = {0};
  blis__count_drafts(&stats, &request, 4, 3);
  blis__count_drafts(&stats, &request, 4, 1);
  blis__count_drafts(&stats, &request, 2, 0);
  CHECK_EQ_I64(stats.drafts, 3);
  CHECK_EQ_I64(stats.draft_tokens, 10);
  CHECK_EQ_I64(stats.accepted_tokens, 4);
  static const int64_t at[] = {2, 1, 1, 0};
  for (int i = 0; i < 4; i++) {
    CHECK_EQ_I64(stats.accepted_at[i], at[i]);
  }
  CHECK_EQ_I64(request.drafted_tokens, 10);
  CHECK_EQ_I64(request.accepted_tokens, 4);
}

int main(void) {
  RUN(bounds_are_allowed_and_nothing_beyond);
  RUN(bursts_end_with_output_model_and_budget);
  RUN(whether_drafts_hold_goes_by_request_and_place);
  RUN(drafts_take_passes);
  RUN(accepted_drafts_are_counted_by_position);
  return check_done();
}
