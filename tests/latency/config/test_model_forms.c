/*
 * The forms in which publishers write a configuration: names of keys, lists, nested parts, older
 * types, and files that lack what decides the layers. The configurations are made for this test.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "latency/config/class_defaults.h"
#include "latency/config/model_reader.h"
#include "latency/layers/totals.h"

#define SIZES                                                                                      \
  "\"num_hidden_layers\":4,\"hidden_size\":64,\"num_attention_heads\":8,\"vocab_size\":1000,"      \
  "\"intermediate_size\":128,\"torch_dtype\":\"bfloat16\","
#define MAMBA "\"mamba_n_heads\":8,\"mamba_d_head\":16,\"mamba_d_state\":8,\"mamba_d_conv\":4,"

static blis_status read_with(const char *text, const blis_model_options *options,
                             blis_layered_model *model, blis_error *error) {
  blis_alloc alloc = blis_alloc_heap();
  return blis_model_read_text(&alloc, "config.json", (blis_slice){text, strlen(text)},
                              (blis_slice){"", 0}, "model", options, model, error);
}

static blis_layered_model read_ok(const char *text) {
  blis_layered_model model = {0};
  blis_error error = {0};
  CHECK_OK(read_with(text, NULL, &model, &error), &error);
  return model;
}

static void check_layers(const char *text, const char *layers) {
  blis_layered_model model = read_ok(text);
  char found[256];
  blis_layered_model_describe(&model, found, sizeof found);
  CHECK_STR(found, layers);
  blis_layered_model_free(&model);
}

static void check_refused(const char *text, const char *message) {
  blis_layered_model model;
  blis_error error = {0};
  CHECK_STATUS(read_with(text, NULL, &model, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, message);
}

/* Bytes of KV cache for every token on one GPU. */
static double token_bytes(const char *text) {
  blis_layered_model model = read_ok(text);
  double bytes = blis_layered_cache(&model, 1).token_bytes;
  blis_layered_model_free(&model);
  return bytes;
}

static void test_kinds_of_layers(void) {
  check_layers("{\"model_type\":\"bamba\"," SIZES MAMBA "\"attn_layer_indices\":[1,3]}",
               "4 layers: 2 mamba2, 2 full");
  check_layers("{\"model_type\":\"bamba\"," SIZES MAMBA "\"attn_layer_indices\":null}",
               "4 layers: 4 mamba2");
  check_layers("{\"model_type\":\"mistral\"," SIZES "\"sliding_window\":[null,32]}",
               "4 layers: 2 full, 2 window 32");
  check_layers("{\"model_type\":\"olmo3\"," SIZES "\"sliding_window\":32}",
               "4 layers: 3 window 32, 1 full");
}

/* Words and keys of files that transformers 5 writes. */
static void test_newer_words(void) {
  check_layers("{\"model_type\":\"nemotron_h\"," SIZES MAMBA
               "\"n_groups\":2,\"head_dim\":8,\"layers_block_type\":[\"linear_attention\","
               "\"moe\",\"full_attention\",\"mlp\"],\"n_routed_experts\":4,"
               "\"num_experts_per_tok\":2,\"moe_intermediate_size\":32}",
               "4 layers: 1 mamba2, 2 none, 1 full; 1 dense, 1 moe");
  check_layers("{\"model_type\":\"nemotron_h\"," SIZES MAMBA
               "\"n_groups\":2,\"head_dim\":8,\"layer_types\":[\"linear_attention\",\"mlp\","
               "\"full_attention\",\"mlp\"]}",
               "4 layers: 1 mamba2, 2 none, 1 full");
  check_layers("{\"model_type\":\"granitemoehybrid\"," SIZES MAMBA
               "\"num_local_experts\":0,\"layer_types\":[\"linear_attention\","
               "\"linear_attention\",\"full_attention\",\"linear_attention\"]}",
               "4 layers: 3 mamba2, 1 full");
  check_layers("{\"model_type\":\"jamba\"," SIZES
               "\"num_experts\":1,\"layer_types\":[\"mamba\",\"linear_attention\","
               "\"full_attention\",\"attention\"]}",
               "4 layers: 2 mamba1, 2 full");
  check_layers("{\"model_type\":\"kimi_linear\"," SIZES
               "\"num_experts\":0,\"kv_lora_rank\":32,\"q_lora_rank\":null,"
               "\"qk_rope_head_dim\":0,\"qk_nope_head_dim\":8,\"v_head_dim\":8,"
               "\"linear_num_heads\":4,\"linear_head_dim\":16,\"layer_types\":["
               "\"linear_attention\",\"linear_attention\",\"linear_attention\","
               "\"full_attention\"]}",
               "4 layers: 3 kda, 1 mla");
  check_layers("{\"model_type\":\"olmo_hybrid\"," SIZES "\"max_position_embeddings\":9}",
               "4 layers: 3 gdn, 1 full");
}

/* KDA in Kimi Linear, in K3 with a gate of full rank, and in Ling 3.0. */
#define KIMI                                                                                       \
  "{\"model_type\":\"kimi_linear\"," SIZES                                                         \
  "\"num_experts\":0,\"kv_lora_rank\":32,\"q_lora_rank\":null,\"qk_rope_head_dim\":8,"             \
  "\"qk_nope_head_dim\":8,\"v_head_dim\":8,\"linear_attn_config\":{\"num_heads\":4,"               \
  "\"head_dim\":16,\"short_conv_kernel_size\":4,"

static void test_kda(void) {
  check_layers(KIMI "\"kda_layers\":[1,2,3],\"full_attn_layers\":[4]}}", "4 layers: 3 kda, 1 mla");
  check_layers(KIMI "\"kda_layers\":[0,2],\"full_attn_layers\":[1,3]}}", "4 layers: 2 kda, 2 mla");
  check_refused(KIMI "\"kda_layers\":[1,2],\"full_attn_layers\":[4]}}",
                "layer 3 is in neither kda_layers nor full_attn_layers");
  blis_layered_model plain = read_ok(KIMI "\"kda_layers\":[1,2,3],\"full_attn_layers\":[4]}}");
  blis_layered_model full =
      read_ok(KIMI "\"use_full_rank_gate\":true,\"kda_layers\":[1,2,3],\"full_attn_layers\":[4]}}");
  double inner = 4 * 16;
  double more = 3 * (inner * 64 - (64 + inner) * 16);
  CHECK(blis_layered_parameters(&full) - blis_layered_parameters(&plain) == more);
  blis_layered_model_free(&plain);
  blis_layered_model_free(&full);
  check_layers("{\"model_type\":\"bailing_hybrid\"," SIZES
               "\"num_experts\":0,\"layer_group_size\":3,\"linear_attention\":\"kda\","
               "\"short_conv_kernel_size\":4,\"no_kda_lora\":true}",
               "4 layers: 2 kda, 2 full");
  check_layers("{\"model_type\":\"bailing_hybrid\"," SIZES
               "\"num_experts\":0,\"layer_group_size\":2}",
               "4 layers: 2 lightning, 2 full");
}

/* Layers of KDA have the names of attention modules; those of GDN do not. */
static void test_formats_of_linear_layers(void) {
  static const char QUANTIZATION[] =
      ",\"quantization_config\":{\"quant_method\":\"compressed-tensors\",\"config_groups\":{"
      "\"g\":{\"targets\":[\"Linear\"],\"weights\":{\"num_bits\":4,\"type\":\"float\","
      "\"group_size\":32}}},\"ignore\":[\"re:.*self_attn.*\"]}}";
  char text[1200];
  (void)snprintf(text, sizeof text, KIMI "\"kda_layers\":[1,2,3],\"full_attn_layers\":[4]}%s",
                 QUANTIZATION);
  blis_layered_model model = read_ok(text);
  CHECK_EQ_I64(model.runs[0].layer.formats[BLIS_WEIGHT_LINEAR].kind, BLIS_KIND_MODEL);
  CHECK_EQ_I64(model.runs[0].layer.formats[BLIS_WEIGHT_DENSE].kind, BLIS_KIND_MXFP4);
  blis_layered_model_free(&model);
  (void)snprintf(text, sizeof text, "{\"model_type\":\"olmo_hybrid\"," SIZES "\"head_dim\":8%s",
                 QUANTIZATION);
  model = read_ok(text);
  CHECK_EQ_I64(model.runs[0].layer.formats[BLIS_WEIGHT_LINEAR].kind, BLIS_KIND_MXFP4);
  CHECK_EQ_I64(model.runs[1].layer.formats[BLIS_WEIGHT_ATTENTION].kind, BLIS_KIND_MODEL);
  blis_layered_model_free(&model);
}

/* MiniMax-M3 has experts of the width intermediate_size, and wider dense layers. */
static void test_minimax_m3(void) {
  blis_layered_model model = read_ok(
      "{\"model_type\":\"minimax_m3_vl\",\"text_config\":{" SIZES
      "\"dense_intermediate_size\":512,\"shared_intermediate_size\":128,\"num_local_experts\":4,"
      "\"num_experts_per_tok\":2,\"head_dim\":8,\"moe_layer_freq\":[0,1,1,1],"
      "\"sparse_attention_config\":{\"sparse_index_dim\":16,\"sparse_num_index_heads\":2,"
      "\"sparse_topk_blocks\":4,\"sparse_block_size\":8,\"sparse_attention_freq\":[0,1,1,1]}}}");
  CHECK_EQ_I64(model.runs[0].layer.ffn.width, 512);
  CHECK_EQ_I64(model.runs[1].layer.ffn.expert_width, 128);
  CHECK_EQ_I64(model.runs[1].layer.ffn.shared_width, 128);
  CHECK_EQ_I64(model.runs[1].layer.attention.attended_tokens, 32);
  blis_layered_model_free(&model);
  check_refused("{\"model_type\":\"minimax_m3\"," SIZES
                "\"num_local_experts\":4,\"sparse_attention_config\":{\"sparse_index_dim\":16}}",
                "sparse_attention_freq is missing");
}

/* Experts from a first to a last layer, at an interval (ERNIE). */
static void test_intervals_of_experts(void) {
#define ERNIE                                                                                      \
  "{\"model_type\":\"ernie4_5_moe\"," SIZES                                                        \
  "\"moe_num_experts\":4,\"moe_k\":2,\"moe_intermediate_size\":32,\"num_key_value_heads\":2,"
  check_layers(ERNIE "\"moe_layer_start_index\":1,\"moe_layer_end_index\":2}",
               "4 layers: 4 full; 2 dense, 2 moe");
  check_layers(ERNIE "\"moe_layer_start_index\":1,\"moe_layer_end_index\":-1}",
               "4 layers: 4 full; 1 dense, 3 moe");
  check_layers(ERNIE "\"moe_layer_start_index\":0,\"moe_layer_interval\":2}",
               "4 layers: 4 full; 2 dense, 2 moe");
}

/* A layer of LongCat has two attention parts and two dense ones. */
static void test_pairs_of_layers(void) {
  check_layers("{\"model_type\":\"longcat_flash\",\"num_layers\":2,\"hidden_size\":64,"
               "\"num_attention_heads\":8,\"vocab_size\":1000,\"ffn_hidden_size\":128,"
               "\"expert_ffn_hidden_size\":32,\"n_routed_experts\":4,\"moe_topk\":2,"
               "\"kv_lora_rank\":32,\"q_lora_rank\":16,\"qk_rope_head_dim\":8,"
               "\"qk_nope_head_dim\":8,\"v_head_dim\":8}",
               "4 layers: 4 mla; 2 dense, 2 moe+dense");
}

/* A quantization of the user's makes layers equal whose formats differed: they count together. */
static void test_joined_layers(void) {
  static const char TEXT[] =
      "{\"model_type\":\"llama\"," SIZES
      "\"quantization_config\":{\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"g\":{"
      "\"targets\":[\"re:.*layers.0.mlp.*\"],\"weights\":{\"num_bits\":8,\"type\":\"float\"}}}}}";
  blis_layered_model model = read_ok(TEXT);
  CHECK_EQ_I64(model.run_count, 2);
  double parameters = blis_layered_parameters(&model);
  const blis_model_options options = {.quantization = "nvfp4"};
  blis_error error = {0};
  CHECK_OK(blis_layered_model_override(&model, &options, &error), &error);
  CHECK_EQ_I64(model.run_count, 1);
  CHECK_EQ_I64(model.runs[0].count, 4);
  CHECK(blis_layered_parameters(&model) == parameters);
  blis_layered_model_free(&model);
}

#define V4                                                                                         \
  "{\"model_type\":\"deepseek_v4\"," SIZES                                                         \
  "\"head_dim\":32,\"q_lora_rank\":16,\"o_lora_rank\":16,\"o_groups\":2,\"index_head_dim\":16,"    \
  "\"index_n_heads\":4,\"index_topk\":8,\"sliding_window\":128,\"hc_mult\":4,"                     \
  "\"moe_intermediate_size\":32,\"n_routed_experts\":8,\"num_experts_per_tok\":2,"

/* Ratios by layer, or a word for each layer and the ratio of each word: the same layers. */
static void test_compressed(void) {
  blis_layered_model old = read_ok(V4 "\"qk_rope_head_dim\":8,\"compress_ratios\":[0,4,128,4,0]}");
  blis_layered_model newer = read_ok(
      V4 "\"partial_rotary_factor\":0.25,\"compress_rates\":{\"compressed_sparse_attention\":4,"
         "\"heavily_compressed_attention\":128},\"layer_types\":[\"sliding_attention\","
         "\"compressed_sparse_attention\",\"heavily_compressed_attention\","
         "\"compressed_sparse_attention\"],\"mlp_layer_types\":[\"hash_moe\",\"moe\",\"moe\","
         "\"moe\"]}");
  CHECK_EQ_I64(old.run_count, 3);
  CHECK_EQ_I64(newer.run_count, old.run_count);
  for (size_t i = 0; i < old.run_count; i++) {
    CHECK(blis_layer_equal(&old.runs[i].layer, &newer.runs[i].layer));
    CHECK_EQ_I64(old.runs[i].count, newer.runs[i].count);
  }
  blis_layered_model_free(&old);
  blis_layered_model_free(&newer);
}

/* Experts of DeepSeek V4 in FP8 files: FP4 unless expert_dtype states FP8. */
static void test_expert_type(void) {
  static const struct {
    const char *keys;
    blis_weight_kind kind;
  } CASES[] = {
      {"\"quantization_config\":{\"quant_method\":\"fp8\"}", BLIS_KIND_MXFP4},
      {"\"expert_dtype\":\"fp4\",\"quantization_config\":{\"quant_method\":\"fp8\"}",
       BLIS_KIND_MXFP4},
      {"\"quantization_config\":{\"quant_method\":\"fp8\",\"expert_dtype\":\"fp4\"}",
       BLIS_KIND_MXFP4},
      {"\"expert_dtype\":\"fp8\",\"quantization_config\":{\"quant_method\":\"fp8\"}",
       BLIS_KIND_FP8},
      {"\"use_cache\":true", BLIS_KIND_MODEL},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    char text[1200];
    (void)snprintf(text, sizeof text,
                   V4 "\"qk_rope_head_dim\":8,\"compress_ratios\":[0,4,128,4,0],%s}",
                   CASES[i].keys);
    blis_layered_model model = read_ok(text);
    const blis_layer *layer = &model.runs[0].layer;
    CHECK_EQ_I64(layer->formats[BLIS_WEIGHT_EXPERTS].kind, CASES[i].kind);
    CHECK_EQ_I64(layer->formats[BLIS_WEIGHT_ATTENTION].kind,
                 i < 4 ? BLIS_KIND_FP8 : BLIS_KIND_MODEL);
    blis_layered_model_free(&model);
  }
}

/* Layers whose index an earlier layer owns. */
static void test_shared_indexers(void) {
  static const struct {
    const char *keys;
    double owners;
  } CASES[] = {
      {"\"index_topk_freq\":1", 4},
      {"\"index_topk_freq\":2,\"index_skip_topk_offset\":1", 2},
      {"\"index_topk_freq\":3", 2},
      {"\"index_topk_pattern\":\"FSSF\"", 2},
      {"\"indexer_types\":[\"full\",\"shared\",\"shared\",\"shared\"]", 1},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    char text[640];
    (void)snprintf(text, sizeof text,
                   "{\"model_type\":\"glm_moe_dsa\"," SIZES
                   "\"n_routed_experts\":0,\"kv_lora_rank\":32,\"q_lora_rank\":16,"
                   "\"qk_rope_head_dim\":8,\"qk_nope_head_dim\":8,\"v_head_dim\":8,"
                   "\"index_topk\":8,\"index_n_heads\":2,\"index_head_dim\":16,%s}",
                   CASES[i].keys);
    CHECK(token_bytes(text) == 4.0 * (32 + 8) * 2 + CASES[i].owners * (16 + 4));
  }
}

/* The file of Mistral, with names of its own. */
static void test_params(void) {
  blis_layered_model model = read_ok(
      "{\"dim\":64,\"n_layers\":4,\"head_dim\":16,\"hidden_dim\":128,\"n_heads\":8,"
      "\"n_kv_heads\":2,\"vocab_size\":1000,\"tied_embeddings\":true,\"moe\":{\"num_experts\":4,"
      "\"num_experts_per_tok\":2,\"expert_hidden_dim\":32,\"num_shared_experts\":1,"
      "\"first_k_dense_replace\":1},\"vision_encoder\":{\"hidden_size\":7},"
      "\"quantization\":{\"qformat_weight\":\"fp8_e4m3\"}}");
  char text[256];
  blis_layered_model_describe(&model, text, sizeof text);
  CHECK_STR(text, "4 layers: 4 full; 1 dense, 3 moe");
  CHECK(model.has_tied_embeddings);
  CHECK_STR(model.quantization, "fp8");
  CHECK_CONTAINS(model.notes, "images or sound");
  CHECK(blis_layered_cache(&model, 1).token_bytes == 4.0 * 2 * 2 * 16 * 2);
  blis_layered_model_free(&model);
}

/* transformers omits sizes of a text part that equal the defaults of its class. */
static void test_nested_defaults(void) {
  static const char TEXT[] =
      "{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"llama\",\"vocab_size\":32064,"
      "\"torch_dtype\":\"float32\"},\"torch_dtype\":\"float16\"}";
  blis_layered_model model = read_ok(TEXT);
  CHECK_EQ_I64(blis_layered_model_layers(&model), 32);
  CHECK(fabs(blis_layered_parameters(&model) - 6.739e9) < 1e6);
  CHECK(model.model_bytes == 2.0);
  CHECK_EQ_I64(model.max_tokens, 2048);
  blis_layered_model_free(&model);
  check_refused("{\"model_type\":\"llama\",\"vocab_size\":32064}", "num_hidden_layers is missing");
}

/* Inputs for each layer: small Gemma 4 models have them even if the file omits their width; large
   ones have none. */
static void test_layer_inputs(void) {
  static const char KEYS[] = "\"head_dim\":16,\"global_head_dim\":32,\"sliding_window\":8,";
  static const struct {
    const char *keys;
    double weights; /* of the whole model: words * layers * width + hidden * layers * width */
  } CASES[] = {
      {"\"num_kv_shared_layers\":0", 0.0},
      {"\"attention_k_eq_v\":true", 0.0},
      {"\"num_kv_shared_layers\":2", (262144.0 + 64.0) * 4 * 256},
      {"\"num_kv_shared_layers\":2,\"hidden_size_per_layer_input\":0", 0.0},
      {"\"hidden_size_per_layer_input\":32", (262144.0 + 64.0) * 4 * 32},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    char text[512];
    (void)snprintf(text, sizeof text, "{\"model_type\":\"gemma4_text\"," SIZES "%s%s}", KEYS,
                   CASES[i].keys);
    blis_layered_model model = read_ok(text);
    CHECK(model.other_weights == CASES[i].weights);
    bool has_note = strstr(model.notes, "hidden_size_per_layer_input is not stated") != NULL;
    CHECK(has_note == (i < 2));
    blis_layered_model_free(&model);
  }
}

static void test_kv_heads(void) {
  CHECK(token_bytes("{\"model_type\":\"RefinedWeb\"," SIZES "\"n_head_kv\":2}") ==
        4.0 * 2 * 2 * 8 * 2);
  CHECK(token_bytes("{\"model_type\":\"falcon\"," SIZES "\"alibi\":false}") == 4.0 * 2 * 8 * 2);
  CHECK(token_bytes("{\"model_type\":\"hunyuan\"," SIZES
                    "\"use_cla\":true,\"cla_share_factor\":2}") == 2.0 * 2 * 8 * 8 * 2);
  CHECK(token_bytes("{\"model_type\":\"gemma4_text\"," SIZES
                    "\"num_kv_shared_layers\":2,\"head_dim\":8,\"global_head_dim\":8,"
                    "\"num_key_value_heads\":4,\"hidden_size_per_layer_input\":0,\"layer_types\":["
                    "\"full_attention\",\"full_attention\",\"full_attention\","
                    "\"full_attention\"]}") == 2.0 * 2 * 4 * 8 * 2);
  CHECK(token_bytes("{\"model_type\":\"deci\"," SIZES
                    "\"num_key_value_heads_per_layer\":[1,2,4,8]}") == 15.0 * 2 * 8 * 2);
  CHECK(token_bytes("{\"model_type\":\"deepseek_v2\"," SIZES
                    "\"kv_lora_rank\":null,\"qk_nope_head_dim\":0,\"v_head_dim\":0}") ==
        4.0 * 2 * 8 * 8 * 2);
  CHECK(token_bytes("{\"model_type\":\"minicpm3\"," SIZES
                    "\"kv_lora_rank\":32,\"q_lora_rank\":16,\"qk_nope_head_dim\":8,"
                    "\"qk_rope_head_dim\":4}") == 4.0 * 36 * 2);
}

/* Defaults of a class are notes; types that a list of layers cannot describe are errors. */
static void test_defaults_and_obstacles(void) {
  blis_layered_model model =
      read_ok("{\"model_type\":\"qwen3_moe\"," SIZES "\"num_experts\":4,\"num_experts_per_tok\":2,"
              "\"moe_intermediate_size\":32}");
  CHECK_CONTAINS(model.notes,
                 "the default of the class counts: num_key_value_heads 4, head_dim 128");
  CHECK(blis_layered_cache(&model, 1).token_bytes == 4.0 * 4 * 2 * 128 * 2);
  blis_layered_model_free(&model);
  model = read_ok("{" SIZES "\"num_key_value_heads\":2,\"head_dim\":8}");
  CHECK_CONTAINS(model.notes, "model_type is not stated");
  CHECK(strstr(model.notes, "default of the class") == NULL);
  blis_layered_model_free(&model);
  check_refused("{\"model_type\":\"longcat_flash_ngram\"," SIZES "\"a\":1}", "n-grams");
  check_refused("{\"model_type\":\"deepseek_v32\"," SIZES
                "\"n_routed_experts\":0,\"kv_lora_rank\":32,\"q_lora_rank\":16,"
                "\"qk_rope_head_dim\":8,\"qk_nope_head_dim\":8,\"v_head_dim\":8,"
                "\"index_n_heads\":2,\"index_head_dim\":16}",
                "index_topk is missing");
}

/* Files from which the layers do not follow are refused: they are not full attention. */
static void test_missing_layers(void) {
  check_refused("{\"model_type\":\"nemotron_h\"," SIZES MAMBA "\"n_groups\":2}",
                "mamba_d_state is stated, but no known key states the layers");
  check_refused("{\"model_type\":\"other\"," SIZES "\"swa_head_dim\":8}",
                "swa_head_dim is stated, but no known key");
  check_refused("{\"model_type\":\"minimax_m1\"," SIZES "\"head_dim\":8}",
                "attn_type_list is missing");
  check_refused("{\"model_type\":\"qwen3_vl\"," SIZES "\"num_experts_per_tok\":2}",
                "num_experts is missing, but num_experts_per_tok is stated");
  check_refused("{\"model_type\":\"kimi_k2\"," SIZES "\"qk_nope_head_dim\":8}",
                "kv_lora_rank is missing");
  check_refused("{\"model_type\":\"llama\"," SIZES "\"num_key_value_heads\":[2,2,2]}",
                "num_key_value_heads has 3 items, and the model has 4 layers");
  check_refused("{\"model_type\":\"zamba2\"," SIZES MAMBA "\"x\":1}",
                "model_type zamba2 is not supported: blis does not describe attention layers that "
                "share their weights");
  check_layers("{\"model_type\":\"granitemoehybrid\"," SIZES MAMBA
               "\"layer_types\":[\"attention\",\"attention\",\"attention\",\"attention\"]}",
               "4 layers: 4 full");
}

static void test_notes(void) {
  blis_layered_model model = read_ok("{\"model_type\":\"novel_lm\"," SIZES "\"x\":1}");
  CHECK_CONTAINS(model.notes, "model_type novel_lm is not known");
  blis_layered_model_free(&model);
  model = read_ok("{\"model_type\":\"mllama\"," SIZES "\"cross_attention_layers\":[1]}");
  CHECK_CONTAINS(model.notes, "layers of cross-attention count as full attention");
  blis_layered_model_free(&model);
}

/* A name of --quantization that is the method of the file leaves its groups and exceptions. */
static void test_method_of_the_file(void) {
  static const char TEXT[] =
      "{\"model_type\":\"llama\"," SIZES "\"quantization_config\":{\"quant_method\":\"awq\","
      "\"bits\":4,\"group_size\":32,\"modules_to_not_convert\":[\"self_attn\"]}}";
  static const struct {
    const char *name;
    double dense;
    double attention;
  } CASES_OF_NAMES[] = {
      {"awq_marlin", 0.5 + 2.5 / 32, 0}, {"AWQ", 0.5 + 2.5 / 32, 0}, {"fp8", 1, 1}};
  for (size_t i = 0; i < sizeof CASES_OF_NAMES / sizeof *CASES_OF_NAMES; i++) {
    const blis_model_options options = {.quantization = CASES_OF_NAMES[i].name};
    blis_layered_model model;
    blis_error error = {0};
    CHECK_OK(read_with(TEXT, &options, &model, &error), &error);
    const blis_layer *layer = &model.runs[0].layer;
    CHECK(layer->formats[BLIS_WEIGHT_DENSE].bytes == CASES_OF_NAMES[i].dense);
    CHECK(layer->formats[BLIS_WEIGHT_ATTENTION].bytes == CASES_OF_NAMES[i].attention);
    blis_layered_model_free(&model);
  }
}

static void test_options(void) {
  static const struct {
    blis_model_options options;
    const char *message;
  } WRONG[] = {
      {{.dtype = "int8"}, "unknown dtype 'int8'; expected auto, bfloat16"},
      {{.quantization = "compressed-tensors"}, "needs a model whose files state it"},
      {{.kv_cache_dtype = "int3"}, "unknown KV cache type 'int3'"},
  };
  for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
    blis_layered_model model;
    blis_error error = {0};
    CHECK_STATUS(
        read_with("{\"model_type\":\"llama\"," SIZES "\"x\":1}", &WRONG[i].options, &model, &error),
        BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, WRONG[i].message);
  }
}

/* The defaults of these classes are the sizes of their first models, which their files state. */
static void test_class_defaults(void) {
  static const struct {
    const char *type;
    const char *key;
    int64_t value;
  } stated[] = {
      {"deepseek_v3", "q_lora_rank", 1536},
      {"deepseek_v3", "kv_lora_rank", 512},
      {"deepseek_v3", "qk_rope_head_dim", 64},
      {"deepseek_v3", "qk_nope_head_dim", 128},
      {"deepseek_v3", "v_head_dim", 128},
      {"deepseek_v3", "n_routed_experts", 256},
      {"deepseek_v3", "num_experts_per_tok", 8},
      {"deepseek_v3", "moe_intermediate_size", 2048},
      {"deepseek_v3", "first_k_dense_replace", 3},
      {"mixtral", "num_local_experts", 8},
      {"mixtral", "num_experts_per_tok", 2},
      {"mixtral", "num_key_value_heads", 8},
      {"qwen3_moe", "num_experts", 128},
      {"qwen3_moe", "num_experts_per_tok", 8},
      {"gemma2", "sliding_window", 4096},
      {"gemma2_text", "sliding_window", 4096},
      {"gemma2", "num_experts", 0},
      {"unknown", "head_dim", 0},
  };
  for (size_t i = 0; i < sizeof stated / sizeof *stated; i++) {
    CHECK_EQ_I64(blis__class_default(stated[i].type, stated[i].key), stated[i].value);
  }
}

int main(void) {
  RUN(test_kinds_of_layers);
  RUN(test_newer_words);
  RUN(test_kda);
  RUN(test_formats_of_linear_layers);
  RUN(test_minimax_m3);
  RUN(test_intervals_of_experts);
  RUN(test_pairs_of_layers);
  RUN(test_joined_layers);
  RUN(test_compressed);
  RUN(test_expert_type);
  RUN(test_shared_indexers);
  RUN(test_params);
  RUN(test_nested_defaults);
  RUN(test_layer_inputs);
  RUN(test_kv_heads);
  RUN(test_defaults_and_obstacles);
  RUN(test_missing_layers);
  RUN(test_notes);
  RUN(test_method_of_the_file);
  RUN(test_options);
  RUN(test_class_defaults);
  return check_done();
}
