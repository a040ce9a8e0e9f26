/*
 * Prints what one step-time evaluation from sums costs, per latency model, for
 * a pure decode batch and for one with prefills: the mean of the fastest round,
 * since other programs can only make it slower.
 */
#include <math.h>
#include <time.h>

#include "latency/create.h"
#include "latency/step/blackbox.h"
#include "latency/step/piecewise.h"
#include "latency/step/roofline.h"
#include "latency/step/trained_physics.h"
#include "latency_fixture.h"

enum { ROUNDS = 100, EVALUATIONS = 20000 };

static const blis_batch_sums DECODES = {
    .requests = 128, .decode_requests = 128, .decode_context_tokens = 90000};
static const blis_batch_sums MIXED = {.requests = 128,
                                      .decode_requests = 126,
                                      .decode_context_tokens = 90000,
                                      .prefill_tokens = 1800,
                                      .prefill_attention = 5000000,
                                      .prefill_pairs = 3240000,
                                      .prefill_context_tokens = 300};

static double now_ns(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double round_ns(const blis_latency_model *model, blis_batch_sums sums) {
  const int64_t first = sums.decode_context_tokens;
  int64_t total_us = 0;
  double start = now_ns();
  for (int i = 0; i < EVALUATIONS; i++) {
    int64_t us = 0;
    total_us += blis_latency_step_time_from_sums(model, &sums, &us) ? us : 0;
    sums.decode_context_tokens += sums.decode_requests;
    if (sums.decode_context_tokens > 3 * first) {
      sums.decode_context_tokens = first;
    }
  }
  double spent = now_ns() - start;
  CHECK(total_us > 0); /* and the loop is not optimised away */
  return spent / EVALUATIONS;
}

static double measure_ns(const blis_latency_model *model, blis_batch_sums sums) {
  double fastest = round_ns(model, sums);
  for (int i = 1; i < ROUNDS; i++) {
    fastest = fmin(fastest, round_ns(model, sums));
  }
  return fastest;
}

static void report(const char *name, blis_latency_model *model) {
  printf("%-34s %6.1f ns decode  %6.1f ns mixed\n", name, measure_ns(model, DECODES),
         measure_ns(model, MIXED));
  blis_latency_free(model);
}

static void report_roofline(const char *name, const blis_alloc *alloc, const blis_model_spec *model,
                            const blis_hardware_spec *hardware, int64_t tp) {
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_OK(blis_roofline_new(alloc, model, hardware, tp, &FIXTURE_FIT, &latency, &error), &error);
  report(name, &latency);
}

static void report_trained(const char *name, const blis_alloc *alloc, const blis_model_spec *model,
                           const blis_hardware_spec *hardware, int64_t tp, int64_t dp) {
  blis_parallelism parallelism = {.tp = tp, .dp = dp};
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_OK(blis_trained_physics_new(alloc, model, hardware, &parallelism, &FIXTURE_FIT, &latency,
                                    &error),
           &error);
  report(name, &latency);
}

/* With the coefficients that are shipped. */
static void report_calibrated(const char *name, const blis_alloc *alloc,
                              const blis_catalogue *catalogue, const blis_model_spec *model,
                              const blis_hardware_spec *hardware, int64_t tp, int64_t dp) {
  blis_latency_config config = {.kind = "calibrated",
                                .model = model,
                                .hardware = hardware,
                                .parallelism = {.tp = tp, .dp = dp},
                                .catalogue = catalogue};
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_OK(blis_latency_create(alloc, &config, &latency, &error), &error);
  report(name, &latency);
}

int main(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  blis_model_spec dense = fixture_model(catalogue, "qwen3-14b");
  blis_model_spec moe = fixture_model(catalogue, "mixtral-8x7b-v0.1");
  blis_hardware_spec h100 = fixture_hardware(catalogue, "H100");
  blis_piecewise_params params = blis_piecewise_defaults();
  blis_latency_model latency;
  blis_error error = {0};
  CHECK_OK(blis_blackbox_new(&heap, &FIXTURE_FIT, &latency, &error), &error);
  report("blackbox", &latency);
  CHECK_OK(blis_piecewise_new(&heap, &params, &latency, &error), &error);
  report("piecewise", &latency);
  report_roofline("roofline, dense", &heap, &dense, &h100, 1);
  report_roofline("roofline, dense, TP 3", &heap, &dense, &h100, 3);
  report_roofline("roofline, MoE, TP 2", &heap, &moe, &h100, 2);
  report_trained("trained-physics, dense", &heap, &dense, &h100, 1, 1);
  report_trained("trained-physics, dense, TP 2", &heap, &dense, &h100, 2, 1);
  report_trained("trained-physics, MoE, TP 2", &heap, &moe, &h100, 2, 1);
  report_trained("trained-physics, MoE, TP 2, DP 3", &heap, &moe, &h100, 2, 3);
  report_calibrated("calibrated, dense", &heap, catalogue, &dense, &h100, 1, 1);
  report_calibrated("calibrated, dense, TP 2", &heap, catalogue, &dense, &h100, 2, 1);
  report_calibrated("calibrated, MoE, TP 2", &heap, catalogue, &moe, &h100, 2, 1);
  report_calibrated("calibrated, MoE, TP 2, DP 3", &heap, catalogue, &moe, &h100, 2, 3);
  blis_catalogue_free(catalogue);
  return 0;
}
