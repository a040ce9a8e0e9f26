#include "latency/layers/layer.h"

#include <math.h>

const char *blis_attention_kind_name(blis_attention_kind kind) {
  static const char *const NAMES[BLIS_ATTENTION_KIND_COUNT] = {
      "full",      "window", "chunk",  "mla",       "compressed", "gdn",    "kda",
      "lightning", "mamba2", "mamba1", "shortconv", "parallel",   "matrix", "none"};
  return NAMES[kind];
}

const char *blis_ffn_kind_name(blis_ffn_kind kind) {
  static const char *const NAMES[BLIS_FFN_KIND_COUNT] = {"dense", "moe", "moe+dense", "none"};
  return NAMES[kind];
}

/* The list under construction. */
typedef struct matrix_list {
  blis_matrix *matrices;
  size_t count;
} matrix_list;

static void add(matrix_list *list, blis_weight_class class, blis_shard shard, double copies,
                double rows, double columns) {
  if (copies > 0.0 && rows > 0.0 && columns > 0.0) {
    list->matrices[list->count++] = (blis_matrix){
        .copies = copies, .rows = rows, .columns = columns, .shard = shard, .class = class};
  }
}

static void add_small(matrix_list *list, blis_shard shard, double rows, double columns) {
  size_t before = list->count;
  add(list, BLIS_WEIGHT_ATTENTION, shard, 1.0, rows, columns);
  if (list->count > before) {
    list->matrices[before].is_small = true;
  }
}

static double value_width(const blis_attention *a) {
  return (double)(a->value_head_dim > 0 ? a->value_head_dim : a->head_dim);
}

/* Inner width of Mamba2: I = heads * width. The convolution has I + 2 * groups * state channels. */
static double mamba_inner(const blis_attention *a) {
  return (double)(a->value_heads * a->value_dim);
}

static double mamba_conv(const blis_attention *a) {
  return mamba_inner(a) + 2.0 * (double)a->state_groups * (double)a->state_size;
}

static void add_heads(matrix_list *list, const blis_attention *a, double d) {
  double query = (double)a->heads * (double)a->head_dim;
  double keys = (double)a->kv_heads * (double)a->head_dim;
  double values = (double)a->kv_heads * value_width(a);
  double rank = (double)a->query_rank;
  if (rank > 0.0) {
    add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_WHOLE, 1.0, rank, d);
    add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_EQUAL, 1.0, query, rank);
  } else {
    add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_EQUAL, 1.0, query, d);
  }
  add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_EQUAL, 1.0, (double)a->gate_width, d);
  if (!a->reuses_kv) {
    add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_KV, 1.0, keys, d);
    add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_KV, a->has_no_value_matrix ? 0.0 : 1.0, values, d);
  }
  add(list, BLIS_WEIGHT_ATTENTION_OUT, BLIS_SHARD_EQUAL, 1.0, d, (double)a->heads * value_width(a));
}

static void add_indexer(matrix_list *list, const blis_attention *a, double d) {
  double width = (double)a->index_heads * (double)a->index_dim;
  double input = a->query_rank > 0 ? (double)a->query_rank : d;
  if (width > 0.0) {
    add(list, BLIS_WEIGHT_INDEXER, BLIS_SHARD_WHOLE, 1.0, width, input);
    add(list, BLIS_WEIGHT_INDEXER, BLIS_SHARD_WHOLE, 1.0, (double)a->index_dim, d);
    add_small(list, BLIS_SHARD_WHOLE, (double)a->index_heads, d);
  }
}

static void add_latent(matrix_list *list, const blis_attention *a, double d) {
  double heads = (double)a->heads;
  double query = heads * (double)(a->nope_dim + a->rope_dim);
  double rank = (double)a->query_rank;
  double kv_rank = (double)a->kv_rank;
  if (rank > 0.0) {
    add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_WHOLE, 1.0, rank, d);
    add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_EQUAL, 1.0, query, rank);
  } else {
    add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_EQUAL, 1.0, query, d);
  }
  add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_WHOLE, 1.0, kv_rank + (double)a->rope_dim, d);
  add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_EQUAL, 1.0,
      heads * ((double)a->nope_dim + value_width(a)), kv_rank);
  add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_EQUAL, 1.0, (double)a->gate_width, d);
  add(list, BLIS_WEIGHT_ATTENTION_OUT, BLIS_SHARD_EQUAL, 1.0, d, heads * value_width(a));
  add_indexer(list, a, d);
}

/* Adds the matrices of DeepSeek V4. c is the number of overlapping entries of a compressor. */
static void add_compressed(matrix_list *list, const blis_attention *a, double d) {
  double width = (double)a->head_dim;
  double query = (double)a->heads * width;
  double rank = (double)a->query_rank;
  double out_rank = (double)a->output_rank;
  double groups = (double)a->output_groups;
  add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_WHOLE, 1.0, rank, d);
  add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_EQUAL, 1.0, query, rank);
  add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_WHOLE, 1.0, width, d);
  add(list, BLIS_WEIGHT_ATTENTION_OUT, BLIS_SHARD_EQUAL, 1.0, query, out_rank);
  add(list, BLIS_WEIGHT_ATTENTION_OUT, BLIS_SHARD_EQUAL, 1.0, d, groups * out_rank);
  if (a->ratio > 0) {
    add_small(list, BLIS_SHARD_WHOLE, 2.0 * (a->ratio == 4 ? 2.0 : 1.0) * width, d);
  }
  if (a->index_heads > 0) {
    add(list, BLIS_WEIGHT_INDEXER, BLIS_SHARD_WHOLE, 1.0,
        (double)a->index_heads * (double)a->index_dim, rank);
    add_small(list, BLIS_SHARD_WHOLE, (double)a->index_heads + 4.0 * (double)a->index_dim, d);
  }
}

static void add_gdn(matrix_list *list, const blis_attention *a, double d) {
  double keys = (double)a->key_heads * (double)a->key_dim;
  double values = (double)a->value_heads * (double)a->value_dim;
  add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 1.0, 2.0 * keys + 2.0 * values, d);
  add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 1.0, d, values);
  add_small(list, BLIS_SHARD_EQUAL, 2.0 * (double)a->value_heads, d);
  add_small(list, BLIS_SHARD_EQUAL, 2.0 * keys + values, (double)a->conv_kernel);
}

static void add_kda(matrix_list *list, const blis_attention *a, double d) {
  double width = (double)a->head_dim;
  double heads = (double)a->heads;
  double inner = heads * width;
  add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 3.0, inner, d);
  add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 1.0, d, inner);
  if (a->has_full_rank_gate) {
    add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 1.0, inner, d);
  } else {
    add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 1.0, d + inner, width);
  }
  add_small(list, BLIS_SHARD_EQUAL, d + inner, width);
  add_small(list, BLIS_SHARD_EQUAL, heads, d);
  add_small(list, BLIS_SHARD_EQUAL, 3.0 * inner, (double)a->conv_kernel);
}

static void add_mamba2(matrix_list *list, const blis_attention *a, double d) {
  double inner = mamba_inner(a);
  double conv = mamba_conv(a);
  double heads = (double)a->value_heads;
  add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 1.0, inner + conv + heads, d);
  add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 1.0, d, inner);
  add_small(list, BLIS_SHARD_EQUAL, conv, (double)a->conv_kernel + 1.0);
  add_small(list, BLIS_SHARD_EQUAL, 3.0 * heads + inner, 1.0);
}

static void add_mamba1(matrix_list *list, const blis_attention *a, double d) {
  double inner = (double)a->value_dim;
  double rank = (double)a->time_rank;
  double state = (double)a->state_size;
  add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 1.0, 2.0 * inner, d);
  add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 1.0, rank + 2.0 * state, inner);
  add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 1.0, inner, rank);
  add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 1.0, d, inner);
  add_small(list, BLIS_SHARD_EQUAL, inner, state);
}

static void add_attention(matrix_list *list, const blis_attention *a, double d) {
  switch (a->kind) {
  case BLIS_ATTENTION_FULL:
  case BLIS_ATTENTION_WINDOW:
  case BLIS_ATTENTION_CHUNK:
    add_heads(list, a, d);
    add_indexer(list, a, d);
    break;
  case BLIS_ATTENTION_LATENT:
    add_latent(list, a, d);
    break;
  case BLIS_ATTENTION_COMPRESSED:
    add_compressed(list, a, d);
    break;
  case BLIS_ATTENTION_GDN:
    add_gdn(list, a, d);
    break;
  case BLIS_ATTENTION_KDA:
    add_kda(list, a, d);
    break;
  case BLIS_ATTENTION_LIGHTNING:
    add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 5.0, (double)(a->heads * a->head_dim), d);
    break;
  case BLIS_ATTENTION_MAMBA2:
    add_mamba2(list, a, d);
    break;
  case BLIS_ATTENTION_MAMBA1:
    add_mamba1(list, a, d);
    break;
  case BLIS_ATTENTION_SHORT_CONV:
    add(list, BLIS_WEIGHT_LINEAR, BLIS_SHARD_EQUAL, 4.0, d, d);
    add_small(list, BLIS_SHARD_EQUAL, d, (double)a->conv_kernel);
    break;
  case BLIS_ATTENTION_PARALLEL:
    add_heads(list, a, d);
    add_mamba2(list, a, d);
    break;
  case BLIS_ATTENTION_MATRIX:
    add(list, BLIS_WEIGHT_ATTENTION, BLIS_SHARD_EQUAL, 1.0, d, d);
    break;
  case BLIS_ATTENTION_NONE:
  case BLIS_ATTENTION_KIND_COUNT:
    break;
  }
}

static void add_ffn(matrix_list *list, const blis_ffn *f, double d) {
  double matrices = (double)f->matrices;
  if (f->kind == BLIS_FFN_DENSE || f->kind == BLIS_FFN_MOE_DENSE) {
    add(list, BLIS_WEIGHT_DENSE, BLIS_SHARD_EQUAL, matrices, (double)f->width, d);
  }
  if (f->kind == BLIS_FFN_MOE || f->kind == BLIS_FFN_MOE_DENSE) {
    double experts = (double)f->experts;
    double width = (double)f->expert_width;
    double input = f->latent_width > 0 ? (double)f->latent_width : d;
    add(list, BLIS_WEIGHT_EXPERTS, BLIS_SHARD_EXPERTS, experts * matrices, width, input);
    add(list, BLIS_WEIGHT_SHARED, BLIS_SHARD_EQUAL, matrices, (double)f->shared_width, d);
    add_small(list, BLIS_SHARD_WHOLE, experts, d);
    add(list, BLIS_WEIGHT_SHARED, BLIS_SHARD_WHOLE, 2.0, (double)f->latent_width, d);
    add_small(list, BLIS_SHARD_WHOLE, f->has_shared_gate ? 1.0 : 0.0, d);
    add_small(list, BLIS_SHARD_EXPERTS, f->has_expert_biases ? experts : 0.0, 2.0 * width + d);
  }
}

size_t blis_layer_matrices(const blis_layer *layer, int64_t hidden_size,
                           blis_matrix matrices[BLIS_LAYER_MATRICES_MAX]) {
  matrix_list list = {matrices, 0};
  double d = (double)hidden_size;
  add_attention(&list, &layer->attention, d);
  add_ffn(&list, &layer->ffn, d);
  add_small(&list, BLIS_SHARD_WHOLE, 2.0, d); /* norms */
  add_small(&list, BLIS_SHARD_WHOLE, layer->other_weights, 1.0);
  return list.count;
}

static double weights_of(const blis_matrix *m) {
  return m->copies * m->rows * m->columns;
}

double blis_layer_weights(const blis_layer *layer, int64_t hidden_size) {
  blis_matrix matrices[BLIS_LAYER_MATRICES_MAX];
  size_t count = blis_layer_matrices(layer, hidden_size, matrices);
  double sum = 0.0;
  for (size_t i = 0; i < count; i++) {
    sum += weights_of(&matrices[i]);
  }
  return sum;
}

double blis_layer_active_weights(const blis_layer *layer, int64_t hidden_size) {
  const blis_ffn *f = &layer->ffn;
  double used = f->experts > 0 ? (double)f->experts_per_token / (double)f->experts : 1.0;
  blis_matrix matrices[BLIS_LAYER_MATRICES_MAX];
  size_t count = blis_layer_matrices(layer, hidden_size, matrices);
  double sum = 0.0;
  for (size_t i = 0; i < count; i++) {
    double share = matrices[i].shard == BLIS_SHARD_EXPERTS ? used : 1.0;
    sum += weights_of(&matrices[i]) * share;
  }
  return sum;
}

/* Returns the fraction of the KV heads on one GPU, which has at least one head. */
static double kv_share(const blis_attention *a, int64_t tp) {
  return a->kv_heads > 0 ? fmax(1.0 / (double)tp, 1.0 / (double)a->kv_heads) : 1.0;
}

static double share_of(const blis_layer *layer, blis_shard shard, int64_t tp,
                       int64_t experts_gpus) {
  switch (shard) {
  case BLIS_SHARD_WHOLE:
    return 1.0;
  case BLIS_SHARD_EQUAL:
    return 1.0 / (double)tp;
  case BLIS_SHARD_KV:
    return kv_share(&layer->attention, tp);
  case BLIS_SHARD_EXPERTS:
    return 1.0 / (double)experts_gpus;
  }
  return 1.0;
}

double blis_layer_weight_bytes(const blis_layer *layer, int64_t hidden_size, double model_bytes,
                               int64_t tp, int64_t experts_gpus) {
  blis_matrix matrices[BLIS_LAYER_MATRICES_MAX];
  size_t count = blis_layer_matrices(layer, hidden_size, matrices);
  double sum = 0.0;
  for (size_t i = 0; i < count; i++) {
    const blis_matrix *m = &matrices[i];
    double bytes = m->is_small ? 0.0 : layer->formats[m->class].bytes;
    sum += weights_of(m) * (bytes > 0.0 ? bytes : model_bytes) *
           share_of(layer, m->shard, tp, experts_gpus);
  }
  return sum;
}

/* Returns the bytes of an FP8 index key with a 4-byte scale per 128 elements. */
static double index_bytes(const blis_attention *a) {
  if (a->index_heads == 0) {
    return 0.0;
  }
  return a->index_key_bytes > 0 ? (double)a->index_key_bytes
                                : (double)a->index_dim + 4.0 * ceil((double)a->index_dim / 128.0);
}

/* Bytes per cache entry of DeepSeek V4 in vLLM and SGLang. */
static const double COMPRESSED_ENTRY_BYTES = 584.0;

/* Returns the cache of a compressed layer. Its state is the entry that the compressor is building:
   keys and scores of `ratio` tokens in FP32. With a ratio of 4, consecutive entries overlap. */
static blis_layer_cache compressed_cache(const blis_attention *a) {
  double ratio = (double)a->ratio;
  blis_layer_cache cache = {.span_bytes = COMPRESSED_ENTRY_BYTES, .span_tokens = a->span};
  if (ratio > 0.0) {
    double overlap = a->ratio == 4 ? 2.0 : 1.0;
    double width = (double)a->head_dim + (a->index_heads > 0 ? (double)a->index_dim : 0.0);
    cache.token_bytes = (COMPRESSED_ENTRY_BYTES + index_bytes(a)) / ratio;
    cache.state_bytes = ratio * overlap * 2.0 * width * 4.0;
  }
  return cache;
}

/* Returns the bytes of the state of a linear or state-space layer. */
static double state_bytes(const blis_attention *a, double d, const blis_cache_widths *w) {
  double past = (double)a->conv_kernel - 1.0;
  double keys = (double)a->key_heads * (double)a->key_dim;
  double values = (double)a->value_heads * (double)a->value_dim;
  double width = (double)a->head_dim;
  double heads = (double)a->heads;
  switch (a->kind) {
  case BLIS_ATTENTION_GDN:
    return past * (2.0 * keys + values) * w->model + values * (double)a->key_dim * w->state;
  case BLIS_ATTENTION_KDA:
    return past * 3.0 * heads * width * w->model + heads * width * width * 4.0;
  case BLIS_ATTENTION_LIGHTNING:
    return heads * width * width * w->model;
  case BLIS_ATTENTION_MAMBA2:
  case BLIS_ATTENTION_PARALLEL:
    return past * mamba_conv(a) * w->model + mamba_inner(a) * (double)a->state_size * w->state;
  case BLIS_ATTENTION_MAMBA1:
    return (past + (double)a->state_size) * (double)a->value_dim * w->model;
  case BLIS_ATTENTION_SHORT_CONV:
    return past * d * w->model;
  default:
    return 0.0;
  }
}

blis_layer_cache blis_layer_cache_of(const blis_layer *layer, int64_t hidden_size,
                                     const blis_cache_widths *widths, int64_t tp) {
  const blis_attention *a = &layer->attention;
  blis_layer_cache cache = {0};
  double heads = (double)a->kv_heads * kv_share(a, tp);
  double kv = a->reuses_kv ? 0.0 : heads * ((double)a->head_dim + value_width(a)) * widths->kv;
  switch (a->kind) {
  case BLIS_ATTENTION_FULL:
  case BLIS_ATTENTION_PARALLEL:
    cache.token_bytes = kv + index_bytes(a);
    break;
  case BLIS_ATTENTION_WINDOW:
  case BLIS_ATTENTION_CHUNK:
    cache.span_bytes = kv;
    cache.span_tokens = a->reuses_kv ? 0 : a->span;
    break;
  case BLIS_ATTENTION_LATENT:
    cache.token_bytes = (double)(a->kv_rank + a->rope_dim) * widths->kv + index_bytes(a);
    break;
  case BLIS_ATTENTION_COMPRESSED:
    return compressed_cache(a);
  default:
    break;
  }
  cache.state_bytes = state_bytes(a, (double)hidden_size, widths) / (double)tp;
  return cache;
}
