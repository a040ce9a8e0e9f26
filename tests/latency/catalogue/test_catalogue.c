/* The shipped data, users' own additions to it, and models made from both. */
#include "latency/catalogue/catalogue.h"

#include "latency/create.h"
#include "latency_fixture.h"

static blis_alloc heap;

static blis_status add(blis_catalogue *catalogue, const char *text, blis_error *error) {
  return blis_catalogue_add_yaml(catalogue, "own.yaml", text, strlen(text), error);
}

static void test_models_by_all_their_names(void) {
  static const char *const NAMES[] = {"meta-llama/llama-3.1-8b-instruct",
                                      "meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b-instruct",
                                      "mirror/llama-3.1-8b-instruct", "a/b/LLAMA-3.1-8B-INSTRUCT"};
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  for (size_t i = 0; i < COUNT_OF(NAMES); i++) {
    const blis_catalogue_model *model;
    blis_error error = {0};
    CHECK_OK(blis_catalogue_find_model(catalogue, NAMES[i], &model, &error), &error);
    CHECK_STR(model->id, "meta-llama/llama-3.1-8b-instruct");
    CHECK_STR(model->name, "llama-3.1-8b-instruct");
    CHECK_STR(model->hardware, "H100");
    CHECK_STR(model->source, "data/models/dense.yaml");
    CHECK_EQ_I64(model->tp, 1);
    CHECK_EQ_I64(model->spec.layers, 32);
  }
  blis_catalogue_free(catalogue);
}

static void test_every_shipped_entry(void) {
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  size_t with_dimensions = 0;
  for (size_t i = 0; i < blis_catalogue_model_count(catalogue); i++) {
    const blis_catalogue_model *model = blis_catalogue_model_at(catalogue, i);
    with_dimensions += model->has_dimensions;
    CHECK((model->tp > 0) == (model->hardware[0] != '\0'));
    CHECK(model->has_dimensions || model->tp > 0);
  }
  CHECK_EQ_I64(with_dimensions, 14);
  CHECK_EQ_I64(blis_catalogue_model_count(catalogue), 39);
  CHECK_EQ_I64(blis_catalogue_hardware_count(catalogue), 24);
  CHECK_EQ_I64(blis_catalogue_coefficients_count(catalogue), 34);
  blis_catalogue_free(catalogue);
}

static void test_a_model_without_dimensions_asks_for_its_config(void) {
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  const blis_model_spec *spec;
  blis_error error = {0};
  CHECK_STATUS(
      blis_catalogue_find_model_spec(catalogue, "meta-llama/llama-3.3-70b-instruct", &spec, &error),
      BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "config.json is needed");
  blis_catalogue_free(catalogue);
}

static void test_unknown_names_get_suggestions(void) {
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  const blis_catalogue_model *model;
  const blis_catalogue_hardware *hardware;
  blis_error error = {0};
  CHECK_STATUS(blis_catalogue_find_model(catalogue, "qwen/qwen-3-14b", &model, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "did you mean 'qwen3-14b'?");
  CHECK_STATUS(blis_catalogue_find_model(catalogue, "mistral-9000b", &model, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "mistral-nemo-instruct-2407");
  CHECK_CONTAINS(error.message, "config.json");
  CHECK_STATUS(blis_catalogue_find_model(catalogue, "zzz", &model, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "...");
  CHECK_STATUS(blis_catalogue_find_hardware(catalogue, "Z80", &hardware, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message,
                 "'Z80'; known are A100-PCIe-40, A100-PCIe-80, A100-SXM, A100-SXM-40, A10G, B200");
  blis_catalogue_free(catalogue);
}

static void test_hardware_by_all_its_names(void) {
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  CHECK_EQ_DOUBLE(fixture_hardware(catalogue, "h100").price_per_hour, 3.5);
  CHECK_EQ_DOUBLE(fixture_hardware(catalogue, "H100Sxm").peak_tflops, 989.5);
  CHECK_EQ_DOUBLE(fixture_hardware(catalogue, "A100-80").mfu_decode, 0.18);
  CHECK_EQ_DOUBLE(fixture_hardware(catalogue, "A100Sxm80").price_per_hour, 2.0);
  CHECK_EQ_DOUBLE(fixture_hardware(catalogue, "l40s").memory_gib, 48.0);
  blis_catalogue_free(catalogue);
}

/* GPUs that results depended on before the catalog had its other members. */
static void test_values_of_the_first_gpus_stay(void) {
  static const struct {
    const char *name;
    double peak, fp8, bandwidth, prefill, decode, memory;
  } FIRST[] = {{"H100", 989.5, 1979.0, 3.35, 0.45, 0.30, 80.0},
               {"A100-SXM", 312.0, 0.0, 2.039, 0.38, 0.18, 80.0},
               {"L40S", 362.05, 1466.0, 0.864, 0.32, 0.08, 48.0},
               {"H200", 989.5, 1979.0, 4.8, 0.45, 0.30, 141.0},
               {"RTX PRO 6000", 503.8, 1007.6, 1.792, 0.32, 0.08, 96.0},
               {"RTX 4090", 165.2, 330.3, 1.008, 0.32, 0.08, 24.0},
               {"B200", 2250.0, 4500.0, 7.7, 0.45, 0.30, 180.0},
               {"MI300X", 1307.4, 2614.9, 5.3, 0.45, 0.30, 192.0},
               {"L4", 121.0, 242.5, 0.3, 0.32, 0.08, 24.0},
               {"A10G", 70.0, 0.0, 0.6, 0.32, 0.08, 24.0}};
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  for (size_t i = 0; i < COUNT_OF(FIRST); i++) {
    blis_hardware_spec spec = fixture_hardware(catalogue, FIRST[i].name);
    CHECK_EQ_DOUBLE(spec.peak_tflops, FIRST[i].peak);
    CHECK_EQ_DOUBLE(spec.fp8_tflops, FIRST[i].fp8);
    CHECK_EQ_DOUBLE(spec.bandwidth_tb_s, FIRST[i].bandwidth);
    CHECK_EQ_DOUBLE(spec.mfu_prefill, FIRST[i].prefill);
    CHECK_EQ_DOUBLE(spec.mfu_decode, FIRST[i].decode);
    CHECK_EQ_DOUBLE(spec.memory_gib, FIRST[i].memory);
  }
  blis_catalogue_free(catalogue);
}

/* Every GPU has what capacity, step times, and cost need, and a plausible relation of it. */
static void test_every_gpu_is_complete(void) {
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  for (size_t i = 0; i < blis_catalogue_hardware_count(catalogue); i++) {
    const blis_catalogue_hardware *one = blis_catalogue_hardware_at(catalogue, i);
    const blis_hardware_spec *gpu = &one->spec;
    if (strcmp(one->name, "custom") == 0) {
      continue;
    }
    CHECK(gpu->peak_tflops > 0.0 && gpu->bandwidth_tb_s > 0.0 && gpu->int8_tops > 0.0);
    CHECK(gpu->mfu_prefill > 0.0 && gpu->mfu_decode > 0.0);
    CHECK(gpu->fp8_tflops == 0.0 || gpu->fp8_tflops > 1.9 * gpu->peak_tflops);
    CHECK(gpu->fp4_tflops == 0.0 || gpu->fp4_tflops > 1.9 * gpu->fp8_tflops);
    CHECK(gpu->usable_gib > 0.9 * gpu->memory_gib && gpu->usable_gib <= gpu->memory_gib);
    CHECK(gpu->link[0] != '\0' && gpu->link_gb_s >= 64.0);
    CHECK(gpu->price_per_hour > 0.0 && strstr(gpu->price_source, "20") != NULL);
    for (size_t j = 0; j < one->alias_count; j++) { /* no alias means another GPU */
      const blis_catalogue_hardware *found;
      blis_error error = {0};
      CHECK_OK(blis_catalogue_find_hardware(catalogue, one->aliases[j], &found, &error), &error);
      CHECK(found == one);
    }
  }
  CHECK_EQ_DOUBLE(fixture_hardware(catalogue, "gb300").fp4_tflops, 15000.0);
  CHECK_EQ_DOUBLE(blis_hardware_spec_usable_gib(&(blis_hardware_spec){.memory_gib = 7.0}), 7.0);
  blis_catalogue_free(catalogue);
}

/* A deferred text is read on the first miss, and entries of other texts win. */
static void test_deferred_texts(void) {
  static const char FIRST[] = "hardware:\n  - {name: A, memory_gib: 1}\n";
  static const char LATER[] = "hardware:\n  - {name: a, memory_gib: 2}\n"
                              "  - {name: B, memory_gib: 3}\n"
                              "models:\n  - {id: o/m, hardware: B, tp: 1}\n";
  static const char BAD[] = "hardware: 7\n";
  blis_error error = {0};
  blis_catalogue *catalogue = blis_catalogue_new(&heap);
  CHECK_STATUS(blis_catalogue_defer_yaml(catalogue, "later.yaml", LATER, strlen(LATER)), BLIS_OK);
  CHECK_OK(blis_catalogue_add_yaml(catalogue, "first.yaml", FIRST, strlen(FIRST), &error), &error);
  CHECK_EQ_DOUBLE(fixture_hardware(catalogue, "A").memory_gib, 1.0);
  CHECK_EQ_I64(blis_catalogue_hardware_count(catalogue), 1);
  const blis_catalogue_model *model;
  CHECK_OK(blis_catalogue_find_model(catalogue, "m", &model, &error), &error);
  CHECK_STR(model->source, "later.yaml");
  CHECK_EQ_DOUBLE(fixture_hardware(catalogue, "b").memory_gib, 3.0);
  CHECK_EQ_DOUBLE(fixture_hardware(catalogue, "a").memory_gib, 1.0);
  CHECK_OK(blis_catalogue_read_deferred(catalogue, &error), &error);
  CHECK_EQ_I64(blis_catalogue_hardware_count(catalogue), 2);
  CHECK_STR(blis_catalogue_hardware_at(catalogue, 0)->name, "B");
  CHECK_STATUS(blis_catalogue_defer_yaml(catalogue, "bad.yaml", BAD, strlen(BAD)), BLIS_OK);
  CHECK_STATUS(blis_catalogue_find_model(catalogue, "none", &model, &error), BLIS_ERR_PARSE);
  CHECK_CONTAINS(error.message, "bad.yaml");
  blis_catalogue_free(catalogue);
}

/* Deferred coefficients are read when their kind is looked up. They precede entries that were
   added after them, and equal keys of other texts win. */
static void test_deferred_coefficients(void) {
  static const char LATER[] =
      "coefficients:\n"
      "  - {kind: blackbox, model: m, alpha: [1, 1, 1], beta: [1, 1, 1]}\n"
      "  - {kind: blackbox, model: m, version: v1, alpha: [2, 2, 2], beta: [2, 2, 2]}\n"
      "  - {kind: blackbox, alpha: [3, 3, 3], beta: [3, 3, 3]}\n";
  static const char OWN[] = "coefficients:\n"
                            "  - {kind: blackbox, model: m, alpha: [7, 7, 7], beta: [7, 7, 7]}\n";
  static const char BAD[] = "coefficients: 7\n";
  static const blis_coefficients_key KEYS[] = {{.kind = "Blackbox", .model = "m"},
                                               {.kind = "blackbox", .model = "m", .version = "v1"},
                                               {.kind = "blackbox", .model = "other"}};
  static const double FOUND[] = {7.0, 2.0, 3.0};
  blis_error error = {0};
  blis_catalogue *catalogue = blis_catalogue_new(&heap);
  CHECK_STATUS(
      blis_catalogue_defer_coefficients(catalogue, "calibrated", "bad.yaml", BAD, strlen(BAD)),
      BLIS_OK);
  CHECK_STATUS(
      blis_catalogue_defer_coefficients(catalogue, "blackbox", "later.yaml", LATER, strlen(LATER)),
      BLIS_OK);
  CHECK_OK(blis_catalogue_add_yaml(catalogue, "own.yaml", OWN, strlen(OWN), &error), &error);
  CHECK_EQ_I64(blis_catalogue_coefficients_count(catalogue), 1);
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    const blis_catalogue_coefficients *found = NULL;
    CHECK_OK(blis_catalogue_find_coefficients(catalogue, &KEYS[i], &found, &error), &error);
    CHECK_EQ_DOUBLE(found->values.alpha[0], FOUND[i]);
  }
  CHECK_EQ_I64(blis_catalogue_coefficients_count(catalogue), 3);
  CHECK_STR(blis_catalogue_coefficients_at(catalogue, 2)->source, "own.yaml");
  const blis_catalogue_coefficients *found = NULL;
  const blis_coefficients_key bad = {.kind = "calibrated"};
  CHECK_STATUS(blis_catalogue_find_coefficients(catalogue, &bad, &found, &error), BLIS_ERR_PARSE);
  CHECK_CONTAINS(error.message, "bad.yaml");
  blis_catalogue_free(catalogue);
}

static void test_a_later_text_replaces_an_earlier_one(void) {
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  size_t models = blis_catalogue_model_count(catalogue);
  blis_error error = {0};
  CHECK_OK(add(catalogue,
               "models:\n"
               "  - {id: QWEN/Qwen3-14B, aliases: [fourteen], tp: 2, layers: 2,"
               " hidden_size: 64, attention_heads: 4, bytes_per_param: 2,"
               " tie_word_embeddings: yes}\n"
               "hardware:\n"
               "  - {name: h100, memory_gib: 94}\n"
               "  - {name: B200, peak_tflops: 2250}\n"
               "coefficients:\n"
               "  - {kind: trained-physics, alpha: [1, 2, 3], hardware: B200,"
               " beta: [1, 1, 1, 1, 1, 1, 1]}\n",
               &error),
           &error);
  CHECK_EQ_I64(blis_catalogue_model_count(catalogue), models);
  blis_model_spec spec = fixture_model(catalogue, "fourteen");
  CHECK_EQ_I64(spec.layers, 2);
  CHECK(spec.tie_word_embeddings);
  CHECK_EQ_DOUBLE(fixture_hardware(catalogue, "H100").memory_gib, 94.0);
  const blis_catalogue_coefficients *found;
  blis_coefficients_key key = {"trained-physics", "fourteen", "B200", 1, NULL};
  CHECK_OK(blis_catalogue_find_coefficients(catalogue, &key, &found, &error), &error);
  CHECK_EQ_I64(found->values.beta_count, 7);
  key.hardware = "H100";
  CHECK_OK(blis_catalogue_find_coefficients(catalogue, &key, &found, &error), &error);
  CHECK_EQ_I64(found->values.beta_count, 11);
  blis_catalogue_free(catalogue);
}

static void test_coefficients_may_name_a_model_by_an_alias(void) {
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  blis_error error = {0};
  CHECK_OK(add(catalogue,
               "models:\n"
               "  - {id: me/tiny, aliases: [small], tp: 2, layers: 2,"
               " hidden_size: 64, attention_heads: 4, bytes_per_param: 2}\n"
               "coefficients:\n"
               "  - {kind: blackbox, model: small, alpha: [1, 2, 3],"
               " beta: [4, 5, 6]}\n",
               &error),
           &error);
  static const char *const names[] = {"me/tiny", "tiny", "small"};
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    const blis_catalogue_coefficients *found;
    blis_coefficients_key key = {"blackbox", names[i], "H100", 1, NULL};
    CHECK_OK(blis_catalogue_find_coefficients(catalogue, &key, &found, &error), &error);
    CHECK_EQ_DOUBLE(found->values.beta[0], 4);
  }
  blis_catalogue_free(catalogue);
}

static void test_blackbox_coefficients(void) {
  static const struct {
    const char *model;
    const char *hardware;
    int64_t tp;
    const char *version;
    double beta0;
  } CASES[] = {
      {"llama-3.1-8b-instruct", "H100", 1, NULL, 6472.007648778123},
      {"llama-3.1-8b-instruct", "H100", 1, "v0.8.4", 5752.705191348184},
      {"llama-3.1-8b-instruct", "A100-SXM", 4, NULL, 497.6895574004801},
      {"microsoft/phi-4", "h100", 2, "V0.8.4", 574.3193908443218},
  };
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  const blis_catalogue_coefficients *found;
  blis_error error = {0};
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    blis_coefficients_key key = {"blackbox", CASES[i].model, CASES[i].hardware, CASES[i].tp,
                                 CASES[i].version};
    CHECK_OK(blis_catalogue_find_coefficients(catalogue, &key, &found, &error), &error);
    CHECK_EQ_DOUBLE(found->values.beta[0], CASES[i].beta0);
  }
  blis_coefficients_key key = {"blackbox", "microsoft/phi-4", "L40S", 4, "v0.8.4"};
  CHECK_STATUS(blis_catalogue_find_coefficients(catalogue, &key, &found, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "model microsoft/phi-4, GPU L40S, TP 4, "
                                "version v0.8.4");
  CHECK_CONTAINS(error.message, "H100 TP 1 v0.8.4, H100 TP 2 v0.8.4");
  blis_catalogue_free(catalogue);
}

static void test_coverage(void) {
  blis_catalogue *catalogue = blis_catalogue_new(&heap);
  blis_error error = {0};
  CHECK_OK(add(catalogue,
               "coefficients:\n"
               "  - kind: k\n"
               "    alpha: [1, 2, 3]\n"
               "    beta: [1]\n"
               "    coverage: {fitted_on: two runs, extrapolated: true,\n"
               "               parameters_min: 7.0e+9, context_max: 4096}\n"
               "  - {kind: l, alpha: [1, 2, 3], beta: [1]}\n",
               &error),
           &error);
  const blis_catalogue_coefficients *one = blis_catalogue_coefficients_at(catalogue, 0);
  CHECK(one->has_coverage && one->coverage.extrapolated);
  CHECK(strcmp(one->coverage.fitted_on, "two runs") == 0);
  CHECK(one->coverage.parameters_min == 7e9);
  CHECK_EQ_I64(one->coverage.context_max, 4096);
  CHECK_EQ_I64(one->coverage.tokens_max, 0);
  CHECK(!blis_catalogue_coefficients_at(catalogue, 1)->has_coverage);
  blis_catalogue_free(catalogue);
}

static void test_mistakes_are_named_and_change_nothing(void) {
  static const struct {
    const char *text;
    const char *part;
  } CASES[] = {
      {"models: 3\n", "own.yaml:1"},
      {"modles: []\n", "known are models, hardware, coefficients"},
      {"[]\n", "own.yaml:1"},
      {"", "own.yaml"},
      {"models:\n  - tp: 1\n", "own.yaml:2: an entry needs the key 'id'"},
      {"models:\n  - id: x\n    tp: 0\n", "own.yaml:3"},
      {"models:\n  - id: x\n    hiden_size: 1\n",
       "own.yaml:3: unknown key 'hiden_size'; did you mean 'hidden_size'?"},
      {"models:\n  - id: x\n    layers: 1.5\n", "whole number, got 1.5"},
      {"models:\n  - id: x\n    layers: -1\n", "own.yaml:3"},
      {"models:\n  - id: x\n    layers: many\n", "own.yaml:3"},
      {"models:\n  - id: x\n    layers: 4\n", "hidden_size is missing"},
      {"models:\n  - id: ''\n", "empty"},
      {"models:\n  - {id: x, layers: 2, hidden_size: 8, attention_heads: 2, "
       "bytes_per_param: 2, vocab_size: 2147483648}\n",
       "vocab_size must be from 0 to 2147483647, got 2147483648"},
      {"models:\n  - {id: x, tp: 1}\n  - {id: X, tp: 2}\n", "given twice"},
      {"hardware:\n  - {name: x}\n  - {name: x}\n", "given twice"},
      {"hardware:\n  - {name: x, peak_tflop: 3}\n", "mean 'peak_tflops'?"},
      {"hardware:\n  - {name: x, peak_tflops: .nan}\n", "own.yaml:2"},
      {"coefficients:\n  - {alpha: [1, 2, 3], beta: [1]}\n", "'kind'"},
      {"coefficients:\n  - {kind: k, alpha: [1, 2], beta: [1]}\n", "got 2"},
      {"coefficients:\n  - {kind: k, alpha: [1, 2, 3]}\n", "beta"},
      {"coefficients:\n  - {kind: k, alpha: [1, 2, -3], beta: [1]}\n", "own.yaml:2"},
      {"coefficients:\n  - {kind: k, alpha: [1, 2, 3], beta: [1]}\n"
       "  - {kind: k, alpha: [1, 2, 3], beta: [2]}\n",
       "given twice"},
      {"coefficients:\n  - {kind: k, modle: x, alpha: [1, 2, 3], beta: [1]}\n",
       "did you mean 'model'?"},
      {"coefficients:\n  - {kind: k, coverage: 3, alpha: [1, 2, 3], beta: "
       "[1]}\n",
       "own.yaml:2"},
      {"coefficients:\n  - {kind: k, coverage: {token_max: 3}}\n", "did you mean 'tokens_max'?"},
      {"coefficients:\n  - {kind: k, coverage: {tokens_max: 1.5}}\n", "whole number, got 1.5"},
      {"coefficients:\n  - {kind: k, coverage: {extrapolated: 1}}\n", "own.yaml:2"},
  };
  blis_catalogue *catalogue = blis_catalogue_new(&heap);
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    blis_error error = {0};
    CHECK_STATUS(add(catalogue, CASES[i].text, &error), BLIS_ERR_PARSE);
    CHECK_CONTAINS(error.message, CASES[i].part);
    CHECK_CONTAINS(error.message, "own.yaml");
    CHECK_EQ_I64(blis_catalogue_model_count(catalogue), 0);
    CHECK_EQ_I64(blis_catalogue_hardware_count(catalogue), 0);
    CHECK_EQ_I64(blis_catalogue_coefficients_count(catalogue), 0);
  }
  blis_catalogue_free(catalogue);
}

static void test_out_of_memory_changes_nothing(void) {
  const char *text = "models:\n  - {id: x, aliases: [y, z], tp: 1}\n"
                     "hardware:\n  - {name: x}\n"
                     "coefficients:\n"
                     "  - {kind: k, alpha: [1, 2, 3], beta: [1]}\n";
  blis_status status = BLIS_ERR_NOMEM;
  for (long fail_at = 1; status != BLIS_OK; fail_at++) {
    CHECK(fail_at < 200);
    blis_alloc_probe probe = {.fail_at = fail_at};
    blis_alloc alloc = blis_alloc_probed(&probe);
    blis_catalogue *catalogue = blis_catalogue_new(&alloc);
    if (catalogue != NULL) {
      status = add(catalogue, text, NULL);
      CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
      CHECK_EQ_I64(blis_catalogue_model_count(catalogue), status == BLIS_OK);
    }
    blis_catalogue_free(catalogue);
    CHECK(probe.live_bytes == 0);
  }
}

static void test_models_by_kind_with_defaults(void) {
  static const struct {
    const char *kind;
    int64_t mixed_us;
    int64_t queueing_us;
  } CASES[] = {
      {NULL, 45596, 0},          {"trained-physics", 17883, 15563}, {"roofline", 54464, 0},
      {"blackbox", 61494, 9072}, {"piecewise", 24240, 0},           {"routesim", 24240, 0},
  };
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  blis_model_spec spec = fixture_model(catalogue, "qwen3-14b");
  blis_hardware_spec hardware = fixture_hardware(catalogue, "H100");
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    blis_latency_config config = {.kind = CASES[i].kind,
                                  .model_id = "qwen/qwen3-14b",
                                  .model = &spec,
                                  .hardware = &hardware,
                                  .parallelism = {.tp = 1, .dp = 1},
                                  .catalogue = catalogue};
    blis_latency_model model;
    blis_error error = {0};
    CHECK_OK(blis_latency_create(&heap, &config, &model, &error), &error);
    CHECK_EQ_I64(step_us(&model, BATCH_MIXED, COUNT_OF(BATCH_MIXED)), CASES[i].mixed_us);
    CHECK_EQ_I64(blis_latency_queueing_time(&model, 1000), CASES[i].queueing_us);
    blis_latency_free(&model);
  }
  blis_catalogue_free(catalogue);
}

static void check_refused(const blis_latency_config *config, const char *part) {
  blis_latency_model model;
  blis_error error = {0};
  CHECK_STATUS(blis_latency_create(&heap, config, &model, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, part);
}

static void test_contradictions_are_refused(void) {
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  blis_model_spec dense = fixture_model(catalogue, "qwen3-14b");
  blis_hardware_spec h100 = fixture_hardware(catalogue, "H100");
  const blis_latency_config good = {.kind = "trained-physics",
                                    .model = &dense,
                                    .hardware = &h100,
                                    .parallelism = {.tp = 1, .dp = 1},
                                    .catalogue = catalogue};
  blis_latency_config config = good;
  config.kind = "rofline";
  check_refused(&config, "did you mean 'roofline'?");
  config = good;
  config.parallelism.dp = 0;
  check_refused(&config, "dp must be from 1");
  config.parallelism.dp = 2;
  check_refused(&config, "dp must be 1 for a dense model");
  config.kind = "roofline";
  check_refused(&config, "use trained-physics");
  config = good;
  config.parallelism.expert_parallel = true;
  check_refused(&config, "expert parallelism needs");
  config = good;
  config.parallelism.moe_comm_backend = "pigeon";
  check_refused(&config, "known are allgather_reducescatter");
  config.parallelism.moe_comm_backend = "naive";
  config.kind = "blackbox";
  check_refused(&config, "communication backend");
  config = good;
  config.coefficients = (blis_coefficients){FIXTURE_ALPHA, 3, NULL, 0};
  check_refused(&config, "--beta-coeffs");
  config.coefficients = (blis_coefficients){FIXTURE_ALPHA, 3, FIXTURE_BETA, 6};
  check_refused(&config, "at least 7");
  config.kind = "roofline";
  check_refused(&config, "takes no beta");
  config = good;
  config.model = NULL;
  check_refused(&config, "needs a model");
  config = good;
  config.kind = "blackbox";
  config.model_id = "llama-2-7b-hf";
  check_refused(&config, "no blackbox coefficients for model");
  blis_catalogue_free(catalogue);
}

static void count_warning(void *ud, const char *warning) {
  CHECK(warning[0] != '\0');
  ++*(int *)ud;
}

static int warnings_of(const char *model, int64_t tp, int64_t dp, const char *backend) {
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  blis_model_spec spec = fixture_model(catalogue, model);
  blis_latency_config config = {.model = &spec,
                                .parallelism = {.tp = tp, .dp = dp, .moe_comm_backend = backend}};
  int count = 0;
  blis_latency_warnings(&config, count_warning, &count);
  blis_catalogue_free(catalogue);
  return count;
}

static void test_warnings(void) {
  CHECK_EQ_I64(warnings_of("qwen3-14b", 8, 1, NULL), 0);
  CHECK_EQ_I64(warnings_of("qwen3-14b", 16, 1, NULL), 1);
  CHECK_EQ_I64(warnings_of("qwen3-14b", 1, 1, "naive"), 1);
  CHECK_EQ_I64(warnings_of("mixtral-8x7b-v0.1", 2, 2, "naive"), 0);
  CHECK_EQ_I64(warnings_of("deepseek-v2-lite", 1, 1, ""), 1);
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(test_models_by_all_their_names);
  RUN(test_every_shipped_entry);
  RUN(test_a_model_without_dimensions_asks_for_its_config);
  RUN(test_unknown_names_get_suggestions);
  RUN(test_hardware_by_all_its_names);
  RUN(test_values_of_the_first_gpus_stay);
  RUN(test_every_gpu_is_complete);
  RUN(test_deferred_texts);
  RUN(test_deferred_coefficients);
  RUN(test_a_later_text_replaces_an_earlier_one);
  RUN(test_coefficients_may_name_a_model_by_an_alias);
  RUN(test_blackbox_coefficients);
  RUN(test_coverage);
  RUN(test_mistakes_are_named_and_change_nothing);
  RUN(test_out_of_memory_changes_nothing);
  RUN(test_models_by_kind_with_defaults);
  RUN(test_contradictions_are_refused);
  RUN(test_warnings);
  return check_done();
}
