#include "latency/hardware/parallelism.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum { DEGREE_MAX = 65536 };

static const struct {
  const char *name;
  blis_moe_comm comm;
} BACKENDS[] = {
    {"allgather_reducescatter", BLIS_MOE_COMM_ALL_GATHER},
    {"naive", BLIS_MOE_COMM_ALL_GATHER},
    {"pplx", BLIS_MOE_COMM_ALL_TO_ALL},
    {"deepep_high_throughput", BLIS_MOE_COMM_ALL_TO_ALL},
    {"deepep_low_latency", BLIS_MOE_COMM_ALL_TO_ALL},
    {"mori", BLIS_MOE_COMM_ALL_TO_ALL},
    {"flashinfer_all2allv", BLIS_MOE_COMM_ALL_TO_ALL},
};

blis_status blis_moe_comm_parse(const char *name, blis_moe_comm *comm, blis_error *error) {
  if (name == NULL || name[0] == '\0') {
    *comm = BLIS_MOE_COMM_ALL_GATHER;
    return BLIS_OK;
  }
  for (size_t i = 0; i < sizeof BACKENDS / sizeof *BACKENDS; i++) {
    if (strcmp(name, BACKENDS[i].name) == 0) {
      *comm = BACKENDS[i].comm;
      return BLIS_OK;
    }
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "unknown MoE communication backend '%.60s'; known are "
                   "allgather_reducescatter, naive, pplx, "
                   "deepep_high_throughput, deepep_low_latency, mori, "
                   "flashinfer_all2allv",
                   name);
}

static blis_status check_degree(const char *name, int64_t value, blis_error *error) {
  if (value < 1 || value > DEGREE_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s must be from 1 to %d, got %" PRId64, name,
                     DEGREE_MAX, value);
  }
  return BLIS_OK;
}

blis_status blis_parallelism_validate(const blis_parallelism *parallelism, blis_error *error) {
  blis_moe_comm comm;
  BLIS_TRY(check_degree("tp", parallelism->tp, error));
  BLIS_TRY(check_degree("dp", parallelism->dp, error));
  return blis_moe_comm_parse(parallelism->moe_comm_backend, &comm, error);
}
