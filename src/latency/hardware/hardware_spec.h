/*
 * hardware_spec.h - the properties of a GPU: inputs of step times, KV capacity, and cost, and
 * descriptions for listings.
 *
 * The struct is a plain value and may be copied. 0 and "" mean "not stated".
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
  double mfu_prefill;    /* fraction of the peak that prefill reaches */
  double mfu_decode;     /* fraction of the peak that decode reaches */
  double memory_gib;     /* in 2^30 bytes, usually the size in the product name */
  double usable_gib;     /* memory that the driver reports, in 2^30 bytes; 0 = memory_gib */
  char link[32];         /* link to other GPUs: "NVLink 4" */
  double link_gb_s;      /* 10^9 bytes per second, sum of both directions */
  double price_per_hour; /* price of one GPU, in US dollars */
  char price_source[64]; /* source and date of the price */
} blis_hardware_spec;

/* Returns all members except name, in the order above. Static storage. */
const blis_spec_field *blis_hardware_spec_fields(size_t *count);

/*
 * Checks that no number is negative, infinite, or NaN. A single BLIS_ERR_INVALID reports all
 * invalid numbers.
 */
BLIS_MUSTUSE blis_status blis_hardware_spec_validate(const blis_hardware_spec *spec,
                                                     blis_error *error);

/*
 * Returns the peak rate in TFLOPS for a model. This is the FP8 rate if its weights have exactly one
 * byte and the GPU supports FP8; otherwise, it is the 16-bit rate.
 */
double blis_hardware_spec_peak_tflops(const blis_hardware_spec *hardware,
                                      const blis_model_spec *model);

/*
 * Returns the memory in GiB that an engine multiplies by its utilization: usable_gib if it is set,
 * otherwise memory_gib.
 */
double blis_hardware_spec_usable_gib(const blis_hardware_spec *hardware);

#endif
