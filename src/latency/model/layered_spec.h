/*
 * layered_spec.h - a model description with equal layers (blis_model_spec) as a list of layers, and
 * the reverse: the closest description with equal layers for step-time models that take nothing
 * else.
 */
#ifndef BLIS_LATENCY_MODEL_LAYERED_SPEC_H
#define BLIS_LATENCY_MODEL_LAYERED_SPEC_H

#include "latency/layers/layered_model.h"
#include "latency/model/model_spec.h"

/* A layer with the attention and the feed-forward part that the sizes of a description state: dense
   without experts, otherwise with experts. */
blis_layer blis_model_spec_layer(const blis_model_spec *spec);

/*
 * Fills *model with the layers of a valid description. A model with experts has
 * first_k_dense_replace dense layers, or dense layers by its interleave step. BLIS_ERR_INVALID if
 * intermediate_size, vocab_size, or the head width is missing. The caller frees *model, which is
 * filled only on success.
 */
BLIS_MUSTUSE blis_status blis_model_spec_expand(const blis_alloc *alloc,
                                                const blis_model_spec *spec,
                                                blis_layered_model *model, blis_error *error);

/* Everything of a description but the layers: embeddings, types, longest sequence. */
void blis_model_spec_copy_frame(const blis_model_spec *spec, blis_layered_model *model);

/*
 * The closest description with equal layers: heads of the layers with the most KV, the width of the
 * first dense layer, the experts of the first layer with experts, and the format of the largest
 * class of weights. Totals of bytes do not follow from it; they follow from the layers.
 */
blis_model_spec blis_layered_model_spec(const blis_layered_model *model);

#endif
