/*
 * A model's config.json: it is refused, or everything that is made of a model
 * works: capacity, step times, warnings.
 */
#include "latency/model/model_config.h"

#include "fuzz.h"
#include "latency/create.h"
#include "latency/kv/kv_capacity.h"

static const blis_hardware_spec GPU = {.name = "GPU",
                                       .peak_tflops = 989.5,
                                       .fp8_tflops = 1979.0,
                                       .bandwidth_tb_s = 3.35,
                                       .mfu_prefill = 0.45,
                                       .mfu_decode = 0.3,
                                       .memory_gib = 80.0};

static const double ALPHA[] = {100.0, 1.0, 10.0};
static const double BETA[] = {0.1, 0.2, 1.0, 0.7, 32.0, 4.0, 126.0};

/* {progress, new, prompt, output} */
static const blis_batch_item BATCH[] = {
    {0, 700, 700, 100}, {1024, 512, 2048, 100}, {600, 1, 512, 128}};

enum { BATCH_SIZE = sizeof BATCH / sizeof *BATCH };

static void check_text(const char *text, size_t size) {
  FUZZ_NEED(memchr(text, '\0', size) != NULL);
}

static void check_capacity(const blis_model_spec *spec, int64_t tp) {
  blis_error error = {0};
  blis_kv_capacity capacity;
  const blis_kv_capacity_config config = {.model = spec,
                                          .hardware = &GPU,
                                          .tp = tp,
                                          .dp = 1,
                                          .block_size_tokens = 16,
                                          .memory_utilization = 0.9};
  blis_status status = blis_kv_capacity_compute(&config, &capacity, &error);
  fuzz_check(status, &error);
  if (status == BLIS_OK) {
    FUZZ_NEED(capacity.blocks > 0 && capacity.params > 0);
    FUZZ_NEED(capacity.bytes_per_block > 0 && capacity.weight_bytes >= 0);
  }
}

static void check_steps(const blis_alloc *alloc, const blis_latency_config *config) {
  blis_error error = {0};
  blis_latency_model model;
  blis_status status = blis_latency_create(alloc, config, &model, &error);
  fuzz_check(status, &error);
  if (status != BLIS_OK) {
    return;
  }
  for (size_t count = 0; count <= BATCH_SIZE; count++) {
    int64_t plain = 0;
    int64_t from_sums = 0;
    FUZZ_NEED(blis_latency_step_time(&model, BATCH, count, &plain, &error) == BLIS_OK);
    FUZZ_NEED(plain >= 1);
    blis_batch_sums sums = blis_batch_sums_of(BATCH, count);
    if (blis_latency_step_time_from_sums(&model, &sums, &from_sums)) {
      FUZZ_NEED(plain == from_sums);
    }
  }
  blis_latency_free(&model);
}

static void ignore_warning(void *ud, const char *text) {
  (void)ud;
  FUZZ_NEED(text[0] != '\0');
}

static void use(const blis_alloc *alloc, const blis_model_spec *spec) {
  check_text(spec->name, sizeof spec->name);
  check_text(spec->activation, sizeof spec->activation);
  check_text(spec->quantization, sizeof spec->quantization);
  static const char *const KINDS[] = {"roofline", "trained-physics"};
  for (int64_t tp = 1; tp <= 8; tp *= 2) {
    check_capacity(spec, tp);
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
      blis_latency_config config = {
          .kind = KINDS[i],
          .model = spec,
          .hardware = &GPU,
          .parallelism = {.tp = tp, .dp = 1},
      };
      if (i == 1) {
        config.coefficients = (blis_coefficients){ALPHA, 3, BETA, sizeof BETA / sizeof *BETA};
      }
      check_steps(alloc, &config);
      blis_latency_warnings(&config, ignore_warning, NULL);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_error error = {0};
  blis_model_spec spec = {0};
  blis_status status = blis_model_config_parse(&alloc, "fuzz/config.json", fuzz_slice(data, size),
                                               "fuzz", &spec, &error);
  fuzz_check(status, &error);
  if (status == BLIS_OK) {
    use(&alloc, &spec);
  }
  FUZZ_NEED(memory.live_bytes == 0);
  return 0;
}
