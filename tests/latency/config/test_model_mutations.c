/*
 * Broken configurations: every mutation gives a model with sane totals or a clear error. Sizes that
 * no class default covers are errors that name the key. The configurations are made for this test.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "latency/config/model_reader.h"
#include "latency/layers/totals.h"

enum { TEXT_MAX = 4096 };

#define COMMON                                                                                     \
  "\"num_hidden_layers\":4,\"hidden_size\":64,\"num_attention_heads\":8,\"vocab_size\":1000,"      \
  "\"max_position_embeddings\":4096,\"torch_dtype\":\"bfloat16\","

static const char *const CORPUS[] = {
    "{\"model_type\":\"llama\"," COMMON "\"num_key_value_heads\":2,\"intermediate_size\":128}",
    "{\"model_type\":\"qwen3_5_moe\",\"text_config\":{\"model_type\":\"qwen3_5_moe_text\"," COMMON
    "\"num_key_value_heads\":2,\"head_dim\":16,\"moe_intermediate_size\":32,\"num_experts\":8,"
    "\"num_experts_per_tok\":2,\"layer_types\":[\"linear_attention\",\"linear_attention\","
    "\"linear_attention\",\"full_attention\"],\"linear_key_head_dim\":8,\"linear_value_head_dim\":"
    "8,"
    "\"linear_num_key_heads\":2,\"linear_num_value_heads\":4,\"linear_conv_kernel_dim\":4}}",
    "{\"model_type\":\"nemotron_h\"," COMMON "\"num_key_value_heads\":2,\"head_dim\":16,"
    "\"hybrid_override_pattern\":\"M*-E\",\"mamba_num_heads\":4,\"mamba_head_dim\":16,"
    "\"ssm_state_size\":8,\"n_groups\":2,\"conv_kernel\":4,\"intermediate_size\":96,"
    "\"moe_intermediate_size\":32,\"n_routed_experts\":8,\"num_experts_per_tok\":2,"
    "\"time_step_limit\":[0.0,Infinity]}",
    "{\"model_type\":\"kimi_k2\"," COMMON "\"q_lora_rank\":16,\"kv_lora_rank\":32,"
    "\"qk_rope_head_dim\":8,\"qk_nope_head_dim\":16,\"v_head_dim\":16,\"intermediate_size\":128,"
    "\"moe_intermediate_size\":32,\"n_routed_experts\":8,\"n_shared_experts\":1,"
    "\"num_experts_per_tok\":2,\"first_k_dense_replace\":1,\"quantization_config\":{"
    "\"quant_method\":\"fp8\",\"weight_block_size\":[128,128]}}",
    "{\"model_type\":\"gpt_oss\"," COMMON "\"num_key_value_heads\":2,\"head_dim\":8,"
    "\"intermediate_size\":64,\"num_local_experts\":8,\"num_experts_per_tok\":2,"
    "\"sliding_window\":128,\"quantization_config\":{\"quant_method\":\"mxfp4\","
    "\"modules_to_not_convert\":[\"model.layers.*.self_attn\",\"lm_head\"]}}",
    "{\"model_type\":\"gemma4\",\"text_config\":{\"model_type\":\"gemma4_text\"," COMMON
    "\"num_key_value_heads\":4,\"head_dim\":16,\"global_head_dim\":32,\"intermediate_size\":128,"
    "\"num_global_key_value_heads\":2,\"attention_k_eq_v\":true,\"sliding_window\":64,"
    "\"num_kv_shared_layers\":1,\"hidden_size_per_layer_input\":8},\"quantization_config\":{"
    "\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\",\"kv_cache_scheme\":{\"num_bits\":8}}}",
    "{\"model_type\":\"deepseek_v4\"," COMMON "\"head_dim\":32,\"q_lora_rank\":16,"
    "\"o_lora_rank\":16,\"o_groups\":2,\"qk_rope_head_dim\":8,\"index_head_dim\":16,"
    "\"index_n_heads\":4,\"index_topk\":8,\"sliding_window\":128,\"hc_mult\":4,"
    "\"moe_intermediate_size\":32,\"n_routed_experts\":8,\"num_experts_per_tok\":2,"
    "\"compress_ratios\":[0,4,128,4,0],\"expert_dtype\":\"fp4\",\"quantization_config\":{"
    "\"quant_method\":\"fp8\",\"weight_block_size\":[128,128],\"scale_fmt\":\"ue8m0\"}}",
    "{\"model_type\":\"nemotron-nas\"," COMMON "\"block_configs\":[{\"attention\":{"
    "\"n_heads_in_group\":4},\"ffn\":{\"ffn_mult\":2.625}},{\"attention\":{\"no_op\":true},"
    "\"ffn\":{\"ffn_mult\":1.3}},{\"attention\":{\"replace_with_linear\":true},\"ffn\":{"
    "\"no_op\":true}},{\"attention\":{\"n_heads_in_group\":8},\"ffn\":{\"ffn_mult\":2}}]}",
    "{\"model_type\":\"kimi_linear\"," COMMON "\"q_lora_rank\":null,\"kv_lora_rank\":32,"
    "\"qk_rope_head_dim\":8,\"qk_nope_head_dim\":16,\"v_head_dim\":16,\"intermediate_size\":128,"
    "\"linear_attn_config\":{\"kda_layers\":[1,2,3],\"full_attn_layers\":[4],\"num_heads\":4,"
    "\"head_dim\":16,\"short_conv_kernel_size\":4}}",
    "{\"model_type\":\"jamba\"," COMMON "\"num_key_value_heads\":2,\"intermediate_size\":128,"
    "\"attn_layer_period\":4,\"attn_layer_offset\":2,\"expert_layer_period\":2,"
    "\"expert_layer_offset\":1,\"num_experts\":4,\"num_experts_per_tok\":2,\"mamba_d_state\":8,"
    "\"mamba_d_conv\":4,\"mamba_expand\":2,\"mamba_dt_rank\":\"auto\"}",
    "{\"model_type\":\"mistral\"," COMMON "\"num_key_value_heads\":2,\"intermediate_size\":128,"
    "\"sliding_window\":512,\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4.0},"
    "\"quantization_config\":{\"quant_method\":\"compressed-tensors\",\"config_groups\":{"
    "\"group_0\":{\"targets\":[\"re:.*mlp.*\"],\"weights\":{\"num_bits\":4,\"type\":\"int\","
    "\"group_size\":128}}},\"ignore\":[\"lm_head\"]}}",
};

enum { CORPUS_COUNT = sizeof CORPUS / sizeof *CORPUS };

static blis_status read(const char *text, blis_layered_model *model, blis_error *error) {
  blis_alloc alloc = blis_alloc_heap();
  return blis_model_read_text(&alloc, "config.json", (blis_slice){text, strlen(text)},
                              (blis_slice){"", 0}, "model", NULL, model, error);
}

static void check_sane(const blis_layered_model *model) {
  const blis_sharding sharding = {8, 8};
  blis_model_cache cache = blis_layered_cache(model, 8);
  double parameters = blis_layered_parameters(model);
  CHECK(isfinite(parameters) && parameters > 0.0);
  CHECK(blis_layered_active_parameters(model) <= parameters);
  CHECK(blis_layered_weight_bytes(model) > 0.0);
  CHECK(isfinite(blis_layered_weight_bytes_per_gpu(model, &sharding)));
  CHECK(cache.token_bytes >= 0.0 && cache.window_bytes >= 0.0 && cache.state_bytes >= 0.0);
  CHECK(model->run_count > 0 && blis_layered_model_layers(model) > 0);
  char text[256];
  blis_layered_model_describe(model, text, sizeof text);
  CHECK_CONTAINS(text, " layer");
}

static void test_corpus(void) {
  for (size_t i = 0; i < CORPUS_COUNT; i++) {
    blis_layered_model model;
    blis_error error = {0};
    CHECK_OK(read(CORPUS[i], &model, &error), &error);
    check_sane(&model);
    blis_layered_model_free(&model);
  }
}

/* A small generator of its own: the same numbers on every machine. */
static uint32_t state;

static uint32_t draw(uint32_t bound) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % bound;
}

/* The end of the value that begins at `at`. */
static const char *end_of_value(const char *at) {
  int depth = 0;
  for (; *at != '\0'; at++) {
    if (*at == '"') {
      at = strchr(at + 1, '"');
      continue;
    }
    depth += *at == '[' || *at == '{';
    if (depth == 0 && (*at == ',' || *at == '}' || *at == ']')) {
      return at;
    }
    depth -= *at == ']' || *at == '}';
  }
  return at;
}

/* The value of a random key. */
static const char *random_value(const char *text) {
  uint32_t count = 0;
  for (const char *at = text; (at = strstr(at, "\":")) != NULL; at += 2) {
    count++;
  }
  uint32_t wanted = draw(count);
  const char *at = strstr(text, "\":");
  for (uint32_t i = 0; i < wanted; i++) {
    at = strstr(at + 2, "\":");
  }
  return at + 2;
}

static void mutate(const char *text, char mutated[TEXT_MAX]) {
  static const char *const VALUES[] = {"0",
                                       "-1",
                                       "1",
                                       "3.5",
                                       "1e99",
                                       "NaN",
                                       "null",
                                       "\"x\"",
                                       "[]",
                                       "{}",
                                       "true",
                                       "[1,2]",
                                       "999999999999999",
                                       "\"auto\"",
                                       "2147483647",
                                       "[\"a\"]"};
  uint32_t kind = draw(10);
  if (kind == 0) {
    (void)snprintf(mutated, TEXT_MAX, "%.*s", (int)draw((uint32_t)strlen(text)), text);
    return;
  }
  if (kind == 1) {
    (void)snprintf(mutated, TEXT_MAX, "%s", text);
    mutated[draw((uint32_t)strlen(text))] = (char)(33 + draw(90));
    return;
  }
  const char *value = random_value(text);
  if (kind < 4) { /* another name for a key: the key is dropped */
    (void)snprintf(mutated, TEXT_MAX, "%.*s_\":%s", (int)(value - 2 - text), text, value);
    return;
  }
  (void)snprintf(mutated, TEXT_MAX, "%.*s%s%s", (int)(value - text), text,
                 VALUES[draw(sizeof VALUES / sizeof *VALUES)], end_of_value(value));
}

static void test_mutations(void) {
  state = 35;
  int64_t failures = 0;
  for (int i = 0; i < 600; i++) {
    char text[TEXT_MAX];
    char again[TEXT_MAX];
    mutate(CORPUS[(size_t)i % CORPUS_COUNT], text);
    if (draw(4) == 0 && strstr(text, "\":") != NULL) {
      mutate(text, again);
      memcpy(text, again, sizeof text);
    }
    blis_layered_model model;
    blis_error error = {0};
    if (read(text, &model, &error) == BLIS_OK) {
      check_sane(&model);
      blis_layered_model_free(&model);
    } else {
      failures++;
      CHECK_CONTAINS(error.message, error.status == BLIS_ERR_NOMEM ? "memory" : "config.json");
    }
  }
  CHECK(failures > 100 && failures < 550);
}

/* Dropped sizes that no class default covers. */
static void test_dropped_sizes(void) {
  static const struct {
    size_t config;
    const char *key;
  } DROPS[] = {
      {0, "num_hidden_layers"},
      {0, "hidden_size"},
      {0, "num_attention_heads"},
      {0, "vocab_size"},
      {0, "intermediate_size"},
      {1, "moe_intermediate_size"},
      {3, "q_lora_rank"},
      {3, "qk_rope_head_dim"},
      {3, "qk_nope_head_dim"},
      {3, "v_head_dim"},
      {6, "o_groups"},
      {6, "o_lora_rank"},
      {6, "sliding_window"},
      {6, "index_n_heads"},
      {6, "compress_ratios"},
      {3, "moe_intermediate_size"},
  };
  for (size_t i = 0; i < sizeof DROPS / sizeof *DROPS; i++) {
    char text[TEXT_MAX];
    char key[64];
    const char *original = CORPUS[DROPS[i].config];
    (void)snprintf(key, sizeof key, "\"%s\":", DROPS[i].key);
    const char *at = strstr(original, key);
    CHECK(at != NULL);
    (void)snprintf(text, sizeof text, "%.*s\"dropped\":%s", (int)(at - original), original,
                   at + strlen(key));
    blis_layered_model model;
    blis_error error = {0};
    blis_status status = read(text, &model, &error);
    if (status == BLIS_OK) {
      printf("# %s: no error\n", DROPS[i].key);
    }
    CHECK_STATUS(status, BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, DROPS[i].key);
  }
}

static void test_unknown_words(void) {
  static const struct {
    const char *text;
    const char *message;
  } CASES_OF_WORDS[] = {
      {"{\"model_type\":\"llama\"," COMMON "\"intermediate_size\":9,\"quantization_config\":{"
       "\"quant_method\":\"zip4\"}}",
       "unknown quantization method 'zip4'; --quantization"},
      {"{\"model_type\":\"llama\"," COMMON "\"intermediate_size\":9,\"layer_types\":[\"fancy\"]}",
       "layer_types: unknown word 'fancy'"},
      {"{\"model_type\":\"llama\"," COMMON "\"intermediate_size\":9,\"layer_types\":["
       "\"full_attention\"]}",
       "layer_types has 1 items"},
      {"{\"model_type\":\"nemotron_h\"," COMMON "\"intermediate_size\":9,"
       "\"hybrid_override_pattern\":\"ZZZZ\"}",
       "unknown letter 'Z'"},
      {"[1]", "config.json"},
  };
  for (size_t i = 0; i < sizeof CASES_OF_WORDS / sizeof *CASES_OF_WORDS; i++) {
    blis_layered_model model;
    blis_error error = {0};
    CHECK(read(CASES_OF_WORDS[i].text, &model, &error) != BLIS_OK);
    CHECK_CONTAINS(error.message, CASES_OF_WORDS[i].message);
  }
}

int main(void) {
  RUN(test_corpus);
  RUN(test_mutations);
  RUN(test_dropped_sizes);
  RUN(test_unknown_words);
  return check_done();
}
