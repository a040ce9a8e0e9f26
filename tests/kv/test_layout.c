/* Which blocks a sequence keeps by layout.h: worked values, and random layouts against a walk. */
#include "kv/layout.h"

#include "base/minmax.h"
#include "base/random.h"
#include "check.h"

static blis_kv_layout layout_of(blis_kv_group group) {
  return (blis_kv_layout){.groups = {group}, .count = 1};
}

static const blis_kv_group full16 = {.kind = BLIS_KV_FULL, .block_tokens = 16, .count = 1};
static const blis_kv_group window128 = {
    .kind = BLIS_KV_WINDOW, .block_tokens = 16, .span_tokens = 128, .count = 1};
static const blis_kv_group chunk64 = {
    .kind = BLIS_KV_CHUNK, .block_tokens = 16, .span_tokens = 64, .count = 1};

static int64_t first_of(blis_kv_group group, int64_t computed) {
  blis_kv_layout layout = layout_of(group);
  return blis_kv_group_first(&layout, &layout.groups[0], computed);
}

static void test_first(void) {
  CHECK_EQ_I64(first_of(full16, 1000), 0);
  CHECK_EQ_I64(first_of(window128, 127), 0);
  CHECK_EQ_I64(first_of(window128, 142), 0); /* 15 tokens skipped */
  CHECK_EQ_I64(first_of(window128, 143), 1);
  CHECK_EQ_I64(first_of(chunk64, 63), 0);
  CHECK_EQ_I64(first_of(chunk64, 64), 4);
  CHECK_EQ_I64(first_of(chunk64, 100), 4);
  blis_kv_group state = {
      .kind = BLIS_KV_STATE, .block_tokens = 784, .count = 3, .states = BLIS_KV_STATES_AT_STEPS};
  CHECK_EQ_I64(first_of(state, 784), 0);
  CHECK_EQ_I64(first_of(state, 785), 1);
  state.states = BLIS_KV_STATES_NONE;
  CHECK_EQ_I64(first_of(state, 100000), 0);
}

/* gpt-oss-120b, Gemma-3-27B and Qwen3.5-27B with the groups that vLLM makes. */
static void test_peak(void) {
  blis_kv_layout oss = {.groups = {full16, window128}, .count = 2};
  CHECK_EQ_I64(blis_kv_layout_peak_blocks(&oss, 1000, 1, 0), 63 + 9);
  CHECK_EQ_I64(blis_kv_layout_peak_blocks(&oss, 10000, 2048, 0), 625 + 137);
  CHECK_EQ_I64(blis_kv_layout_peak_blocks(&oss, 100, 2048, 0), 7 + 7);
  CHECK_EQ_I64(blis_kv_layout_peak_blocks(&oss, 0, 2048, 0), 0);
  oss.keeps_all_tokens = true;
  CHECK_EQ_I64(blis_kv_layout_peak_blocks(&oss, 10000, 2048, 0), 625 + 625);
  blis_kv_group window1024 = window128;
  window1024.span_tokens = 1024;
  window1024.count = 6;
  blis_kv_layout gemma = {.groups = {full16, window1024}, .count = 2};
  CHECK_EQ_I64(blis_kv_layout_peak_blocks(&gemma, 8192, 1, 0), 512 + 6 * 65);
  blis_kv_layout qwen = {
      .groups = {{.kind = BLIS_KV_FULL, .block_tokens = 784, .count = 1},
                 {.kind = BLIS_KV_STATE, .count = 3, .states = BLIS_KV_STATES_NONE}},
      .count = 2};
  CHECK_EQ_I64(blis_kv_layout_peak_blocks(&qwen, 7840, 2048, 0), 10 + 3);
  CHECK_EQ_I64(blis_kv_layout_peak_blocks(&qwen, 7840, 2048, 2), 10 + 9);
  qwen.groups[1].states = BLIS_KV_STATES_AT_STEPS;
  qwen.groups[1].block_tokens = 784;
  CHECK_EQ_I64(blis_kv_layout_peak_blocks(&qwen, 7840, 2048, 0), 10 + 6);
  CHECK_EQ_I64(blis_kv_layout_peak_blocks(&qwen, 700, 2048, 0), 1 + 3);
  qwen.groups[1].states = BLIS_KV_STATES_AT_BLOCKS;
  CHECK_EQ_I64(blis_kv_layout_peak_blocks(&qwen, 7840, 2048, 0), 10 + 12);
}

static void test_questions(void) {
  blis_kv_layout plain = layout_of(full16);
  CHECK(blis_kv_layout_is_plain(&plain, 16) && !blis_kv_layout_is_plain(&plain, 8));
  blis_kv_layout window = layout_of(window128);
  CHECK(!blis_kv_layout_is_plain(&window, 16));
  window.keeps_all_tokens = true;
  CHECK(blis_kv_layout_is_plain(&window, 16));
  plain.groups[0].count = 2;
  CHECK(!blis_kv_layout_is_plain(&plain, 16));
  CHECK_EQ_I64(blis_kv_layout_groups(&plain), 2);
  blis_kv_layout mixed = {.groups = {full16, window128}, .count = 2};
  mixed.groups[0].block_tokens = 48;
  mixed.groups[1].block_tokens = 32;
  CHECK_EQ_I64(blis_kv_layout_hit_tokens(&mixed), 96);
  CHECK(!blis_kv_layout_has_no_hits(&mixed) && !blis_kv_layout_aligns_steps(&mixed));
  blis_kv_group state = {
      .kind = BLIS_KV_STATE, .block_tokens = 96, .count = 1, .states = BLIS_KV_STATES_AT_STEPS};
  mixed.groups[mixed.count++] = state;
  CHECK(!blis_kv_layout_has_no_hits(&mixed) && blis_kv_layout_aligns_steps(&mixed));
  state.states = BLIS_KV_STATES_NONE;
  mixed.groups[mixed.count++] = state;
  CHECK(blis_kv_layout_has_no_hits(&mixed) && !blis_kv_layout_aligns_steps(&mixed));
}

static void check_refused(const blis_kv_layout *layout, const char *message) {
  blis_error error;
  CHECK(blis_kv_layout_check(layout, 16, &error) == BLIS_ERR_INVALID);
  CHECK_STR(error.message, message);
}

static void test_errors(void) {
  blis_error error;
  blis_kv_layout layout = {.groups = {full16, window128}, .count = 2};
  CHECK_OK(blis_kv_layout_check(&layout, 16, &error), &error);
  layout.groups[1].span_tokens = 0;
  check_refused(&layout, "window of KV group 2 is 0; expected 1 to 1099511627776");
  layout.groups[1] = chunk64;
  layout.groups[1].span_tokens = -3;
  check_refused(&layout, "chunk of KV group 2 is -3; expected 1 to 1099511627776");
  layout.groups[1] = window128;
  layout.groups[0].block_tokens = 24;
  check_refused(&layout, "block size of KV group 1 is 24 tokens; expected a multiple of the "
                         "engine's block size (16)");
  layout.groups[0].block_tokens = 0;
  check_refused(&layout, "block size of KV group 1 is 0; expected 1 to 4294967294");
  layout.groups[0] = full16;
  layout.groups[0].count = 0;
  check_refused(&layout, "number of KV group 1 is 0; expected 1 to 128");
  layout.groups[0].count = 128;
  check_refused(&layout, "KV layout has 129 groups; expected at most 128");
  layout.count = 0;
  check_refused(&layout, "KV layout has 0 kinds of groups; expected 1 to 16");
  layout = (blis_kv_layout){.groups = {full16, full16, full16}, .count = 3};
  layout.groups[0].block_tokens = INT64_C(16) * 16777213;
  layout.groups[1].block_tokens = INT64_C(16) * 16777199;
  layout.groups[2].block_tokens = INT64_C(16) * 16777183;
  CHECK(blis_kv_layout_check(&layout, 16, &error) == BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "no common multiple");
}

static blis_kv_layout draw_layout(blis_random *random) {
  blis_kv_layout layout = {.count = (size_t)(1 + blis_random_intn(random, 4))};
  layout.keeps_all_tokens = blis_random_intn(random, 6) == 0;
  for (size_t i = 0; i < layout.count; i++) {
    layout.groups[i] = (blis_kv_group){
        .kind = (blis_kv_group_kind)blis_random_intn(random, BLIS_KV_GROUP_KIND_COUNT),
        .block_tokens = INT64_C(1) << blis_random_intn(random, 4),
        .span_tokens = 1 + blis_random_intn(random, 40),
        .count = 1 + blis_random_intn(random, 3),
        .states = (blis_kv_state_cache)blis_random_intn(random, BLIS_KV_STATE_CACHE_COUNT)};
  }
  return layout;
}

static int64_t held(const blis_kv_layout *layout, const blis_kv_group *group, int64_t from,
                    int64_t to) {
  int64_t first = blis_kv_group_first(layout, group, from);
  int64_t end = blis_kv_group_end(group, to);
  CHECK(first >= 0 && first <= end);
  bool skips = group->kind == BLIS_KV_STATE && group->states == BLIS_KV_STATES_AT_STEPS;
  return skips ? blis_min_i64(end - first, 2) : end - first;
}

/* No order of steps holds more than the peak, and some layout reaches it. */
static void test_random(void) {
  blis_random random;
  blis_random_init_named(&random, 7, "layout");
  int64_t reached = 0;
  for (int i = 0; i < 20000; i++) {
    blis_kv_layout layout = draw_layout(&random);
    int64_t length = 1 + blis_random_intn(&random, 120);
    int64_t step = 1 + blis_random_intn(&random, 30);
    int64_t most = 0;
    int64_t last_first = 0;
    for (int64_t n = 0; n < length;) {
      int64_t more = 1 + blis_random_intn(&random, (int32_t)step);
      int64_t to = blis_min_i64(n + more, length);
      int64_t blocks = 0;
      for (size_t k = 0; k < layout.count; k++) {
        blocks += layout.groups[k].count * held(&layout, &layout.groups[k], n, to);
      }
      int64_t first = blis_kv_group_first(&layout, &layout.groups[0], n);
      CHECK(first >= last_first);
      last_first = first;
      most = blis_max_i64(most, blocks);
      n = to;
    }
    int64_t peak = blis_kv_layout_peak_blocks(&layout, length, step, 0);
    CHECK(most <= peak);
    reached += most == peak;
  }
  CHECK(reached > 2000);
}

int main(void) {
  test_first();
  test_peak();
  test_questions();
  test_errors();
  test_random();
  return 0;
}
