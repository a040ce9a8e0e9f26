/*
 * spec_layers.h - a model specification as runs of equal layers (latency/layers).
 *
 * A specification states neither the kinds of layers nor the formats of single matrices. All layers
 * have full or latent attention, all matrices but the head have the format that the width of a
 * weight suggests, and latent attention has one query matrix and values as wide as keys.
 */
#ifndef BLIS_LATENCY_MODEL_SPEC_LAYERS_H
#define BLIS_LATENCY_MODEL_SPEC_LAYERS_H

#include "latency/layers/layer.h"
#include "latency/model/model_spec.h"

enum { BLIS__SPEC_RUNS_MAX = 2 };

/* Fills the runs of a valid specification and returns their number: dense layers, then layers with
 * experts. */
size_t blis__spec_layers(const blis_model_spec *spec, blis_layer_run runs[BLIS__SPEC_RUNS_MAX]);

#endif
