#include "latency/step/sizes_check.h"

#include <inttypes.h>

#include "latency/spec/spec_field.h"

static void require_divisible(blis__problems *problems, const char *name, int64_t heads, int64_t tp,
                              const char *purpose) {
  if (heads % tp != 0) {
    blis__problems_add(problems, "%s (%" PRId64 ") must be divisible by tp (%" PRId64 ")%s", name,
                       heads, tp, purpose);
  }
}

blis_status blis__check_rates(const blis_hardware_spec *hardware, blis_error *error) {
  BLIS_TRY(blis_hardware_spec_validate(hardware, error));
  blis__problems problems = {0};
  if (hardware->peak_tflops <= 0.0) {
    blis__problems_add(&problems, "peak_tflops is missing");
  }
  if (hardware->bandwidth_tb_s <= 0.0) {
    blis__problems_add(&problems, "bandwidth_tb_s is missing");
  }
  return blis__problems_status(&problems, "hardware", hardware->name, error);
}

blis_status blis__check_sizes(const blis_model_spec *model, const blis_hardware_spec *hardware,
                              const blis_parallelism *parallelism, bool splits_kv_heads,
                              const char *purpose, blis_error *error) {
  BLIS_TRY(blis_parallelism_validate(parallelism, error));
  BLIS_TRY(blis_model_spec_validate(model, error));
  BLIS_TRY(blis_hardware_spec_validate(hardware, error));
  blis__problems problems = {0};
  if (model->intermediate_size == 0) {
    blis__problems_add(&problems, "intermediate_size is missing");
  }
  require_divisible(&problems, "attention_heads", model->attention_heads, parallelism->tp, purpose);
  if (splits_kv_heads) {
    require_divisible(&problems, "kv_heads", blis_model_spec_kv_heads(model), parallelism->tp,
                      purpose);
  }
  if (parallelism->dp > 1 && !blis_model_spec_is_moe(model)) {
    blis__problems_add(
        &problems, "dp must be 1 for a dense model, got %" PRId64 "; use more instances instead",
        parallelism->dp);
  }
  BLIS_TRY(blis__problems_status(&problems, "model", model->name, error));
  return blis__check_rates(hardware, error);
}
