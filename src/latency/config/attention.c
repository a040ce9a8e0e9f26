#include "latency/config/attention.h"

#include <inttypes.h>
#include <string.h>

#include "latency/config/layer_kinds.h"
#include "latency/config/layer_reader.h"
#include "latency/spec/names.h"

static bool flag_of(const blis__layer_reader *r, const char *key) {
  return blis__config_flag(r->config, key, false);
}

static blis_json_value block_of(const blis__layer_reader *r) {
  blis_json_value blocks = blis__config_member(r->config, "block_configs");
  return blis_json_member(blis_json_item(blocks, (size_t)r->layer), "attention");
}

static int64_t read_heads(const blis__layer_reader *r) {
  return blis__layer_need(r, BLIS__KEYS("num_attention_heads", "n_head", "n_heads"));
}

/* Returns whether all query heads share one KV head, which older files state with a flag. */
static bool has_one_kv_head(const blis__layer_reader *r) {
  bool is_old_falcon = blis__config_is(r->config, "falcon") &&
                       !flag_of(r, "new_decoder_architecture") &&
                       blis__layer_size(r, BLIS__KEYS("n_head_kv", "num_key_value_heads")) == 0;
  return (is_old_falcon || blis__config_is(r->config, "gpt_bigcode")) &&
         blis__config_flag(r->config, "multi_query", true);
}

static int64_t read_kv_heads(const blis__layer_reader *r, int64_t heads) {
  blis_json_value block = block_of(r);
  int64_t group = blis__whole_of(blis_json_member(block, "n_heads_in_group"), 0);
  if (group > 0) {
    return heads / group;
  }
  int64_t stated = blis__whole_of(blis_json_member(block, "num_key_value_heads"), 0);
  if (stated <= 0) {
    stated = blis__layer_size(r, BLIS__KEYS("num_key_value_heads_per_layer"));
  }
  if (stated > 0) {
    return stated;
  }
  if (has_one_kv_head(r)) {
    return 1;
  }
  int64_t kv_heads = blis__layer_size(r, BLIS__KEYS("num_key_value_heads", "num_kv_heads",
                                                    "multi_query_group_num", "num_attention_groups",
                                                    "n_head_kv", "kv_n_heads", "n_kv_heads"));
  if (kv_heads == 0) {
    blis__config_assume(r->config, "num_key_value_heads", heads);
  }
  return kv_heads > 0 ? kv_heads : heads;
}

static int64_t read_head_dim(const blis__layer_reader *r, int64_t heads) {
  int64_t width = blis__layer_size(r, BLIS__KEYS("head_dim", "attention_head_dim", "kv_channels"));
  if (width > 0 || heads == 0) {
    return width;
  }
  bool has_value_width = blis__layer_size(r, BLIS__KEYS("v_head_dim")) > 0;
  if (has_value_width || r->sizes->hidden % heads != 0) {
    blis__config_fail(r->config, "head_dim is missing (model_type %.60s)",
                      r->config->type[0] != '\0' ? r->config->type : "not stated");
    return 0;
  }
  return r->sizes->hidden / heads;
}

/* Reads widths of window layers that differ from those of full layers (MiMo-V2). */
static void read_window_widths(const blis__layer_reader *r, blis_attention *a) {
  int64_t heads = blis__layer_size(r, BLIS__KEYS("swa_num_attention_heads"));
  int64_t kv_heads = blis__layer_size(r, BLIS__KEYS("swa_num_key_value_heads"));
  int64_t width = blis__layer_size(r, BLIS__KEYS("swa_head_dim"));
  int64_t value_width = blis__layer_size(r, BLIS__KEYS("swa_v_head_dim"));
  a->heads = heads > 0 ? heads : a->heads;
  a->kv_heads = kv_heads > 0 ? kv_heads : a->kv_heads;
  a->head_dim = width > 0 ? width : a->head_dim;
  a->value_head_dim = value_width > 0 ? value_width : a->value_head_dim;
  /* For Step-3.5. */
  blis_json_value other = blis__config_member(r->config, "attention_other_setting");
  a->heads = blis__whole_of(blis_json_member(other, "num_attention_heads"), a->heads);
  a->kv_heads = blis__whole_of(blis_json_member(other, "num_attention_groups"), a->kv_heads);
}

/* Reads the widths of the full layers of Gemma 4, which are wider than other layers. */
static void read_global_widths(const blis__layer_reader *r, blis_attention *a) {
  int64_t width = blis__layer_size(r, BLIS__KEYS("global_head_dim"));
  int64_t kv_heads = blis__layer_size(r, BLIS__KEYS("num_global_key_value_heads"));
  a->head_dim = width > 0 ? width : a->head_dim;
  a->kv_heads = kv_heads > 0 ? kv_heads : a->kv_heads;
  a->has_no_value_matrix = flag_of(r, "attention_k_eq_v");
}

/* Returns the number of columns of the output gate: one per element, or one per head. */
static int64_t read_gate(const blis__layer_reader *r, const blis_attention *a) {
  bool has_by_class = blis__config_is(r->config, "qwen3_next") ||
                      blis__config_is(r->config, "qwen3_5") || blis__config_is(r->config, "afmoe");
  bool is_by_element = blis__config_flag(r->config, "attn_output_gate", has_by_class) ||
                       flag_of(r, "attention_output_gate");
  const char *gating = blis__config_text(r->config, "gating");
  bool is_laguna = blis__config_is(r->config, "laguna") && gating[0] == '\0';
  bool is_by_head = flag_of(r, "use_head_wise_attn_gate") || strcmp(gating, "per-head") == 0 ||
                    blis__config_flag(r->config, "gating", is_laguna);
  is_by_element |= strcmp(gating, "per-element") == 0;
  if (is_by_element) {
    return a->heads * a->head_dim;
  }
  return is_by_head ? a->heads : 0;
}

/* Reads an index of sparse attention in addition to full attention (MiniMax-M3). */
static void read_sparse_index(const blis__layer_reader *r, blis_attention *a) {
  blis_json_value sparse = blis__config_member(r->config, "sparse_attention_config");
  blis_json_value layers = blis_json_member(sparse, "sparse_attention_freq");
  blis_json_value words = blis__config_member(r->config, "layer_types");
  const char *word = blis__text_of(blis_json_item(words, (size_t)r->layer));
  bool is_sparse = blis_json_count(layers) > 0
                       ? blis__whole_of(blis_json_item(layers, (size_t)r->layer), 0) == 1
                       : strcmp(word, "minimax_m3_sparse") == 0;
  if (blis_json_count(sparse) > 0 && blis_json_count(layers) == 0 && word[0] == '\0') {
    blis__config_fail(r->config, "sparse_attention_config.sparse_attention_freq is missing");
  }
  if (!is_sparse) {
    return;
  }
  a->index_heads = blis__whole_of(blis_json_member(sparse, "sparse_num_index_heads"), 0);
  a->index_dim = blis__whole_of(blis_json_member(sparse, "sparse_index_dim"), 0);
  blis__config_require(r->config, "sparse_attention_config.sparse_num_index_heads", a->index_heads);
  blis__config_require(r->config, "sparse_attention_config.sparse_index_dim", a->index_dim);
  a->index_key_bytes = 2 * a->index_dim;
  a->attended_tokens = blis__whole_of(blis_json_member(sparse, "sparse_topk_blocks"), 0) *
                       blis__whole_of(blis_json_member(sparse, "sparse_block_size"), 0);
}

/* Returns whether the layer reads the KV of an earlier layer. This applies to the last layers of
   small Gemma models, and to all layers of a group except the first in Hunyuan. */
static bool reuses_kv(const blis__layer_reader *r) {
  int64_t factor = blis__config_whole(r->config, BLIS__KEYS("cla_share_factor"));
  if (flag_of(r, "use_cla") && factor > 1 && r->layer % factor != 0) {
    return true;
  }
  int64_t shared = blis__config_whole(r->config, BLIS__KEYS("num_kv_shared_layers"));
  return shared > 0 && r->layer >= r->sizes->layers - shared;
}

/* Returns the window of a layer from a repeating list of windows; 0 = no such list or no window. */
static int64_t listed_window(const blis__layer_reader *r) {
  blis_json_value list = blis__config_member(r->config, "sliding_window");
  size_t count = blis_json_count(list);
  bool is_list = blis_json_type_of(list) == BLIS_JSON_ARRAY && count > 0;
  return is_list ? blis__whole_of(blis_json_item(list, (size_t)r->layer % count), 0) : 0;
}

static void read_span(const blis__layer_reader *r, blis_attention *a) {
  if (a->kind == BLIS_ATTENTION_WINDOW) {
    a->span = listed_window(r);
  }
  if (a->kind == BLIS_ATTENTION_WINDOW && a->span <= 0) {
    a->span =
        blis__layer_need(r, BLIS__KEYS("sliding_window", "sliding_window_size", "window_size"));
  } else if (a->kind == BLIS_ATTENTION_CHUNK) {
    a->span = blis__layer_need(r, BLIS__KEYS("attention_chunk_size"));
  }
}

static void read_full(const blis__layer_reader *r, blis_attention *a) {
  int64_t by_layer = blis__layer_size(r, BLIS__KEYS("num_attention_heads_per_layer"));
  a->heads = by_layer > 0 ? by_layer : read_heads(r);
  a->kv_heads = read_kv_heads(r, a->heads);
  a->head_dim = read_head_dim(r, a->heads);
  a->value_head_dim = blis__layer_size(r, BLIS__KEYS("v_head_dim"));
  a->query_rank = blis__layer_size(r, BLIS__KEYS("share_q_dim"));
  read_span(r, a);
  if (a->kind == BLIS_ATTENTION_WINDOW) {
    read_window_widths(r, a);
  } else if (a->kind == BLIS_ATTENTION_FULL && blis__config_is(r->config, "gemma4")) {
    read_global_widths(r, a);
  }
  a->gate_width = read_gate(r, a);
  a->reuses_kv = reuses_kv(r);
  read_sparse_index(r, a);
  if (a->kv_heads > a->heads) {
    blis__config_fail(r->config,
                      "num_key_value_heads (%" PRId64 ") must not be above num_attention_heads "
                      "(%" PRId64 ")",
                      a->kv_heads, a->heads);
  }
}

/* Returns whether the layer has its own indexer. Layers marked "shared" reuse the index of an
   earlier layer. They are marked by a list of words, by letters (F, S), or by a period and an
   offset. */
static bool owns_indexer(const blis__layer_reader *r) {
  blis_json_value types = blis__config_member(r->config, "indexer_types");
  const char *letters = blis__config_text(r->config, "index_topk_pattern");
  if (blis_json_count(types) > 0) {
    return strcmp(blis__text_of(blis_json_item(types, (size_t)r->layer)), "shared") != 0;
  }
  if (letters[0] != '\0') {
    return (size_t)r->layer >= strlen(letters) || letters[r->layer] != 'S';
  }
  int64_t period = blis__layer_size(r, BLIS__KEYS("index_topk_freq"));
  int64_t offset = blis__whole_of(blis__config_member(r->config, "index_skip_topk_offset"), 2);
  int64_t behind = r->layer - offset + 1;
  return period <= 1 || behind <= 0 || behind % period == 0;
}

static void read_indexer(const blis__layer_reader *r, blis_attention *a) {
  a->attended_tokens = blis__layer_size(r, BLIS__KEYS("index_topk"));
  if (a->attended_tokens == 0 && blis__layer_size(r, BLIS__KEYS("index_n_heads")) > 0) {
    blis__config_require(r->config, "index_topk", 0);
  }
  if (a->attended_tokens > 0 && owns_indexer(r)) {
    a->index_heads = blis__layer_need(r, BLIS__KEYS("index_n_heads"));
    a->index_dim = blis__layer_need(r, BLIS__KEYS("index_head_dim"));
  }
}

/* Returns the width of values. MiniCPM3 does not state it; it equals the head width. */
static int64_t latent_value_width(const blis__layer_reader *r, int64_t heads) {
  bool is_by_heads = blis__config_is(r->config, "minicpm3") && heads > 0 &&
                     r->sizes->hidden % heads == 0 && !blis__config_has(r->config, "v_head_dim");
  return is_by_heads ? r->sizes->hidden / heads : blis__layer_need(r, BLIS__KEYS("v_head_dim"));
}

static void read_latent(const blis__layer_reader *r, blis_attention *a) {
  a->kind = BLIS_ATTENTION_LATENT;
  a->heads = read_heads(r);
  a->kv_rank = blis__layer_need(r, BLIS__KEYS("kv_lora_rank"));
  a->query_rank = blis__layer_size(r, BLIS__KEYS("q_lora_rank"));
  if (a->query_rank == 0 && !blis__config_states(r->config, "q_lora_rank")) {
    blis__config_fail(r->config, "q_lora_rank is missing; null states that there is none");
  }
  a->rope_dim = blis__layer_size(r, BLIS__KEYS("qk_rope_head_dim"));
  if (a->rope_dim == 0 && !blis__config_has(r->config, "qk_rope_head_dim")) {
    /* A stated 0 is valid: the model has no rotated dimensions. */
    blis__config_require(r->config, "qk_rope_head_dim", 0);
  }
  a->nope_dim = blis__layer_need(r, BLIS__KEYS("qk_nope_head_dim"));
  a->value_head_dim = latent_value_width(r, a->heads);
  if (flag_of(r, "mla_use_output_gate")) {
    a->gate_width = a->heads * a->value_head_dim;
  }
  read_indexer(r, a);
}

/* Returns the number of tokens per compressed entry; 0 = the layer has only a window. Newer files
   contain the kind of each layer and the ratio of each kind. */
static int64_t read_ratio(const blis__layer_reader *r) {
  static const struct {
    const char *word;
    int64_t usual;
  } KINDS[] = {{"compressed_sparse_attention", 4}, {"heavily_compressed_attention", 128}};
  blis_json_value ratios = blis__config_member(r->config, "compress_ratios");
  if (blis_json_count(ratios) > 0) {
    return blis__whole_of(blis_json_item(ratios, (size_t)r->layer), 0);
  }
  blis_json_value words = blis__config_member(r->config, "layer_types");
  const char *word = blis__text_of(blis_json_item(words, (size_t)r->layer));
  blis_json_value rates = blis__config_member(r->config, "compress_rates");
  for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
    if (strcmp(word, KINDS[i].word) == 0) {
      return blis__whole_of(blis_json_member(rates, word), KINDS[i].usual);
    }
  }
  return 0;
}

/*
 * Returns the number of rotated columns of a head, which is stated directly or as a fraction of the
 * head.
 */
static int64_t read_rotated(const blis__layer_reader *r, int64_t width) {
  int64_t rotated = blis__layer_size(r, BLIS__KEYS("qk_rope_head_dim"));
  double share = blis__number_of(blis__config_member(r->config, "partial_rotary_factor"));
  if (rotated == 0 && share > 0.0 && share <= 1.0) {
    rotated = (int64_t)(share * (double)width);
  }
  blis__config_require(r->config, "qk_rope_head_dim", rotated);
  return rotated;
}

static void read_compressed(const blis__layer_reader *r, blis_attention *a) {
  a->heads = read_heads(r);
  a->kv_heads = 1;
  a->head_dim = blis__layer_need(r, BLIS__KEYS("head_dim"));
  a->query_rank = blis__layer_need(r, BLIS__KEYS("q_lora_rank"));
  a->rope_dim = read_rotated(r, a->head_dim);
  a->output_rank = blis__layer_need(r, BLIS__KEYS("o_lora_rank"));
  a->output_groups = blis__layer_need(r, BLIS__KEYS("o_groups"));
  a->span = blis__layer_need(r, BLIS__KEYS("sliding_window"));
  a->ratio = read_ratio(r);
  if (a->ratio < 0 || a->ratio > INT32_MAX) {
    blis__config_fail(r->config, "compress_ratios: %" PRId64 " must be 0 or a positive number",
                      a->ratio);
    a->ratio = 0;
  }
  if (a->ratio == 4) {
    a->index_heads = blis__layer_need(r, BLIS__KEYS("index_n_heads"));
    a->index_dim = blis__layer_need(r, BLIS__KEYS("index_head_dim"));
    a->attended_tokens = blis__layer_size(r, BLIS__KEYS("index_topk"));
  }
}

/* Reads the sizes of OLMo Hybrid, which states only sizes that differ from those of its heads. */
static void read_olmo_gdn(const blis__layer_reader *r, blis_attention *a) {
  int64_t heads = read_heads(r);
  int64_t keys = blis__layer_size(r, BLIS__KEYS("linear_num_key_heads"));
  int64_t values = blis__layer_size(r, BLIS__KEYS("linear_num_value_heads"));
  int64_t key_dim = blis__layer_size(r, BLIS__KEYS("linear_key_head_dim"));
  int64_t value_dim = blis__layer_size(r, BLIS__KEYS("linear_value_head_dim"));
  int64_t kernel = blis__layer_size(r, BLIS__KEYS("linear_conv_kernel_dim"));
  a->key_heads = keys > 0 ? keys : heads;
  a->value_heads = values > 0 ? values : heads;
  a->key_dim =
      key_dim > 0 || a->key_heads == 0 ? key_dim : 3 * r->sizes->hidden / (4 * a->key_heads);
  a->value_dim = value_dim > 0 ? value_dim : 2 * a->key_dim;
  a->conv_kernel = kernel > 0 ? kernel : 4;
}

static void read_gdn(const blis__layer_reader *r, blis_attention *a) {
  if (blis__config_is(r->config, "olmo_hybrid")) {
    read_olmo_gdn(r, a);
    return;
  }
  a->key_heads = blis__layer_need(r, BLIS__KEYS("linear_num_key_heads"));
  a->value_heads = blis__layer_need(r, BLIS__KEYS("linear_num_value_heads"));
  a->key_dim = blis__layer_need(r, BLIS__KEYS("linear_key_head_dim"));
  a->value_dim = blis__layer_need(r, BLIS__KEYS("linear_value_head_dim"));
  a->conv_kernel = blis__layer_need(r, BLIS__KEYS("linear_conv_kernel_dim"));
}

/*
 * Returns a size of linear attention, from the nested object of Kimi Linear or from the enclosing
 * object.
 */
static int64_t kda_size(const blis__layer_reader *r, const char *inner, const blis__keys *outer) {
  blis_json_value linear = blis__config_member(r->config, "linear_attn_config");
  int64_t size = blis__whole_of(blis_json_member(linear, inner), 0);
  return size > 0 ? size : blis__layer_size(r, outer);
}

/* Reads KDA of Ling 3.0, which uses the heads of full attention. */
static void read_ling_kda(const blis__layer_reader *r, blis_attention *a) {
  a->heads = read_heads(r);
  a->head_dim = read_head_dim(r, a->heads);
  a->conv_kernel = blis__layer_need(r, BLIS__KEYS("short_conv_kernel_size"));
  a->has_full_rank_gate = flag_of(r, "no_kda_lora");
}

static void read_kda(const blis__layer_reader *r, blis_attention *a) {
  if (blis__config_is(r->config, "bailing")) {
    read_ling_kda(r, a);
    return;
  }
  a->heads = kda_size(r, "num_heads", BLIS__KEYS("linear_num_heads"));
  a->head_dim = kda_size(r, "head_dim", BLIS__KEYS("linear_head_dim"));
  a->conv_kernel = kda_size(r, "short_conv_kernel_size", BLIS__KEYS("linear_conv_kernel_dim"));
  blis_json_value linear = blis__config_member(r->config, "linear_attn_config");
  bool is_full_rank = false;
  a->has_full_rank_gate = blis_json_bool(blis_json_member(linear, "use_full_rank_gate"),
                                         &is_full_rank, NULL) == BLIS_OK &&
                          is_full_rank;
  blis__config_require(r->config, "linear_attn_config.num_heads", a->heads);
  blis__config_require(r->config, "linear_attn_config.head_dim", a->head_dim);
  blis__config_require(r->config, "linear_attn_config.short_conv_kernel_size", a->conv_kernel);
}

/*
 * Returns the head width of Mamba2. If it is "auto" or missing, it is the inner width divided by
 * the number of heads.
 */
static int64_t read_mamba_width(const blis__layer_reader *r, int64_t heads) {
  const char *key = "mamba_d_head";
  bool is_auto = blis__config_text(r->config, key)[0] != '\0';
  int64_t width = is_auto ? 0 : blis__layer_size(r, BLIS__KEYS("mamba_head_dim", "mamba_d_head"));
  int64_t inner = blis__layer_size(r, BLIS__KEYS("mamba_d_ssm"));
  if (inner == 0) {
    inner = blis__layer_size(r, BLIS__KEYS("mamba_expand", "expand")) * r->sizes->hidden;
  }
  if (width == 0 && blis__config_is(r->config, "mamba2")) {
    width = blis__layer_size(r, BLIS__KEYS("head_dim"));
  }
  if (width == 0 && heads > 0 && inner % heads == 0) {
    width = inner / heads;
  }
  blis__config_require(r->config, "mamba_head_dim", width);
  return width;
}

static void read_mamba2(const blis__layer_reader *r, blis_attention *a) {
  bool is_pure = strcmp(r->config->type, "mamba2") == 0;
  a->value_heads = is_pure ? blis__layer_need(r, BLIS__KEYS("num_heads"))
                           : blis__layer_need(r, BLIS__KEYS("mamba_num_heads", "mamba_n_heads"));
  a->value_dim = read_mamba_width(r, a->value_heads);
  a->state_size = blis__layer_need(r, BLIS__KEYS("ssm_state_size", "mamba_d_state", "state_size"));
  a->state_groups = blis__layer_need(r, BLIS__KEYS("n_groups", "mamba_n_groups"));
  a->conv_kernel = blis__layer_need(r, BLIS__KEYS("conv_kernel", "mamba_d_conv"));
}

static void read_mamba1(const blis__layer_reader *r, blis_attention *a) {
  int64_t inner = blis__layer_size(r, BLIS__KEYS("mamba_intermediate_size"));
  if (inner == 0 && strstr(r->config->type, "mamba") != NULL) {
    inner = blis__layer_size(r, BLIS__KEYS("intermediate_size"));
  }
  if (inner == 0) {
    inner = blis__layer_need(r, BLIS__KEYS("mamba_expand", "expand")) * r->sizes->hidden;
  }
  bool is_auto = blis__config_text(r->config, "mamba_dt_rank")[0] != '\0' ||
                 blis__config_text(r->config, "time_step_rank")[0] != '\0';
  a->value_dim = inner;
  a->state_size = blis__layer_need(r, BLIS__KEYS("mamba_d_state", "state_size"));
  a->conv_kernel = blis__layer_need(r, BLIS__KEYS("mamba_d_conv", "conv_kernel"));
  a->time_rank = is_auto ? 0 : blis__layer_size(r, BLIS__KEYS("mamba_dt_rank", "time_step_rank"));
  if (a->time_rank == 0) {
    a->time_rank = (r->sizes->hidden + 15) / 16;
  }
}

static void read_state_layer(const blis__layer_reader *r, blis_attention *a) {
  switch (a->kind) {
  case BLIS_ATTENTION_GDN:
    read_gdn(r, a);
    break;
  case BLIS_ATTENTION_KDA:
    read_kda(r, a);
    break;
  case BLIS_ATTENTION_LIGHTNING:
    a->heads = read_heads(r);
    a->head_dim = read_head_dim(r, a->heads);
    break;
  case BLIS_ATTENTION_MAMBA2:
    read_mamba2(r, a);
    break;
  case BLIS_ATTENTION_MAMBA1:
    read_mamba1(r, a);
    break;
  case BLIS_ATTENTION_SHORT_CONV:
    a->conv_kernel = blis__layer_need(r, BLIS__KEYS("conv_L_cache"));
    break;
  case BLIS_ATTENTION_PARALLEL:
    read_full(r, a);
    read_mamba2(r, a);
    break;
  default:
    break;
  }
}

static bool is_latent(const blis__layer_reader *r) {
  return blis__config_flag(r->config, "use_mla", true) &&
         blis__config_whole(r->config, BLIS__KEYS("kv_lora_rank")) > 0;
}

blis_attention blis__attention_read(blis__config *config, const blis__sizes *sizes, int64_t layer) {
  const blis__layer_reader r = {config, sizes, layer};
  blis_attention a = {.kind = blis__layer_kind(config, sizes, layer)};
  switch (a.kind) {
  case BLIS_ATTENTION_FULL:
    if (is_latent(&r)) {
      read_latent(&r, &a);
      break;
    }
    read_full(&r, &a);
    break;
  case BLIS_ATTENTION_WINDOW:
  case BLIS_ATTENTION_CHUNK:
    read_full(&r, &a);
    break;
  case BLIS_ATTENTION_COMPRESSED:
    read_compressed(&r, &a);
    break;
  default:
    read_state_layer(&r, &a);
  }
  return a;
}
