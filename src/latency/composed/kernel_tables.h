/*
 * kernel_tables.h - measured kernel times in CSV tables, with one row per GPU, format, and shape,
 * and one column per step size.
 *
 *   gemm.csv       gpu,dtype,n,k,m1,m4,...                               by tokens
 *   moe.csv        gpu,dtype,experts,chosen,hidden,width,local,n1,...    by tokens; width and local
 *                  (experts) are those of one GPU
 *   allreduce.csv  gpu,gpus,b256,b512,...                                by bytes, 256 and
 * doublings
 *
 * Times are microseconds. dtype is bf16 for the model's own type, otherwise the name of a format in
 * precision.h. Lines that start with # are comments. An empty cell means that the time was not
 * measured.
 *
 * The tables are borrowed. They are parsed only during lookups. A lookup walks the lines and parses
 * the times of at most three rows.
 */
#ifndef BLIS_LATENCY_COMPOSED_KERNEL_TABLES_H
#define BLIS_LATENCY_COMPOSED_KERNEL_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/slice.h"

typedef enum blis__table_kind {
  BLIS__TABLE_PRODUCTS,
  BLIS__TABLE_EXPERTS,
  BLIS__TABLE_ALLREDUCES,
  BLIS__TABLE_COUNT
} blis__table_kind;

/* "gemm.csv", "moe.csv", or "allreduce.csv". Static. */
const char *blis__table_file(blis__table_kind kind);

typedef struct blis__kernel_tables {
  blis_slice texts[BLIS__TABLE_COUNT]; /* borrowed; empty = no table */
} blis__kernel_tables;

enum { BLIS__TABLE_KEYS_MAX = 5, BLIS__TABLE_POINTS_MAX = 32, BLIS__TABLE_NEAREST = 3 };

/* A row of a table. */
typedef struct blis__kernel_row {
  double key[BLIS__TABLE_KEYS_MAX]; /* n and k, or experts, chosen, hidden, width, and local, or
                                       gpus */
  double size[BLIS__TABLE_POINTS_MAX];
  double time_us[BLIS__TABLE_POINTS_MAX];
  size_t points; /* number of measured points, in ascending order of size */
  double distance;
} blis__kernel_row;

/* The row of a shape, or the rows of the nearest shapes. */
typedef struct blis__kernel_match {
  blis__kernel_row
      rows[BLIS__TABLE_NEAREST]; /* in ascending order of distance; ties in file order */
  /* Number of rows; one row with distance 0 means that the shape was measured. */
  size_t count;
} blis__kernel_match;

/*
 * Finds the row of a GPU, a format, and a key, or the three nearest rows of that GPU and format.
 * The distance of shapes is in kernel_tables.c. All-reduces have no format (dtype is ignored), and
 * only a row with the same number of GPUs matches. match->count is 0 if there is no row.
 */
void blis__kernel_tables_find(const blis__kernel_tables *tables, blis__table_kind kind,
                              const char *gpu, const char *dtype, const double *key,
                              blis__kernel_match *match);

/* Returns whether the table has a row for the GPU and the format. */
bool blis__kernel_tables_have(const blis__kernel_tables *tables, blis__table_kind kind,
                              const char *gpu, const char *dtype);

/*
 * Checks a whole table; lookups skip lines that fail this check. `name` appears in messages.
 * BLIS_ERR_PARSE reports the file, the line, the column, the value, and the expected value.
 */
BLIS_MUSTUSE blis_status blis__kernel_table_check(blis__table_kind kind, const char *name,
                                                  blis_slice text, blis_error *error);

#endif
