/*
 * sizes_check.h - checks the inputs of latency models: the sizes of a model and the rates of a GPU.
 */
#ifndef BLIS_LATENCY_STEP_SIZES_CHECK_H
#define BLIS_LATENCY_STEP_SIZES_CHECK_H

#include <stdbool.h>

#include "base/error.h"
#include "latency/hardware/hardware_spec.h"
#include "latency/hardware/parallelism.h"
#include "latency/model/model_spec.h"

/* BLIS_ERR_INVALID lists the missing rates of the GPU: peak_tflops, bandwidth_tb_s. */
BLIS_MUSTUSE blis_status blis__check_rates(const blis_hardware_spec *hardware, blis_error *error);

/*
 * BLIS_ERR_INVALID lists all errors of the model, or of the GPUs. With splits_kv_heads, tp must
 * also divide the KV heads. purpose is " for ..." or "", and is appended to the message as the
 * reason.
 */
BLIS_MUSTUSE blis_status blis__check_sizes(const blis_model_spec *model,
                                           const blis_hardware_spec *hardware,
                                           const blis_parallelism *parallelism,
                                           bool splits_kv_heads, const char *purpose,
                                           blis_error *error);

#endif
