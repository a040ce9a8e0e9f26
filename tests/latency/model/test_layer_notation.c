/* Layers in YAML: what is read, what is refused, and what is written is read back. */
#include "latency/model/layer_notation.h"

#include "check.h"
#include "latency/layers/totals.h"
#include "latency/model/layered_spec.h"

static blis_yaml *yaml;

/* Reads an entry with the usual sizes, these lines, a quantization ("" = none), and `layers` as a
   number (0 = the lines have a list). */
static blis_status read_with(const char *lines, const char *quantization, int64_t layers,
                             blis_layered_model *model, blis_error *error) {
  char text[2048];
  (void)snprintf(text, sizeof text,
                 "hidden_size: 5376\nvocab_size: 262208\nattention_heads: 32\nkv_heads: 16\n"
                 "head_dim: 128\nintermediate_size: 21504\nbytes_per_param: 2\n"
                 "quantization: '%s'\n%s",
                 quantization, lines);
  blis_alloc alloc = blis_alloc_heap();
  BLIS_TRY(blis_yaml_parse(&alloc, "test.yaml", (blis_slice){text, strlen(text)}, &yaml, error));
  blis_model_spec spec = {.name = "test",
                          .hidden_size = 5376,
                          .vocab_size = 262208,
                          .attention_heads = 32,
                          .kv_heads = 16,
                          .head_dim = 128,
                          .intermediate_size = 21504,
                          .layers = layers,
                          .tie_word_embeddings = true,
                          .bytes_per_param = 2};
  (void)snprintf(spec.quantization, sizeof spec.quantization, "%s", quantization);
  const blis_yaml_node *entry = blis_yaml_root(yaml);
  blis_status status = layers > 0
                           ? blis_layer_notation_read_equal(&alloc, entry, &spec, model, error)
                           : blis_layer_notation_read(&alloc, entry, &spec, model, error);
  blis_yaml_free(yaml);
  return status;
}

static blis_status read(const char *lines, blis_layered_model *model, blis_error *error) {
  return read_with(lines, "", 0, model, error);
}

static void test_windows_in_two_runs(void) {
  blis_layered_model model;
  blis_error error = {0};
  CHECK_OK(
      read("layers: [{count: 10}, {count: 52, attention: window, window: 1024}]\n", &model, &error),
      &error);
  char text[128];
  blis_layered_model_describe(&model, text, sizeof text);
  CHECK_STR(text, "62 layers: 10 full, 52 window 1,024");
  blis_model_cache cache = blis_layered_cache(&model, 1);
  CHECK_EQ_DOUBLE(cache.token_bytes, 81920.0);
  CHECK_EQ_DOUBLE(cache.window_bytes, 436207616.0);
  CHECK(blis_layered_parameters(&model) > 26.9e9 && blis_layered_parameters(&model) < 27.1e9);
  blis_layered_model_free(&model);
}

static void test_formats(void) {
  blis_layered_model model;
  blis_error error = {0};
  CHECK_OK(read("weights: fp8\nkv_cache_dtype: fp8\nlayers:\n"
                "  - {count: 2, weights: {attention: none, dense: nvfp4}}\n",
                &model, &error),
           &error);
  const blis_weight_format *formats = model.runs[0].layer.formats;
  CHECK_EQ_DOUBLE(formats[BLIS_WEIGHT_ATTENTION].bytes, 0.0);
  CHECK_EQ_DOUBLE(formats[BLIS_WEIGHT_ATTENTION_OUT].bytes, 1.0);
  CHECK_EQ_DOUBLE(formats[BLIS_WEIGHT_DENSE].bytes, 0.5625);
  CHECK_EQ_DOUBLE(blis_layered_widths(&model).kv, 1.0);
  blis_layered_model_free(&model);
}

/* Numbers of bytes name the kind as well. */
static void test_bytes_of_formats(void) {
  static const struct {
    const char *bytes;
    blis_weight_kind kind;
  } CASES[] = {{"0.53", BLIS_KIND_INT4},
               {"1", BLIS_KIND_INT8},
               {"1.00006103515625", BLIS_KIND_FP8_BLOCK},
               {"1.000244140625", BLIS_KIND_FP8_BLOCK},
               {"1.001", BLIS_KIND_INT8},
               {"1.015625", BLIS_KIND_INT8}};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    char text[100];
    (void)snprintf(text, sizeof text, "layers:\n  - {count: 2, weights: {dense: %s}}\n",
                   CASES[i].bytes);
    blis_layered_model model;
    blis_error error = {0};
    CHECK_OK(read(text, &model, &error), &error);
    CHECK_EQ_I64(model.runs[0].layer.formats[BLIS_WEIGHT_DENSE].kind, CASES[i].kind);
    blis_layered_model_free(&model);
  }
}

static blis_weight_format first_format(const blis_layered_model *model, blis_weight_class class) {
  return model->runs[0].layer.formats[class];
}

/* `quantization` formats all weights, in a list and in a number of layers, unless `weights` does.
 */
static void test_quantization(void) {
  static const char *const LAYERS[] = {"layers: [{count: 2}]\n", "layers: 2\n"};
  for (int64_t i = 0; i < 2; i++) {
    blis_layered_model model;
    blis_error error = {0};
    CHECK_OK(read_with(LAYERS[i], "nvfp4", 2 * i, &model, &error), &error);
    CHECK_EQ_I64(first_format(&model, BLIS_WEIGHT_DENSE).kind, BLIS_KIND_NVFP4);
    CHECK_EQ_DOUBLE(first_format(&model, BLIS_WEIGHT_ATTENTION).bytes, 0.5625);
    CHECK_STR(model.quantization, "nvfp4");
    blis_layered_model_free(&model);
    CHECK_OK(read_with(LAYERS[i], "none", 2 * i, &model, &error), &error);
    CHECK_EQ_DOUBLE(first_format(&model, BLIS_WEIGHT_DENSE).bytes, 0.0);
    CHECK_STR(model.quantization, "");
    blis_layered_model_free(&model);
    CHECK(read_with(LAYERS[i], "fp9", 2 * i, &model, &error) != BLIS_OK);
    CHECK_CONTAINS(error.message, "test.yaml:8: key 'quantization': 'fp9' unknown quantization");
    CHECK(read_with(LAYERS[i], "compressed-tensors", 2 * i, &model, &error) != BLIS_OK);
    CHECK_CONTAINS(error.message, "needs a model whose files state it");
  }
}

/* Bytes of a weight that an entry states take precedence over the name of a quantization. */
static void test_stated_bytes(void) {
  static const char TEXT[] = "quantization: compressed-tensors\nlayers: [{count: 2}]\n";
  blis_alloc alloc = blis_alloc_heap();
  blis_error error = {0};
  blis_layered_model model;
  CHECK_OK(blis_yaml_parse(&alloc, "test.yaml", (blis_slice){TEXT, strlen(TEXT)}, &yaml, &error),
           &error);
  blis_model_spec spec = {.name = "test",
                          .hidden_size = 64,
                          .vocab_size = 100,
                          .attention_heads = 4,
                          .intermediate_size = 128,
                          .bytes_per_param = 2,
                          .weight_bytes_per_param = 1,
                          .quantization = "compressed-tensors"};
  blis_layer base = blis_model_spec_layer(&spec);
  CHECK_EQ_DOUBLE(base.formats[BLIS_WEIGHT_DENSE].bytes, 1.0);
  CHECK(blis_layer_notation_read(&alloc, blis_yaml_root(yaml), &spec, &model, &error) != BLIS_OK);
  CHECK_CONTAINS(error.message, "attention_heads");
  blis_yaml_free(yaml);
  static const char WHOLE[] = "attention_heads: 4\nhead_dim: 16\nintermediate_size: 128\n"
                              "quantization: compressed-tensors\nlayers: [{count: 2}]\n";
  CHECK_OK(blis_yaml_parse(&alloc, "test.yaml", (blis_slice){WHOLE, strlen(WHOLE)}, &yaml, &error),
           &error);
  CHECK_OK(blis_layer_notation_read(&alloc, blis_yaml_root(yaml), &spec, &model, &error), &error);
  CHECK_EQ_DOUBLE(first_format(&model, BLIS_WEIGHT_DENSE).bytes, 1.0);
  CHECK_STR(model.quantization, "compressed-tensors");
  blis_yaml_free(yaml);
  blis_layered_model_free(&model);
}

/* Formats of the whole model on a number of equal layers. */
static void test_equal_layers(void) {
  blis_layered_model model;
  blis_error error = {0};
  CHECK_OK(read_with("layers: 3\nweights: {dense: fp8, head: fp8}\nkv_cache_dtype: fp8\n"
                     "layer_weights: 7\nother_weights: 5\n",
                     "compressed-tensors", 3, &model, &error),
           &error);
  CHECK_EQ_I64(model.run_count, 1);
  CHECK_EQ_I64(model.runs[0].count, 3);
  CHECK_EQ_DOUBLE(first_format(&model, BLIS_WEIGHT_DENSE).bytes, 1.0);
  CHECK_EQ_DOUBLE(first_format(&model, BLIS_WEIGHT_ATTENTION).bytes, 0.0);
  CHECK_EQ_DOUBLE(model.head.bytes, 1.0);
  CHECK_EQ_DOUBLE(blis_layered_cache(&model, 1).token_bytes, 3.0 * 2 * 16 * 128);
  CHECK_EQ_DOUBLE(model.runs[0].layer.other_weights, 7.0);
  CHECK_EQ_DOUBLE(model.other_weights, 5.0);
  CHECK_STR(model.quantization, "compressed-tensors");
  blis_layered_model_free(&model);
}

static void test_what_is_refused(void) {
  static const struct {
    const char *lines;
    const char *message;
  } CASES[] = {
      {"layers: []\n", "at least one run"},
      {"layers: [{attention: window}]\n", "needs the key count"},
      {"layers: [{count: 0}]\n", "count"},
      {"layers: [{count: 5, attention: windw}]\n", "window"},
      {"layers: [{count: 5, attention: window}]\n", "needs window"},
      {"layers: [{count: 5, attention: mla}]\n", "needs kv_lora_rank"},
      {"layers: [{count: 5, ffn: moe}]\n", "needs experts"},
      {"layers: [{count: 5, expert: 8}]\n", "experts"},
      {"layers: [{count: 5, weights: fp9}]\n", "unknown quantization 'fp9'"},
      {"layers: [{count: 5, weights: {expert: fp8}}]\n", "experts"},
      {"layers: [{count: 5, experts: 4, experts_per_token: 5, ffn: moe, "
       "expert_intermediate_size: 8}]\n",
       "more experts_per_token"},
      {"layers: [3]\n", "mapping"},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    blis_layered_model model;
    blis_error error = {0};
    CHECK(read(CASES[i].lines, &model, &error) != BLIS_OK);
    CHECK_CONTAINS(error.message, CASES[i].message);
  }
}

/* What is written has the same layers when it is read back. */
static void test_round_trip(void) {
  static const char *const MODELS[] = {
      "layers: [{count: 10}, {count: 52, window: 1024, kv_heads: 8}]\n",
      "layers: [{count: 3, attention: none, ffn: moe, experts: 8, expert_intermediate_size: 64}, "
      "{count: 1, ffn: none}, {count: 2, attention: mamba2, ffn: none, linear_value_heads: 4, "
      "linear_value_head_dim: 64, state_size: 16, state_groups: 1, conv_kernel: 4}]\n",
      "layers: [{count: 3, attention: gdn, linear_key_heads: 16, linear_key_head_dim: 128, "
      "linear_value_heads: 32, linear_value_head_dim: 128, conv_kernel: 4}, {count: 1, "
      "gate_width: 4096, weights: {dense: 0.6}}]\n",
      "layers: [{count: 2, attention: mla, kv_lora_rank: 512, qk_nope_head_dim: 128, "
      "qk_rope_head_dim: 64, value_head_dim: 128, head_dim: 192, weights: mxfp8}]\n",
  };
  for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++) {
    blis_layered_model model;
    blis_layered_model again;
    blis_error error = {0};
    CHECK_OK(read(MODELS[i], &model, &error), &error);
    (void)snprintf(model.quantization, sizeof model.quantization, "compressed-tensors");
    blis_buffer buffer;
    blis_alloc alloc = blis_alloc_heap();
    blis_buffer_init(&buffer, &alloc);
    blis_buffer_string(&buffer, "models:\n");
    blis_layer_notation_write(&model, "a/b", &buffer);
    CHECK_OK(blis_yaml_parse(&alloc, "written.yaml", blis_buffer_slice(&buffer), &yaml, &error),
             &error);
    const blis_yaml_node *entry = blis_yaml_item(blis_yaml_get(blis_yaml_root(yaml), "models"), 0);
    blis_model_spec spec = {.hidden_size = model.hidden_size,
                            .vocab_size = model.vocabulary,
                            .bytes_per_param = model.model_bytes,
                            .quantization = "compressed-tensors"};
    CHECK_OK(blis_layer_notation_read(&alloc, entry, &spec, &again, &error), &error);
    CHECK_EQ_I64(again.run_count, model.run_count);
    for (size_t j = 0; j < model.run_count; j++) {
      CHECK(blis_layer_equal(&again.runs[j].layer, &model.runs[j].layer));
      CHECK_EQ_I64(again.runs[j].count, model.runs[j].count);
    }
    blis_yaml_free(yaml);
    blis_buffer_deinit(&buffer);
    blis_layered_model_free(&again);
    blis_layered_model_free(&model);
  }
}

int main(void) {
  RUN(test_windows_in_two_runs);
  RUN(test_formats);
  RUN(test_bytes_of_formats);
  RUN(test_quantization);
  RUN(test_stated_bytes);
  RUN(test_equal_layers);
  RUN(test_what_is_refused);
  RUN(test_round_trip);
  return check_done();
}
