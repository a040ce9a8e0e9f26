/*
 * layer_notation.h - the notation of a model's layers in YAML files and tables:
 * runs of equal layers, with their differences from the sizes of the whole model.
 * Example:
 *
 *   layers:
 *     - {count: 10}
 *     - {count: 52, attention: window, window: 1024}
 *
 * Sizes of the whole model are keys next to `layers`: the members of
 * blis_model_spec, and those of blis_attention_fields and blis_ffn_fields. A run
 * repeats only what differs. Formats of weights are in `weights`: a name (fp8,
 * nvfp4, ...), a number of bytes, or a mapping from classes (attention,
 * attention_out, indexer, linear, dense, experts, shared, head) to these. Without `weights`,
 * `quantization` formats all weights, with the names of blis_precision_override.
 */
#ifndef BLIS_LATENCY_MODEL_LAYER_NOTATION_H
#define BLIS_LATENCY_MODEL_LAYER_NOTATION_H

#include "base/buffer.h"
#include "base/format/yaml.h"
#include "latency/layers/layered_model.h"
#include "latency/model/model_spec.h"

/* Returns true for a key next to `layers` that is no member of blis_model_spec. */
bool blis_layer_notation_has_key(const char *key);

/* Returns true for such a key that also applies to layers that a number states: formats, and
   weights outside of matrices. */
bool blis_layer_notation_is_of_model(const char *key);

/*
 * Reads a mapping whose key `layers` is a list. spec has the members of blis_model_spec that the
 * mapping states; its layers are 0. BLIS_ERR_PARSE names the place, the key, and the expected
 * value. The caller frees *model, which is filled only on success.
 */
BLIS_MUSTUSE blis_status blis_layer_notation_read(const blis_alloc *alloc,
                                                  const blis_yaml_node *entry,
                                                  const blis_model_spec *spec,
                                                  blis_layered_model *model, blis_error *error);

/* blis_layer_notation_read for a mapping whose key `layers` is a number: *model is the expansion of
   spec with the formats that the mapping states. */
BLIS_MUSTUSE blis_status blis_layer_notation_read_equal(const blis_alloc *alloc,
                                                        const blis_yaml_node *entry,
                                                        const blis_model_spec *spec,
                                                        blis_layered_model *model,
                                                        blis_error *error);

/* Appends an entry of a list of models, in YAML, which blis_layer_notation_read reads back. */
void blis_layer_notation_write(const blis_layered_model *model, const char *id,
                               blis_buffer *buffer);

#endif
