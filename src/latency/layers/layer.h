/*
 * layer.h - a layer of a language model: its attention part and its feed-forward part, each with
 * its own sizes, and the derived values: matrices, parameters, KV cache, and state.
 *
 * A model is a list of runs of identical layers (blis_layer_run). Sums over layers iterate over the
 * runs. All structs are plain values and may be copied. Sizes are numbers of elements, and 0 means
 * "not used" unless noted otherwise. Counts of weights are doubles, which are exact below 2^53.
 *
 * Sources of the formulas: transformers (models) and vLLM (v1/kv_cache_interface.py,
 * layers/mamba/mamba_utils.py); their meaning, not their code.
 */
#ifndef BLIS_LATENCY_LAYERS_LAYER_H
#define BLIS_LATENCY_LAYERS_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency/precision/precision.h"

typedef enum blis_attention_kind {
  BLIS_ATTENTION_FULL,
  BLIS_ATTENTION_WINDOW,     /* the last `span` tokens */
  BLIS_ATTENTION_CHUNK,      /* within chunks of `span` tokens */
  BLIS_ATTENTION_LATENT,     /* MLA: one latent vector per token */
  BLIS_ATTENTION_COMPRESSED, /* window of `span` tokens, and one entry per `ratio` tokens */
  BLIS_ATTENTION_GDN,        /* gated delta net: a fixed state */
  BLIS_ATTENTION_KDA,        /* Kimi delta attention: a fixed state */
  BLIS_ATTENTION_LIGHTNING,  /* linear attention: a fixed state */
  BLIS_ATTENTION_MAMBA2,
  BLIS_ATTENTION_MAMBA1,
  BLIS_ATTENTION_SHORT_CONV,
  BLIS_ATTENTION_PARALLEL, /* full attention and Mamba2 in parallel */
  BLIS_ATTENTION_MATRIX,   /* one hidden x hidden matrix instead of attention */
  BLIS_ATTENTION_NONE,
  BLIS_ATTENTION_KIND_COUNT
} blis_attention_kind;

/* "full", "window", ...; static. */
const char *blis_attention_kind_name(blis_attention_kind kind);

typedef struct blis_attention {
  blis_attention_kind kind;
  int64_t span; /* size of a window or a chunk, in tokens */

  /* Heads of full, window, chunk, latent, compressed, lightning, KDA, and parallel layers. */
  int64_t heads;
  int64_t kv_heads;
  int64_t head_dim;       /* width of a query and of a key */
  int64_t value_head_dim; /* 0 = head_dim */
  int64_t gate_width;     /* columns of an output gate, over all heads */
  bool has_no_value_matrix;
  bool reuses_kv; /* reads the KV of an earlier layer and caches none */

  /* Low-rank projections, for latent and compressed attention. */
  int64_t query_rank; /* 0 = one matrix */
  int64_t kv_rank;
  int64_t rope_dim;
  int64_t nope_dim;
  int64_t output_rank;
  int64_t output_groups;
  int64_t ratio; /* tokens per entry of a compressed layer: 4 or 128 */

  /* The indexer of sparse attention, if the layer has its own. */
  int64_t index_heads;
  int64_t index_dim;
  /* Bytes that the indexer caches per token; 0 = FP8 keys with their scales. */
  int64_t index_key_bytes;
  /*
   * Maximum number of tokens that sparse attention reads per query (entries in a compressed layer);
   * 0 = all.
   */
  int64_t attended_tokens;

  /* State-space and linear layers. */
  int64_t key_heads; /* GDN */
  int64_t key_dim;
  int64_t value_heads; /* GDN; heads of Mamba2 */
  int64_t value_dim;   /* width of GDN and KDA, head width of Mamba2, inner width of Mamba1 */
  int64_t state_size;  /* Mamba */
  int64_t state_groups;
  int64_t time_rank; /* Mamba1 */
  int64_t conv_kernel;
  bool has_full_rank_gate; /* KDA */
} blis_attention;

typedef enum blis_ffn_kind {
  BLIS_FFN_DENSE,
  BLIS_FFN_MOE,
  BLIS_FFN_MOE_DENSE, /* both in one layer, with their outputs added */
  BLIS_FFN_NONE,
  BLIS_FFN_KIND_COUNT
} blis_ffn_kind;

/* "dense", "moe", "moe+dense", "none"; static. */
const char *blis_ffn_kind_name(blis_ffn_kind kind);

typedef struct blis_ffn {
  blis_ffn_kind kind;
  int64_t width;    /* width of the dense part */
  int64_t matrices; /* 3 gated, 2 plain */
  int64_t experts;
  int64_t experts_per_token; /* 0 = unknown */
  int64_t expert_width;
  int64_t latent_width; /* width of the experts' input; 0 = hidden size */
  int64_t shared_width; /* total width of all shared experts */
  bool has_shared_gate;
  bool has_expert_biases;
} blis_ffn;

typedef struct blis_layer {
  blis_attention attention;
  blis_ffn ffn;
  /* In the model's type, replicated on every GPU: hyper-connections, extra inputs. */
  double other_weights;
  blis_weight_format formats[BLIS_WEIGHT_CLASS_COUNT];
} blis_layer;

/* `count` identical layers, which need not be adjacent in the model. */
typedef struct blis_layer_run {
  int64_t count;
  blis_layer layer;
} blis_layer_run;

/* How a matrix is divided among the GPUs of a tensor-parallel group of degree t. */
typedef enum blis_shard {
  BLIS_SHARD_WHOLE,  /* replicated on every GPU */
  BLIS_SHARD_EQUAL,  /* 1/t */
  BLIS_SHARD_KV,     /* divided with the KV heads, with at least one head on every GPU */
  BLIS_SHARD_EXPERTS /* 1/t of each expert, or whole experts; the bytes are the same */
} blis_shard;

/* `copies` identical matrices with `rows` outputs and `columns` inputs. */
typedef struct blis_matrix {
  double copies;
  double rows;
  double columns;
  blis_shard shard;
  bool is_small;           /* keeps the model's type: routers, convolutions, gates, norms */
  blis_weight_class class; /* only meaningful if not small */
} blis_matrix;

enum { BLIS_LAYER_MATRICES_MAX = 24 };

/*
 * Lists the matrices of a layer in the order of a forward pass, then its small weights. Returns
 * their number. All experts together are one entry.
 */
size_t blis_layer_matrices(const blis_layer *layer, int64_t hidden_size,
                           blis_matrix matrices[BLIS_LAYER_MATRICES_MAX]);

/* Returns the number of weights of a layer. */
double blis_layer_weights(const blis_layer *layer, int64_t hidden_size);

/*
 * Returns the number of weights that one token uses, including experts_per_token of the routed
 * experts.
 */
double blis_layer_active_weights(const blis_layer *layer, int64_t hidden_size);

/*
 * Returns the bytes of the weights of a layer on one of tp GPUs, including scales. experts_gpus is
 * the number of GPUs that share the routed experts: tp, or tp times the data-parallel degree.
 */
double blis_layer_weight_bytes(const blis_layer *layer, int64_t hidden_size, double model_bytes,
                               int64_t tp, int64_t experts_gpus);

/* The cache of a layer on one GPU, in bytes. */
typedef struct blis_layer_cache {
  double token_bytes;  /* bytes for every token of a sequence */
  double span_bytes;   /* additional bytes for each of the last span_tokens tokens */
  int64_t span_tokens; /* 0 = no window or chunk */
  double state_bytes;  /* fixed bytes per sequence */
} blis_layer_cache;

/* Widths of cached vectors, in bytes. */
typedef struct blis_cache_widths {
  double kv;    /* width of an element of a key or value */
  double model; /* width of an element of the model's type, for convolution states */
  double state; /* width of an element of a recurrent state */
} blis_cache_widths;

/* Returns the cache of a layer. tp >= 1. Heads that tp does not divide are replicated. */
blis_layer_cache blis_layer_cache_of(const blis_layer *layer, int64_t hidden_size,
                                     const blis_cache_widths *widths, int64_t tp);

#endif
