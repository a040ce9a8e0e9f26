/*
 * precision.h - the format of every weight of a model and of its KV cache, read from the model's
 * files.
 *
 * The quantization is specified in `quantization_config` or `compression_config` of config.json, or
 * in a side-car file (hf_quant_config.json, quantize_config.json, quant_config.json). It names a
 * method and the modules that keep the model's type. The result is a table by layer and weight
 * class. Embeddings, norms, routers, convolutions, and small gates always keep the model's type.
 *
 * An unknown method is an error, because a guess would be wrong by a factor of two to four.
 *
 * Sources of the rules: vLLM 0.19 (model_executor/layers/quantization), compressed-tensors 0.13,
 * ModelOpt 0.37.
 */
#ifndef BLIS_LATENCY_PRECISION_PRECISION_H
#define BLIS_LATENCY_PRECISION_PRECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/format/json.h"

/* Classes of weights that a file can quantize separately. */
typedef enum blis_weight_class {
  BLIS_WEIGHT_ATTENTION, /* query, key, and value, down and up projections of latent attention */
  BLIS_WEIGHT_ATTENTION_OUT, /* output projection */
  BLIS_WEIGHT_INDEXER,       /* indexer of sparse attention */
  BLIS_WEIGHT_LINEAR,        /* linear attention and state-space layers */
  BLIS_WEIGHT_DENSE,         /* feed-forward of dense layers */
  BLIS_WEIGHT_EXPERTS,       /* routed experts */
  BLIS_WEIGHT_SHARED,        /* shared experts */
  BLIS_WEIGHT_HEAD,          /* output matrix, which belongs to no layer */
  BLIS_WEIGHT_CLASS_COUNT
} blis_weight_class;

/* Number formats. */
typedef enum blis_weight_kind {
  BLIS_KIND_MODEL, /* the model's own type */
  BLIS_KIND_FP8,
  BLIS_KIND_FP8_BLOCK,
  BLIS_KIND_INT8,
  BLIS_KIND_MXFP8,
  BLIS_KIND_NVFP4,
  BLIS_KIND_MXFP4,
  BLIS_KIND_INT4, /* any integer format of fewer than 8 bits, and NF4 */
  BLIS_KIND_COUNT
} blis_weight_kind;

/* "model", "fp8", "fp8_block", "int8", "mxfp8", "nvfp4", "mxfp4", "int4". */
const char *blis_weight_kind_name(blis_weight_kind kind);

typedef struct blis_weight_format {
  blis_weight_kind kind;
  double bytes; /* per weight; 0 = bytes of the model's type */
} blis_weight_format;

/* Formats by layer and class. The caller of blis_precision_read or blis_precision_override owns the
   table. */
typedef struct blis_precision {
  char method[48]; /* name in the file; "" = not quantized */
  int64_t layers;
  blis_weight_format *formats; /* layers * BLIS_WEIGHT_CLASS_COUNT */
  blis_weight_format head;
  double kv_bytes; /* per element of the KV cache; 0 = the model's type */
  blis_alloc alloc;
} blis_precision;

/* The files that can specify a quantization. Missing values are allowed. */
typedef struct blis_precision_files {
  blis_json_value text;     /* the text part of config.json, or missing */
  blis_json_value root;     /* config.json */
  blis_json_value side_car; /* hf_quant_config.json, quantize_config.json or quant_config.json */
  const char *source;       /* for messages */
} blis_precision_files;

/*
 * Reads the precision of a model with `layers` layers (1 to 4,096). BLIS_ERR_INVALID names the
 * file, the method or algorithm, and the option that overrides it. *precision is filled only on
 * success.
 */
BLIS_MUSTUSE blis_status blis_precision_read(const blis_alloc *alloc,
                                             const blis_precision_files *files, int64_t layers,
                                             blis_precision *precision, blis_error *error);

/*
 * Sets a precision that the user selects by name instead of that of the files. Names are none, fp8,
 * fp8_block, int8, mxfp8, nvfp4, mxfp4, int4, and the methods of vLLM that have a fixed format
 * (awq, gptq, fbgemm_fp8, modelopt, modelopt_fp4, bitsandbytes, ptpc_fp8, ...). With mxfp4, only
 * the experts of a model are quantized, if it has experts. BLIS_ERR_INVALID lists the names.
 */
BLIS_MUSTUSE blis_status blis_precision_override(const blis_alloc *alloc, const char *name,
                                                 int64_t layers, bool has_experts,
                                                 blis_precision *precision, blis_error *error);

/* Returns whether a name of --quantization is the method of the files, such as awq_marlin for awq.
 * In this case, the files apply, with their groups and exceptions. */
bool blis_precision_is_of_files(const blis_precision *precision, const char *name);

/* Stores the format that blis_precision_override sets for all linear layers for this name.
   BLIS_ERR_INVALID lists the names. */
BLIS_MUSTUSE blis_status blis_weight_format_named(const char *name, blis_weight_format *format,
                                                  blis_error *error);

/* Stores the bytes per element of a KV cache type: auto (0), bfloat16, float16, fp8, fp8_e4m3,
   fp8_e5m2, nvfp4, ... */
BLIS_MUSTUSE blis_status blis_precision_kv_bytes(const char *name, double *bytes,
                                                 blis_error *error);

/* Returns the format of a class in a layer. The layer is ignored for the head. */
blis_weight_format blis_precision_of(const blis_precision *precision, int64_t layer,
                                     blis_weight_class class);

/* A zeroed or already freed precision is allowed. */
void blis_precision_free(blis_precision *precision);

#endif
