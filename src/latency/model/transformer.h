/*
 * transformer.h - counts the weights in each part of a language model according to its
 * architecture: three matrices per gated MLP, heads of their stated width, and experts only in MoE
 * layers.
 *
 * Other latency models count weights like BLIS (Go).
 */
#ifndef BLIS_LATENCY_MODEL_TRANSFORMER_H
#define BLIS_LATENCY_MODEL_TRANSFORMER_H

#include "latency/model/model_spec.h"

/* Numbers of weights per layer or per expert. The numbers of layers are integers. */
typedef struct blis_transformer {
  double layers;
  double moe_layers;
  double dense_layers;
  double attention;     /* projections */
  double dense_mlp;     /* MLP of a layer without experts */
  double expert;        /* one routed expert */
  double shared_expert; /* all shared experts of a layer */
  double router;
  double head; /* the output matrix, from the last layer to the logits */
  double head_dim;
  double kv_width; /* values cached per token and layer, over all heads */
} blis_transformer;

/* Computes the numbers for a valid spec. */
blis_transformer blis_transformer_of(const blis_model_spec *spec);

/* Returns the number of all weights, including the embedding. */
double blis_transformer_parameters(const blis_transformer *t, const blis_model_spec *spec);

#endif
