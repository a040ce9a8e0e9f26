/*
 * layered_spec.h - converts a model description with identical layers (blis_model_spec) to a list
 * of layers, and back to the closest description with identical layers for step-time models that
 * support nothing else.
 */
#ifndef BLIS_LATENCY_MODEL_LAYERED_SPEC_H
#define BLIS_LATENCY_MODEL_LAYERED_SPEC_H

#include "latency/layers/layered_model.h"
#include "latency/model/model_spec.h"

/* Returns a layer with the attention and feed-forward sizes of a description. It is a dense layer
   if the description has no experts. */
blis_layer blis_model_spec_layer(const blis_model_spec *spec);

/*
 * Fills *model with the layers of a valid description. In a model with experts,
 * first_k_dense_replace or the interleave step determines the dense layers. BLIS_ERR_INVALID if
 * intermediate_size, vocab_size, or the head width is missing. The caller frees *model, which is
 * filled only on success.
 */
BLIS_MUSTUSE blis_status blis_model_spec_expand(const blis_alloc *alloc,
                                                const blis_model_spec *spec,
                                                blis_layered_model *model, blis_error *error);

/*
 * Copies everything in a description except the layers: embeddings, types, and the maximum sequence
 * length.
 */
void blis_model_spec_copy_frame(const blis_model_spec *spec, blis_layered_model *model);

/*
 * Returns the closest description with identical layers. It has the heads of the layers with the
 * most KV, the width of the first dense layer, the experts of the first layer with experts, and the
 * format of the largest class of weights. Do not compute byte totals from it; compute them from the
 * layers.
 */
blis_model_spec blis_layered_model_spec(const blis_layered_model *model);

#endif
