/*
 * model_reader.h - reads a layered model from its published config.json (the format
 * of Hugging Face transformers) and its side-car files.
 *
 * Only the content of the files matters. If the name of a folder or a model suggests another
 * precision, blis only adds a note. Keys that do not affect sizes are ignored.
 */
#ifndef BLIS_LATENCY_CONFIG_MODEL_READER_H
#define BLIS_LATENCY_CONFIG_MODEL_READER_H

#include "base/slice.h"
#include "latency/layers/layered_model.h"

/* User settings that replace values of the files. NULL or "" = value of the files. */
typedef struct blis_model_options {
  const char *quantization;   /* a name of blis_precision_override */
  const char *kv_cache_dtype; /* a name of blis_precision_kv_bytes */
  const char *dtype;          /* type of the model: auto, bfloat16, float16, half, float32 */
} blis_model_options;

/*
 * Reads a model from text. `source` appears in messages. `side_car` is a hf_quant_config.json or
 * quantize_config.json (empty slice = none). BLIS_ERR_PARSE for malformed JSON. BLIS_ERR_INVALID
 * with the key for a size that is missing or out of range, or with the method for an unsupported
 * quantization. *model is filled only on success, and the caller frees it.
 */
BLIS_MUSTUSE blis_status blis_model_read_text(const blis_alloc *alloc, const char *source,
                                              blis_slice text, blis_slice side_car,
                                              const char *name, const blis_model_options *options,
                                              blis_layered_model *model, blis_error *error);

/*
 * Reads config.json in a folder, or a file of any name, with the side-car files in its folder.
 * BLIS_ERR_IO lists the paths that blis tried. blis never downloads files.
 */
BLIS_MUSTUSE blis_status blis_model_read_path(const blis_alloc *alloc, const char *path,
                                              const char *name, const blis_model_options *options,
                                              blis_layered_model *model, blis_error *error);

/* Applies the options to a model that was not read from files. */
BLIS_MUSTUSE blis_status blis_layered_model_override(blis_layered_model *model,
                                                     const blis_model_options *options,
                                                     blis_error *error);

#endif
