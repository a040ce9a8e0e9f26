/*
 * model_spec.h - the properties of a language model that determine step times and KV capacity: the
 * dimensions of its transformer, without weights.
 *
 * The struct is a plain value and may be copied. 0 means "not stated" for members that may be
 * omitted. Sizes are numbers of elements, not bytes.
 */
#ifndef BLIS_LATENCY_MODEL_MODEL_SPEC_H
#define BLIS_LATENCY_MODEL_MODEL_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "latency/spec/spec_field.h"

typedef struct blis_model_spec {
  char name[128]; /* for messages */

  int64_t layers;
  int64_t hidden_size;
  int64_t attention_heads;
  int64_t kv_heads; /* 0 = attention_heads */
  int64_t vocab_size;
  int64_t intermediate_size; /* FFN width */
  /* 0 = hidden_size / attention_heads; step times use this quotient, see counts_as_built */
  int64_t head_dim;
  double bytes_per_param;        /* bytes of the compute type, for activations and KV */
  double weight_bytes_per_param; /* 0 = bytes_per_param */
  char activation[32];           /* "" = silu */
  bool tie_word_embeddings;

  /* Mixture of experts, with at least two experts. A model with one expert is dense. */
  int64_t experts;
  int64_t experts_per_token;
  int64_t expert_intermediate_size;        /* 0 = intermediate_size */
  int64_t shared_expert_intermediate_size; /* sum over all shared experts; 0 = none */
  int64_t interleave_moe_layer_step;       /* 0 = every layer is MoE */
  /* Width of the dense layers of an MoE model; 0 = intermediate_size. */
  int64_t dense_intermediate_size;
  int64_t first_k_dense_replace; /* number of leading dense layers; only for capacity */
  /* The model has experts, but their number is not stated. */
  bool experts_unknown;

  /* Multi-head latent attention (DeepSeek-V2); only for capacity. */
  int64_t kv_lora_rank;
  int64_t qk_rope_head_dim;

  int64_t max_model_tokens; /* maximum sequence length; 0 = unlimited */
  char quantization[32];    /* name of the method in config.json; "" = none */

  /*
   * If true, roofline and capacity count the matrices that the model actually has: three matrices
   * in a gated MLP, q and output projections with a head width of head_dim, and at least one KV
   * head on every GPU. If false, they count like BLIS (Go), with two MLP matrices in roofline and
   * square projections. This member is not in the list of fields.
   */
  bool counts_as_built;
} blis_model_spec;

/* Returns all members except name, in the order above. Static storage. */
const blis_spec_field *blis_model_spec_fields(size_t *count);

/*
 * Checks the requirements of all uses: layers, hidden size, heads, and bytes_per_param are set; no
 * number is negative or above 2^31 - 1; and the experts are consistent. A single BLIS_ERR_INVALID
 * reports all errors.
 */
BLIS_MUSTUSE blis_status blis_model_spec_validate(const blis_model_spec *spec, blis_error *error);

/* Returns whether the model has at least two experts. */
bool blis_model_spec_is_moe(const blis_model_spec *spec);

/* Returns kv_heads, or attention_heads if kv_heads is not stated. */
int64_t blis_model_spec_kv_heads(const blis_model_spec *spec);

/* Returns whether the MLP has a third matrix, for the gate. */
bool blis_model_spec_is_gated(const blis_model_spec *spec);

/* Returns the width of the q projection that is used to count parameters. */
int64_t blis_model_spec_q_width(const blis_model_spec *spec);

/* Returns weight_bytes_per_param, or bytes_per_param if weight_bytes_per_param is not stated. */
double blis_model_spec_weight_bytes(const blis_model_spec *spec);

/*
 * Computes how step-time models split the layers. With an interleave step of n, one layer in n + 1
 * is an MoE layer.
 */
void blis_model_spec_split_layers(const blis_model_spec *spec, int64_t *moe_layers,
                                  int64_t *dense_layers);

#endif
