/*
 * catalogue.h - a catalog of models, GPUs, and latency coefficients, searched by name.
 *
 * The catalog is filled from YAML sources: the sources shipped with blis, then the user's. Within
 * one source, a name or key may occur only once. Entries of a later source replace entries of
 * earlier sources with the same name. Entries never change or move, so pointers to them, even to
 * replaced ones, stay valid as long as the catalog.
 *
 * A source is a mapping with any of these lists.
 *
 *   models:        id; optional aliases, hardware and tp (the usual ones), and
 *                  the members of blis_model_spec; or a list of layers, see
 *                  latency/model/layer_notation.h
 *   hardware:      name; optional aliases and the members of
 *                  blis_hardware_spec
 *   coefficients:  kind, alpha, beta; optional model, hardware, tp, version
 *   composed:      constants of the composed model, see latency/composed/gpu_constants.h
 *                  (an entry without one holds for all), kv_blocks, and
 *                  coverage, a mapping: the members of blis_coverage
 *
 * A lookup walks all entries.
 */
#ifndef BLIS_LATENCY_CATALOGUE_CATALOGUE_H
#define BLIS_LATENCY_CATALOGUE_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "latency/composed/gpu_constants.h"
#include "latency/hardware/hardware_spec.h"
#include "latency/layers/layered_model.h"
#include "latency/model/model_spec.h"
#include "latency/step/coefficients.h"
#include "latency/step/coverage.h"

typedef struct blis_catalogue blis_catalogue;

typedef struct blis_catalogue_model {
  const char *id;   /* "meta-llama/llama-3.1-8b-instruct" */
  const char *name; /* the part of the id after the last '/' */
  const char *const *aliases;
  size_t alias_count;
  const char *hardware; /* default GPU; "" = none */
  int64_t tp;           /* default TP degree; 0 = none */
  bool has_dimensions;  /* false: only the members above are set */
  blis_model_spec spec; /* valid if has_dimensions; for a list of layers, the closest spec */
  const blis_layered_model *layered; /* a list of layers, or NULL */
  const char *source;                /* name of the source that contains the entry */
} blis_catalogue_model;

typedef struct blis_catalogue_hardware {
  const char *name;
  const char *const *aliases;
  size_t alias_count;
  blis_hardware_spec spec;
  const char *source;
} blis_catalogue_hardware;

/* What the coefficients apply to. NULL or 0 = any, both in an entry and in a search. */
typedef struct blis_coefficients_key {
  const char *kind; /* kind of latency model; always set */
  const char *model;
  const char *hardware;
  int64_t tp;
  const char *version; /* version version of the serving engine */
} blis_coefficients_key;

typedef struct blis_catalogue_coefficients {
  blis_coefficients_key key;
  blis_coefficients values;
  int64_t kv_blocks; /* measured with the coefficients, 0 = unknown */
  bool has_coverage;
  blis_coverage coverage; /* the range in which they were fitted */
  const char *source;
} blis_catalogue_coefficients;

/* Creates an empty catalog. Copies *alloc. NULL = out of memory. */
blis_catalogue *blis_catalogue_new(const blis_alloc *alloc);

/* NULL is allowed. */
void blis_catalogue_free(blis_catalogue *catalogue);

/*
 * Adds the entries of a YAML text. `name` appears in messages and as the source of entries. An
 * error names the text, the line, the key, and the value, and leaves the catalog unchanged.
 */
BLIS_MUSTUSE blis_status blis_catalogue_add_yaml(blis_catalogue *catalogue, const char *name,
                                                 const char *text, size_t size, blis_error *error);

/*
 * Adds a source that is read only when it is needed: when blis_catalogue_find_model or
 * blis_catalogue_find_hardware finds no entry, or when blis_catalogue_read_deferred is called.
 * Entries of other sources with the same names replace its entries. The source may contain only
 * models and hardware. Listings show them at the position where the source was added. name and text
 * are borrowed and must outlive the catalog. BLIS_ERR_NOMEM or BLIS_OK.
 */
BLIS_MUSTUSE blis_status blis_catalogue_defer_yaml(blis_catalogue *catalogue, const char *name,
                                                   const char *text, size_t size);

/*
 * Like blis_catalogue_defer_yaml, for a source that contains only coefficients of one kind (NULL =
 * models and hardware). It is read when blis_catalogue_find_coefficients looks for this kind. kind
 * is also borrowed.
 */
BLIS_MUSTUSE blis_status blis_catalogue_defer_coefficients(blis_catalogue *catalogue,
                                                           const char *kind, const char *name,
                                                           const char *text, size_t size);

/*
 * Reads all deferred sources, in the order of addition. Call it before listing all models or GPUs.
 * A second call does nothing. The catalog is const because entries that callers already have do not
 * change.
 */
BLIS_MUSTUSE blis_status blis_catalogue_read_deferred(const blis_catalogue *catalogue,
                                                      blis_error *error);

/*
 * Finds a model by id, by alias, or by the part of the id after the last '/', ignoring case.
 * BLIS_ERR_INVALID lists the nearest names.
 */
BLIS_MUSTUSE blis_status blis_catalogue_find_model(const blis_catalogue *catalogue, const char *id,
                                                   const blis_catalogue_model **model,
                                                   blis_error *error);

/*
 * Like blis_catalogue_find_model, but returns the dimensions. For a model without dimensions,
 * BLIS_ERR_INVALID explains that its config.json is needed.
 */
BLIS_MUSTUSE blis_status blis_catalogue_find_model_spec(const blis_catalogue *catalogue,
                                                        const char *id,
                                                        const blis_model_spec **spec,
                                                        blis_error *error);

/*
 * Returns the entry of a model that lists its layers: the entry that blis_catalogue_find_model
 * finds, or another with the same id. NULL if no such entry exists, or if the model is dense and
 * has identical layers, because its spec is then exact. Reads deferred sources only if they are
 * needed.
 */
BLIS_MUSTUSE blis_status blis_catalogue_find_layered(const blis_catalogue *catalogue,
                                                     const blis_catalogue_model *model,
                                                     const blis_catalogue_model **layered,
                                                     blis_error *error);

/* Finds a GPU by name or alias, ignoring case. BLIS_ERR_INVALID lists the names. */
BLIS_MUSTUSE blis_status blis_catalogue_find_hardware(const blis_catalogue *catalogue,
                                                      const char *name,
                                                      const blis_catalogue_hardware **hardware,
                                                      blis_error *error);

/*
 * Finds the entry that matches most parts of the wanted key and contradicts none. On a tie, the
 * entry that was added last wins. If the search does not set a part, an entry must not set it
 * either, except the version. BLIS_ERR_INVALID repeats the key and lists the entries of the model.
 */
BLIS_MUSTUSE blis_status blis_catalogue_find_coefficients(
    const blis_catalogue *catalogue, const blis_coefficients_key *wanted,
    const blis_catalogue_coefficients **coefficients, blis_error *error);

/*
 * For listings, in the order in which entries were added; index < count. Deferred sources are
 * included only after blis_catalogue_read_deferred.
 */
size_t blis_catalogue_model_count(const blis_catalogue *catalogue);
const blis_catalogue_model *blis_catalogue_model_at(const blis_catalogue *catalogue, size_t index);

size_t blis_catalogue_hardware_count(const blis_catalogue *catalogue);
const blis_catalogue_hardware *blis_catalogue_hardware_at(const blis_catalogue *catalogue,
                                                          size_t index);

/*
 * Returns the constants of the composed step-time model for a GPU, by the name of its hardware
 * entry, or NULL. They are valid as long as the catalog.
 */
const blis__gpu_constants *blis__catalogue_composed(const blis_catalogue *catalogue,
                                                    const char *gpu);

size_t blis_catalogue_coefficients_count(const blis_catalogue *catalogue);
const blis_catalogue_coefficients *blis_catalogue_coefficients_at(const blis_catalogue *catalogue,
                                                                  size_t index);

#endif
