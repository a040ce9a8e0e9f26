/*
 * hardware_spec.h - the properties of a GPU: inputs of step times, KV capacity, and cost, and
 * descriptions for listings.
 *
 * A plain value: copy it freely. 0 and "" mean "not stated".
 */
#ifndef BLIS_LATENCY_HARDWARE_HARDWARE_SPEC_H
#define BLIS_LATENCY_HARDWARE_HARDWARE_SPEC_H

#include <stddef.h>

#include "base/error.h"
#include "latency/model/model_spec.h"
#include "latency/spec/spec_field.h"

typedef struct blis_hardware_spec {
  char name[64];         /* for messages */
  double peak_tflops;    /* 16-bit, dense */
  double fp8_tflops;     /* dense; 0 = no native FP8 */
  double fp4_tflops;     /* dense; 0 = no native FP4 */
  double int8_tops;      /* dense; 0 = no native INT8 */
  double bandwidth_tb_s; /* memory bandwidth, 10^12 bytes per second */
  double mfu_prefill;    /* fraction of the peak a prefill reaches */
  double mfu_decode;     /* fraction of the peak a decode reaches */
  double memory_gib;     /* 2^30 bytes, usually as the product is named */
  double usable_gib;     /* 2^30 bytes that the driver reports; 0 = memory_gib */
  char link[32];         /* to other GPUs: "NVLink 4" */
  double link_gb_s;      /* 10^9 bytes per second, both directions together */
  double price_per_hour; /* of one GPU, in US dollars */
  char price_source[64]; /* source and date of the price */
} blis_hardware_spec;

/* All members but name, in the order above. Static storage. */
const blis_spec_field *blis_hardware_spec_fields(size_t *count);

/*
 * No number negative, infinite, or NaN. One BLIS_ERR_INVALID reports everything that is wrong.
 */
BLIS_MUSTUSE blis_status blis_hardware_spec_validate(const blis_hardware_spec *spec,
                                                     blis_error *error);

/*
 * Peak rate in TFLOPS for a model: the FP8 rate when its weights have exactly
 * one byte and the GPU computes in FP8, else the 16-bit rate.
 */
double blis_hardware_spec_peak_tflops(const blis_hardware_spec *hardware,
                                      const blis_model_spec *model);

/* The memory in GiB that an engine multiplies by its utilization: usable_gib, or memory_gib. */
double blis_hardware_spec_usable_gib(const blis_hardware_spec *hardware);

#endif
