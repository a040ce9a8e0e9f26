/* Layers of public models: totals against the numbers that their publishers state. */
#include "latency/layers/layer.h"

#include <math.h>

#include "check.h"

static const blis_cache_widths WIDTHS = {.kv = 2, .model = 2, .state = 4};

typedef struct model {
  const blis_layer_run *runs;
  size_t run_count;
  int64_t hidden;
  int64_t vocabulary;
  bool is_tied;
} model;

static double total(const model *m) {
  double embedding = (double)(m->hidden * m->vocabulary);
  double sum = (m->is_tied ? 1.0 : 2.0) * embedding + (double)m->hidden;
  for (size_t i = 0; i < m->run_count; i++) {
    sum += (double)m->runs[i].count * blis_layer_weights(&m->runs[i].layer, m->hidden);
  }
  return sum;
}

static blis_layer_cache cache(const model *m, int64_t tp) {
  blis_layer_cache sum = {0};
  for (size_t i = 0; i < m->run_count; i++) {
    double count = (double)m->runs[i].count;
    blis_layer_cache one = blis_layer_cache_of(&m->runs[i].layer, m->hidden, &WIDTHS, tp);
    sum.token_bytes += count * one.token_bytes;
    sum.span_bytes += count * one.span_bytes * (double)one.span_tokens;
    sum.state_bytes += count * one.state_bytes;
  }
  return sum;
}

static void check_near(double got, double expected) {
  printf("# %.6g, stated %.6g\n", got, expected);
  CHECK(fabs(got / expected - 1.0) < 0.003);
}

static const blis_ffn EXPERTS_OF_V3 = {.kind = BLIS_FFN_MOE,
                                       .matrices = 3,
                                       .experts = 256,
                                       .experts_per_token = 8,
                                       .expert_width = 2048,
                                       .shared_width = 2048};
static const blis_attention LATENT_OF_V3 = {.kind = BLIS_ATTENTION_LATENT,
                                            .heads = 128,
                                            .value_head_dim = 128,
                                            .query_rank = 1536,
                                            .kv_rank = 512,
                                            .rope_dim = 64,
                                            .nope_dim = 128};

static void test_latent_attention_and_experts(void) {
  const blis_layer_run runs[] = {
      {3, {.attention = LATENT_OF_V3, .ffn = {BLIS_FFN_DENSE, 18432, 3}}},
      {58, {.attention = LATENT_OF_V3, .ffn = EXPERTS_OF_V3}}};
  const model v3 = {runs, 2, 7168, 129280, false};
  check_near(total(&v3), 671.026e9);
  CHECK_EQ_DOUBLE(cache(&v3, 1).token_bytes, 70272.0);
  CHECK_EQ_DOUBLE(cache(&v3, 8).token_bytes, 70272.0); /* on every GPU */
  double active = 2.0 * 7168 * 129280;
  for (int i = 0; i < 2; i++) {
    active += (double)runs[i].count * blis_layer_active_weights(&runs[i].layer, 7168);
  }
  check_near(active, 37.552e9);
}

static void test_full_attention_and_its_heads(void) {
  const blis_layer_run runs[] = {
      {36,
       {.attention = {.kind = BLIS_ATTENTION_FULL, .heads = 32, .kv_heads = 8, .head_dim = 128},
        .ffn = {BLIS_FFN_DENSE, 12288, 3}}}};
  const model qwen = {runs, 1, 4096, 151936, false};
  check_near(total(&qwen), 8.191e9);
  CHECK_EQ_DOUBLE(cache(&qwen, 1).token_bytes, 147456.0);
  CHECK_EQ_DOUBLE(cache(&qwen, 8).token_bytes, 18432.0);
  CHECK_EQ_DOUBLE(cache(&qwen, 16).token_bytes, 18432.0); /* one head is the least */
}

static void test_windows_hold_their_span(void) {
  blis_attention full = {.kind = BLIS_ATTENTION_FULL, .heads = 64, .kv_heads = 8, .head_dim = 64};
  blis_attention window = full;
  window.kind = BLIS_ATTENTION_WINDOW;
  window.span = 128;
  const blis_ffn experts = {.kind = BLIS_FFN_MOE,
                            .matrices = 3,
                            .experts = 128,
                            .experts_per_token = 4,
                            .expert_width = 2880,
                            .has_expert_biases = true};
  blis_layer_run runs[] = {{18, {.attention = full, .ffn = experts}},
                           {18, {.attention = window, .ffn = experts}}};
  const model oss = {runs, 2, 2880, 201088, false};
  check_near(total(&oss), 116.83e9);
  CHECK_EQ_DOUBLE(cache(&oss, 1).token_bytes, 36864.0);
  CHECK_EQ_DOUBLE(cache(&oss, 1).span_bytes, 4718592.0);
  double bytes = 2.0 * 2.0 * 2880 * 201088;
  for (int i = 0; i < 2; i++) {
    runs[i].layer.formats[BLIS_WEIGHT_EXPERTS] =
        (blis_weight_format){BLIS_KIND_MXFP4, 0.5 + 1.0 / 32.0};
    bytes += 18.0 * blis_layer_weight_bytes(&runs[i].layer, 2880, 2.0, 1, 1);
  }
  check_near(bytes, 65.25e9);
}

static void test_fixed_states(void) {
  const blis_attention gdn = {.kind = BLIS_ATTENTION_GDN,
                              .key_heads = 16,
                              .key_dim = 128,
                              .value_heads = 48,
                              .value_dim = 128,
                              .conv_kernel = 4};
  const blis_attention full = {.kind = BLIS_ATTENTION_FULL,
                               .heads = 24,
                               .kv_heads = 4,
                               .head_dim = 256,
                               .gate_width = 24 * 256};
  const blis_layer_run runs[] = {{48, {.attention = gdn, .ffn = {BLIS_FFN_DENSE, 17408, 3}}},
                                 {16, {.attention = full, .ffn = {BLIS_FFN_DENSE, 17408, 3}}}};
  const model qwen = {runs, 2, 5120, 248320, false};
  check_near(total(&qwen), 26.896e9);
  CHECK_EQ_DOUBLE(cache(&qwen, 1).token_bytes, 65536.0);
  CHECK_EQ_DOUBLE(cache(&qwen, 1).state_bytes, 153944064.0);
  CHECK_EQ_DOUBLE(cache(&qwen, 8).state_bytes, 153944064.0 / 8);
}

static void test_state_space_layers(void) {
  const blis_layer_run runs[] = {
      {23,
       {.attention = {.kind = BLIS_ATTENTION_MAMBA2,
                      .value_heads = 64,
                      .value_dim = 64,
                      .state_size = 128,
                      .state_groups = 8,
                      .conv_kernel = 4},
        .ffn = {.kind = BLIS_FFN_NONE}}},
      {23,
       {.attention = {.kind = BLIS_ATTENTION_NONE},
        .ffn = {.kind = BLIS_FFN_MOE,
                .matrices = 2,
                .experts = 128,
                .experts_per_token = 6,
                .expert_width = 1856,
                .shared_width = 3712}}},
      {6,
       {.attention = {.kind = BLIS_ATTENTION_FULL, .heads = 32, .kv_heads = 2, .head_dim = 128},
        .ffn = {.kind = BLIS_FFN_NONE}}}};
  const model nano = {runs, 3, 2688, 131072, false};
  check_near(total(&nano), 31.578e9);
  CHECK_EQ_DOUBLE(cache(&nano, 1).token_bytes, 6144.0);
  CHECK_EQ_DOUBLE(cache(&nano, 8).token_bytes, 3072.0);
  CHECK_EQ_DOUBLE(cache(&nano, 1).state_bytes, 49082368.0);
}

static void test_compressed_attention(void) {
  blis_attention base = {.kind = BLIS_ATTENTION_COMPRESSED,
                         .span = 128,
                         .heads = 64,
                         .kv_heads = 1,
                         .head_dim = 512,
                         .query_rank = 1024,
                         .output_rank = 1024,
                         .output_groups = 8};
  blis_layer_run runs[] = {
      {2, {.attention = base}}, {21, {.attention = base}}, {20, {.attention = base}}};
  blis_attention *fine = &runs[1].layer.attention;
  fine->ratio = 4;
  fine->index_heads = 64;
  fine->index_dim = 128;
  runs[2].layer.attention.ratio = 128;
  for (int i = 0; i < 3; i++) {
    runs[i].layer.ffn = EXPERTS_OF_V3;
    runs[i].layer.ffn.experts_per_token = 6;
    runs[i].layer.other_weights = 2.0 * (2 + 4) * 4 * 4 * 4096; /* hyper-connections */
  }
  const model flash = {runs, 3, 4096, 129280, false};
  check_near(total(&flash), 284.332e9);
  CHECK_EQ_DOUBLE(cache(&flash, 1).token_bytes, 21 * (584 + 132) / 4.0 + 20 * 584 / 128.0);
  CHECK_EQ_DOUBLE(cache(&flash, 1).span_bytes, 3214336.0);
  CHECK_EQ_DOUBLE(cache(&flash, 1).state_bytes, 11345920.0);
}

/* What one GPU has, times the GPUs, is all of it, but for what lies on every GPU. */
static void test_shards_add_up(void) {
  const blis_layer layer = {
      .attention = {.kind = BLIS_ATTENTION_FULL, .heads = 32, .kv_heads = 8, .head_dim = 128},
      .ffn = {BLIS_FFN_DENSE, 14336, 3}};
  double whole = blis_layer_weight_bytes(&layer, 4096, 2.0, 1, 1);
  double norms = 2.0 * 2.0 * 4096;
  CHECK_EQ_DOUBLE(whole, 2.0 * blis_layer_weights(&layer, 4096));
  for (int64_t tp = 2; tp <= 8; tp *= 2) {
    double one = blis_layer_weight_bytes(&layer, 4096, 2.0, tp, tp);
    CHECK_EQ_DOUBLE((one - norms) * (double)tp + norms, whole);
  }
  double replicated = blis_layer_weight_bytes(&layer, 4096, 2.0, 16, 16) * 16.0;
  CHECK_EQ_DOUBLE(replicated, whole + 15.0 * norms + 2.0 * 2.0 * 4096 * 8 * 128);
}

static void test_every_kind_has_a_name(void) {
  for (int i = 0; i < BLIS_ATTENTION_KIND_COUNT; i++) {
    CHECK(blis_attention_kind_name((blis_attention_kind)i)[0] != '\0');
  }
  for (int i = 0; i < BLIS_FFN_KIND_COUNT; i++) {
    CHECK(blis_ffn_kind_name((blis_ffn_kind)i)[0] != '\0');
  }
}

int main(void) {
  RUN(test_latent_attention_and_experts);
  RUN(test_full_attention_and_its_heads);
  RUN(test_windows_hold_their_span);
  RUN(test_fixed_states);
  RUN(test_state_space_layers);
  RUN(test_compressed_attention);
  RUN(test_shards_add_up);
  RUN(test_every_kind_has_a_name);
  return check_done();
}
