/*
 * layer_fields.h - tables of the members of a layer's attention and feed-forward parts, for
 * comparison, for reading layers from files, and for printing.
 *
 * Files and scripts use the same names. All fields are integers or flags.
 */
#ifndef BLIS_LATENCY_LAYERS_LAYER_FIELDS_H
#define BLIS_LATENCY_LAYERS_LAYER_FIELDS_H

#include "latency/layers/layer.h"
#include "latency/spec/spec_field.h"

/* Returns all members of blis_attention except kind. Static storage. */
const blis_spec_field *blis_attention_fields(size_t *count);

/* Returns all members of blis_ffn except kind. Static storage. */
const blis_spec_field *blis_ffn_fields(size_t *count);

#endif
