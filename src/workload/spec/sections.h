/*
 * sections.h - the keys of a workload specification; for its reader.
 */
#ifndef BLIS_WORKLOAD_SPEC_SECTIONS_H
#define BLIS_WORKLOAD_SPEC_SECTIONS_H

#include "workload/spec/inference_perf.h"
#include "workload/spec/keys.h"
#include "workload/spec/servegen.h"
#include "workload/spec/workload_spec.h"

/* The top level of a file: the specification, and parts that are expanded into it. */
typedef struct blis__spec_top {
  blis_workload_spec spec;
  const char *version;
  bool has_seed;
  const blis_inference_perf_spec *inference_perf; /* NULL = none */
  const blis_servegen_spec *servegen;
} blis__spec_top;

extern const blis__section blis__spec_top_section;

/* The part of the top level that fills the specification itself. */
extern const blis__section blis__spec_section;

extern const blis__section blis__inference_perf_section;
extern const blis__section blis__servegen_section;

#endif
