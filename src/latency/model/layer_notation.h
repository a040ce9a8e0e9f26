/*
 * layer_notation.h - the notation of a model's layers in YAML files and tables, as runs of
 * identical layers with their differences from the sizes of the whole model. Example:
 *
 *   layers:
 *     - {count: 10}
 *     - {count: 52, attention: window, window: 1024}
 *
 * Sizes of the whole model are keys next to `layers`: the members of blis_model_spec and the fields
 * in blis_attention_fields and blis_ffn_fields. A run contains only its differences from these.
 * `weights` contains weight formats: a name (fp8, nvfp4, ...), a number of bytes, or a mapping from
 * classes (attention, attention_out, indexer, linear, dense, experts, shared, head) to names or
 * numbers. Without `weights`, `quantization` sets the format of all weights, with the names of
 * blis_precision_override.
 */
#ifndef BLIS_LATENCY_MODEL_LAYER_NOTATION_H
#define BLIS_LATENCY_MODEL_LAYER_NOTATION_H

#include "base/buffer.h"
#include "base/format/yaml.h"
#include "latency/layers/layered_model.h"
#include "latency/model/model_spec.h"

/* Returns whether key is a key next to `layers` that is not a member of blis_model_spec. */
bool blis_layer_notation_has_key(const char *key);

/* Returns whether such a key is also allowed if `layers` is a number. This applies to formats and
   to weights outside of matrices. */
bool blis_layer_notation_is_of_model(const char *key);

/*
 * Reads a mapping whose key `layers` is a list. spec contains the members of blis_model_spec in the
 * mapping; its `layers` is 0. BLIS_ERR_PARSE names the location, the key, and the expected value.
 * The caller frees *model, which is filled only on success.
 */
BLIS_MUSTUSE blis_status blis_layer_notation_read(const blis_alloc *alloc,
                                                  const blis_yaml_node *entry,
                                                  const blis_model_spec *spec,
                                                  blis_layered_model *model, blis_error *error);

/* Like blis_layer_notation_read, for a mapping whose key `layers` is a number. *model is the
   expansion of spec with the formats in the mapping. */
BLIS_MUSTUSE blis_status blis_layer_notation_read_equal(const blis_alloc *alloc,
                                                        const blis_yaml_node *entry,
                                                        const blis_model_spec *spec,
                                                        blis_layered_model *model,
                                                        blis_error *error);

/* Appends the model as a YAML list entry that blis_layer_notation_read can read. */
void blis_layer_notation_write(const blis_layered_model *model, const char *id,
                               blis_buffer *buffer);

#endif
