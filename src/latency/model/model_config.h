/*
 * model_config.h - reads a model description from its published config.json
 * (the format of Hugging Face transformers, 4.x).
 *
 * Members of text_config, as multimodal models have it, take the place of
 * members with the same name around it. Unknown keys are ignored; a key of
 * another type than expected counts as absent.
 */
#ifndef BLIS_LATENCY_MODEL_MODEL_CONFIG_H
#define BLIS_LATENCY_MODEL_MODEL_CONFIG_H

#include "base/alloc.h"
#include "base/error.h"
#include "base/slice.h"
#include "latency/model/model_spec.h"

/*
 * Reads a config from text; source is its name in messages, name becomes the
 * spec's. BLIS_ERR_PARSE for malformed JSON, BLIS_ERR_INVALID for a number that is
 * missing or out of range, with its key. The result passes
 * blis_model_spec_validate. *spec is unchanged on failure.
 */
BLIS_MUSTUSE blis_status blis_model_config_parse(const blis_alloc *alloc, const char *source,
                                                 blis_slice text, const char *name,
                                                 blis_model_spec *spec, blis_error *error);

/*
 * Reads config.json in a folder, or a file of any name. BLIS_ERR_IO names both
 * places looked at. Nothing is ever downloaded.
 */
BLIS_MUSTUSE blis_status blis_model_config_load(const blis_alloc *alloc, const char *path,
                                                const char *name, blis_model_spec *spec,
                                                blis_error *error);

/*
 * Bytes per weight as stated by a separate word in the name of a model: "w4a16" =
 * 0.5, "fp8" = 1; 0 = not stated. For models whose config.json does not state it.
 */
double blis_model_weight_bytes_from_name(const char *name);

#endif
