/* Step times worked out by hand or by the systems the models come from. */
#include <math.h>

#include "latency/step/blackbox.h"
#include "latency/step/piecewise.h"
#include "latency/step/roofline.h"
#include "latency/step/trained_physics.h"
#include "latency_fixture.h"

static blis_alloc heap;
static blis_catalogue *catalogue;

static void check_batches(const blis_latency_model *model, const int64_t expected[3]) {
  CHECK_EQ_I64(step_us(model, BATCH_DECODES, COUNT_OF(BATCH_DECODES)), expected[0]);
  CHECK_EQ_I64(step_us(model, BATCH_PREFILLS, COUNT_OF(BATCH_PREFILLS)), expected[1]);
  CHECK_EQ_I64(step_us(model, BATCH_MIXED, COUNT_OF(BATCH_MIXED)), expected[2]);
  CHECK_EQ_I64(step_us(model, NULL, 0), 1);
}

static void test_sums_of_the_known_batches(void) {
  blis_batch_sums a = blis_batch_sums_of(BATCH_DECODES, 8);
  CHECK_EQ_I64(a.requests, 8);
  CHECK_EQ_I64(a.decode_requests, 8);
  CHECK_EQ_I64(a.decode_context_tokens, 11913);
  blis_batch_sums b = blis_batch_sums_of(BATCH_PREFILLS, 2);
  CHECK_EQ_I64(b.prefill_tokens, 2048);
  CHECK_EQ_I64(b.prefill_attention, 10386304);
  CHECK_EQ_I64(b.prefill_pairs, 3169408);
  CHECK_EQ_I64(b.prefill_context_tokens, 512);
  blis_batch_sums c = blis_batch_sums_of(BATCH_MIXED, 6);
  CHECK_EQ_I64(c.requests, 6);
  CHECK_EQ_I64(c.prefill_tokens, 1212);
  CHECK_EQ_I64(c.decode_requests, 4);
  CHECK_EQ_I64(c.decode_context_tokens, 5612);
  CHECK_EQ_I64(c.prefill_attention, 3829296);
  CHECK_EQ_I64(c.prefill_pairs, 1799508);
  CHECK_EQ_I64(c.prefill_context_tokens, 1024);
}

static void test_sums_stay_at_the_largest_number(void) {
  const int64_t huge = INT64_MAX / 2 + 1;
  const blis_batch_item items[] = {
      {0, huge, huge, 1}, {0, huge, huge, 1}, {huge, 1, 5, 1}, {huge, 1, 5, 1}};
  blis_batch_sums sums = blis_batch_sums_of(items, 4);
  CHECK_EQ_I64(sums.prefill_tokens, INT64_MAX);
  CHECK_EQ_I64(sums.prefill_attention, INT64_MAX);
  CHECK_EQ_I64(sums.prefill_pairs, INT64_MAX);
  CHECK_EQ_I64(sums.decode_context_tokens, INT64_MAX);
}

static void test_requests_are_classified(void) {
  const blis_batch_item idle = {5, 0, 5, 9};
  const blis_batch_item neither = {5, 1, 5, 0};
  blis_batch_sums sums = {0};
  blis_batch_sums_add(&sums, &idle);
  CHECK_EQ_I64(sums.requests, 0);
  blis_batch_sums_add(&sums, &neither);
  CHECK_EQ_I64(sums.requests, 1);
  CHECK_EQ_I64(sums.prefill_tokens + sums.decode_requests, 0);
}

static blis_latency_model roofline(const char *model, const char *gpu, int64_t tp) {
  blis_model_spec spec = fixture_model(catalogue, model);
  blis_hardware_spec hardware = fixture_hardware(catalogue, gpu);
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_OK(blis_roofline_new(&heap, &spec, &hardware, tp, &FIXTURE_FIT, &latency, &error), &error);
  return latency;
}

static blis_latency_model trained(const char *model, const char *gpu, int64_t tp, int64_t dp,
                                  const char *comm) {
  blis_model_spec spec = fixture_model(catalogue, model);
  blis_hardware_spec hardware = fixture_hardware(catalogue, gpu);
  blis_parallelism parallelism = {.tp = tp, .dp = dp, .moe_comm_backend = comm};
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_OK(blis_trained_physics_new(&heap, &spec, &hardware, &parallelism, &FIXTURE_FIT, &latency,
                                    &error),
           &error);
  return latency;
}

static void test_worked_examples(void) {
  static const struct {
    const char *model;
    const char *gpu;
    int64_t tp;
    int64_t roofline_us[3];
    int64_t trained_us[3];
  } CASES[] = {
      {"llama-3.1-8b-instruct", "H100", 1, {3511, 48801, 28982}, {7773, 11652, 10040}},
      {"llama-3.1-8b-instruct", "A100-80", 1, {5770, 183284, 109076}, {12008, 25755, 19948}},
      {"llama-3.1-8b-instruct", "L40S", 1, {13617, 187562, 112336}, {26722, 36330, 32381}},
      {"qwen3-14b", "H100", 1, {6343, 91685, 54464}, {13327, 21140, 17883}},
      {"qwen3-14b", "H100", 2, {3171, 45842, 27232}, {7387, 11656, 9883}},
      {"qwen3-14b", "A100-80", 1, {10421, 344343, 204972}, {20967, 47537, 36352}},
      {"qwen3-14b", "L40S", 1, {24595, 352380, 211090}, {47517, 67616, 59296}},
      {"llama-3.1-70b-instruct", "H100", 4, {7704, 116561, 69271}, {17224, 29730, 24551}},
      {"mixtral-8x7b-v0.1", "H100", 2, {8710, 41685, 24771}, {20531, 24472, 22852}},
      {"qwen3-30b-a3b", "H100", 1, {5099, 16706, 11995}, {25993, 27366, 26764}},
      {"llama-4-scout-17b-16e-instruct-fp8-dynamic",
       "H100",
       2,
       {3341, 21718, 12897},
       {25618, 27458, 26713}},
      {"deepseek-v2-lite", "H100", 1, {4300, 13556, 8045}, {15468, 15548, 15579}},
  };
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    blis_latency_model model = roofline(CASES[i].model, CASES[i].gpu, CASES[i].tp);
    check_batches(&model, CASES[i].roofline_us);
    blis_latency_free(&model);
    model = trained(CASES[i].model, CASES[i].gpu, CASES[i].tp, 1, NULL);
    check_batches(&model, CASES[i].trained_us);
    blis_latency_free(&model);
  }
}

static int64_t roofline_step_us(const blis_model_spec *spec, int64_t tokens, bool is_decode) {
  blis_hardware_spec hardware = fixture_hardware(catalogue, "H100");
  blis_batch_item item = {.progress_tokens = is_decode ? 1 : 0,
                          .new_tokens = tokens,
                          .prompt_tokens = is_decode ? 1 : tokens,
                          .output_tokens = 2};
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_OK(blis_roofline_new(&heap, spec, &hardware, 1, &FIXTURE_FIT, &latency, &error), &error);
  int64_t us = step_us(&latency, &item, 1);
  blis_latency_free(&latency);
  return us;
}

/* How many matrices a wider MLP adds: by compute of a long prefill and by bytes
   of a decode. */
static void check_mlp_matrices(blis_model_spec spec, double matrices) {
  blis_hardware_spec hardware = fixture_hardware(catalogue, "H100");
  double hidden = (double)spec.hidden_size;
  double more = (double)spec.layers * 17408;
  int64_t prefill_us = roofline_step_us(&spec, 2048, false);
  int64_t decode_us = roofline_step_us(&spec, 1, true);
  spec.intermediate_size += 17408;
  double compute_us = (double)(roofline_step_us(&spec, 2048, false) - prefill_us);
  double memory_us = (double)(roofline_step_us(&spec, 1, true) - decode_us);
  double flops = 2.0 * 2048 * hidden * more;
  double bytes = 2.0 * hidden * more;
  double rate = hardware.peak_tflops * 1e6 * hardware.mfu_prefill;
  CHECK(fabs(compute_us * rate / flops - matrices) < 0.001);
  CHECK(fabs(memory_us * hardware.bandwidth_tb_s * 1e6 / bytes - matrices) < 0.001);
}

static void test_roofline_as_built(void) {
  blis_model_spec spec = fixture_model(catalogue, "qwen3-14b");
  check_mlp_matrices(spec, 2);
  spec.counts_as_built = true;
  check_mlp_matrices(spec, 3);
  snprintf(spec.activation, sizeof spec.activation, "gelu");
  check_mlp_matrices(spec, 2);
  /* Heads of 256 instead of 128: twice the projections, all else equal. */
  spec.head_dim = 128;
  spec.intermediate_size = 1;
  int64_t narrow_us = roofline_step_us(&spec, 1, true);
  spec.head_dim = 256;
  int64_t wide_us = roofline_step_us(&spec, 1, true);
  CHECK(llabs(wide_us - 2 * narrow_us) < narrow_us / 100);
  spec.counts_as_built = false;
  CHECK_EQ_I64(roofline_step_us(&spec, 1, true), narrow_us);
}

static void test_data_parallel_experts(void) {
  static const int64_t GATHER_US[] = {11133, 13120, 12306};
  static const int64_t ALL_TO_ALL_US[] = {11133, 13210, 12360};
  blis_latency_model model = trained("mixtral-8x7b-v0.1", "H100", 2, 2, "naive");
  check_batches(&model, GATHER_US);
  blis_latency_free(&model);
  model = trained("mixtral-8x7b-v0.1", "H100", 2, 2, "pplx");
  check_batches(&model, ALL_TO_ALL_US);
  blis_latency_free(&model);
}

static void test_single_steps(void) {
  static const struct {
    blis_batch_item items[4];
    size_t count;
    int64_t trained_us;
    int64_t roofline_us;
  } CASES[] = {
      {{{0, 185, 185, 9}}, 1, 12919, 8047},
      {{{185, 1, 185, 9}}, 1, 12179, 5768},
      {{{1024, 512, 4096, 9}, {100, 1, 99, 9}, {200, 1, 99, 9}, {300, 1, 99, 9}}, 4, 14592, 23599},
  };
  blis_latency_model physics = trained("qwen3-14b", "H100", 1, 1, "");
  blis_latency_model roof = roofline("qwen3-14b", "H100", 1);
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    CHECK_EQ_I64(step_us(&physics, CASES[i].items, CASES[i].count), CASES[i].trained_us);
    CHECK_EQ_I64(step_us(&roof, CASES[i].items, CASES[i].count), CASES[i].roofline_us);
  }
  blis_latency_free(&physics);
  blis_latency_free(&roof);
}

static void test_a_batch_of_decodes_moves_on_by_its_sums(void) {
  static const int64_t EXPECTED_US[] = {37690, 37715, 37739, 37763, 37788, 37812};
  blis_latency_model model = trained("qwen3-14b", "H100", 1, 1, "");
  blis_batch_sums sums = {
      .requests = 256, .decode_requests = 256, .decode_context_tokens = 256 * 1000};
  for (size_t i = 0; i < COUNT_OF(EXPECTED_US); i++) {
    int64_t us;
    CHECK(blis_latency_step_time_from_sums(&model, &sums, &us));
    CHECK_EQ_I64(us, EXPECTED_US[i]);
    sums.decode_context_tokens += sums.decode_requests;
  }
  blis_latency_free(&model);
}

static void test_times_outside_of_the_step(void) {
  blis_latency_model model = trained("qwen3-14b", "H100", 1, 1, "");
  CHECK_EQ_I64(blis_latency_queueing_time(&model, 1000), 15563);
  CHECK_EQ_I64(blis_latency_output_token_time(&model), 45);
  CHECK_EQ_I64(blis_latency_fixed_overhead(&model), 777);
  blis_latency_free(&model);
  model = roofline("qwen3-14b", "H100", 1);
  CHECK_EQ_I64(blis_latency_queueing_time(&model, 1000), 792908);
  CHECK_EQ_I64(blis_latency_output_token_time(&model), 45);
  CHECK_EQ_I64(blis_latency_fixed_overhead(&model), 0);
  blis_latency_free(&model);
}

static blis_latency_model blackbox(const char *model, const char *version) {
  blis_coefficients_key key = {"blackbox", model, "H100", 1, version};
  const blis_catalogue_coefficients *found = NULL;
  blis_error error = {0};
  CHECK_OK(blis_catalogue_find_coefficients(catalogue, &key, &found, &error), &error);
  blis_latency_model latency;
  CHECK_OK(blis_blackbox_new(&heap, &found->values, &latency, &error), &error);
  return latency;
}

static void test_blackbox(void) {
  static const struct {
    const char *model;
    const char *version;
    int64_t expected_us[3];
    int64_t queueing_us;
    int64_t token_us;
  } CASES[] = {
      {"meta-llama/llama-3.1-8b-instruct", NULL, {8907, 47016, 31683}, 10326, 0},
      {"meta-llama/llama-3.1-8b-instruct", "v0.8.4", {5800, 41082, 26684}, 1984, 3357},
      {"qwen/qwen3-14b", NULL, {13796, 94360, 61494}, 9072, 0},
  };
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    blis_latency_model model = blackbox(CASES[i].model, CASES[i].version);
    check_batches(&model, CASES[i].expected_us);
    CHECK_EQ_I64(blis_latency_queueing_time(&model, 1000), CASES[i].queueing_us);
    CHECK_EQ_I64(blis_latency_output_token_time(&model), CASES[i].token_us);
    CHECK_EQ_I64(blis_latency_fixed_overhead(&model), 0);
    blis_latency_free(&model);
  }
}

static int64_t piecewise_us(const blis_latency_model *model, int64_t prefill, int64_t decodes) {
  blis_batch_sums sums = {.requests = 1, .prefill_tokens = prefill, .decode_requests = decodes};
  int64_t us = -1;
  CHECK(blis_latency_step_time_from_sums(model, &sums, &us));
  return us;
}

static void test_piecewise(void) {
  static const struct {
    int64_t prefill;
    int64_t decodes;
    int64_t exact_us;
    int64_t whole_ms;
  } CASES[] = {
      {512, 0, 10240, 11}, {1000, 0, 20000, 20}, {5000, 0, 100000, 100}, {0, 1, 12500, 13},
      {0, 2, 15442, 16},   {0, 8, 18750, 19},    {0, 25, 19708, 20},     {0, 32, 19812, 20},
      {0, 63, 19997, 20},  {0, 64, 20000, 20},   {0, 65, 20313, 21},     {0, 128, 40000, 40},
      {512, 8, 18750, 19}, {1000, 1, 20000, 20},
  };
  blis_piecewise_params params = blis_piecewise_defaults();
  blis_latency_model exact;
  blis_latency_model whole;
  blis_error error = {0};
  CHECK_OK(blis_piecewise_new(&heap, &params, &exact, &error), &error);
  params.whole_milliseconds = true;
  CHECK_OK(blis_piecewise_new(&heap, &params, &whole, &error), &error);
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    CHECK_EQ_I64(piecewise_us(&exact, CASES[i].prefill, CASES[i].decodes), CASES[i].exact_us);
    CHECK_EQ_I64(piecewise_us(&whole, CASES[i].prefill, CASES[i].decodes),
                 CASES[i].whole_ms * 1000);
  }
  CHECK_EQ_I64(piecewise_us(&exact, 0, 0), 1);
  CHECK_EQ_I64(blis_latency_queueing_time(&exact, 1000), 0);
  blis_latency_free(&exact);
  blis_latency_free(&whole);
}

typedef blis_status maker(const blis_alloc *alloc, blis_latency_model *model, blis_error *error);

static blis_status make_roofline(const blis_alloc *alloc, blis_latency_model *model,
                                 blis_error *error) {
  blis_model_spec spec = fixture_model(catalogue, "mixtral-8x7b-v0.1");
  blis_hardware_spec hardware = fixture_hardware(catalogue, "H100");
  return blis_roofline_new(alloc, &spec, &hardware, 2, &FIXTURE_FIT, model, error);
}

static blis_status make_trained(const blis_alloc *alloc, blis_latency_model *model,
                                blis_error *error) {
  blis_model_spec spec = fixture_model(catalogue, "qwen3-14b");
  blis_hardware_spec hardware = fixture_hardware(catalogue, "H100");
  blis_parallelism parallelism = {.tp = 1, .dp = 1};
  return blis_trained_physics_new(alloc, &spec, &hardware, &parallelism, &FIXTURE_FIT, model,
                                  error);
}

static blis_status make_blackbox(const blis_alloc *alloc, blis_latency_model *model,
                                 blis_error *error) {
  return blis_blackbox_new(alloc, &FIXTURE_FIT, model, error);
}

static blis_status make_piecewise(const blis_alloc *alloc, blis_latency_model *model,
                                  blis_error *error) {
  blis_piecewise_params params = blis_piecewise_defaults();
  return blis_piecewise_new(alloc, &params, model, error);
}

static void test_out_of_memory_is_an_error(void) {
  static maker *const MAKERS[] = {make_roofline, make_trained, make_blackbox, make_piecewise};
  for (size_t i = 0; i < COUNT_OF(MAKERS); i++) {
    blis_status status = BLIS_ERR_NOMEM;
    for (long fail_at = 1; status != BLIS_OK; fail_at++) {
      CHECK(fail_at < 10);
      blis_alloc_probe probe = {.fail_at = fail_at};
      blis_alloc alloc = blis_alloc_probed(&probe);
      blis_latency_model model = {0};
      status = MAKERS[i](&alloc, &model, NULL);
      CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
      CHECK((model.ops != NULL) == (status == BLIS_OK));
      blis_latency_free(&model);
      blis_latency_free(&model); /* once more does no harm */
      CHECK(probe.live_bytes == 0);
    }
  }
}

static void check_trained_fails(const blis_model_spec *model, const blis_hardware_spec *hardware,
                                int64_t tp, int64_t dp, const char *comm, const char *part) {
  blis_parallelism parallelism = {.tp = tp, .dp = dp, .moe_comm_backend = comm};
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_STATUS(blis_trained_physics_new(&heap, model, hardware, &parallelism, &FIXTURE_FIT,
                                        &latency, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, part);
}

static void test_trained_physics_refuses(void) {
  blis_hardware_spec h100 = fixture_hardware(catalogue, "H100");
  blis_model_spec qwen = fixture_model(catalogue, "qwen2.5-7b-instruct");
  blis_model_spec mixtral = fixture_model(catalogue, "mixtral-8x7b-v0.1");
  check_trained_fails(&qwen, &h100, 8, 1, "", "kv_heads (4)");
  check_trained_fails(&qwen, &h100, 0, 1, "", "tp must be from 1");
  check_trained_fails(&qwen, &h100, 1, 0, "", "dp must be from 1");
  check_trained_fails(&qwen, &h100, 1, 2, "", "dp must be 1 for a dense");
  check_trained_fails(&mixtral, &h100, 1, 2, "pigeon", "flashinfer_all2allv");
  blis_model_spec broken = qwen;
  broken.intermediate_size = 0;
  check_trained_fails(&broken, &h100, 1, 1, "", "intermediate_size is missing");
  broken = mixtral;
  broken.experts_per_token = 0;
  check_trained_fails(&broken, &h100, 1, 1, "", "experts_per_token");
  blis_hardware_spec slow = h100;
  slow.bandwidth_tb_s = 0.0;
  check_trained_fails(&qwen, &slow, 1, 1, "", "bandwidth_tb_s is missing");
}

static void test_roofline_reports_everything_at_once(void) {
  blis_hardware_spec nothing = {.name = "abacus"};
  blis_model_spec model = fixture_model(catalogue, "qwen3-14b");
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_STATUS(blis_roofline_new(&heap, &model, &nothing, 1, &FIXTURE_FIT, &latency, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "hardware abacus: peak_tflops is missing");
  CHECK_CONTAINS(error.message, "mfu_decode is missing");
  model = (blis_model_spec){.name = "void"};
  CHECK_STATUS(blis_roofline_new(&heap, &model, &nothing, 1, &FIXTURE_FIT, &latency, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "model void: layers is missing");
  CHECK_CONTAINS(error.message, "bytes_per_param");
}

static void test_coefficients_are_checked(void) {
  const double negative[] = {1.0, -2.0, 3.0};
  const blis_coefficients few = {FIXTURE_ALPHA, 3, FIXTURE_BETA, 2};
  const blis_coefficients bad = {negative, 3, FIXTURE_BETA, 3};
  const blis_coefficients none = {NULL, 0, FIXTURE_BETA, 3};
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_STATUS(blis_blackbox_new(&heap, &few, &latency, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "got 2");
  CHECK_STATUS(blis_blackbox_new(&heap, &bad, &latency, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "alpha[1]");
  CHECK_STATUS(blis_blackbox_new(&heap, &none, &latency, &error), BLIS_ERR_INVALID);
  blis_piecewise_params params = blis_piecewise_defaults();
  params.decode_saturation_batch = 0.5;
  CHECK_STATUS(blis_piecewise_new(&heap, &params, &latency, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "decode_saturation_batch");
}

static void test_one_expert_is_a_dense_model(void) {
  blis_model_spec model = fixture_model(catalogue, "qwen3-14b");
  blis_hardware_spec hardware = fixture_hardware(catalogue, "H100");
  model.experts = 1;
  model.experts_per_token = 2;
  blis_latency_model one;
  blis_error error = {0};
  CHECK_OK(blis_roofline_new(&heap, &model, &hardware, 1, &FIXTURE_FIT, &one, &error), &error);
  CHECK_EQ_I64(step_us(&one, BATCH_MIXED, COUNT_OF(BATCH_MIXED)), 54464);
  blis_latency_free(&one);
}

int main(void) {
  heap = blis_alloc_heap();
  catalogue = fixture_catalogue(&heap);
  RUN(test_sums_of_the_known_batches);
  RUN(test_sums_stay_at_the_largest_number);
  RUN(test_requests_are_classified);
  RUN(test_worked_examples);
  RUN(test_roofline_as_built);
  RUN(test_data_parallel_experts);
  RUN(test_single_steps);
  RUN(test_a_batch_of_decodes_moves_on_by_its_sums);
  RUN(test_times_outside_of_the_step);
  RUN(test_blackbox);
  RUN(test_piecewise);
  RUN(test_out_of_memory_is_an_error);
  RUN(test_trained_physics_refuses);
  RUN(test_roofline_reports_everything_at_once);
  RUN(test_coefficients_are_checked);
  RUN(test_one_expert_is_a_dense_model);
  blis_catalogue_free(catalogue);
  return check_done();
}
