/*
 * transformer.h - the number of weights in each part of a language model, as its
 * architecture defines them: three matrices per gated MLP, heads of their stated
 * width, experts in the layers that have them.
 *
 * All other latency models count weights as in BLIS (Go).
 */
#ifndef BLIS_LATENCY_MODEL_TRANSFORMER_H
#define BLIS_LATENCY_MODEL_TRANSFORMER_H

#include "latency/model/model_spec.h"

/* Weights of one layer, or of one expert; layers are whole numbers. */
typedef struct blis_transformer {
  double layers;
  double moe_layers;
  double dense_layers;
  double attention;     /* projections */
  double dense_mlp;     /* of a layer without experts */
  double expert;        /* of a routed one */
  double shared_expert; /* of all that every token goes through */
  double router;
  double head; /* from the last layer to the logits */
  double head_dim;
  double kv_width; /* values cached per token and layer, over all heads */
} blis_transformer;

/* Dimensions of a valid spec. */
blis_transformer blis_transformer_of(const blis_model_spec *spec);

/* All weights, including the embedding. */
double blis_transformer_parameters(const blis_transformer *t, const blis_model_spec *spec);

#endif
