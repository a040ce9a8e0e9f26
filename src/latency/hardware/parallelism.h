/* parallelism.h - the GPUs of one instance, and how the model is split across them. */
#ifndef BLIS_LATENCY_HARDWARE_PARALLELISM_H
#define BLIS_LATENCY_HARDWARE_PARALLELISM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct blis_parallelism {
  int64_t tp;                   /* tensor parallel degree, >= 1 */
  int64_t dp;                   /* data parallel degree, >= 1; above 1 only for MoE models */
  const char *moe_comm_backend; /* NULL or "" = allgather_reducescatter */
  /* Has no effect on times, because experts are always spread over tp * dp GPUs. */
  bool expert_parallel;
} blis_parallelism;

/* How tokens reach the experts on other GPUs (names from vLLM 0.11). */
typedef enum blis_moe_comm {
  BLIS_MOE_COMM_ALL_GATHER, /* naive, allgather_reducescatter */
  BLIS_MOE_COMM_ALL_TO_ALL  /* pplx, deepep_high_throughput,
                               deepep_low_latency, mori,
                               flashinfer_all2allv */
} blis_moe_comm;

/* BLIS_ERR_INVALID for an unknown name lists the valid ones. */
BLIS_MUSTUSE blis_status blis_moe_comm_parse(const char *name, blis_moe_comm *comm,
                                             blis_error *error);

/* Checks that tp and dp are from 1 to 2^16 and that the backend is valid. */
BLIS_MUSTUSE blis_status blis_parallelism_validate(const blis_parallelism *parallelism,
                                                   blis_error *error);

#endif
