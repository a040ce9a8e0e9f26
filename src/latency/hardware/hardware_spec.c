#include "latency/hardware/hardware_spec.h"

#include <math.h>

#define NUMBER(member) BLIS_SPEC_FIELD(blis_hardware_spec, member, BLIS_SPEC_NUMBER)
#define TEXT(member) BLIS_SPEC_FIELD(blis_hardware_spec, member, BLIS_SPEC_TEXT)

static const blis_spec_field FIELDS[] = {
    NUMBER(peak_tflops),    NUMBER(fp8_tflops),  NUMBER(fp4_tflops), NUMBER(int8_tops),
    NUMBER(bandwidth_tb_s), NUMBER(mfu_prefill), NUMBER(mfu_decode), NUMBER(memory_gib),
    NUMBER(usable_gib),     TEXT(link),          NUMBER(link_gb_s),  NUMBER(price_per_hour),
    TEXT(price_source),
};

enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS };

const blis_spec_field *blis_hardware_spec_fields(size_t *count) {
  *count = FIELD_COUNT;
  return FIELDS;
}

blis_status blis_hardware_spec_validate(const blis_hardware_spec *spec, blis_error *error) {
  blis__problems problems = {0};
  for (size_t i = 0; i < FIELD_COUNT; i++) {
    double value = blis_spec_get_number(spec, &FIELDS[i]); /* 0 for a string */
    if (!isfinite(value) || value < 0.0) {
      blis__problems_add(&problems, "%s must not be negative, got %g", FIELDS[i].name, value);
    }
  }
  return blis__problems_status(&problems, "hardware", spec->name, error);
}

double blis_hardware_spec_peak_tflops(const blis_hardware_spec *hardware,
                                      const blis_model_spec *model) {
  if (blis_model_spec_weight_bytes(model) == 1.0 && hardware->fp8_tflops > 0.0) {
    return hardware->fp8_tflops;
  }
  return hardware->peak_tflops;
}

double blis_hardware_spec_usable_gib(const blis_hardware_spec *hardware) {
  return hardware->usable_gib > 0.0 ? hardware->usable_gib : hardware->memory_gib;
}
