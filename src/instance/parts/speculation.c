#include "instance/parts/speculation.h"

#include <inttypes.h>

#include "base/hash.h"
#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "instance/parts/timing.h"

blis_status blis__speculation_check(const blis_speculation_config *config, blis_error *error) {
  if (config->tokens < 1 || config->tokens > BLIS_SPECULATION_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "speculation drafts %" PRId64 " tokens; expected 1 to %d", config->tokens,
                     BLIS_SPECULATION_MAX);
  }
  for (int64_t i = 0; i < config->tokens; i++) {
    if (!(config->acceptance[i] >= 0 && config->acceptance[i] <= 1)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "speculation: draft %" PRId64 " holds with probability %g; expected 0 to 1",
                       i + 1, config->acceptance[i]);
    }
  }
  const double costs[] = {config->pass_us, config->pass_us_per_sequence};
  for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
    if (!(costs[i] >= 0 && costs[i] <= 1e9)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "speculation: a draft costs %g us; expected 0 to 1e9", costs[i]);
    }
  }
  return BLIS_OK;
}

/* Returns a random number in [0, 1) for a position in the output of a request. */
static double draw(const blis_speculation_config *config, const blis_live_request *request,
                   int64_t place) {
  const uint64_t key[] = {(uint64_t)request->number, (uint64_t)place};
  return (double)(blis_hash64(key, sizeof key, config->seed) >> 11) * 0x1p-53;
}

/* Returns the number of tokens that fit after the computed ones. */
static int64_t room_of(const blis_instance_config *config, const blis_live_request *request) {
  int64_t limit = config->max_model_len_tokens; /* fits in the cache */
  int64_t room = config->kv_blocks * config->block_size_tokens;
  if (config->kv_layout != NULL && limit == 0) {
    return INT64_MAX; /* blis__needed_blocks includes drafts in this case */
  }
  return (limit > 0 ? limit : room) - request->progress_tokens;
}

/* Returns the remaining output after the computed tokens. */
static int64_t left_of(const blis_instance_config *config, const blis_live_request *request) {
  int64_t progress = request->progress_tokens;
  int64_t limit = config->max_model_len_tokens;
  int64_t left = request->prompt_tokens + request->output_tokens - 1 - progress;
  return limit > 0 ? blis_min_i64(left, limit - 1 - progress) : left;
}

blis__burst blis__speculate(const blis_instance_config *config, const blis_live_request *request,
                            const double *rates, int64_t batch_size, int64_t budget_tokens) {
  const blis_speculation_config *s = config->speculation;
  int64_t left = left_of(config, request);
  if (left < 1 || (s->max_batch > 0 && batch_size > s->max_batch)) {
    return (blis__burst){.tokens = 1};
  }
  int64_t most = blis_min_i64(budget_tokens, room_of(config, request)) - 1;
  blis__burst burst = {.drafted = blis_max_i64(blis_min_i64(s->tokens, most), 0), .tokens = 1};
  for (int64_t i = 0;
       i < burst.drafted && draw(s, request, request->progress_tokens + i) < rates[i]; i++) {
    burst.tokens++;
  }
  burst.tokens = blis_min_i64(burst.tokens, left);
  BLIS_ASSERT(burst.tokens >= 1);
  return burst;
}

void blis__count_drafts(blis_draft_stats *stats, blis_live_request *request, int64_t drafted,
                        int64_t accepted) {
  BLIS_ASSERT(accepted >= 0 && accepted <= drafted);
  stats->drafts++;
  stats->draft_tokens += drafted;
  stats->accepted_tokens += accepted;
  for (int64_t i = 0; i < accepted; i++) {
    stats->accepted_at[i]++;
  }
  request->drafted_tokens += drafted;
  request->accepted_tokens += accepted;
}

int64_t blis__draft_us(const blis_speculation_config *config, int64_t count, int64_t drafted) {
  int64_t passes = config->drafts_in_one_pass ? 1 : drafted;
  double us = (double)passes * (config->pass_us + config->pass_us_per_sequence * (double)count);
  return us < (double)BLIS__DURATION_MAX_US ? (int64_t)us : BLIS__DURATION_MAX_US;
}
