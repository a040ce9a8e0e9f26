/*
 * layer_fields.h - the sizes of a layer's attention and feed-forward part as tables, for
 * comparison, for the notation of layers in files, and for printing.
 *
 * Files and scripts use the same names. All fields are integers or flags.
 */
#ifndef BLIS_LATENCY_LAYERS_LAYER_FIELDS_H
#define BLIS_LATENCY_LAYERS_LAYER_FIELDS_H

#include "latency/layers/layer.h"
#include "latency/spec/spec_field.h"

/* All members of blis_attention but kind. Static storage. */
const blis_spec_field *blis_attention_fields(size_t *count);

/* All members of blis_ffn but kind. Static storage. */
const blis_spec_field *blis_ffn_fields(size_t *count);

#endif
