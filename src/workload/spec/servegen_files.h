/*
 * servegen_files.h - the files of a ServeGen folder; for servegen.c.
 */
#ifndef BLIS_WORKLOAD_SPEC_SERVEGEN_FILES_H
#define BLIS_WORKLOAD_SPEC_SERVEGEN_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "workload/unread.h"

enum { BLIS__PERCENTS = 101 };

/* One window of ten minutes in which a client was active. */
typedef struct blis__servegen_row {
  int64_t start_s;
  double rate; /* requests per second, > 0 */
  double cv;
  double shape;
  double scale_us;
  bool is_gamma;
  bool is_weibull;
} blis__servegen_row;

/* A lognormal distribution that fits a table of lengths. */
typedef struct blis__servegen_fit {
  bool has_data;
  double mu;
  double sigma;
} blis__servegen_fit;

/* Lengths from a start time on. */
typedef struct blis__servegen_lengths {
  int64_t start_s;
  blis__servegen_fit input;
  blis__servegen_fit output;
} blis__servegen_lengths;

/* One client. */
typedef struct blis__servegen_chunk {
  const char *name; /* "chunk-<id>" */
  BLIS_ARRAY(blis__servegen_row) rows;
  BLIS_ARRAY(blis__servegen_lengths) lengths; /* ordered by start */
  bool has_reason_key;                        /* contains reasoning data */
  bool has_reason_ratios;
  double reason_weights[BLIS__PERCENTS]; /* by percent; the sum is 1 */
} blis__servegen_chunk;

typedef struct blis__servegen_data {
  blis_alloc alloc;
  blis_arena arena;                        /* names */
  BLIS_ARRAY(blis__servegen_chunk) chunks; /* by file name */
  bool is_reasoning;
  blis__unread unread;  /* unsupported members of datasets */
  bool rounds_percents; /* 0.29 is rounded to 29 percent instead of truncated to 28 */
  blis_status (*note)(void *ud, const char *text);
  void *note_ud;
} blis__servegen_data;

/* Reads all chunks of a folder. Deinitialize *data even after a failure. */
BLIS_MUSTUSE blis_status blis__servegen_read(blis__servegen_data *data, const char *folder,
                                             blis_error *error);

void blis__servegen_end(blis__servegen_data *data);

#endif
