/*
 * Every answer from sums equals the plain evaluation: a million random batches
 * over all models, GPUs and degrees, some of them odd.
 */
#include "base/random.h"
#include "latency/step/blackbox.h"
#include "latency/step/calibrated.h"
#include "latency/step/piecewise.h"
#include "latency/step/roofline.h"
#include "latency/step/trained_physics.h"
#include "latency_fixture.h"

enum { BATCH_MAX = 48, CASES_PER_MODEL = 1000, VARIANTS = 1000 };
enum { RUNS_PER_MODEL = 40 };

static blis_alloc heap;
static blis_catalogue *catalogue;
static blis_random random_stream;

static int64_t draw(int32_t least, int32_t most) {
  return least + blis_random_intn(&random_stream, most - least + 1);
}

static blis_batch_item random_prefill(void) {
  int64_t prompt = draw(1, draw(0, 1) ? 200 : 8192);
  int64_t progress = draw(0, 1) ? 0 : draw(0, (int32_t)prompt - 1);
  int64_t left = prompt - progress;
  return (blis_batch_item){progress, draw(1, (int32_t)left), prompt, draw(0, 500)};
}

static blis_batch_item random_decode(void) {
  int64_t prompt = draw(1, 4096);
  return (blis_batch_item){prompt + draw(0, 3000), 1, prompt, draw(0, 50) == 0 ? 0 : draw(1, 500)};
}

static size_t random_batch(blis_batch_item items[BATCH_MAX]) {
  size_t count = (size_t)draw(0, draw(0, 3) == 0 ? BATCH_MAX : 12);
  int64_t prefills_of_ten = draw(0, 2) == 0 ? 0 : draw(0, 10);
  for (size_t i = 0; i < count; i++) {
    items[i] = draw(1, 10) <= prefills_of_ten ? random_prefill() : random_decode();
  }
  return count;
}

/* Steps in a row are as they are one by one. */
static void compare_decode_times(const blis_latency_model *model) {
  int64_t decodes = draw(1, 300);
  int64_t context = decodes * draw(1, 4000) + draw(0, 5000);
  int64_t together[100];
  size_t asked = (size_t)draw(1, 100);
  size_t told = blis_latency_decode_times(model, decodes, context, asked, together);
  CHECK(told <= asked);
  blis_batch_sums sums = {
      .requests = decodes, .decode_requests = decodes, .decode_context_tokens = context};
  for (size_t i = 0; i < told; i++) {
    int64_t alone = -1;
    CHECK(blis_latency_step_time_from_sums(model, &sums, &alone));
    CHECK_EQ_I64(together[i], alone);
    sums.decode_context_tokens += decodes;
  }
}

/* Returns how many batches had to be evaluated request by request. */
static int compare(const blis_latency_model *model) {
  int unanswered = 0;
  for (int i = 0; i < RUNS_PER_MODEL; i++) {
    compare_decode_times(model);
  }
  for (int i = 0; i < CASES_PER_MODEL; i++) {
    blis_batch_item items[BATCH_MAX];
    size_t count = random_batch(items);
    blis_batch_sums sums = blis_batch_sums_of(items, count);
    int64_t plain = -1;
    int64_t from_sums = -1;
    CHECK(blis_latency_step_time(model, items, count, &plain, NULL) == BLIS_OK);
    if (blis_latency_step_time_from_sums(model, &sums, &from_sums)) {
      CHECK_EQ_I64(from_sums, plain);
    } else {
      unanswered++;
    }
  }
  return unanswered;
}

static blis_model_spec random_model(void) {
  size_t count = blis_catalogue_model_count(catalogue);
  const blis_catalogue_model *model;
  do {
    model = blis_catalogue_model_at(catalogue, (size_t)draw(0, (int32_t)count - 1));
  } while (!model->has_dimensions);
  blis_model_spec spec = model->spec;
  static const double WEIGHT_BYTES[] = {0.0, 0.375, 0.5, 1.0, 2.0, 0.3};
  spec.weight_bytes_per_param = WEIGHT_BYTES[draw(0, 5)];
  spec.interleave_moe_layer_step = draw(0, 3);
  if (draw(0, 3) == 0) {
    spec.shared_expert_intermediate_size = draw(1, 6000);
    spec.dense_intermediate_size = 9000;
  }
  if (draw(0, 5) == 0) {
    spec.hidden_size += draw(1, 63); /* heads of a fractional width */
  }
  spec.counts_as_built = draw(0, 1) == 1;
  return spec;
}

static blis_hardware_spec random_hardware(void) {
  static const char *const NAMES[] = {"H100", "A100-80", "L40S"};
  return fixture_hardware(catalogue, NAMES[draw(0, 2)]);
}

static void random_betas(double beta[BLIS_TRAINED_PHYSICS_BETA_MAX]) {
  memcpy(beta, FIXTURE_BETA, sizeof FIXTURE_BETA);
  if (draw(0, 1) == 0) {
    for (int i = 0; i < BLIS_TRAINED_PHYSICS_BETA_MAX; i++) {
      beta[i] = (double)draw(0, 1000000) / 10007.0;
    }
  }
}

static void test_roofline(void) {
  int unanswered = 0;
  for (int i = 0; i < VARIANTS * 6 / 10; i++) {
    blis_model_spec model = random_model();
    blis_hardware_spec hardware = random_hardware();
    blis_latency_model latency;
    blis_error error = {0};
    CHECK_OK(
        blis_roofline_new(&heap, &model, &hardware, draw(1, 8), &FIXTURE_FIT, &latency, &error),
        &error);
    unanswered += compare(&latency);
    blis_latency_free(&latency);
  }
  CHECK(unanswered < VARIANTS * CASES_PER_MODEL / 1000);
}

static void test_trained_physics(void) {
  static const char *const BACKENDS[] = {"", "naive", "pplx", "mori"};
  for (int i = 0; i < VARIANTS * 3 / 10;) {
    blis_model_spec model = random_model();
    blis_hardware_spec hardware = random_hardware();
    blis_parallelism parallelism = {.tp = draw(1, 8),
                                    .dp = blis_model_spec_is_moe(&model) ? draw(1, 4) : 1,
                                    .moe_comm_backend = BACKENDS[draw(0, 3)]};
    double beta[BLIS_TRAINED_PHYSICS_BETA_MAX];
    random_betas(beta);
    blis_coefficients coefficients = {FIXTURE_ALPHA, 3, beta, (size_t)draw(7, 11)};
    blis_latency_model latency;
    if (blis_trained_physics_new(&heap, &model, &hardware, &parallelism, &coefficients, &latency,
                                 NULL) != BLIS_OK) {
      continue; /* TP does not divide its heads */
    }
    CHECK_EQ_I64(compare(&latency), 0);
    blis_latency_free(&latency);
    i++;
  }
}

static void random_shares(double beta[BLIS_CALIBRATED_BETA_COUNT]) {
  for (int i = 0; i < BLIS_CALIBRATED_BETA_COUNT; i++) {
    double number = (double)draw(1, 10007) / 10007.0;
    beta[i] = i <= BLIS_CALIBRATED_FP8 ? number : number * 100.0;
  }
}

static void test_calibrated(void) {
  for (int i = 0; i < VARIANTS * 3 / 10;) {
    blis_model_spec model = random_model();
    blis_hardware_spec hardware = random_hardware();
    blis_parallelism parallelism = {.tp = draw(1, 8),
                                    .dp = blis_model_spec_is_moe(&model) ? draw(1, 4) : 1};
    double beta[BLIS_CALIBRATED_BETA_COUNT];
    random_shares(beta);
    blis_coefficients coefficients = {FIXTURE_ALPHA, 3, beta, BLIS_CALIBRATED_BETA_COUNT};
    blis_latency_model latency;
    if (blis_calibrated_new(&heap, &model, &hardware, &parallelism, &coefficients, NULL, &latency,
                            NULL) != BLIS_OK) {
      continue; /* TP does not divide its heads */
    }
    CHECK_EQ_I64(compare(&latency), 0);
    blis_latency_free(&latency);
    i++;
  }
}

static void test_blackbox_and_piecewise(void) {
  blis_latency_model latency;
  for (int i = 0; i < VARIANTS / 20; i++) {
    double beta[BLIS_TRAINED_PHYSICS_BETA_MAX];
    random_betas(beta);
    blis_coefficients coefficients = {FIXTURE_ALPHA, 3, beta, 3};
    CHECK(blis_blackbox_new(&heap, &coefficients, &latency, NULL) == BLIS_OK);
    CHECK_EQ_I64(compare(&latency), 0);
    blis_latency_free(&latency);
    blis_piecewise_params params = blis_piecewise_defaults();
    params.prefill_tokens_per_sec = (double)draw(1, 100000);
    params.whole_milliseconds = draw(0, 1) == 0;
    CHECK(blis_piecewise_new(&heap, &params, &latency, NULL) == BLIS_OK);
    CHECK_EQ_I64(compare(&latency), 0);
    blis_latency_free(&latency);
  }
}

/* Numbers no cluster has: no answer from sums, or the same one. */
static void test_absurd_batches(void) {
  blis_model_spec model = fixture_model(catalogue, "mixtral-8x7b-v0.1");
  blis_hardware_spec hardware = fixture_hardware(catalogue, "H100");
  blis_parallelism odd = {.tp = 1, .dp = 3};
  blis_parallelism even = {.tp = 4, .dp = 2};
  blis_latency_model models[4];
  blis_error error = {0};
  CHECK_OK(blis_roofline_new(&heap, &model, &hardware, 1, &FIXTURE_FIT, &models[0], &error),
           &error);
  CHECK_OK(
      blis_trained_physics_new(&heap, &model, &hardware, &odd, &FIXTURE_FIT, &models[1], &error),
      &error);
  CHECK_OK(
      blis_trained_physics_new(&heap, &model, &hardware, &even, &FIXTURE_FIT, &models[2], &error),
      &error);
  double beta[BLIS_CALIBRATED_BETA_COUNT];
  random_shares(beta);
  blis_coefficients coefficients = {FIXTURE_ALPHA, 3, beta, BLIS_CALIBRATED_BETA_COUNT};
  CHECK_OK(
      blis_calibrated_new(&heap, &model, &hardware, &even, &coefficients, NULL, &models[3], &error),
      &error);
  for (int i = 0; i < 20000; i++) {
    blis_batch_item items[3];
    for (int j = 0; j < 3; j++) {
      int64_t prompt = (blis_random_int63(&random_stream) >> draw(0, 62)) | 1;
      items[j] = draw(0, 1) ? (blis_batch_item){0, prompt, prompt, 1}
                            : (blis_batch_item){prompt, 1, prompt, 1};
    }
    for (size_t j = 0; j < COUNT_OF(models); j++) {
      CHECK(step_us(&models[j], items, 3) >= 1);
    }
  }
  for (size_t j = 0; j < COUNT_OF(models); j++) {
    blis_latency_free(&models[j]);
  }
}

int main(void) {
  heap = blis_alloc_heap();
  catalogue = fixture_catalogue(&heap);
  blis_random_init(&random_stream, 20260822);
  RUN(test_roofline);
  RUN(test_trained_physics);
  RUN(test_calibrated);
  RUN(test_blackbox_and_piecewise);
  RUN(test_absurd_batches);
  blis_catalogue_free(catalogue);
  return check_done();
}
