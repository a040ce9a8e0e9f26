/*
 * written_spec.h - a workload specification as it is written: a YAML file, or a
 * table of a script with the same keys (base/yaml_build.h).
 *
 * Keys match the workload specification, version 2, of BLIS (Go, inference-sim
 * f90a1e3a), and are read as strictly: unknown keys, duplicate keys, and values of
 * the wrong type are errors with file, line, and key. inference_perf and
 * servegen_data are expanded. The finished specification is checked; errors report
 * the line of the wrong value.
 */
#ifndef BLIS_WORKLOAD_SPEC_WRITTEN_SPEC_H
#define BLIS_WORKLOAD_SPEC_WRITTEN_SPEC_H

#include "base/alloc.h"
#include "base/error.h"
#include "base/format/key.h"
#include "base/format/yaml.h"
#include "workload/spec/workload_spec.h"

/* Settings that extend or replace the written ones. Zeroed = nothing. */
typedef struct blis_spec_settings {
  /* Used when none is written, or always with replaces_seed. */
  int64_t seed;
  bool replaces_seed;
  int64_t num_requests; /* replaces the written value */
  bool replaces_num_requests;
  int64_t horizon_us; /* 0 = none; used as the seed is */
  bool replaces_horizon;
  int64_t timeout_us; /* of every client; 0 = no deadlines */
  bool replaces_timeout;
  bool lazy_tokens; /* replaces the written value */
  bool replaces_tokens;
  bool keep_tokens;
  const blis_workload_rules *rules; /* NULL = all false */
  bool keeps_group_prefixes;
  bool refuses_adapters; /* no client may ask for one */
  bool may_be_endless;   /* without a number of requests or a horizon */
  /*
   * Scripts may leave out rate_fraction (1) and arrival (poisson), use other
   * names of some keys (prompt, output, ...) and shorter values: a number or
   * {"gaussian", mean = ...} as a distribution, "poisson" as an arrival.
   */
  bool is_script;
  const char *folder; /* where relative paths start; NULL = here */
  /* Only cohorts whose id begins so, and no clients; NULL = everything. */
  const char *cohort_prefix;
} blis_spec_settings;

typedef struct blis_written_spec blis_written_spec;

/*
 * Reads a file ("-" = standard input); the caller owns *written. settings may
 * be NULL. BLIS_ERR_IO, BLIS_ERR_PARSE and BLIS_ERR_INVALID with the details.
 */
BLIS_MUSTUSE blis_status blis_written_spec_read(const blis_alloc *alloc, const char *path,
                                                const blis_spec_settings *settings,
                                                blis_written_spec **written, blis_error *error);

/* The same from a tree, which is needed during the call only. */
BLIS_MUSTUSE blis_status blis_written_spec_from(const blis_alloc *alloc, const blis_yaml_node *root,
                                                const blis_spec_settings *settings,
                                                blis_written_spec **written, blis_error *error);

/* NULL is allowed. */
void blis_written_spec_free(blis_written_spec *written);

/* Valid as long as written. */
const blis_workload_spec *blis_written_spec_get(const blis_written_spec *written);

/* Number of notes for the user that are not errors; index < count. */
size_t blis_written_spec_note_count(const blis_written_spec *written);
const char *blis_written_spec_note(const blis_written_spec *written, size_t index);

/* Description of a key for users and editors; static. */
typedef struct blis_spec_key {
  const blis_key *value;
  /*
   * integer, time_us, number, boolean, string, choice, distribution, arrival,
   * section or table (a list, or mappings by name).
   */
  const char *type;
  const char *alias;   /* another name, in scripts; NULL = none */
  const char *section; /* section name of a part; NULL = no part */
  bool is_required;
  bool is_usually_zero; /* 0 or false if omitted */
} blis_spec_key;

/*
 * The keys that can be written, section by section ("client", "cohort", ...).
 * Returns false after the last key.
 */
size_t blis_spec_section_count(void);
const char *blis_spec_section_name(size_t section);
const char *blis_spec_section_summary(size_t section);
bool blis_spec_section_key(size_t section, size_t key, blis_spec_key *about);

#endif
