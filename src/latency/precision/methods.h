/* methods.h - the weight format of a quantization method, without exceptions for modules. */
#ifndef BLIS_LATENCY_PRECISION_METHODS_H
#define BLIS_LATENCY_PRECISION_METHODS_H

#include "latency/precision/precision.h"

/* The part of a model that a method quantizes. */
typedef enum blis__quantised_scope {
  BLIS__SCOPE_ALL,     /* every linear layer except the head */
  BLIS__SCOPE_HEAD,    /* also the head, unless it is excluded */
  BLIS__SCOPE_EXPERTS, /* only routed experts */
  BLIS__SCOPE_NAMED    /* only the modules that the file lists with their formats */
} blis__quantised_scope;

typedef struct blis__method {
  blis_weight_format format;
  blis__quantised_scope scope;
} blis__method;

/* Returns the format with `bits` bits per weight in groups of `group` weights (0 or less = one
   group per channel). Each group has bytes_per_group bytes for the scale and the zero point. */
blis_weight_format blis__integer_format(int64_t bits, int64_t group, double bytes_per_group);

/*
 * Returns the format of 8-bit floats in blocks of rows x columns, with one scale of `scale_bytes`
 * per block.
 */
blis_weight_format blis__block_format(int64_t rows, int64_t columns, double scale_bytes);

/*
 * Stores the format of a ModelOpt algorithm, for example FP8, NVFP4, or W4A16_NVFP4. Returns false
 * if it is unknown.
 */
bool blis__modelopt_format(const char *algorithm, int64_t group, blis_weight_format *format);

/*
 * Stores the format of the `weights` object of a compressed-tensors group. Returns false if it is
 * unknown.
 */
bool blis__compressed_format(blis_json_value weights, blis_weight_format *format);

/* Returns whether blis supports this value of quant_method. */
bool blis__method_is_known(const char *method);

/* Reads the method of a quantization object. BLIS_ERR_INVALID names the source and the method. */
BLIS_MUSTUSE blis_status blis__method_read(const char *source, blis_json_value quantization,
                                           const char *method, blis__method *out,
                                           blis_error *error);

#endif
