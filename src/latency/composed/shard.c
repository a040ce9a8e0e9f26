#include "latency/composed/shard.h"

#include <math.h>

/* Narrower heads use the tensor cores less efficiently. */
#define NARROW_HEAD 100.0
#define NARROW_FACTOR 1.3

/* Equivalent number of KV heads of latent attention in the kernels. */
#define LATENT_HEADS 8.0

static double on_gpu(int64_t size, const blis__sharding *s) {
  return (double)size / (double)s->tp;
}

static double kv_heads_of(const blis_attention *a, const blis__sharding *s) {
  return fmax(1, ceil(on_gpu(a->kv_heads, s)));
}

static double value_head(const blis_attention *a) {
  return (double)(a->value_head_dim > 0 ? a->value_head_dim : a->head_dim);
}

static double rows_on_gpu(const blis_matrix *m, const blis_attention *a, const blis__sharding *s) {
  switch (m->shard) {
  case BLIS_SHARD_WHOLE:
    return m->copies * m->rows;
  case BLIS_SHARD_KV:
    return m->copies * m->rows / (double)a->kv_heads * kv_heads_of(a, s);
  default:
    return m->copies * m->rows / (double)s->tp;
  }
}

/*
 * Adds a product with this output and input. If there is a product with the same input and format,
 * widens it instead.
 */
static void add_product(blis__layer_work *run, double n, double k, blis_weight_kind kind) {
  for (size_t i = 0; i < run->attention_count; i++) {
    blis__matrix *other = &run->attention[i];
    if (other->k == k && other->format == kind) {
      other->n += n;
      return;
    }
  }
  if (run->attention_count < BLIS__ATTENTION_MATRICES_MAX) {
    run->attention[run->attention_count++] = (blis__matrix){n, k, kind};
  }
}

/* Adds a separate product. */
static void add_output(blis__layer_work *run, double n, double k, blis_weight_kind kind) {
  if (run->attention_count < BLIS__ATTENTION_MATRICES_MAX) {
    run->attention[run->attention_count++] = (blis__matrix){n, k, kind};
  }
}

/* Adds the matrix that expands the latent cache as two products, for queries and for outputs. */
static void add_absorbed(blis__layer_work *run, const blis_attention *a, const blis__sharding *s) {
  double heads = on_gpu(a->heads, s);
  add_output(run, heads * (double)a->kv_rank, (double)a->nope_dim, BLIS_KIND_MODEL);
  add_output(run, heads * value_head(a), (double)a->kv_rank, BLIS_KIND_MODEL);
}

static bool is_expansion(const blis_matrix *m, const blis_attention *a) {
  return a->kind == BLIS_ATTENTION_LATENT && m->class == BLIS_WEIGHT_ATTENTION &&
         m->columns == (double)a->kv_rank &&
         m->rows == (double)a->heads * ((double)a->nope_dim + value_head(a));
}

/* Returns whether the matrix maps an inner width back to the hidden size. */
static bool is_output(const blis_matrix *m, double hidden) {
  return m->class == BLIS_WEIGHT_ATTENTION_OUT ||
         (m->class == BLIS_WEIGHT_LINEAR && m->rows == hidden && m->copies == 1);
}

static void add_attention_product(blis__layer_work *run, const blis_matrix *m,
                                  const blis_layer *layer, const blis__sharding *s) {
  const blis_attention *a = &layer->attention;
  blis_weight_kind kind = layer->formats[m->class].kind;
  if (is_expansion(m, a)) {
    add_absorbed(run, a, s);
  } else if (is_output(m, (double)s->hidden_size)) {
    double k = m->shard == BLIS_SHARD_WHOLE ? m->columns : m->columns / (double)s->tp;
    add_output(run, m->copies * m->rows, k, kind);
  } else {
    add_product(run, rows_on_gpu(m, a, s), m->columns, kind);
  }
}

static bool is_of_attention(const blis_matrix *m) {
  return !m->is_small &&
         (m->class == BLIS_WEIGHT_ATTENTION || m->class == BLIS_WEIGHT_ATTENTION_OUT ||
          m->class == BLIS_WEIGHT_INDEXER || m->class == BLIS_WEIGHT_LINEAR);
}

static void set_products(blis__layer_work *run, const blis_layer *layer, const blis__sharding *s) {
  blis_matrix matrices[BLIS_LAYER_MATRICES_MAX];
  size_t count = blis_layer_matrices(layer, s->hidden_size, matrices);
  for (size_t i = 0; i < count; i++) {
    if (is_of_attention(&matrices[i])) {
      add_attention_product(run, &matrices[i], layer, s);
    }
  }
}

/* Handles full, window, chunk, and parallel layers. */
static void set_heads(blis__layer_work *run, const blis_attention *a, const blis__sharding *s) {
  double heads = on_gpu(a->heads, s);
  double width = (double)a->head_dim;
  run->query_width = heads * width;
  run->kv_heads = kv_heads_of(a, s);
  run->kv_width = run->kv_heads * width;
  run->kv_bytes = run->kv_heads * (width + value_head(a)) * s->widths.kv;
  run->prefill_width = run->query_width * (width < NARROW_HEAD ? NARROW_FACTOR : 1);
}

static void set_latent(blis__layer_work *run, const blis_attention *a, const blis__sharding *s) {
  double heads = on_gpu(a->heads, s);
  double latent = (double)(a->kv_rank + a->rope_dim);
  run->query_width = heads * (double)(a->nope_dim + a->rope_dim);
  run->kv_heads = LATENT_HEADS;
  run->kv_width = latent;
  run->kv_bytes = latent * s->widths.kv;
  run->latent_flops = 2 * heads * (latent + (double)a->kv_rank);
  run->prefill_width = (run->query_width + heads * value_head(a)) / 2;
}

/* Handles DeepSeek V4: a window, and one entry per `ratio` tokens. */
static void set_compressed(blis__layer_work *run, const blis_attention *a, const blis_layer *layer,
                           const blis__sharding *s) {
  blis_layer_cache cache = blis_layer_cache_of(layer, s->hidden_size, &s->widths, s->tp);
  run->query_width = on_gpu(a->heads, s) * (double)a->head_dim;
  run->kv_heads = LATENT_HEADS;
  run->kv_width = (double)a->head_dim;
  run->kv_bytes = cache.span_bytes / (double)(a->ratio > 0 ? a->ratio : 1);
  run->window = a->ratio > 0 ? 0 : (double)a->span;
  run->prefill_width = run->query_width / (double)(a->ratio > 0 ? a->ratio : 1);
}

/* Handles layers with a fixed state, which every step reads and writes. */
static void set_state(blis__layer_work *run, const blis_layer *layer, const blis__sharding *s) {
  blis_layer_cache cache = blis_layer_cache_of(layer, s->hidden_size, &s->widths, s->tp);
  run->state_bytes = 2 * cache.state_bytes;
  if (run->kv_heads == 0 && run->attention_count > 0) {
    run->query_width = run->attention[0].n / 2;
    run->prefill_width = run->query_width;
  }
}

/*
 * Handles sparse attention. The part of the cache that is not keys or values belongs to the
 * indexer.
 */
static void set_sparse(blis__layer_work *run, const blis_layer *layer, const blis__sharding *s) {
  const blis_attention *a = &layer->attention;
  if (a->attended_tokens > 0 && run->window == 0) {
    double ratio = (double)(a->ratio > 0 ? a->ratio : 1);
    blis_layer_cache cache = blis_layer_cache_of(layer, s->hidden_size, &s->widths, s->tp);
    run->window = (double)a->attended_tokens * ratio;
    run->index_bytes = fmax(0, cache.token_bytes - run->kv_bytes);
  }
}

static void set_attention(blis__layer_work *run, const blis_layer *layer, const blis__sharding *s) {
  const blis_attention *a = &layer->attention;
  switch (a->kind) {
  case BLIS_ATTENTION_WINDOW:
  case BLIS_ATTENTION_CHUNK:
    set_heads(run, a, s);
    run->window = (double)a->span;
    break;
  case BLIS_ATTENTION_FULL:
    set_heads(run, a, s);
    break;
  case BLIS_ATTENTION_PARALLEL:
    set_heads(run, a, s);
    set_state(run, layer, s);
    break;
  case BLIS_ATTENTION_LATENT:
    set_latent(run, a, s);
    break;
  case BLIS_ATTENTION_COMPRESSED:
    set_compressed(run, a, layer, s);
    break;
  case BLIS_ATTENTION_MATRIX:
  case BLIS_ATTENTION_NONE:
    break;
  default:
    set_state(run, layer, s);
    break;
  }
}

/* Adds gate and up as one product, then down; without a gate, up and down. */
static void add_mlp(blis__layer_work *run, double width, double matrices, blis_weight_kind kind,
                    double hidden) {
  if (width > 0) {
    run->mlp[run->mlp_count++] = (blis__matrix){(matrices - 1) * width, hidden, kind};
    run->mlp[run->mlp_count++] = (blis__matrix){hidden, width, kind};
  }
}

/*
 * The kernel model has three matrices, so experts with two matrices get a proportionally smaller
 * width.
 */
static void set_experts(blis__layer_work *run, const blis_layer *layer, const blis__sharding *s) {
  const blis_ffn *f = &layer->ffn;
  double gpus = (double)(s->tp * s->replicas);
  double holders = s->has_expert_parallel ? gpus : 1;
  run->expert_format = layer->formats[BLIS_WEIGHT_EXPERTS].kind;
  run->experts = (blis__expert_shape){
      .experts = (double)f->experts,
      .chosen = (double)f->experts_per_token,
      .hidden = (double)(f->latent_width > 0 ? f->latent_width : s->hidden_size),
      .width = (double)f->expert_width * (double)f->matrices / 3 * holders / gpus,
      .local = (double)f->experts / holders,
  };
}

static void set_ffn(blis__layer_work *run, const blis_layer *layer, const blis__sharding *s) {
  const blis_ffn *f = &layer->ffn;
  double matrices = (double)f->matrices;
  double hidden = (double)s->hidden_size;
  if (f->kind == BLIS_FFN_DENSE || f->kind == BLIS_FFN_MOE_DENSE) {
    add_mlp(run, on_gpu(f->width, s), matrices, layer->formats[BLIS_WEIGHT_DENSE].kind, hidden);
  }
  if (f->kind == BLIS_FFN_MOE || f->kind == BLIS_FFN_MOE_DENSE) {
    set_experts(run, layer, s);
    add_mlp(run, on_gpu(f->shared_width, s), matrices, layer->formats[BLIS_WEIGHT_SHARED].kind,
            hidden);
  }
}

static bool has_experts(const blis__sharding *s) {
  for (size_t i = 0; i < s->run_count; i++) {
    if (s->runs[i].layer.ffn.experts > 0) {
      return true;
    }
  }
  return false;
}

static blis_status check(const blis__sharding *s, blis_error *error) {
  if (s->run_count == 0 || s->hidden_size < 1 || s->vocab_size < 1) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "composed: the model needs layers, a hidden size, and a vocabulary size");
  }
  for (size_t i = 0; i < s->run_count; i++) {
    const blis_ffn *f = &s->runs[i].layer.ffn;
    if (f->experts > 0 && (f->experts_per_token < 1 || f->experts_per_token > f->experts)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "composed: a token uses %lld of %lld experts; expected 1 to %lld",
                       (long long)f->experts_per_token, (long long)f->experts,
                       (long long)f->experts);
    }
  }
  return BLIS_OK;
}

static blis__layer_work run_of(const blis_layer_run *from, const blis__sharding *s,
                               bool model_has_experts) {
  blis__layer_work run = {.count = (double)from->count, .is_sharded = s->tp > 1};
  set_products(&run, &from->layer, s);
  set_attention(&run, &from->layer, s);
  set_sparse(&run, &from->layer, s);
  set_ffn(&run, &from->layer, s);
  run.mlp_width = model_has_experts ? 0 : on_gpu(from->layer.ffn.width, s);
  return run;
}

blis_status blis__work_new(const blis_alloc *alloc, const blis__sharding *sharding,
                           blis__step_work *work, blis_error *error) {
  const blis__sharding *s = sharding;
  BLIS_TRY(check(s, error));
  blis__layer_work *runs = blis_alloc_zeroed(alloc, s->run_count, sizeof *runs);
  if (runs == NULL) {
    return blis_fail_nomem(error);
  }
  bool model_has_experts = has_experts(s);
  for (size_t i = 0; i < s->run_count; i++) {
    runs[i] = run_of(&s->runs[i], s, model_has_experts);
  }
  *work = (blis__step_work){
      .runs = runs,
      .run_count = s->run_count,
      .hidden = (double)s->hidden_size,
      .head_width = on_gpu(s->vocab_size, s),
      .vocabulary = (double)s->vocab_size,
      .activation_bytes = s->widths.model,
      .replicas = (double)s->replicas,
      .has_experts = model_has_experts,
  };
  return BLIS_OK;
}

void blis__work_free(const blis_alloc *alloc, blis__step_work *work) {
  blis_alloc_free(alloc, (void *)(uintptr_t)work->runs, work->run_count * sizeof *work->runs);
  work->runs = NULL;
  work->run_count = 0;
}

/* Number of layers by format. */
typedef struct layer_counts {
  double layers[BLIS_KIND_COUNT];
} layer_counts;

static blis_weight_kind most_common(const layer_counts *counts) {
  size_t most = 0;
  for (size_t i = 1; i < BLIS_KIND_COUNT; i++) {
    most = counts->layers[i] > counts->layers[most] ? i : most;
  }
  return (blis_weight_kind)most;
}

blis_weight_kind blis__work_attention_kind(const blis__step_work *work) {
  layer_counts counts = {0};
  for (size_t i = 0; i < work->run_count; i++) {
    const blis__layer_work *run = &work->runs[i];
    if (run->attention_count > 0) {
      counts.layers[run->attention[0].format] += run->count;
    }
  }
  return most_common(&counts);
}

blis_weight_kind blis__work_mlp_kind(const blis__step_work *work) {
  layer_counts counts = {0};
  for (size_t i = 0; i < work->run_count; i++) {
    const blis__layer_work *run = &work->runs[i];
    if (work->has_experts && run->experts.experts > 0) {
      counts.layers[run->expert_format] += run->count;
    } else if (!work->has_experts && run->mlp_count > 0) {
      counts.layers[run->mlp[0].format] += run->count;
    }
  }
  return most_common(&counts);
}
