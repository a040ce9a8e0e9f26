/*
 * methods.h - the weight format that a quantization method states, without its exceptions.
 */
#ifndef BLIS_LATENCY_PRECISION_METHODS_H
#define BLIS_LATENCY_PRECISION_METHODS_H

#include "latency/precision/precision.h"

/* The part of a model that a method quantizes. */
typedef enum blis__quantised_scope {
  BLIS__SCOPE_ALL,     /* every linear layer but the head */
  BLIS__SCOPE_HEAD,    /* the head as well, unless it is excluded */
  BLIS__SCOPE_EXPERTS, /* only routed experts */
  BLIS__SCOPE_NAMED    /* only the modules that the file names with their formats */
} blis__quantised_scope;

typedef struct blis__method {
  blis_weight_format format;
  blis__quantised_scope scope;
} blis__method;

/* Bits per weight in groups of `group` (0 or less = one per channel), with bytes of scale and zero
   point per group. */
blis_weight_format blis__integer_format(int64_t bits, int64_t group, double bytes_per_group);

/* 8-bit floats in blocks of rows x columns with one scale of `scale_bytes` each. */
blis_weight_format blis__block_format(int64_t rows, int64_t columns, double scale_bytes);

/* ModelOpt's algorithm, for example FP8, NVFP4, W4A16_NVFP4. Returns false if it is unknown. */
bool blis__modelopt_format(const char *algorithm, int64_t group, blis_weight_format *format);

/* The weights object of a compressed-tensors group. Returns false if it is unknown. */
bool blis__compressed_format(blis_json_value weights, blis_weight_format *format);

/* True for a name of quant_method that blis reads. */
bool blis__method_is_known(const char *method);

/*
 * The method of a quantization object. BLIS_ERR_INVALID names the source and the method.
 */
BLIS_MUSTUSE blis_status blis__method_read(const char *source, blis_json_value quantization,
                                           const char *method, blis__method *out,
                                           blis_error *error);

#endif
