/* config.json files: every rule, and everything that can be wrong. */
#include "latency/model/model_config.h"

#include "base/random.h"
#include "check.h"
#include "temp_file.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Put further members before the brace. */
#define DENSE                                                                                      \
  "{\"num_hidden_layers\": 32, \"hidden_size\": 4096, "                                            \
  "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, "                                      \
  "\"vocab_size\": 128256, \"intermediate_size\": 14336, "                                         \
  "\"hidden_act\": \"silu\", \"torch_dtype\": \"bfloat16\""
#define MOE DENSE ", \"num_local_experts\": 8, \"num_experts_per_tok\": 2"

static blis_status parse(const char *text, blis_model_spec *spec, blis_error *error) {
  const blis_alloc alloc = blis_alloc_heap();
  return blis_model_config_parse(&alloc, "config.json", blis_slice_of(text), "toy", spec, error);
}

static blis_model_spec parsed(const char *text) {
  blis_model_spec spec;
  blis_error error = {0};
  CHECK_OK(parse(text, &spec, &error), &error);
  return spec;
}

static void check_refused(const char *text, const char *part) {
  blis_model_spec spec = {.layers = 77};
  blis_error error = {0};
  blis_status status = parse(text, &spec, &error);
  CHECK(status == BLIS_ERR_INVALID || status == BLIS_ERR_PARSE);
  CHECK_CONTAINS(error.message, part);
  CHECK_CONTAINS(error.message, "config.json");
  CHECK_EQ_I64(spec.layers, 77);
}

static void test_a_dense_model(void) {
  blis_model_spec s = parsed(DENSE ", \"max_position_embeddings\": 131072}");
  CHECK_STR(s.name, "toy");
  CHECK_EQ_I64(s.layers, 32);
  CHECK_EQ_I64(s.hidden_size, 4096);
  CHECK_EQ_I64(s.attention_heads, 32);
  CHECK_EQ_I64(s.kv_heads, 8);
  CHECK_EQ_I64(s.vocab_size, 128256);
  CHECK_EQ_I64(s.intermediate_size, 14336);
  CHECK_EQ_DOUBLE(s.bytes_per_param, 2.0);
  CHECK_EQ_DOUBLE(s.weight_bytes_per_param, 0.0);
  CHECK_STR(s.activation, "silu");
  CHECK(!s.tie_word_embeddings);
  CHECK_EQ_I64(s.max_model_tokens, 131072);
  CHECK(!blis_model_spec_is_moe(&s));
}

static void test_other_names_of_the_same(void) {
  blis_model_spec s = parsed("{\"num_hidden_layers\": 28.9, \"hidden_size\": 4096,"
                             "\"num_attention_heads\": 32, \"num_key_value_heads\": 0,"
                             "\"num_kv_heads\": \"8\", \"multi_query_group_num\": 2,"
                             "\"ffn_hidden_size\": 13696, \"torch_dtype\": null,"
                             "\"dtype\": \"float32\", \"tie_word_embeddings\": true}");
  CHECK_EQ_I64(s.layers, 28);
  CHECK_EQ_I64(s.kv_heads, 2);
  CHECK_EQ_I64(s.intermediate_size, 13696);
  CHECK_EQ_DOUBLE(s.bytes_per_param, 4.0);
  CHECK(s.tie_word_embeddings);
  CHECK_STR(s.activation, "");
}

static void test_text_config_covers_the_top_level(void) {
  blis_model_spec s = parsed(DENSE ", \"text_config\": {\"hidden_size\": 5120, "
                                   "\"num_key_value_heads\": null, \"vocab_size\": 7}}");
  CHECK_EQ_I64(s.hidden_size, 5120);
  CHECK_EQ_I64(s.kv_heads, 0);
  CHECK_EQ_I64(s.vocab_size, 7);
  CHECK_EQ_I64(s.layers, 32);
  s = parsed(DENSE ", \"text_config\": \"none\"}");
  CHECK_EQ_I64(s.hidden_size, 4096);
}

static void test_experts(void) {
  blis_model_spec s = parsed(MOE "}");
  CHECK_EQ_I64(s.experts, 8);
  CHECK_EQ_I64(s.experts_per_token, 2);
  CHECK_EQ_I64(s.shared_expert_intermediate_size, 0);
  s = parsed(MOE ", \"num_experts\": 1, \"n_routed_experts\": 64,"
                 "\"n_shared_experts\": 2}");
  CHECK_EQ_I64(s.experts, 64);
  CHECK_EQ_I64(s.shared_expert_intermediate_size, 2 * 14336);
  s = parsed(MOE ", \"n_shared_experts\": 2, \"moe_intermediate_size\": 1408}");
  CHECK_EQ_I64(s.shared_expert_intermediate_size, 2816);
  s = parsed(MOE ", \"n_shared_experts\": 2,"
                 "\"shared_expert_intermediate_size\": 99}");
  CHECK_EQ_I64(s.shared_expert_intermediate_size, 99);
  s = parsed(MOE ", \"interleave_moe_layer_step\": 1,"
                 "\"intermediate_size_mlp\": 16384, \"kv_lora_rank\": 512,"
                 "\"qk_rope_head_dim\": 64, \"first_k_dense_replace\": 3,"
                 "\"head_dim\": 192}");
  CHECK_EQ_I64(s.interleave_moe_layer_step, 1);
  CHECK_EQ_I64(s.dense_intermediate_size, 16384);
  CHECK_EQ_I64(s.kv_lora_rank, 512);
  CHECK_EQ_I64(s.qk_rope_head_dim, 64);
  CHECK_EQ_I64(s.first_k_dense_replace, 3);
  CHECK_EQ_I64(s.head_dim, 192);
}

static void test_a_single_expert_is_dense_a_missing_count_is_not(void) {
  blis_model_spec s = parsed(DENSE ", \"num_experts\": 1, \"num_experts_per_tok\": 1}");
  CHECK_EQ_I64(s.experts, 0);
  CHECK_EQ_I64(s.experts_per_token, 0);
  CHECK(!s.experts_unknown);
  s = parsed(DENSE ", \"num_experts_per_tok\": 4}");
  CHECK_EQ_I64(s.experts_per_token, 0);
  CHECK(s.experts_unknown);
  s = parsed(DENSE ", \"n_shared_experts\": 1}");
  CHECK(s.experts_unknown);
}

static void test_weight_precision(void) {
  static const struct {
    const char *quantization;
    double bytes;
  } CASES[] = {
      {"{\"bits\": 4, \"quant_method\": \"gptq\"}", 0.5},
      {"{\"bits\": \"3\"}", 0.375},
      {"{\"bits\": \"3.5\"}", 0.0},
      {"{\"bits\": 0, \"quant_method\": \"FP8\"}", 1.0},
      {"{\"quant_method\": \"mxfp4\"}", 0.0},
      {"{\"quant_method\": \"compressed-tensors\"}", 0.0},
      {"{\"quant_method\": \"Compressed-Tensors\", \"config_groups\": {"
       "\"group_1\": {\"weights\": {\"num_bits\": 8}},"
       "\"group_0\": {\"weights\": {\"num_bits\": 4}},"
       "\"a\": {\"weights\": null}}}",
       0.5},
      {"[4]", 0.0},
  };
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    char text[1024];
    (void)snprintf(text, sizeof text, DENSE ", \"quantization_config\": %s}",
                   CASES[i].quantization);
    CHECK_EQ_DOUBLE(parsed(text).weight_bytes_per_param, CASES[i].bytes);
  }
  CHECK_STR(parsed(DENSE ", \"quantization_config\":"
                         "{\"quant_method\": \"mxfp4\"}}")
                .quantization,
            "mxfp4");
}

static void test_weight_precision_from_the_name(void) {
  static const struct {
    const char *name;
    double bytes;
  } CASES[] = {
      {"redhatai/llama-3.3-70b-instruct-quantized.w4a16", 0.5},
      {"redhatai/phi-4-quantized.W8A8", 1.0},
      {"w8a8", 1.0},
      {"org/fp8-model", 1.0},
      {"zai-org/glm-5.2-FP8", 1.0},
      {"fp8-then-w4a16", 0.5},
      {"qwen/qwen3-14b", 0.0},
      {"xw4a16", 0.0},
      {"w4a16x", 0.0},
      {"w4a", 0.0},
      {"model/w4a16/x", 0.0},
      {"fp80", 0.0},
      {"w99999a16", 0.0},
      {"", 0.0},
  };
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    CHECK_EQ_DOUBLE(blis_model_weight_bytes_from_name(CASES[i].name), CASES[i].bytes);
  }
}

static void test_longest_sequence(void) {
  static const struct {
    const char *members;
    int64_t tokens;
  } CASES[] = {
      {"", 4096},
      {", \"rope_scaling\": null", 4096},
      {", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.5}", 10240},
      {", \"rope_scaling\": {\"factor\": 4}", 16384},
      {", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 1}", 4096},
      {", \"rope_scaling\": {\"type\": \"linear\", \"factor\": \"8\"}", 4096},
      {", \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8}", 4096},
      {", \"rope_scaling\": {\"type\": \"longrope\", \"factor\": 8}", 4096},
      {", \"rope_scaling\": {\"type\": \"su\", \"factor\": 8}", 4096},
      {", \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 40,"
       "\"original_max_position_embeddings\": 2048}",
       81920},
      {", \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 2}", 8192},
      {", \"model_type\": \"gemma3_text\", \"rope_scaling\": {\"factor\": 8}", 4096},
      {", \"rope_scaling\": {\"factor\": 1e300}", 4096},
  };
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    char text[1024];
    (void)snprintf(text, sizeof text, DENSE ", \"max_position_embeddings\": 4096%s}",
                   CASES[i].members);
    CHECK_EQ_I64(parsed(text).max_model_tokens, CASES[i].tokens);
  }
  CHECK_EQ_I64(parsed(DENSE "}").max_model_tokens, 0);
}

static void test_what_is_missing_is_named(void) {
  check_refused("", "config.json:1");
  check_refused("[]", "object");
  check_refused("{}", "num_hidden_layers is missing");
  check_refused("{\"num_hidden_layers\": 32}", "hidden_size is missing");
  check_refused("{\"num_hidden_layers\": \"32\"}", "num_hidden_layers must be a positive number");
  check_refused("{\"num_hidden_layers\": 2, \"hidden_size\": 64}",
                "num_attention_heads is missing");
  check_refused("{\"num_hidden_layers\": 2, \"hidden_size\": 64,"
                "\"num_attention_heads\": 4}",
                "torch_dtype (or dtype) is missing");
  check_refused("{\"num_hidden_layers\": 2, \"hidden_size\": 64,"
                "\"num_attention_heads\": 4, \"dtype\": \"float7\"}",
                "'float7'");
  check_refused(DENSE ", \"num_experts\": 8}", "num_experts_per_tok is missing");
}

static void test_absurd_numbers_are_named(void) {
  check_refused("{\"num_hidden_layers\": -1}", "num_hidden_layers must be");
  check_refused("{\"num_hidden_layers\": 1e300}", "num_hidden_layers must be");
  check_refused("{\"num_hidden_layers\": 1e400}", "config.json:1");
  check_refused("{\"num_hidden_layers\": 99999999999999999999}", "num_hidden_layers must be");
  check_refused(DENSE ", \"head_dim\": -128}", "head_dim must be");
  check_refused(DENSE ", \"kv_lora_rank\": -1.5}", "got -1");
  check_refused(DENSE ", \"first_k_dense_replace\": 3000000000}", "got 3000000000");
  check_refused(DENSE ", \"max_position_embeddings\": -5}", "max_position_embeddings");
  check_refused(MOE ", \"num_experts\": 4000000000}", "num_experts must be");
  check_refused(MOE ", \"n_shared_experts\": 2000000000}", "n_shared_experts");
  check_refused(DENSE ", \"num_experts\": 2, \"num_experts_per_tok\": 3}", "experts_per_token");
}

static const char WHOLE[] =
    MOE ", \"max_position_embeddings\": 4096, \"rope_scaling\": {\"type\":"
        "\"yarn\", \"factor\": 4.0, \"original_max_position_embeddings\": 32},"
        "\"quantization_config\": {\"quant_method\": \"compressed-tensors\","
        "\"config_groups\": {\"group_0\": {\"weights\": {\"num_bits\": 8}}}},"
        "\"text_config\": {\"hidden_size\": 2048}}";

static void parse_anything(const char *text, size_t length) {
  blis_model_spec spec = {0};
  blis_error error = {0};
  const blis_alloc alloc = blis_alloc_heap();
  blis_status status = blis_model_config_parse(&alloc, "config.json", (blis_slice){text, length},
                                               "toy", &spec, &error);
  CHECK(status == BLIS_OK || error.message[0] != '\0');
  CHECK(status != BLIS_OK || blis_model_spec_validate(&spec, &error) == BLIS_OK);
}

static void test_every_truncation_is_an_error(void) {
  const blis_alloc alloc = blis_alloc_heap();
  for (size_t length = 0; length + 1 < sizeof WHOLE - 1; length++) {
    char *copy = malloc(length + 1); /* no byte behind it to read by mistake */
    CHECK(copy != NULL);
    memcpy(copy, WHOLE, length);
    blis_model_spec spec;
    CHECK_STATUS(
        blis_model_config_parse(&alloc, "c", (blis_slice){copy, length}, "toy", &spec, NULL),
        BLIS_ERR_PARSE);
    free(copy);
  }
}

/* Replaces the value behind a colon by something else. */
static void test_values_of_other_types_never_crash(void) {
  static const char *const VALUES[] = {"null",
                                       "true",
                                       "\"x\"",
                                       "\"\"",
                                       "[]",
                                       "[[1]]",
                                       "{}",
                                       "0",
                                       "-1",
                                       "1e308",
                                       "0.5",
                                       "-1e18",
                                       "9223372036854775807",
                                       "1e19",
                                       "{\"a\": {\"weights\": {\"num_bits\": 1e300}}}"};
  for (const char *colon = strchr(WHOLE, ':'); colon != NULL; colon = strchr(colon + 1, ':')) {
    const char *end = colon + 1 + strcspn(colon + 1, ",}");
    for (size_t i = 0; i < COUNT_OF(VALUES); i++) {
      char text[2048];
      int length =
          snprintf(text, sizeof text, "%.*s%s%s", (int)(colon + 1 - WHOLE), WHOLE, VALUES[i], end);
      parse_anything(text, (size_t)length);
    }
  }
}

static void test_random_damage_never_crashes(void) {
  blis_random random;
  blis_random_init(&random, 7);
  for (int i = 0; i < 20000; i++) {
    char text[sizeof WHOLE];
    memcpy(text, WHOLE, sizeof WHOLE);
    for (int j = blis_random_intn(&random, 6); j >= 0; j--) {
      int32_t at = blis_random_intn(&random, sizeof WHOLE - 1);
      text[at] = blis_random_intn(&random, 2) == 0
                     ? (char)blis_random_intn(&random, 256)
                     : "{}[]\",:019.e-"[blis_random_intn(&random, 13)];
    }
    parse_anything(text, sizeof WHOLE - 1);
  }
}

static void test_deep_nesting_is_an_error_or_ignored(void) {
  enum { DEPTH = 200000 };
  char *text = malloc(DEPTH + 1);
  CHECK(text != NULL);
  memset(text, '[', DEPTH);
  parse_anything(text, DEPTH);
  memcpy(text, "{\"a\":", 5);
  parse_anything(text, DEPTH);
  for (int i = 0; i + 5 <= DEPTH; i += 5) {
    memcpy(text + i, "{\"a\":", 5);
  }
  parse_anything(text, DEPTH);
  free(text);
}

static void test_files(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_model_spec spec = {0};
  blis_error error = {0};
  const char *path = temp_file("config.json", DENSE "}");
  CHECK_OK(blis_model_config_load(&heap, path, "toy", &spec, &error), &error);
  CHECK_EQ_I64(spec.layers, 32);
  spec.layers = 0;
  CHECK_OK(blis_model_config_load(&heap, temp_folder, "toy", &spec, &error), &error);
  CHECK_EQ_I64(spec.layers, 32);
  (void)temp_file("config.json", "{");
  CHECK_STATUS(blis_model_config_load(&heap, temp_folder, "toy", &spec, &error), BLIS_ERR_PARSE);
  CHECK_CONTAINS(error.message, path);
  CHECK_STATUS(blis_model_config_load(&heap, "no/such", "toy", &spec, &error), BLIS_ERR_IO);
  CHECK_CONTAINS(error.message, "no/such/config.json");
  CHECK_STATUS(blis_model_config_load(&heap, "tests", "toy", &spec, &error), BLIS_ERR_IO);
}

/* Python writes them; Nemotron-H has "time_step_limit": [0.0, Infinity]. */
static void test_numbers_that_are_not_finite_are_accepted_where_no_value_is_read(void) {
  blis_model_spec spec = parsed(DENSE ", \"time_step_limit\": [0.0, Infinity], "
                                      "\"a\": {\"b\": -Infinity, \"c\": NaN}}");
  CHECK_EQ_I64(spec.layers, 32);
  check_refused("{\"num_hidden_layers\": Infinity, \"hidden_size\": 4096}",
                "num_hidden_layers must be a positive number");
  blis_alloc heap = blis_alloc_heap();
  blis_error error = {0};
  const char *path = temp_file("config.json", DENSE ", \"x\": NaN}");
  CHECK_OK(blis_model_config_load(&heap, path, "toy", &spec, &error), &error);
}

/* Sizes that every model has. */
static void test_missing_sizes(void) {
  blis_model_spec spec = {.bytes_per_param = 2};
  blis_error error = {0};
  CHECK_STATUS(blis_model_spec_validate(&spec, &error), BLIS_ERR_INVALID);
  CHECK_STR(error.message, "model (unnamed): layers is missing; hidden_size is missing; "
                           "attention_heads is missing");
}

int main(void) {
  RUN(test_a_dense_model);
  RUN(test_other_names_of_the_same);
  RUN(test_text_config_covers_the_top_level);
  RUN(test_experts);
  RUN(test_a_single_expert_is_dense_a_missing_count_is_not);
  RUN(test_weight_precision);
  RUN(test_weight_precision_from_the_name);
  RUN(test_longest_sequence);
  RUN(test_what_is_missing_is_named);
  RUN(test_absurd_numbers_are_named);
  RUN(test_every_truncation_is_an_error);
  RUN(test_values_of_other_types_never_crash);
  RUN(test_random_damage_never_crashes);
  RUN(test_deep_nesting_is_an_error_or_ignored);
  RUN(test_numbers_that_are_not_finite_are_accepted_where_no_value_is_read);
  RUN(test_files);
  RUN(test_missing_sizes);
  return check_done();
}
