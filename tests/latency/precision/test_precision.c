/* Every notation of a quantization, its exceptions, KV types, overrides, and wrong values. */
#include <math.h>

#include "base/random.h"
#include "check.h"
#include "latency/precision/precision.h"

static blis_alloc heap;

typedef struct read_case {
  blis_json config;
  blis_json side_car;
  blis_precision precision;
  blis_error error;
  blis_status status;
} read_case;

static blis_json_value parse(blis_json *json, const char *text) {
  blis_json_init(json, &heap);
  if (text == NULL) {
    return blis_json_root(json);
  }
  blis_error error = {0};
  CHECK_OK(blis_json_parse(json, "config.json", 1, (blis_slice){text, strlen(text)}, &error),
           &error);
  return blis_json_root(json);
}

static read_case read_with(const char *config, const char *side_car, int64_t layers) {
  read_case c = {0};
  blis_json_value root = parse(&c.config, config);
  blis_precision_files files = {.root = root,
                                .text = blis_json_member(root, "text_config"),
                                .side_car = parse(&c.side_car, side_car),
                                .source = "config.json"};
  c.status = blis_precision_read(&heap, &files, layers, &c.precision, &c.error);
  return c;
}

static void close_case(read_case *c) {
  blis_precision_free(&c->precision);
  blis_json_deinit(&c->config);
  blis_json_deinit(&c->side_car);
}

static read_case read_ok(const char *config, const char *side_car) {
  read_case c = read_with(config, side_car, 4);
  CHECK_OK(c.status, &c.error);
  return c;
}

static void check_format(const blis_precision *p, int64_t layer, blis_weight_class class,
                         const char *kind, double bytes) {
  blis_weight_format format = blis_precision_of(p, layer, class);
  CHECK_STR(blis_weight_kind_name(format.kind), kind);
  CHECK(fabs(format.bytes - bytes) < 1e-9);
}

/* Attention in layer 1 and the routed experts, for methods without exceptions. */
static void check_method(const char *quantization, const char *kind, double bytes) {
  char config[1024];
  (void)snprintf(config, sizeof config, "{\"quantization_config\": {%s}}", quantization);
  read_case c = read_ok(config, NULL);
  check_format(&c.precision, 1, BLIS_WEIGHT_ATTENTION, kind, bytes);
  check_format(&c.precision, 3, BLIS_WEIGHT_EXPERTS, kind, bytes);
  check_format(&c.precision, 0, BLIS_WEIGHT_DENSE, kind, bytes);
  close_case(&c);
}

static void test_methods(void) {
  check_method("\"quant_method\": \"fp8\"", "fp8", 1);
  check_method("\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]", "fp8_block",
               1 + 4.0 / 16384);
  check_method("\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128], "
               "\"scale_fmt\": \"ue8m0\"",
               "fp8_block", 1 + 1.0 / 16384);
  check_method("\"quant_method\": \"fp8\", \"weight_block_size\": null", "fp8", 1);
  check_method("\"quant_method\": \"modelopt\", \"quant_algo\": \"FP8\"", "fp8", 1);
  check_method("\"quant_algo\": \"NVFP4\"", "nvfp4", 0.5625);
  check_method("\"quant_method\": \"modelopt\", \"quant_algo\": \"W4A16_NVFP4\"", "nvfp4", 0.5625);
  check_method("\"quant_method\": \"modelopt\", \"quant_algo\": \"MXFP8\"", "mxfp8", 1.03125);
  check_method("\"quant_method\": \"modelopt\", \"quant_algo\": \"W4A8_AWQ\", "
               "\"group_size\": 64",
               "int4", 0.5 + 2.0 / 64);
  check_method("\"quant_method\": \"modelopt_fp4\"", "nvfp4", 0.5625);
  check_method("\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 128", "int4",
               0.5 + 2.5 / 128);
  check_method("\"quant_method\": \"GPTQ\", \"bits\": \"8\", \"group_size\": -1", "int8", 1);
  check_method("\"quant_method\": \"auto-round\", \"bits\": 2, \"group_size\": 32", "int4",
               0.25 + 2.25 / 32);
  check_method("\"quant_method\": \"bitsandbytes\", \"load_in_8bit\": true", "int8", 1);
  check_method("\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true", "int4", 0.5625);
  check_method("\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true, "
               "\"bnb_4bit_use_double_quant\": true",
               "int4", 0.516);
  check_method("\"quant_method\": \"fbgemm_fp8\"", "fp8", 1);
  check_method("\"quant_method\": \"quark\", \"global_quant_config\": "
               "{\"weight\": {\"dtype\": \"fp8_e4m3\"}}",
               "fp8", 1);
  check_method("\"quant_method\": \"quark\", \"global_quant_config\": "
               "{\"weight\": {\"dtype\": \"fp4\", \"group_size\": 32}}",
               "mxfp4", 0.53125);
  check_method("\"quant_method\": \"torchao\", \"quant_type\": \"int4_weight_only\", "
               "\"quant_type_kwargs\": {\"group_size\": 64}",
               "int4", 0.5 + 4.0 / 64);
  check_method("\"quant_method\": \"torchao\", \"quant_type\": "
               "{\"default\": {\"_type\": \"Float8DynamicActivationFloat8WeightConfig\"}}",
               "fp8", 1);
  check_method("\"quant_method\": \"torchao\", \"quant_type\": {\"default\": {\"_data\": "
               "{\"group_size\": 64}, \"_type\": \"Int4WeightOnlyConfig\"}}",
               "int4", 0.5 + 4.0 / 64);
  check_method("\"quant_method\": \"torchao\", \"quant_type\": {\"default\": {\"_data\": "
               "{\"weight_dtype\": {\"_data\": \"int8\"}}, \"_type\": \"IntxWeightOnlyConfig\"}}",
               "int8", 1);
  check_method("\"quant_method\": \"torchao\", \"quant_type\": {\"default\": {\"_data\": "
               "{\"module_fqn_to_config\": {\"_default\": {\"_type\": \"Int8WeightOnlyConfig\", "
               "\"_data\": {}}}}, \"_type\": \"ModuleFqnToConfig\"}}",
               "int8", 1);
  check_method("\"quant_method\": \"hqq\", \"quant_config\": {\"weight_quant_params\": "
               "{\"nbits\": 4, \"group_size\": 64}}",
               "int4", 0.5 + 4.0 / 64);
  check_method("\"quant_method\": \"hqq\", \"quant_config\": {\"self_attn.q_proj\": "
               "{\"weight_quant_params\": {\"nbits\": 4, \"group_size\": 64}}}",
               "int4", 0.5 + 4.0 / 64);
}

/* Exceptions of GPTQ and AutoRound, which are not lists. */
static void test_changed_modules(void) {
  read_case c = read_ok("{\"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4, "
                        "\"group_size\": 128, \"dynamic\": {\"-:.*self_attn.*\": {}, "
                        "\"+:.*layers\\\\.2\\\\..*\": {\"bits\": 8, \"group_size\": 32}}}}",
                        NULL);
  check_format(&c.precision, 1, BLIS_WEIGHT_ATTENTION, "model", 0);
  check_format(&c.precision, 1, BLIS_WEIGHT_DENSE, "int4", 0.5 + 2.5 / 128);
  check_format(&c.precision, 2, BLIS_WEIGHT_DENSE, "int8", 1 + 3.0 / 32);
  close_case(&c);
  c = read_ok("{\"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4, "
              "\"modules_in_block_to_quantize\": [[\"mlp.gate_proj\"], [\"mlp.up_proj\"]]}}",
              NULL);
  check_format(&c.precision, 1, BLIS_WEIGHT_ATTENTION, "model", 0);
  check_format(&c.precision, 1, BLIS_WEIGHT_DENSE, "int4", 0.5 + 2.5 / 128);
  close_case(&c);
  c = read_ok("{\"quantization_config\": {\"quant_method\": \"auto-round\", \"bits\": 4, "
              "\"group_size\": 128, \"extra_config\": {\"model.layers.1.self_attn.q_proj\": "
              "{\"bits\": 16}}}}",
              NULL);
  check_format(&c.precision, 1, BLIS_WEIGHT_ATTENTION, "model", 0);
  check_format(&c.precision, 0, BLIS_WEIGHT_ATTENTION, "int4", 0.5 + 2.5 / 128);
  close_case(&c);
}

static void check_compressed(const char *weights, const char *kind, double bytes) {
  char q[512];
  (void)snprintf(q, sizeof q,
                 "\"quant_method\": \"compressed-tensors\", \"config_groups\": "
                 "{\"group_0\": {\"targets\": [\"Linear\"], \"weights\": {%s}}}",
                 weights);
  check_method(q, kind, bytes);
}

static void test_compressed_tensors(void) {
  check_compressed("\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"channel\"", "fp8", 1);
  check_compressed("\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"block\", "
                   "\"block_structure\": [128, 128]",
                   "fp8_block", 1 + 4.0 / 16384);
  check_compressed("\"num_bits\": 8, \"type\": \"int\", \"strategy\": \"channel\"", "int8", 1);
  check_compressed("\"num_bits\": 4, \"type\": \"int\", \"group_size\": 32, \"symmetric\": true",
                   "int4", 0.5 + 2.0 / 32);
  check_compressed("\"num_bits\": 4, \"type\": \"int\", \"group_size\": 128, "
                   "\"symmetric\": false",
                   "int4", 0.5 + 2.5 / 128);
  check_compressed("\"num_bits\": 4, \"type\": \"float\", \"group_size\": 16", "nvfp4", 0.5625);
  check_compressed("\"num_bits\": 4, \"type\": \"float\", \"group_size\": 32", "mxfp4", 0.53125);
}

/* Every notation of a list leaves what it names in the model's type. */
static void test_ignored_modules(void) {
  static const struct {
    const char *list;
    bool attention, attention_out, experts, shared, dense, head;
  } CASES[] = {
      {"[\"lm_head\"]", false, false, false, false, false, true},
      {"[\"self_attn\"]", true, true, false, false, false, false},
      {"[\"model.layers.1.self_attn\"]", true, true, false, false, false, false},
      {"[\"language_model.model.layers.1.self_attn*\", \"language_model.lm_head\"]", true, true,
       false, false, false, true},
      {"[\"model.layers.1.self_attn.q_b_proj\"]", true, false, false, false, false, false},
      {"[\"model.layers.1.self_attn.o_proj\"]", false, true, false, false, false, false},
      {"[\"model.layers.1*\"]", true, true, true, true, true, false},
      {"[\"re:.*self_attn.*\"]", true, true, false, false, false, false},
      {"[\"re:.*shared_experts.*\"]", false, false, false, true, false, false},
      {"[\"re:.*mlp\\\\.(gate|up|gate_up|down)_proj.*\"]", false, false, false, false, true, false},
      {"[\"re:model\\\\.layers\\\\.\\\\d+\\\\.mlp\\\\.experts.*\"]", false, false, true, false,
       false, false},
      {"[\"*.mlp.shared_expert.*\"]", false, false, false, true, false, false},
      {"[\"gate\", \"e_score_correction_bias\", \"mlp.gate\"]", false, false, false, false, false,
       false},
      {"[\"model.layers.2.self_attn\", \"model.layers.11.mlp\"]", false, false, false, false, false,
       false},
      {"[\"vision_tower*\", \"model.visual*\", \"mtp.layers.1*\", "
       "\"vision_model.model.layers.1.self_attn.q_proj\"]",
       false, false, false, false, false, false},
      {"\"lm_head\"", false, false, false, false, false, true},
      {"null", false, false, false, false, false, false},
  };
  static const char *const KEYS[] = {
      "ignore",         "modules_to_not_convert", "exclude_modules",      "exclude",
      "ignored_layers", "skip_modules",           "llm_int8_skip_modules"};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    char config[1024];
    (void)snprintf(config, sizeof config,
                   "{\"quantization_config\": {\"quant_method\": \"modelopt\", \"quant_algo\": "
                   "\"FP8\", \"%s\": %s}}",
                   KEYS[i % 7], CASES[i].list);
    read_case c = read_ok(config, NULL);
    const blis_precision *p = &c.precision;
    check_name = CASES[i].list;
    CHECK((blis_precision_of(p, 1, BLIS_WEIGHT_ATTENTION).bytes == 0) == CASES[i].attention);
    CHECK((blis_precision_of(p, 1, BLIS_WEIGHT_ATTENTION_OUT).bytes == 0) ==
          CASES[i].attention_out);
    CHECK((blis_precision_of(p, 1, BLIS_WEIGHT_EXPERTS).bytes == 0) == CASES[i].experts);
    CHECK((blis_precision_of(p, 1, BLIS_WEIGHT_SHARED).bytes == 0) == CASES[i].shared);
    CHECK((blis_precision_of(p, 1, BLIS_WEIGHT_DENSE).bytes == 0) == CASES[i].dense);
    CHECK((blis_precision_of(p, 0, BLIS_WEIGHT_HEAD).bytes == 0) == CASES[i].head);
    close_case(&c);
  }
}

/* Methods other than ModelOpt and compressed-tensors never touch the head. */
static void test_the_head(void) {
  read_case c = read_ok("{\"quantization_config\": {\"quant_method\": \"fp8\"}}", NULL);
  check_format(&c.precision, 0, BLIS_WEIGHT_HEAD, "model", 0);
  close_case(&c);
  c = read_ok("{\"quantization_config\": {\"quant_algo\": \"FP8\"}}", NULL);
  check_format(&c.precision, 0, BLIS_WEIGHT_HEAD, "fp8", 1);
  close_case(&c);
}

static void test_mixed_precision(void) {
  read_case c =
      read_ok("{\"quantization_config\": {\"quant_method\": \"modelopt\", \"quant_algo\": "
              "\"MIXED_PRECISION\", \"quantized_layers\": {"
              "\"model.language_model.layers.1.self_attn.q_proj\": {\"quant_algo\": \"FP8\"},"
              "\"model.language_model.layers.2.mlp.experts\": {\"quant_algo\": \"W4A16_NVFP4\", "
              "\"group_size\": 16}, \"lm_head\": {\"quant_algo\": \"NVFP4\"}}}}",
              NULL);
  check_format(&c.precision, 1, BLIS_WEIGHT_ATTENTION, "fp8", 1);
  check_format(&c.precision, 0, BLIS_WEIGHT_ATTENTION, "model", 0);
  check_format(&c.precision, 1, BLIS_WEIGHT_ATTENTION_OUT, "model", 0);
  check_format(&c.precision, 2, BLIS_WEIGHT_EXPERTS, "nvfp4", 0.5625);
  check_format(&c.precision, 1, BLIS_WEIGHT_EXPERTS, "model", 0);
  check_format(&c.precision, 0, BLIS_WEIGHT_HEAD, "nvfp4", 0.5625);
  close_case(&c);
}

static void test_groups_with_targets(void) {
  read_case c = read_ok(
      "{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"config_groups\": {"
      "\"a\": {\"targets\": [\"re:.*self_attn.*\"], \"weights\": {\"num_bits\": 8, \"type\": "
      "\"float\"}}, \"b\": {\"targets\": [\"Linear\"], \"weights\": {\"num_bits\": 4, \"type\": "
      "\"int\", \"group_size\": 32}}}, \"ignore\": [\"lm_head\"]}}",
      NULL);
  check_format(&c.precision, 3, BLIS_WEIGHT_ATTENTION, "fp8", 1);
  check_format(&c.precision, 3, BLIS_WEIGHT_EXPERTS, "int4", 0.5 + 2.0 / 32);
  check_format(&c.precision, 0, BLIS_WEIGHT_HEAD, "model", 0);
  close_case(&c);
}

static void test_experts_alone(void) {
  read_case c = read_ok("{\"quantization_config\": {\"quant_method\": \"mxfp4\"}}", NULL);
  check_format(&c.precision, 0, BLIS_WEIGHT_EXPERTS, "mxfp4", 0.53125);
  check_format(&c.precision, 0, BLIS_WEIGHT_ATTENTION, "model", 0);
  close_case(&c);
  c = read_ok("{\"expert_dtype\": \"fp4\", \"quantization_config\": {\"quant_method\": \"fp8\"}}",
              NULL);
  check_format(&c.precision, 0, BLIS_WEIGHT_EXPERTS, "mxfp4", 0.53125);
  check_format(&c.precision, 0, BLIS_WEIGHT_SHARED, "fp8", 1);
  close_case(&c);
  /* What ModelOpt ignores on top of FP8 stays FP8. */
  c = read_ok("{\"quantization_config\": {\"quant_method\": \"fp8\", \"moe_quant_algo\": "
              "\"NVFP4\", \"ignore\": [\"*.attn.*\"]}}",
              NULL);
  check_format(&c.precision, 0, BLIS_WEIGHT_EXPERTS, "nvfp4", 0.5625);
  check_format(&c.precision, 0, BLIS_WEIGHT_ATTENTION, "fp8", 1);
  close_case(&c);
}

static void test_places(void) {
  const char *side_car = "{\"producer\": {\"name\": \"modelopt\"}, \"quantization\": "
                         "{\"quant_algo\": \"NVFP4\", \"kv_cache_quant_algo\": \"FP8\", "
                         "\"exclude_modules\": [\"lm_head\"]}}";
  read_case c = read_ok("{}", side_car);
  check_format(&c.precision, 0, BLIS_WEIGHT_ATTENTION, "nvfp4", 0.5625);
  check_format(&c.precision, 0, BLIS_WEIGHT_HEAD, "model", 0);
  CHECK(c.precision.kv_bytes == 1);
  close_case(&c);
  /* The config's word counts; the KV type comes from wherever it is stated. */
  c = read_ok("{\"quantization_config\": {\"quant_method\": \"fp8\"}}", side_car);
  check_format(&c.precision, 0, BLIS_WEIGHT_ATTENTION, "fp8", 1);
  CHECK(c.precision.kv_bytes == 1);
  close_case(&c);
  c = read_ok("{\"text_config\": {\"quantization_config\": {\"quant_method\": \"fp8\"}}}", NULL);
  check_format(&c.precision, 0, BLIS_WEIGHT_ATTENTION, "fp8", 1);
  close_case(&c);
  c = read_ok("{\"compression_config\": {\"quant_method\": \"fp8\"}}", NULL);
  CHECK_STR(c.precision.method, "fp8");
  close_case(&c);
  c = read_ok("{}", "{\"bits\": 4, \"group_size\": 128}");
  check_format(&c.precision, 0, BLIS_WEIGHT_DENSE, "int4", 0.5 + 2.5 / 128);
  close_case(&c);
  c = read_ok("{\"quantization_config\": {}}", NULL);
  check_format(&c.precision, 0, BLIS_WEIGHT_DENSE, "model", 0);
  CHECK(c.precision.kv_bytes == 0 && c.precision.method[0] == '\0');
  close_case(&c);
}

static void check_kv(const char *member, double bytes) {
  char config[256];
  (void)snprintf(config, sizeof config,
                 "{\"quantization_config\": {\"quant_method\": \"fp8\", %s}}", member);
  read_case c = read_ok(config, NULL);
  CHECK(c.precision.kv_bytes == bytes);
  close_case(&c);
}

static void test_kv_types(void) {
  check_kv("\"kv_cache_scheme\": {\"num_bits\": 8, \"type\": \"float\"}", 1);
  check_kv("\"kv_cache_scheme\": \"FP8\"", 1);
  check_kv("\"kv_cache_scheme\": {\"num_bits\": 4}", 0.5625);
  check_kv("\"kv_cache_quant_algo\": \"NVFP4\"", 0.5625);
  check_kv("\"kv_cache_scheme\": null", 0);
  check_kv("\"kv_cache_quant_config\": {\"*k_proj\": {\"output_tensors\": {\"dtype\": "
           "\"fp8_e4m3\"}}}",
           1);
  read_case only_kv = read_ok("{\"quantization_config\": {\"quant_method\": "
                              "\"compressed-tensors\", \"config_groups\": {}, "
                              "\"kv_cache_scheme\": {\"num_bits\": 8}}}",
                              NULL);
  CHECK(only_kv.precision.kv_bytes == 1);
  check_format(&only_kv.precision, 1, BLIS_WEIGHT_DENSE, "model", 0);
  close_case(&only_kv);
  double bytes = -1;
  blis_error error = {0};
  CHECK_OK(blis_precision_kv_bytes("FP8_E5M2", &bytes, &error), &error);
  CHECK(bytes == 1);
  CHECK_OK(blis_precision_kv_bytes("auto", &bytes, &error), &error);
  CHECK(bytes == 0);
  CHECK_STATUS(blis_precision_kv_bytes("fp9", &bytes, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "unknown KV cache type 'fp9'; expected auto");
}

static void check_fault(const char *quantization, const char *expected) {
  char config[512];
  (void)snprintf(config, sizeof config, "{\"quantization_config\": {%s}}", quantization);
  read_case c = read_with(config, NULL, 4);
  CHECK_STATUS(c.status, BLIS_ERR_INVALID);
  CHECK_CONTAINS(c.error.message, expected);
  CHECK_CONTAINS(c.error.message, "--quantization");
  CHECK(c.precision.formats == NULL);
  close_case(&c);
}

static void test_unknown_methods_are_errors(void) {
  check_fault("\"quant_method\": \"exl9\"", "unknown quantization method 'exl9'");
  check_fault("\"bits\": 4", "names no quant_method");
  read_case text = read_with("{\"quantization_config\": \"fp8\"}", NULL, 4);
  CHECK_STATUS(text.status, BLIS_ERR_INVALID);
  CHECK_CONTAINS(text.error.message, "names no quant_method");
  close_case(&text);
  check_fault("\"quant_algo\": \"FP3\"", "unknown quantization algorithm 'FP3'");
  check_fault("\"quant_method\": \"torchao\", \"quant_type\": \"ternary\"",
              "kind of the quantization method 'torchao'");
  check_fault("\"quant_method\": \"gptq\", \"bits\": 77", "'gptq'");
  check_fault("\"quant_method\": \"hqq\"", "'hqq'");
  check_fault("\"quant_method\": \"compressed-tensors\"", "'compressed-tensors'");
  check_fault("\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"g\": {\"targets\": "
              "[\"Linear\"], \"weights\": {\"num_bits\": 8, \"type\": \"float\"}}, \"h\": "
              "{\"targets\": [\"x\"], \"weights\": {\"num_bits\": 3, \"type\": \"float\"}}}",
              "config_groups: h");
  check_fault("\"quant_method\": \"fp8\", \"ignore\": [\"re:(\"]", "regular expression");
  check_fault("\"quant_algo\": \"MIXED_PRECISION\", \"quantized_layers\": {\"layers.0.mlp\": "
              "{\"quant_algo\": \"odd\"}}",
              "'odd' of 'layers.0.mlp'");
}

static void test_overrides(void) {
  blis_precision p;
  blis_error error = {0};
  CHECK_OK(blis_precision_override(&heap, "FP8", 2, false, &p, &error), &error);
  check_format(&p, 1, BLIS_WEIGHT_DENSE, "fp8", 1);
  check_format(&p, 1, BLIS_WEIGHT_HEAD, "model", 0);
  blis_precision_free(&p);
  CHECK_OK(blis_precision_override(&heap, "mxfp4", 2, true, &p, &error), &error);
  check_format(&p, 1, BLIS_WEIGHT_EXPERTS, "mxfp4", 0.53125);
  check_format(&p, 1, BLIS_WEIGHT_ATTENTION, "model", 0);
  blis_precision_free(&p);
  CHECK_OK(blis_precision_override(&heap, "mxfp4", 2, false, &p, &error), &error);
  check_format(&p, 1, BLIS_WEIGHT_DENSE, "mxfp4", 0.53125);
  blis_precision_free(&p);
  CHECK_OK(blis_precision_override(&heap, "none", 2, false, &p, &error), &error);
  check_format(&p, 0, BLIS_WEIGHT_ATTENTION, "model", 0);
  CHECK_STR(p.method, "");
  blis_precision_free(&p);
  blis_precision_free(&p);
  CHECK_STATUS(blis_precision_override(&heap, "fp7", 2, false, &p, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "unknown quantization 'fp7'; expected none, fp8");
  CHECK_STATUS(blis_precision_override(&heap, "fp8", 5000, false, &p, &error), BLIS_ERR_INVALID);
}

/* Bytes of a weight with its share of scales and zero points. */
static void test_named_formats(void) {
  static const struct {
    const char *name;
    const char *kind;
    double bytes;
  } named[] = {
      {"fp8", "fp8", 1},
      {"fp8_block", "fp8_block", 1.000244140625}, /* a scale of 4 bytes for 128 x 128 weights */
      {"int8", "int8", 1},
      {"mxfp8", "mxfp8", 1.03125},
      {"nvfp4", "nvfp4", 0.5625},
      {"mxfp4", "mxfp4", 0.53125},
      {"int4", "int4", 0.515625},
      {"awq", "int4", 0.51953125},
      {"awq_marlin", "int4", 0.51953125},
      {"gptq", "int4", 0.51953125},
      {"gptq_marlin", "int4", 0.51953125},
      {"bitsandbytes", "int4", 0.5625},
      {"modelopt", "fp8", 1},
      {"modelopt_fp4", "nvfp4", 0.5625},
      {"fbgemm_fp8", "fp8", 1},
      {"ptpc_fp8", "fp8", 1},
      {"experts_int8", "int8", 1},
  };
  for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
    blis_precision p;
    blis_error error = {0};
    CHECK_OK(blis_precision_override(&heap, named[i].name, 2, true, &p, &error), &error);
    check_format(&p, 1, BLIS_WEIGHT_EXPERTS, named[i].kind, named[i].bytes);
    blis_precision_free(&p);
  }
}

/* Texts with characters that patterns give a meaning, of any length, never crash. */
static void test_random_entries(void) {
  static const char PIECES[][12] = {"re:", "*",     ".", "layers.", "1",   "self_attn", "(",
                                    ")",   "\\\\d", "[", "]",       "mlp", "lm_head",   "$",
                                    "(?:", "?",     "|", "+",       "^",   "model."};
  blis_random random;
  blis_random_init(&random, 20261128);
  for (int i = 0; i < 3000; i++) {
    char entry[700] = "";
    for (int pieces = blis_random_intn(&random, 60); pieces > 0; pieces--) {
      strcat(entry, PIECES[blis_random_intn(&random, sizeof PIECES / sizeof *PIECES)]);
    }
    char config[900];
    (void)snprintf(config, sizeof config,
                   "{\"quantization_config\": {\"quant_method\": \"fp8\", \"ignore\": [\"%s\"]}}",
                   entry);
    read_case c = read_with(config, NULL, 3);
    CHECK(c.status == BLIS_OK || c.status == BLIS_ERR_INVALID);
    close_case(&c);
  }
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(test_methods);
  RUN(test_changed_modules);
  RUN(test_compressed_tensors);
  RUN(test_ignored_modules);
  RUN(test_the_head);
  RUN(test_mixed_precision);
  RUN(test_groups_with_targets);
  RUN(test_experts_alone);
  RUN(test_places);
  RUN(test_kv_types);
  RUN(test_unknown_methods_are_errors);
  RUN(test_overrides);
  RUN(test_named_formats);
  RUN(test_random_entries);
  return check_done();
}
