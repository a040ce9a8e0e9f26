/*
 * model_config.h - reads a model description from its published config.json
 * (the format of Hugging Face transformers, 4.x).
 *
 * In multimodal models, members of text_config override members of the enclosing object with the
 * same name. Unknown keys are ignored. A key with an unexpected type counts as missing.
 */
#ifndef BLIS_LATENCY_MODEL_MODEL_CONFIG_H
#define BLIS_LATENCY_MODEL_MODEL_CONFIG_H

#include "base/alloc.h"
#include "base/error.h"
#include "base/slice.h"
#include "latency/model/model_spec.h"

/*
 * Reads a config from text. source is its name in messages, and name becomes the name of the spec.
 * BLIS_ERR_PARSE for malformed JSON. BLIS_ERR_INVALID for a number that is missing or out of range
 * names its key. The result passes blis_model_spec_validate. *spec is unchanged on failure.
 */
BLIS_MUSTUSE blis_status blis_model_config_parse(const blis_alloc *alloc, const char *source,
                                                 blis_slice text, const char *name,
                                                 blis_model_spec *spec, blis_error *error);

/*
 * Reads config.json in a folder, or a file of any name. BLIS_ERR_IO names both paths that were
 * tried. blis never downloads files.
 */
BLIS_MUSTUSE blis_status blis_model_config_load(const blis_alloc *alloc, const char *path,
                                                const char *name, blis_model_spec *spec,
                                                blis_error *error);

/*
 * Returns the bytes per weight according to a separate word in the name of a model: "w4a16" = 0.5,
 * "fp8" = 1; 0 = not stated. Use it for models whose config.json does not contain this value.
 */
double blis_model_weight_bytes_from_name(const char *name);

#endif
