/* sizes_check.h - checks the data that latency models need: sizes of a model and peak rates of
   GPUs. */
#ifndef BLIS_LATENCY_STEP_SIZES_CHECK_H
#define BLIS_LATENCY_STEP_SIZES_CHECK_H

#include <stdbool.h>

#include "base/error.h"
#include "latency/hardware/hardware_spec.h"
#include "latency/hardware/parallelism.h"
#include "latency/model/model_spec.h"

/* BLIS_ERR_INVALID lists the rates that the GPU lacks: peak_tflops, bandwidth_tb_s. */
BLIS_MUSTUSE blis_status blis__check_rates(const blis_hardware_spec *hardware, blis_error *error);

/*
 * BLIS_ERR_INVALID lists all errors of the model, or of the GPUs. splits_kv_heads:
 * tp must divide the KV heads as well; purpose, " for ..." or "", is the reason.
 */
BLIS_MUSTUSE blis_status blis__check_sizes(const blis_model_spec *model,
                                           const blis_hardware_spec *hardware,
                                           const blis_parallelism *parallelism,
                                           bool splits_kv_heads, const char *purpose,
                                           blis_error *error);

#endif
