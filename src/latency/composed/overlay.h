/*
 * overlay.h - corrects closed-form kernel times with measured times of the same kernels.
 *
 * Formulas:
 *
 *   ratio = measured time / closed form on the GPU that was measured
 *   time  = ratio * closed form on the GPU that is simulated
 *
 * The rows of one GPU can therefore be used for similar GPUs that differ in bandwidth. Rules:
 *   - A product never takes longer with fewer tokens, because an engine can pad. The time for a
 *     number of tokens is therefore the minimum over this and all larger numbers.
 *   - Between two sizes, ln ratio is linear in ln size. Outside the measured sizes, the ratio at
 *     the nearest end applies.
 *   - For a shape without a row, ln ratio is the mean over the three nearest rows, weighted by 1 /
 *     (distance + 1e-4), times exp(-damping * least distance). Distant shapes therefore use the
 *     closed form. Damping is 1/2 for products and 0.3 for experts.
 *
 * Construction looks up every matrix and the experts of a model once. Reading a ratio then costs a
 * search in a short list, one logarithm, and one exponential. Ratios are read only when a model is
 * constructed.
 *
 * Source: the errors on held-out rows, which are not in these tables, are 5 to 9% (closed form: 6
 * to 17%).
 */
#ifndef BLIS_LATENCY_COMPOSED_OVERLAY_H
#define BLIS_LATENCY_COMPOSED_OVERLAY_H

#include "base/alloc.h"
#include "base/error.h"
#include "latency/composed/kernel_tables.h"
#include "latency/composed/kernels.h"
#include "latency/precision/precision.h"

typedef struct blis__overlay blis__overlay;

enum { BLIS__MEASURED_GPUS_MAX = 4 };

/* A GPU that has rows in the tables. */
typedef struct blis__measured_gpu {
  const char *name; /* name in the tables */
  double bandwidth; /* bytes per us */
  double peak;      /* 16-bit FLOPs per us */
} blis__measured_gpu;

/*
 * The tables that contain the rows of a GPU. For each format, the first place that has a row of
 * this format is used.
 */
typedef struct blis__measured_place {
  const blis__kernel_tables *tables; /* borrowed */
  blis__measured_gpu gpu;
} blis__measured_place;

enum { BLIS__MEASURED_PLACES_MAX = 2 * (1 + BLIS__MEASURED_GPUS_MAX) };

/* How the time of a kernel was found. */
typedef enum blis__kernel_source {
  BLIS__SOURCE_CLOSED_FORM, /* no rows of this format, or no similar shape */
  BLIS__SOURCE_NEAR,        /* from the nearest shapes */
  BLIS__SOURCE_MEASURED     /* from rows of the shape itself */
} blis__kernel_source;

/* Creates an empty overlay, which the caller frees. Copies the places. NULL = out of memory. */
blis__overlay *blis__overlay_new(const blis_alloc *alloc, const blis__measured_place *places,
                                 size_t count);

/* NULL is allowed. */
void blis__overlay_free(blis__overlay *overlay);

/*
 * Looks up a product of a format. kernel and rates describe its closed form on the simulated GPU,
 * and `peak` is that GPU's 16-bit peak. A second call for the same shape does nothing.
 * BLIS_ERR_NOMEM or BLIS_OK.
 */
BLIS_MUSTUSE blis_status blis__overlay_add_product(blis__overlay *overlay, blis_weight_kind format,
                                                   const blis__kernel *kernel,
                                                   const blis__kernel_rates *rates, double peak,
                                                   double n, double k);

/* Like blis__overlay_add_product, for experts with the given shape and balance. */
BLIS_MUSTUSE blis_status blis__overlay_add_experts(blis__overlay *overlay, blis_weight_kind format,
                                                   const blis__kernel *kernel,
                                                   const blis__kernel_rates *rates, double peak,
                                                   const blis__expert_shape *shape, double balance);

/* Returns the ratio at `tokens` tokens; 1 for a shape that was not added, or if overlay is NULL. */
double blis__overlay_product(const blis__overlay *overlay, blis_weight_kind format, double n,
                             double k, double tokens);
double blis__overlay_experts(const blis__overlay *overlay, blis_weight_kind format,
                             const blis__expert_shape *shape, double tokens);

/* A kernel for which a lookup was made, for listings. */
typedef struct blis__overlay_entry {
  bool is_experts;
  blis_weight_kind format;
  double key[BLIS__TABLE_KEYS_MAX]; /* n, k; or experts, chosen, hidden, width, local */
  blis__kernel_source source;
  const char *gpu;                      /* name of the GPU of the rows, borrowed; "" without rows */
  double nearest[BLIS__TABLE_KEYS_MAX]; /* key of the nearest row */
  /* Weight of the rows: 1 = the shape itself, near 0 = almost only the closed form. */
  double weight;
} blis__overlay_entry;

/*
 * The entries, in the order in which they were added; index < count. A NULL overlay has no entries.
 */
size_t blis__overlay_count(const blis__overlay *overlay);
const blis__overlay_entry *blis__overlay_at(const blis__overlay *overlay, size_t index);

/* Returns the name of a format in tables; "bf16" for the model's own type. Static. */
const char *blis__table_format_name(blis_weight_kind kind);

#endif
