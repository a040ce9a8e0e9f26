/* KV groups and pages of public models, and rules that hold for random layers. */
#include "latency/kv/page_groups.h"

#include <math.h>

#include "base/random.h"
#include "check.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static blis_attention heads(blis_attention_kind kind, int64_t span, int64_t kv_heads,
                            int64_t head_dim, int64_t value_dim) {
  return (blis_attention){.kind = kind,
                          .span = span,
                          .heads = kv_heads * 8,
                          .kv_heads = kv_heads,
                          .head_dim = head_dim,
                          .value_head_dim = value_dim};
}

/* A short convolution of this width and a kernel of 2 has a state of 2 bytes per element. */
static blis_attention state_of(int64_t bytes) {
  return (blis_attention){
      .kind = BLIS_ATTENTION_MAMBA1, .value_dim = bytes / 2, .conv_kernel = 2, .state_size = 0};
}

static blis_page_groups groups_of(const blis_layer_run *runs, size_t count, int64_t tp,
                                  double kv_bytes, int64_t block, bool keeps_all) {
  const blis_page_groups_config config = {.runs = runs,
                                          .run_count = count,
                                          .hidden_size = 4096,
                                          .widths = {.kv = kv_bytes, .model = 2, .state = 4},
                                          .tp = tp,
                                          .block_tokens = block,
                                          .keeps_all_tokens = keeps_all};
  blis_page_groups groups;
  blis_error error = {0};
  CHECK_OK(blis_page_groups_make(&config, &groups, &error), &error);
  return groups;
}

static blis_page_groups pair_of(int64_t full, blis_attention attention, int64_t others,
                                blis_attention other) {
  const blis_layer_run runs[] = {{others, {.attention = other}}, {full, {.attention = attention}}};
  return groups_of(runs, 2, 1, 2, 16, false);
}

static void check_group(const blis_page_groups *groups, size_t index, blis_cache_kind kind,
                        int64_t span, int64_t block_tokens, int64_t count) {
  CHECK_EQ_I64(groups->groups[index].kind, kind);
  CHECK_EQ_I64(groups->groups[index].span_tokens, span);
  CHECK_EQ_I64(groups->groups[index].block_tokens, block_tokens);
  CHECK_EQ_I64(groups->groups[index].count, count);
}

/* Two types: layers and groups as vLLM divides them (published models, TP 1). */
static void test_groups_of_two_types(void) {
  static const struct {
    const char *model;
    int64_t full, others, window, state; /* layers; window in tokens, or state in bytes */
    int64_t layers_per_group, others_groups;
  } MODELS[] = {
      {"gpt-oss-120b", 18, 18, 128, 0, 18, 1},
      {"gemma-3-27b", 10, 52, 1024, 0, 10, 6},
      {"gemma-3-1b", 4, 22, 512, 0, 4, 6},
      {"Olmo-3-7B", 8, 24, 4096, 0, 8, 3},
      {"EXAONE-4.0-32B", 16, 48, 4096, 0, 16, 3},
      {"Qwen3.5-27B", 16, 48, 0, 3207168, 16, 3},
      {"Nemotron-3-Nano-30B", 6, 23, 0, 2134016, 6, 4},
      {"Nemotron-H-56B", 10, 54, 0, 8511488, 10, 6},
      {"granite-4.0-h-small", 4, 36, 0, 2147840, 4, 9},
      {"Falcon-H1-7B", 44, 44, 0, 1594368, 44, 1},
      {"MiniMax-Text-01", 10, 70, 0, 2097152, 10, 7},
      {"six and five", 5, 6, 64, 0, 6, 1}, /* below 1.5 times: the larger number */
      {"six and four", 4, 6, 64, 0, 4, 2}, /* not below: the smaller number */
      {"one and many", 1, 7, 64, 0, 1, 7},
  };
  for (size_t i = 0; i < COUNT_OF(MODELS); i++) {
    blis_attention other = MODELS[i].window > 0
                               ? heads(BLIS_ATTENTION_WINDOW, MODELS[i].window, 8, 128, 0)
                               : state_of(MODELS[i].state);
    blis_page_groups groups =
        pair_of(MODELS[i].full, heads(BLIS_ATTENTION_FULL, 0, 8, 128, 0), MODELS[i].others, other);
    printf("# %s\n", MODELS[i].model);
    CHECK_EQ_I64(groups.count, 2);
    CHECK_EQ_I64(groups.layers_per_group, MODELS[i].layers_per_group);
    CHECK_EQ_I64(groups.groups[0].kind, BLIS_CACHE_FULL);
    CHECK_EQ_I64(groups.groups[0].count, 1);
    CHECK_EQ_I64(groups.groups[1].count, MODELS[i].others_groups);
    CHECK(!blis_page_groups_is_plain(&groups));
    CHECK(!groups.is_padded);
  }
}

/* gpt-oss-120b at TP 1: 2,048 bytes per token and layer, so a block has 18 pages of 32 KiB. */
static void test_windows(void) {
  blis_page_groups groups = pair_of(18, heads(BLIS_ATTENTION_FULL, 0, 8, 64, 0), 18,
                                    heads(BLIS_ATTENTION_WINDOW, 128, 8, 64, 0));
  CHECK_EQ_I64(groups.block_bytes, 18 * 16 * 2048);
  check_group(&groups, 0, BLIS_CACHE_FULL, 0, 16, 1);
  check_group(&groups, 1, BLIS_CACHE_WINDOW, 128, 16, 1);
  CHECK_EQ_I64(blis_page_groups_logged_tokens(&groups, 1001), 1001 / 2 * 16);
}

/* MiMo-V2-Flash: 2,560 bytes in full layers, 5,120 in windows. */
static void test_pages_of_different_sizes(void) {
  blis_page_groups groups = pair_of(9, heads(BLIS_ATTENTION_FULL, 0, 4, 192, 128), 39,
                                    heads(BLIS_ATTENTION_WINDOW, 128, 8, 192, 128));
  check_group(&groups, 0, BLIS_CACHE_FULL, 0, 32, 1);
  check_group(&groups, 1, BLIS_CACHE_WINDOW, 128, 16, 5);
  CHECK_EQ_I64(groups.layers_per_group, 9);
  CHECK_EQ_I64(groups.block_bytes, 9 * 16 * 5120);
  CHECK_EQ_I64(blis_page_groups_logged_tokens(&groups, 600), 1600);
  CHECK(!groups.is_padded);
  groups = pair_of(9, heads(BLIS_ATTENTION_FULL, 0, 3, 128, 0), 9,
                   heads(BLIS_ATTENTION_CHUNK, 128, 8, 128, 0));
  check_group(&groups, 0, BLIS_CACHE_FULL, 0, 32, 1); /* 16 * 8 / 3, rounded down to blocks */
  check_group(&groups, 1, BLIS_CACHE_CHUNK, 128, 16, 1);
  CHECK(groups.is_padded);
}

/* Qwen3.5-27B at TP 1: a state of 3,207,168 bytes in pages of 784 tokens of 4,096 bytes. */
static void test_states(void) {
  const blis_attention gdn = {.kind = BLIS_ATTENTION_GDN,
                              .key_heads = 16,
                              .key_dim = 128,
                              .value_heads = 48,
                              .value_dim = 128,
                              .conv_kernel = 4};
  const blis_layer_run runs[] = {{48, {.attention = gdn}},
                                 {16, {.attention = heads(BLIS_ATTENTION_FULL, 0, 4, 256, 0)}}};
  blis_page_groups groups = groups_of(runs, 2, 1, 2, 16, false);
  check_group(&groups, 0, BLIS_CACHE_FULL, 0, 784, 1);
  check_group(&groups, 1, BLIS_CACHE_STATE, 0, 784, 3);
  CHECK_EQ_I64(groups.block_bytes, 16 * 784 * 4096);
  CHECK_EQ_DOUBLE(groups.groups[1].bytes, 3207168.0);
  /* FP8 keys and values, and a block size that 16 does not divide. */
  groups = groups_of(runs, 2, 1, 1, 24, false);
  check_group(&groups, 0, BLIS_CACHE_FULL, 0, 1584, 1); /* a multiple of 48 from 1,566 on */
  groups = groups_of(runs, 2, 1, 2, 1024, false);
  check_group(&groups, 0, BLIS_CACHE_FULL, 0, 1024, 1);
  /* States alone. */
  groups = groups_of(runs, 1, 1, 2, 16, false);
  CHECK_EQ_I64(groups.count, 1);
  CHECK_EQ_I64(groups.block_bytes, 48 * 3207168);
  CHECK(!blis_page_groups_is_plain(&groups));
}

/* One type: the pages of a block add up, whatever their sizes. */
static void test_one_type(void) {
  const blis_layer_run runs[] = {{3, {.attention = heads(BLIS_ATTENTION_FULL, 0, 8, 128, 0)}},
                                 {2, {.attention = heads(BLIS_ATTENTION_FULL, 0, 2, 128, 0)}},
                                 {4, {.attention = {.kind = BLIS_ATTENTION_NONE}}}};
  blis_page_groups groups = groups_of(runs, 3, 1, 2, 16, false);
  CHECK_EQ_I64(groups.block_bytes, 16 * (3 * 4096 + 2 * 1024));
  CHECK_EQ_I64(groups.layers_per_group, 5);
  CHECK(blis_page_groups_is_plain(&groups));
  CHECK_EQ_I64(blis_page_groups_logged_tokens(&groups, 10), 160);
  groups = groups_of(runs, 3, 8, 2, 16, false); /* a KV head on each of 8 GPUs */
  CHECK_EQ_I64(groups.block_bytes, 16 * 5 * 512);
  groups = groups_of(runs + 2, 1, 1, 2, 16, false);
  CHECK_EQ_I64(groups.count, 0);
  CHECK_EQ_I64(blis_page_groups_logged_tokens(&groups, 10), 0);
}

/* Without the hybrid KV cache, windows count as full attention. */
static void test_keeps_all_tokens(void) {
  const blis_layer_run runs[] = {{18, {.attention = heads(BLIS_ATTENTION_WINDOW, 128, 8, 64, 0)}},
                                 {18, {.attention = heads(BLIS_ATTENTION_FULL, 0, 8, 64, 0)}}};
  blis_page_groups groups = groups_of(runs, 2, 1, 2, 16, true);
  CHECK(blis_page_groups_is_plain(&groups));
  CHECK_EQ_I64(groups.block_bytes, 36 * 16 * 2048);
}

/* DeepSeek V4: entries of 584 bytes for 4 and for 128 tokens, and windows. */
static void test_compressed_entries(void) {
  blis_attention four = {.kind = BLIS_ATTENTION_COMPRESSED,
                         .span = 128,
                         .head_dim = 512,
                         .ratio = 4,
                         .index_heads = 64,
                         .index_dim = 128};
  blis_attention many = four;
  many.ratio = 128;
  many.index_heads = 0;
  const blis_layer_run runs[] = {{21, {.attention = four}}, {20, {.attention = many}}};
  blis_page_groups groups = groups_of(runs, 2, 1, 2, 256, false);
  CHECK_EQ_I64(blis_page_groups_total(&groups), (int64_t)groups.count);
  CHECK_EQ_I64(groups.groups[0].kind, BLIS_CACHE_FULL);
  for (size_t i = 0; i < groups.count; i++) {
    const blis_page_group *group = &groups.groups[i];
    bool is_state = group->kind == BLIS_CACHE_STATE;
    double tokens = is_state ? 1.0 : (double)group->block_tokens;
    CHECK(group->bytes * tokens * (double)group->layers <= (double)groups.block_bytes);
  }
}

static void test_too_many_types(void) {
  blis_layer_run runs[BLIS_PAGE_GROUPS_MAX + 1];
  for (size_t i = 0; i < COUNT_OF(runs); i++) {
    blis_attention window = heads(BLIS_ATTENTION_WINDOW, (int64_t)i + 1, 8, 64, 0);
    runs[i] = (blis_layer_run){1, {.attention = window}};
  }
  const blis_page_groups_config config = {.runs = runs,
                                          .run_count = COUNT_OF(runs),
                                          .hidden_size = 8,
                                          .widths = {2, 2, 2},
                                          .tp = 1,
                                          .block_tokens = 16};
  blis_page_groups groups;
  blis_error error = {0};
  CHECK_STATUS(blis_page_groups_make(&config, &groups, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "more than 16 kinds of KV cache");
}

static blis_attention draw_attention(blis_random *random) {
  static const int64_t HEADS[] = {1, 2, 4, 8};
  static const int64_t WIDTHS[] = {64, 128, 192, 256};
  blis_attention_kind kind = (blis_attention_kind)blis_random_intn(random, 3);
  if (blis_random_intn(random, 4) == 0) {
    return state_of(2 * (1 + blis_random_intn(random, 1 << 20)));
  }
  return heads(kind, 1 + blis_random_intn(random, 4096), HEADS[blis_random_intn(random, 4)],
               WIDTHS[blis_random_intn(random, 4)], WIDTHS[blis_random_intn(random, 4)]);
}

/* Every layer has a place, every page fits its block, and block sizes are multiples. */
static void check_invariants(const blis_page_groups *groups, const blis_layer_run *runs,
                             size_t count, int64_t block) {
  int64_t layers = 0;
  double page = (double)groups->block_bytes / (double)groups->layers_per_group;
  for (size_t i = 0; i < groups->count; i++) {
    const blis_page_group *group = &groups->groups[i];
    int64_t places = group->count * groups->layers_per_group;
    layers += group->layers;
    CHECK(places >= group->layers && places < group->layers + groups->layers_per_group);
    CHECK(group->block_tokens % block == 0 && group->block_tokens >= block);
    if (groups->count > 1) {
      bool is_state = group->kind == BLIS_CACHE_STATE;
      double bytes = group->bytes * (is_state ? 1.0 : (double)group->block_tokens);
      CHECK(bytes <= page);
      CHECK(is_state || bytes + group->bytes * (double)block > page || groups->is_padded);
    }
  }
  for (size_t i = 0; i < count; i++) {
    layers -= runs[i].count;
  }
  CHECK_EQ_I64(layers, 0);
}

static void test_random_layers(void) {
  blis_random random;
  blis_random_init(&random, 35);
  for (int round = 0; round < 20000; round++) {
    blis_layer_run runs[4];
    size_t count = (size_t)(1 + blis_random_intn(&random, 4));
    for (size_t i = 0; i < count; i++) {
      runs[i] = (blis_layer_run){1 + blis_random_intn(&random, 60),
                                 {.attention = draw_attention(&random)}};
    }
    int64_t tp = (int64_t)1 << blis_random_intn(&random, 4);
    int64_t block = (int64_t)1 << blis_random_intn(&random, 7);
    bool keeps_all = blis_random_intn(&random, 5) == 0;
    blis_page_groups groups =
        groups_of(runs, count, tp, 1 + blis_random_intn(&random, 2), block, keeps_all);
    check_invariants(&groups, runs, count, block);
  }
}

int main(void) {
  RUN(test_groups_of_two_types);
  RUN(test_windows);
  RUN(test_pages_of_different_sizes);
  RUN(test_states);
  RUN(test_one_type);
  RUN(test_keeps_all_tokens);
  RUN(test_compressed_entries);
  RUN(test_too_many_types);
  RUN(test_random_layers);
  return check_done();
}
