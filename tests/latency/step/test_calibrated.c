/*
 * The calibrated model: times worked out from the formulas of its header by
 * another program, what hardware allows, what physics says about more work,
 * and what is measured of prefill.
 */
#include "base/random.h"
#include "latency/step/calibrated.h"

#include <math.h>

#include "latency/create.h"
#include "latency/model/transformer.h"
#include "latency_fixture.h"

static blis_alloc heap;
static blis_catalogue *catalogue;
static blis_random random_stream;

static const double ALPHA[] = {11.0, 22.0, 33.0, 4100.0, 1.5};
static const double BETA[] = {0.9, 0.8, 0.9, 0.7, 0.7, 0.6, 45, 6, 40, 5, 8, 300, 70, 270};
static const blis_coefficients FIT = {ALPHA, 5, BETA, BLIS_CALIBRATED_BETA_COUNT};

static int64_t draw(int32_t least, int32_t most) {
  return least + blis_random_intn(&random_stream, most - least + 1);
}

static blis_latency_model calibrated(const char *model, const char *gpu, int64_t tp, int64_t dp) {
  blis_model_spec spec = fixture_model(catalogue, model);
  blis_hardware_spec hardware = fixture_hardware(catalogue, gpu);
  blis_parallelism parallelism = {.tp = tp, .dp = dp};
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_OK(blis_calibrated_new(&heap, &spec, &hardware, &parallelism, &FIT, NULL, &latency, &error),
           &error);
  return latency;
}

/* With the coefficients that are shipped for the GPU. */
static blis_latency_model shipped(const blis_model_spec *spec, const char *gpu, int64_t tp) {
  blis_hardware_spec hardware = fixture_hardware(catalogue, gpu);
  blis_latency_config config = {.kind = "calibrated",
                                .model = spec,
                                .hardware = &hardware,
                                .parallelism = {.tp = tp, .dp = 1},
                                .catalogue = catalogue};
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_OK(blis_latency_create(&heap, &config, &latency, &error), &error);
  return latency;
}

/*
 * Two layers of width 8 with 2 heads and no cleverness on a GPU of 1 TFLOPS and
 * 1 TB/s; every share is 1/2, every overhead 1 us, the link 1 GB/s. In bytes:
 *   weights  2 layers * (4 * 8 * 8 + 3 * 8 * 16) * 2 = 2,560; head 8 * 4 * 2
 *   KV       2 layers * 2 * 2 heads * 4 * 2 = 64 a token
 * One decode behind 10 tokens, in us:
 *   memory   2,624 B / 0.5 MB/us                       = 0.005248
 *   compute  2 * (1,280 + 32) * (1 + 64) / 0.5 MFLOP/us = 0.34112
 *   KV       64 B * 11 / 0.5 MB/us                     = 0.001408
 *   itself   4 * 2 * 4 * 2 FLOP / 0.5 MFLOP/us         = 0.000128
 *   sampling 1 * 4 tokens * 4 B / 1 MB/us              = 0.000016
 *   overheads 1 (step) + 2 (layers) + 1 (request)      = 4
 */
static void test_a_model_small_enough_for_paper(void) {
  const blis_model_spec spec = {.name = "tiny",
                                .layers = 2,
                                .hidden_size = 8,
                                .attention_heads = 2,
                                .vocab_size = 4,
                                .intermediate_size = 16,
                                .bytes_per_param = 2};
  const blis_hardware_spec gpu = {.name = "abacus", .peak_tflops = 1e-6, .bandwidth_tb_s = 1e-6};
  const double half[] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1, 1, 1, 1, 1, 1, 1, 1};
  const blis_coefficients fit = {ALPHA, 3, half, BLIS_CALIBRATED_BETA_COUNT};
  const blis_parallelism one = {.tp = 1, .dp = 1};
  const blis_batch_item decode = {10, 1, 5, 9};
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_OK(blis_calibrated_new(&heap, &spec, &gpu, &one, &fit, NULL, &latency, &error), &error);
  /* All but the overheads takes a million times as long on this GPU. */
  double gemm = sqrt(0.005248 * 0.005248 + 0.34112 * 0.34112);
  double us = (gemm + 0.001408 + 0.000128 + 0.000016) * 1e6 + 4.0;
  CHECK_EQ_I64(step_us(&latency, &decode, 1), (int64_t)us);
  CHECK_EQ_I64(step_us(&latency, NULL, 0), 1);
  blis_latency_free(&latency);
}

static void test_worked_examples(void) {
  static const struct {
    const char *model;
    const char *gpu;
    int64_t tp;
    int64_t dp;
    int64_t us[3];
  } CASES[] = {
      {"llama-3.1-8b-instruct", "H100", 1, 1, {7570, 40749, 26079}},
      {"llama-3.1-8b-instruct", "A100-SXM", 1, 1, {12050, 124454, 76958}},
      {"llama-3.1-8b-instruct", "L40S", 1, 1, {23805, 109386, 70103}},
      {"llama-3.1-70b-instruct", "H100", 4, 1, {17241, 128216, 80162}},
      {"mistral-nemo-instruct-2407", "H100", 2, 1, {6781, 38774, 24847}},
      {"mixtral-8x7b-v0.1", "H100", 2, 1, {16840, 46296, 32857}},
      {"llama-4-scout-17b-16e-instruct-fp8-dynamic", "H100", 2, 1, {18390, 54746, 43530}},
      {"llama-4-scout-17b-16e-instruct-fp8-dynamic", "A100-SXM", 4, 1, {14763, 94289, 65179}},
      {"deepseek-v2-lite", "H100", 1, 1, {8047, 19691, 16065}},
      {"qwen3-30b-a3b", "H100", 8, 1, {4855, 12429, 9889}},
      {"qwen3-30b-a3b", "H100", 2, 2, {6077, 13660, 11608}},
  };
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    blis_latency_model m = calibrated(CASES[i].model, CASES[i].gpu, CASES[i].tp, CASES[i].dp);
    CHECK_EQ_I64(step_us(&m, BATCH_DECODES, COUNT_OF(BATCH_DECODES)), CASES[i].us[0]);
    CHECK_EQ_I64(step_us(&m, BATCH_PREFILLS, COUNT_OF(BATCH_PREFILLS)), CASES[i].us[1]);
    CHECK_EQ_I64(step_us(&m, BATCH_MIXED, COUNT_OF(BATCH_MIXED)), CASES[i].us[2]);
    blis_latency_free(&m);
  }
}

static void check_parameters(const char *model, double billions) {
  blis_model_spec spec = fixture_model(catalogue, model);
  blis_transformer parts = blis_transformer_of(&spec);
  double found = blis_transformer_parameters(&parts, &spec) / 1e9;
  CHECK(fabs(found / billions - 1.0) < 0.02);
}

/* What the makers say of their models. */
static void test_parameters(void) {
  check_parameters("llama-3.1-8b-instruct", 8.03);
  check_parameters("llama-3.1-70b-instruct", 70.6);
  check_parameters("mistral-nemo-instruct-2407", 12.2);
  check_parameters("mixtral-8x7b-v0.1", 46.7);
  check_parameters("qwen3-14b", 14.8);
  check_parameters("qwen3-30b-a3b", 30.5);
  check_parameters("llama-4-scout-17b-16e-instruct-fp8-dynamic", 107.8);
  check_parameters("deepseek-v2-lite", 15.7);
}

static blis_batch_item random_item(void) {
  int64_t prompt = draw(1, draw(0, 1) ? 300 : 16000);
  if (draw(0, 3) != 0) {
    return (blis_batch_item){prompt + draw(0, 3000), 1, prompt, 500};
  }
  int64_t progress = draw(0, (int32_t)prompt - 1);
  return (blis_batch_item){progress, draw(1, (int32_t)(prompt - progress)), prompt, 500};
}

/* The time of a batch when nothing but FLOPs, or bytes, took any. */
static double floor_us(const blis_model_spec *spec, const blis_hardware_spec *gpu, int64_t tp,
                       const blis_batch_item *items, size_t count) {
  const blis_transformer p = blis_transformer_of(spec);
  double tokens = 0;
  double context = 0;
  double pairs = 0;
  for (size_t i = 0; i < count; i++) {
    double t = (double)items[i].new_tokens;
    tokens += t;
    context += (double)items[i].progress_tokens;
    pairs += t * (double)items[i].progress_tokens + t * (t + 1.0) / 2.0;
  }
  double used = (double)spec->experts_per_token;
  double active = p.layers * p.attention + p.dense_layers * p.dense_mlp +
                  p.moe_layers * (used * p.expert + p.shared_expert);
  double flops =
      2.0 * active * tokens + 4.0 * (double)spec->attention_heads * p.head_dim * p.layers * pairs;
  /* One token's experts at least. */
  double bytes = active * blis_model_spec_weight_bytes(spec) +
                 p.kv_width * p.layers * (context + tokens) * spec->bytes_per_param;
  double flops_us = flops / blis_hardware_spec_peak_tflops(gpu, spec) / 1e6;
  double bytes_us = bytes / gpu->bandwidth_tb_s / 1e6;
  return fmax(flops_us, bytes_us) / (double)tp;
}

static void check_floor(const char *gpu, const blis_model_spec *spec, int64_t tp) {
  enum { MOST = 40 };
  blis_hardware_spec hardware = fixture_hardware(catalogue, gpu);
  blis_latency_model m = shipped(spec, gpu, tp);
  for (int i = 0; i < 60; i++) {
    blis_batch_item items[MOST];
    size_t count = (size_t)draw(1, MOST);
    for (size_t j = 0; j < count; j++) {
      items[j] = random_item();
    }
    int64_t us = step_us(&m, items, count);
    CHECK((double)us >= floor_us(spec, &hardware, tp, items, count));
  }
  blis_latency_free(&m);
}

static void test_no_step_is_faster_than_its_hardware(void) {
  size_t sets = blis_catalogue_coefficients_count(catalogue);
  int checked = 0;
  for (size_t i = 0; i < sets; i++) {
    const blis_catalogue_coefficients *set = blis_catalogue_coefficients_at(catalogue, i);
    if (strcmp(set->key.kind, "calibrated") != 0 || set->key.hardware == NULL) {
      continue;
    }
    CHECK(set->has_coverage && set->coverage.fitted_on[0] != '\0');
    for (size_t j = 0; j < blis_catalogue_model_count(catalogue); j++) {
      const blis_catalogue_model *model = blis_catalogue_model_at(catalogue, j);
      for (int64_t tp = 1; model->has_dimensions && tp <= 8; tp *= 2) {
        if (model->spec.attention_heads % tp == 0) {
          check_floor(set->key.hardware, &model->spec, tp);
          checked++;
        }
      }
    }
  }
  CHECK(checked > 400);
}

/* One more of something, and what the rest of the batch is. */
static void check_more_is_not_faster(const blis_latency_model *m) {
  enum { MOST = 12 };
  blis_batch_item items[MOST + 1];
  size_t count = (size_t)draw(1, MOST);
  for (size_t i = 0; i < count; i++) {
    items[i] = random_item();
  }
  int64_t us = step_us(m, items, count);
  items[count] = random_item();
  CHECK(step_us(m, items, count + 1) >= us);
  blis_batch_item *one = &items[draw(0, (int32_t)count - 1)];
  bool is_decode = one->progress_tokens >= one->prompt_tokens;
  blis_batch_item before = *one;
  one->progress_tokens++;
  one->prompt_tokens += is_decode ? 0 : 1;
  CHECK(step_us(m, items, count) >= us);
  *one = before;
  if (!is_decode) {
    one->new_tokens++;
    one->prompt_tokens++;
    CHECK(step_us(m, items, count) >= us);
  }
}

static void test_more_work_is_never_faster(void) {
  static const char *const MODELS[] = {"llama-3.1-8b-instruct", "mixtral-8x7b-v0.1",
                                       "llama-4-scout-17b-16e-instruct-fp8-dynamic",
                                       "deepseek-v2-lite"};
  for (size_t i = 0; i < COUNT_OF(MODELS); i++) {
    blis_latency_model m = calibrated(MODELS[i], "H100", 2, 1);
    for (int j = 0; j < 3000; j++) {
      check_more_is_not_faster(&m);
    }
    blis_latency_free(&m);
  }
}

static int64_t shipped_us(const char *model, const char *gpu, int64_t tp,
                          const blis_batch_item *items, size_t count) {
  blis_model_spec spec = fixture_model(catalogue, model);
  blis_latency_model m = shipped(&spec, gpu, tp);
  int64_t us = step_us(&m, items, count);
  blis_latency_free(&m);
  return us;
}

/* One prompt of 2,048 tokens: GEMM kernels alone take 31.4 and 55.6 ms. */
static void test_a_prefill_takes_what_its_kernels_take(void) {
  const blis_batch_item prompt = {0, 2048, 2048, 9};
  int64_t us = shipped_us("llama-2-7b-hf", "H100", 1, &prompt, 1);
  CHECK(us >= 31400 && us <= 31400 * 5 / 4);
  us = shipped_us("mistral-nemo-instruct-2407", "H100", 1, &prompt, 1);
  CHECK(us >= 55600 && us <= 55600 * 5 / 4);
}

/* An engine of 2023 took as long, on TP 2, 4 and 8 (splitwise-sim). */
static void test_a_large_model_is_not_slower_than_an_old_engine(void) {
  static const struct {
    const char *gpu;
    int64_t us[3];
  } MEASURED[] = {{"H100", {310317, 200681, 136797}}, {"A100-SXM", {688054, 403334, 274222}}};
  const blis_batch_item prompt = {0, 2048, 2048, 9};
  blis_model_spec llama2 = fixture_model(catalogue, "llama-3.1-70b-instruct");
  llama2.vocab_size = 32000;
  for (size_t i = 0; i < COUNT_OF(MEASURED); i++) {
    int64_t before_us = INT64_MAX;
    for (int j = 0; j < 3; j++) {
      blis_latency_model m = shipped(&llama2, MEASURED[i].gpu, 2 << j);
      int64_t us = step_us(&m, &prompt, 1);
      blis_latency_free(&m);
      CHECK(us < before_us && us <= MEASURED[i].us[j]);
      before_us = us;
    }
  }
}

static void test_quantised_weights(void) {
  blis_model_spec spec = fixture_model(catalogue, "llama-3.1-8b-instruct");
  const blis_batch_item decode = {500, 1, 500, 9};
  const blis_batch_item prompt = {0, 4096, 4096, 9};
  int64_t decode_us[3];
  int64_t prompt_us[3];
  static const double WIDTHS[] = {2.0, 1.0, 0.5};
  for (int i = 0; i < 3; i++) {
    spec.weight_bytes_per_param = WIDTHS[i];
    blis_latency_model m = shipped(&spec, "H100", 1);
    decode_us[i] = step_us(&m, &decode, 1);
    prompt_us[i] = step_us(&m, &prompt, 1);
    blis_latency_free(&m);
  }
  CHECK(decode_us[2] < decode_us[0]); /* fewer bytes */
  CHECK(prompt_us[1] < prompt_us[0]); /* FP8 computes faster, */
  CHECK(prompt_us[2] > prompt_us[1]); /* 4 bits do not */
}

static void test_a_gpu_without_coefficients(void) {
  blis_model_spec spec = fixture_model(catalogue, "qwen3-14b");
  const blis_hardware_spec own = {.name = "mine", .peak_tflops = 300, .bandwidth_tb_s = 1.0};
  blis_latency_config config = {.kind = "calibrated",
                                .model = &spec,
                                .hardware = &own,
                                .parallelism = {.tp = 1, .dp = 1},
                                .catalogue = catalogue};
  const blis_batch_item decode = {500, 1, 500, 9};
  blis_latency_model m;
  blis_error error = {0};
  CHECK_OK(blis_latency_create(&heap, &config, &m, &error), &error);
  CHECK(blis_latency_coverage(&m)->extrapolated);
  CHECK((double)step_us(&m, &decode, 1) >= floor_us(&spec, &own, 1, &decode, 1));
  blis_latency_free(&m);
}

/* A token more costs little once all experts are read. */
static void test_experts_are_read_as_they_are_needed(void) {
  blis_latency_model m = calibrated("qwen3-30b-a3b", "H100", 1, 1);
  blis_batch_item decodes[1000];
  int64_t us[3];
  static const size_t COUNTS[] = {1, 100, 1000};
  for (size_t i = 0; i < COUNT_OF(decodes); i++) {
    decodes[i] = (blis_batch_item){1, 1, 1, 9};
  }
  for (int i = 0; i < 3; i++) {
    us[i] = step_us(&m, decodes, COUNTS[i]);
  }
  CHECK(us[1] - us[0] > 10 * 99);                      /* 7 to nearly 128 experts */
  CHECK((us[2] - us[1]) / 900 < (us[1] - us[0]) / 99); /* then all of them */
  blis_latency_free(&m);
}

/* Two KV heads on eight GPUs: each reads one, so TP 8 reads what TP 2 does. */
static void test_kv_heads_are_replicated(void) {
  blis_model_spec spec = fixture_model(catalogue, "llama-3.1-8b-instruct");
  spec.kv_heads = 2;
  const blis_batch_item near = {1000, 1, 1000, 9};
  const blis_batch_item far = {101000, 1, 1000, 9};
  int64_t read_us[2];
  for (int i = 0; i < 2; i++) {
    blis_latency_model m = shipped(&spec, "H100", i == 0 ? 2 : 8);
    read_us[i] = step_us(&m, &far, 1) - step_us(&m, &near, 1);
    blis_latency_free(&m);
  }
  CHECK(llabs(read_us[0] - read_us[1]) <= 2);
}

static void test_times_outside_of_the_step(void) {
  blis_latency_model m = calibrated("qwen3-14b", "H100", 1, 1);
  CHECK_EQ_I64(blis_latency_queueing_time(&m, 1000), 11);
  CHECK_EQ_I64(blis_latency_fixed_overhead(&m), 22);
  CHECK_EQ_I64(blis_latency_output_token_time(&m), 33);
  CHECK_EQ_I64(blis_latency_first_token(&m).delay_us, 4100);
  CHECK(blis_latency_first_token(&m).depth == 1.5);
  CHECK(blis_latency_coverage(&m) == NULL);
  blis_latency_free(&m);
  blis_model_spec spec = fixture_model(catalogue, "qwen3-14b");
  m = shipped(&spec, "H200", 1);
  CHECK(blis_latency_coverage(&m)->extrapolated);
  blis_latency_free(&m);
}

static void check_fails(const blis_model_spec *model, int64_t tp, int64_t dp,
                        const blis_coefficients *fit, const char *part) {
  blis_hardware_spec h100 = fixture_hardware(catalogue, "H100");
  blis_parallelism parallelism = {.tp = tp, .dp = dp};
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_STATUS(blis_calibrated_new(&heap, model, &h100, &parallelism, fit, NULL, &latency, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, part);
}

static void test_coefficients_are_checked(void) {
  blis_model_spec qwen = fixture_model(catalogue, "qwen3-14b");
  for (int i = 0; i < BLIS_CALIBRATED_BETA_COUNT; i++) {
    double beta[BLIS_CALIBRATED_BETA_COUNT];
    const blis_coefficients fit = {ALPHA, 3, beta, BLIS_CALIBRATED_BETA_COUNT};
    char name[24];
    (void)snprintf(name, sizeof name, "beta[%d]", i);
    memcpy(beta, BETA, sizeof beta);
    beta[i] = -1.0;
    check_fails(&qwen, 1, 1, &fit, name);
    if (i <= BLIS_CALIBRATED_FP8) {
      beta[i] = 1.01;
      check_fails(&qwen, 1, 1, &fit, "at most 1, got 1.01");
    }
    if (i <= BLIS_CALIBRATED_FP8 || i == BLIS_CALIBRATED_LINK) {
      beta[i] = 0.0;
      check_fails(&qwen, 1, 1, &fit, name);
    }
  }
  const blis_coefficients few = {ALPHA, 3, BETA, 13};
  check_fails(&qwen, 1, 1, &few, "14 beta coefficients, got 3 and 13");
  const blis_coefficients many = {BETA, 6, BETA, 14};
  check_fails(&qwen, 1, 1, &many, "3 to 5 alpha");
  check_fails(&qwen, 3, 1, &FIT, "must be divisible by tp (3)");
  check_fails(&qwen, 1, 2, &FIT, "dp must be 1 for a dense model");
  qwen.intermediate_size = 0;
  check_fails(&qwen, 1, 1, &FIT, "intermediate_size is missing");
}

static void test_out_of_memory_is_an_error(void) {
  blis_model_spec spec = fixture_model(catalogue, "mixtral-8x7b-v0.1");
  blis_hardware_spec h100 = fixture_hardware(catalogue, "H100");
  blis_parallelism parallelism = {.tp = 2, .dp = 1};
  blis_status status = BLIS_ERR_NOMEM;
  for (long fail_at = 1; status != BLIS_OK; fail_at++) {
    CHECK(fail_at < 10);
    blis_alloc_probe probe = {.fail_at = fail_at};
    blis_alloc alloc = blis_alloc_probed(&probe);
    blis_latency_model model = {0};
    status = blis_calibrated_new(&alloc, &spec, &h100, &parallelism, &FIT, NULL, &model, NULL);
    CHECK((model.ops != NULL) == (status == BLIS_OK));
    blis_latency_free(&model);
    CHECK(probe.live_bytes == 0);
  }
}

int main(void) {
  heap = blis_alloc_heap();
  catalogue = fixture_catalogue(&heap);
  blis_random_init(&random_stream, 20261122);
  RUN(test_a_model_small_enough_for_paper);
  RUN(test_worked_examples);
  RUN(test_parameters);
  RUN(test_no_step_is_faster_than_its_hardware);
  RUN(test_more_work_is_never_faster);
  RUN(test_a_prefill_takes_what_its_kernels_take);
  RUN(test_a_large_model_is_not_slower_than_an_old_engine);
  RUN(test_quantised_weights);
  RUN(test_a_gpu_without_coefficients);
  RUN(test_experts_are_read_as_they_are_needed);
  RUN(test_kv_heads_are_replicated);
  RUN(test_times_outside_of_the_step);
  RUN(test_coefficients_are_checked);
  RUN(test_out_of_memory_is_an_error);
  blis_catalogue_free(catalogue);
  return check_done();
}
