/*
 * written_spec.h - reads a workload specification from a YAML file, or from a table of a script
 * with the same keys (base/yaml_build.h).
 *
 * Keys match the workload specification, version 2, of BLIS (Go, inference-sim f90a1e3a), and are
 * read just as strictly: unknown keys, duplicate keys, and values of the wrong type are errors with
 * file, line, and key. inference_perf and servegen_data are expanded. The finished specification is
 * checked; errors report the line of the wrong value.
 */
#ifndef BLIS_WORKLOAD_SPEC_WRITTEN_SPEC_H
#define BLIS_WORKLOAD_SPEC_WRITTEN_SPEC_H

#include "base/alloc.h"
#include "base/error.h"
#include "base/format/key.h"
#include "base/format/yaml.h"
#include "workload/spec/workload_spec.h"

/* Settings that extend or replace the written ones. A zeroed struct has no effect. */
typedef struct blis_spec_settings {
  /* Used if no seed is written, or always with replaces_seed. */
  int64_t seed;
  bool replaces_seed;
  int64_t num_requests; /* replaces the written value */
  bool replaces_num_requests;
  int64_t horizon_us; /* 0 = none; used in the same way as the seed */
  bool replaces_horizon;
  int64_t timeout_us; /* timeout of every client; 0 = no deadlines */
  bool replaces_timeout;
  bool lazy_tokens; /* replaces the written value */
  bool replaces_tokens;
  bool keep_tokens;
  const blis_workload_rules *rules; /* NULL = all false */
  bool keeps_group_prefixes;
  bool refuses_adapters; /* clients must not use adapters */
  bool may_be_endless;   /* neither a number of requests nor a horizon is required */
  /*
   * Scripts may omit rate_fraction (default 1) and arrival (default poisson), and may use
   * alternative names for some keys (prompt, output, ...). They may also use short values: a number
   * or {"gaussian", mean = ...} for a distribution, and "poisson" for an arrival.
   */
  bool is_script;
  const char *folder; /* base of relative paths; NULL = current folder */
  /* Keeps only cohorts whose id starts with this prefix, and no clients; NULL = keeps
     everything. */
  const char *cohort_prefix;
} blis_spec_settings;

typedef struct blis_written_spec blis_written_spec;

/*
 * Reads a file ("-" = standard input); the caller owns *written. settings may be NULL. Returns
 * BLIS_ERR_IO, BLIS_ERR_PARSE, or BLIS_ERR_INVALID with details.
 */
BLIS_MUSTUSE blis_status blis_written_spec_read(const blis_alloc *alloc, const char *path,
                                                const blis_spec_settings *settings,
                                                blis_written_spec **written, blis_error *error);

/* Like blis_written_spec_read, from a tree, which is needed only during the call. */
BLIS_MUSTUSE blis_status blis_written_spec_from(const blis_alloc *alloc, const blis_yaml_node *root,
                                                const blis_spec_settings *settings,
                                                blis_written_spec **written, blis_error *error);

/* NULL is allowed. */
void blis_written_spec_free(blis_written_spec *written);

/* Returns the specification, valid as long as written. */
const blis_workload_spec *blis_written_spec_get(const blis_written_spec *written);

/* Notes for the user that are not errors; index < count. */
size_t blis_written_spec_note_count(const blis_written_spec *written);
const char *blis_written_spec_note(const blis_written_spec *written, size_t index);

/* Description of a key for users and editors; static. */
typedef struct blis_spec_key {
  const blis_key *value;
  /*
   * integer, time_us, number, boolean, string, choice, distribution, arrival, section, or table (a
   * list, or mappings by name).
   */
  const char *type;
  const char *alias;   /* alternative name in scripts; NULL = none */
  const char *section; /* section name of a part; NULL = not a part */
  bool is_required;
  bool is_usually_zero; /* 0 or false if omitted */
} blis_spec_key;

/*
 * The allowed keys, by section ("client", "cohort", ...). blis_spec_key_at returns false after the
 * last key.
 */
size_t blis_spec_section_count(void);
const char *blis_spec_section_name(size_t section);
const char *blis_spec_section_summary(size_t section);
bool blis_spec_section_key(size_t section, size_t key, blis_spec_key *about);

#endif
