/*
 * model_spec.h - the properties of a language model that step times and KV
 * capacity depend on: the dimensions of its transformer, no weights.
 *
 * A plain value: copy it freely. 0 means "not stated" wherever that is
 * allowed. Sizes are counts of elements, not bytes.
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
  int64_t intermediate_size;     /* FFN width */
  int64_t head_dim;              /* 0 = hidden_size / attention_heads; step times
                                    use the quotient, see counts_as_built */
  double bytes_per_param;        /* of the compute type: activations and KV */
  double weight_bytes_per_param; /* 0 = bytes_per_param */
  char activation[32];           /* "" = silu */
  bool tie_word_embeddings;

  /* Mixture of experts: two experts or more; one is a dense model. */
  int64_t experts;
  int64_t experts_per_token;
  int64_t expert_intermediate_size;        /* 0 = intermediate_size */
  int64_t shared_expert_intermediate_size; /* sum over all shared experts; 0 = none */
  int64_t interleave_moe_layer_step;       /* 0 = every layer is MoE */
  int64_t dense_intermediate_size;         /* of the dense layers of a MoE model;
                                              0 = intermediate_size */
  int64_t first_k_dense_replace;           /* leading dense layers; capacity only */
  bool experts_unknown;                    /* experts are used, but their number is not stated */

  /* Multi-head latent attention (DeepSeek-V2); capacity only. */
  int64_t kv_lora_rank;
  int64_t qk_rope_head_dim;

  int64_t max_model_tokens; /* longest sequence; 0 = unlimited */
  char quantization[32];    /* method as its config.json names it, "" = none */

  /*
   * Roofline and capacity count the matrices that the model has: three of a
   * gated MLP, q and output projections of head_dim wide heads, a KV head on
   * every GPU. False: as BLIS (Go) does, which has two in roofline, and square
   * projections. No member of the list of fields.
   */
  bool counts_as_built;
} blis_model_spec;

/* All members but name, in the order above. Static storage. */
const blis_spec_field *blis_model_spec_fields(size_t *count);

/*
 * Checks what every use needs: layers, hidden size, heads and bytes_per_param
 * present, no negative or absurd (> 2^31 - 1) number, experts consistent. One
 * BLIS_ERR_INVALID reports everything that is wrong.
 */
BLIS_MUSTUSE blis_status blis_model_spec_validate(const blis_model_spec *spec, blis_error *error);

/* True for two experts or more. */
bool blis_model_spec_is_moe(const blis_model_spec *spec);

/* kv_heads, or attention_heads when that is not stated. */
int64_t blis_model_spec_kv_heads(const blis_model_spec *spec);

/* Does its MLP have a third matrix, for the gate? */
bool blis_model_spec_is_gated(const blis_model_spec *spec);

/* Width of the q projection for counting parameters; heads divide the rest. */
int64_t blis_model_spec_q_width(const blis_model_spec *spec);

/* weight_bytes_per_param, or bytes_per_param when that is not stated. */
double blis_model_spec_weight_bytes(const blis_model_spec *spec);

/*
 * How step-time models split the layers: an interleave step of n makes one
 * layer in n + 1 a MoE layer.
 */
void blis_model_spec_split_layers(const blis_model_spec *spec, int64_t *moe_layers,
                                  int64_t *dense_layers);

#endif
