/*
 * layer.h - a layer of a language model: its attention part and its feed-forward part, each with
 * its own sizes, and the derived values: matrices, parameters, KV cache, and state.
 *
 * A model is a list of runs of equal layers (blis_layer_run). Sums over layers iterate the runs.
 * All values are plain: copy them freely. Sizes count elements, and 0 means "not used" unless a
 * member states something else. Counts of weights are doubles, which are exact below 2^53.
 *
 * Sources of the formulas: transformers (models) and vLLM (v1/kv_cache_interface.py,
 * layers/mamba/mamba_utils.py), only for their meaning.
 */
#ifndef BLIS_LATENCY_LAYERS_LAYER_H
#define BLIS_LATENCY_LAYERS_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency/precision/precision.h"

typedef enum blis_attention_kind {
  BLIS_ATTENTION_FULL,
  BLIS_ATTENTION_WINDOW,     /* the last span tokens */
  BLIS_ATTENTION_CHUNK,      /* within chunks of span tokens */
  BLIS_ATTENTION_LATENT,     /* MLA: one latent vector per token */
  BLIS_ATTENTION_COMPRESSED, /* window of span tokens, and one entry every `ratio` tokens */
  BLIS_ATTENTION_GDN,        /* gated delta net: a fixed state */
  BLIS_ATTENTION_KDA,        /* Kimi delta attention: a fixed state */
  BLIS_ATTENTION_LIGHTNING,  /* linear attention: a fixed state */
  BLIS_ATTENTION_MAMBA2,
  BLIS_ATTENTION_MAMBA1,
  BLIS_ATTENTION_SHORT_CONV,
  BLIS_ATTENTION_PARALLEL, /* full attention and Mamba2 side by side */
  BLIS_ATTENTION_MATRIX,   /* one hidden x hidden matrix in place of attention */
  BLIS_ATTENTION_NONE,
  BLIS_ATTENTION_KIND_COUNT
} blis_attention_kind;

/* "full", "window", ...; static. */
const char *blis_attention_kind_name(blis_attention_kind kind);

typedef struct blis_attention {
  blis_attention_kind kind;
  int64_t span; /* tokens of a window or a chunk */

  /* Heads of full, window, chunk, latent, compressed, lightning, KDA, and parallel layers. */
  int64_t heads;
  int64_t kv_heads;
  int64_t head_dim;       /* width of a query and of a key */
  int64_t value_head_dim; /* 0 = head_dim */
  int64_t gate_width;     /* columns of an output gate, over all heads */
  bool has_no_value_matrix;
  bool reuses_kv; /* reads the KV of an earlier layer and caches none */

  /* Low-rank projections; latent and compressed attention. */
  int64_t query_rank; /* 0 = one matrix */
  int64_t kv_rank;
  int64_t rope_dim;
  int64_t nope_dim;
  int64_t output_rank;
  int64_t output_groups;
  int64_t ratio; /* tokens per entry of a compressed layer: 4 or 128 */

  /* An indexer of sparse attention that the layer owns. */
  int64_t index_heads;
  int64_t index_dim;
  int64_t index_key_bytes; /* bytes cached per token for it; 0 = FP8 keys with their scales */
  int64_t attended_tokens; /* that sparse attention reads for a query, at most; 0 = all. Entries
                              in a compressed layer */

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
  BLIS_FFN_MOE_DENSE, /* both in one layer, added */
  BLIS_FFN_NONE,
  BLIS_FFN_KIND_COUNT
} blis_ffn_kind;

/* "dense", "moe", "moe+dense", "none"; static. */
const char *blis_ffn_kind_name(blis_ffn_kind kind);

typedef struct blis_ffn {
  blis_ffn_kind kind;
  int64_t width;    /* of the dense part */
  int64_t matrices; /* 3 gated, 2 plain */
  int64_t experts;
  int64_t experts_per_token; /* 0 = unknown */
  int64_t expert_width;
  int64_t latent_width; /* of the experts' input; 0 = hidden size */
  int64_t shared_width; /* of all shared experts together */
  bool has_shared_gate;
  bool has_expert_biases;
} blis_ffn;

typedef struct blis_layer {
  blis_attention attention;
  blis_ffn ffn;
  double other_weights; /* in the model's type, on every GPU: hyper-connections, extra inputs */
  blis_weight_format formats[BLIS_WEIGHT_CLASS_COUNT];
} blis_layer;

/* count equal layers, wherever they are in the model. */
typedef struct blis_layer_run {
  int64_t count;
  blis_layer layer;
} blis_layer_run;

/* How a matrix is divided among the GPUs of a tensor-parallel group of degree t. */
typedef enum blis_shard {
  BLIS_SHARD_WHOLE,  /* on every GPU */
  BLIS_SHARD_EQUAL,  /* 1/t */
  BLIS_SHARD_KV,     /* with the KV heads: at least one head on every GPU */
  BLIS_SHARD_EXPERTS /* 1/t of each, or whole ones: equal bytes */
} blis_shard;

/* `copies` equal products of `rows` outputs and `columns` inputs. */
typedef struct blis_matrix {
  double copies;
  double rows;
  double columns;
  blis_shard shard;
  bool is_small;           /* keeps the model's type: routers, convolutions, gates, norms */
  blis_weight_class class; /* unless it is small */
} blis_matrix;

enum { BLIS_LAYER_MATRICES_MAX = 24 };

/*
 * Lists the matrices of a layer in the order of a forward pass, then its small weights; returns
 * their number. A run of experts is one entry.
 */
size_t blis_layer_matrices(const blis_layer *layer, int64_t hidden_size,
                           blis_matrix matrices[BLIS_LAYER_MATRICES_MAX]);

/* Number of weights of a layer. */
double blis_layer_weights(const blis_layer *layer, int64_t hidden_size);

/* Number of weights that a token uses: of routed experts, experts_per_token of them. */
double blis_layer_active_weights(const blis_layer *layer, int64_t hidden_size);

/*
 * Bytes of the weights of a layer on one of tp GPUs, scales included. experts_gpus is the number of
 * GPUs that share the routed experts: tp, or tp times the data-parallel degree.
 */
double blis_layer_weight_bytes(const blis_layer *layer, int64_t hidden_size, double model_bytes,
                               int64_t tp, int64_t experts_gpus);

/* The cache of a layer on one GPU, in bytes. */
typedef struct blis_layer_cache {
  double token_bytes;  /* for every token of a sequence */
  double span_bytes;   /* for each of the last span_tokens tokens only */
  int64_t span_tokens; /* 0 = no window or chunk */
  double state_bytes;  /* fixed, per sequence */
} blis_layer_cache;

/* Widths of cached vectors, in bytes. */
typedef struct blis_cache_widths {
  double kv;    /* element of a key or value */
  double model; /* element of the model's type: convolution states */
  double state; /* element of a recurrent state */
} blis_cache_widths;

/* tp >= 1; heads that tp does not divide are replicated. */
blis_layer_cache blis_layer_cache_of(const blis_layer *layer, int64_t hidden_size,
                                     const blis_cache_widths *widths, int64_t tp);

#endif
