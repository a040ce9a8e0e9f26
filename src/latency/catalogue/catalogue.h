/*
 * catalogue.h - models, GPUs, and coefficients by name.
 *
 * The catalog is filled from YAML sources: the sources shipped with blis, then the
 * user's. Within one source a name or key may occur once; a later source replaces
 * entries of earlier sources with the same name. Entries never change or move, so
 * results stay valid as long as the catalog, replaced or not.
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
 * Looking up walks all entries.
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
  const char *name; /* its last part */
  const char *const *aliases;
  size_t alias_count;
  const char *hardware; /* the usual GPU, "" = none */
  int64_t tp;           /* the usual degree, 0 = none */
  bool has_dimensions;  /* false: only the members above are set */
  blis_model_spec spec; /* valid with dimensions; for a list of layers, the closest one */
  const blis_layered_model *layered; /* a list of layers, or NULL */
  const char *source;                /* name of the text it is from */
} blis_catalogue_model;

typedef struct blis_catalogue_hardware {
  const char *name;
  const char *const *aliases;
  size_t alias_count;
  blis_hardware_spec spec;
  const char *source;
} blis_catalogue_hardware;

/* What coefficients are for; NULL or 0 = any, in an entry and in a search. */
typedef struct blis_coefficients_key {
  const char *kind; /* of latency model, always there */
  const char *model;
  const char *hardware;
  int64_t tp;
  const char *version; /* of the serving engine */
} blis_coefficients_key;

typedef struct blis_catalogue_coefficients {
  blis_coefficients_key key;
  blis_coefficients values;
  int64_t kv_blocks; /* measured with the coefficients, 0 = unknown */
  bool has_coverage;
  blis_coverage coverage; /* where they were fitted */
  const char *source;
} blis_catalogue_coefficients;

/* Empty. Copies *alloc. NULL = out of memory. */
blis_catalogue *blis_catalogue_new(const blis_alloc *alloc);

/* NULL is allowed. */
void blis_catalogue_free(blis_catalogue *catalogue);

/*
 * Adds the entries of a YAML text; name is for messages and sources. A failure
 * names the text, the line, the key, and the value, and leaves the catalogue
 * unchanged.
 */
BLIS_MUSTUSE blis_status blis_catalogue_add_yaml(blis_catalogue *catalogue, const char *name,
                                                 const char *text, size_t size, blis_error *error);

/*
 * Adds a source that is read on first need: when blis_catalogue_find_model or
 * blis_catalogue_find_hardware finds no entry, or when blis_catalogue_read_deferred
 * is called. Entries of other sources with the same names replace its entries. It
 * contains models and hardware only, and a listing shows them where the source was
 * added. name and text are borrowed and must outlive the catalogue. BLIS_ERR_NOMEM
 * or BLIS_OK.
 */
BLIS_MUSTUSE blis_status blis_catalogue_defer_yaml(blis_catalogue *catalogue, const char *name,
                                                   const char *text, size_t size);

/*
 * Does the same for a source that contains only coefficients of one kind (NULL = models and
 * hardware, as above). It is
 * read when blis_catalogue_find_coefficients looks for this kind. kind is borrowed
 * as well.
 */
BLIS_MUSTUSE blis_status blis_catalogue_defer_coefficients(blis_catalogue *catalogue,
                                                           const char *kind, const char *name,
                                                           const char *text, size_t size);

/*
 * Reads all deferred sources, in the order of addition. A listing of all models or
 * GPUs needs this call first. A second call does nothing. The catalogue is const
 * because no entry that a caller has seen changes.
 */
BLIS_MUSTUSE blis_status blis_catalogue_read_deferred(const blis_catalogue *catalogue,
                                                      blis_error *error);

/*
 * By id, by alias, or by what follows the last '/' of the id, in any case.
 * BLIS_ERR_INVALID lists the nearest names.
 */
BLIS_MUSTUSE blis_status blis_catalogue_find_model(const blis_catalogue *catalogue, const char *id,
                                                   const blis_catalogue_model **model,
                                                   blis_error *error);

/*
 * Like find_model, for the dimensions; for a model without dimensions,
 * BLIS_ERR_INVALID explains that its config.json is needed.
 */
BLIS_MUSTUSE blis_status blis_catalogue_find_model_spec(const blis_catalogue *catalogue,
                                                        const char *id,
                                                        const blis_model_spec **spec,
                                                        blis_error *error);

/*
 * Returns the entry of a model that lists its layers: the entry that
 * blis_catalogue_find_model finds, or another with the same id. NULL if no such
 * entry exists, or if the entry describes a dense model by equal layers, which are
 * exact. Reads deferred sources only if they are needed.
 */
BLIS_MUSTUSE blis_status blis_catalogue_find_layered(const blis_catalogue *catalogue,
                                                     const blis_catalogue_model *model,
                                                     const blis_catalogue_model **layered,
                                                     blis_error *error);

/* By name or alias, in any case. BLIS_ERR_INVALID lists the names. */
BLIS_MUSTUSE blis_status blis_catalogue_find_hardware(const blis_catalogue *catalogue,
                                                      const char *name,
                                                      const blis_catalogue_hardware **hardware,
                                                      blis_error *error);

/*
 * Returns the entry that states most of the wanted key and does not contradict it;
 * among equals the one added last. An entry may state a part that the search does
 * not set only if this part is the version. BLIS_ERR_INVALID repeats the key and
 * lists the entries of the model.
 */
BLIS_MUSTUSE blis_status blis_catalogue_find_coefficients(
    const blis_catalogue *catalogue, const blis_coefficients_key *wanted,
    const blis_catalogue_coefficients **coefficients, blis_error *error);

/* For listings, in the order of addition; index < count. See above for deferred sources. */
size_t blis_catalogue_model_count(const blis_catalogue *catalogue);
const blis_catalogue_model *blis_catalogue_model_at(const blis_catalogue *catalogue, size_t index);

size_t blis_catalogue_hardware_count(const blis_catalogue *catalogue);
const blis_catalogue_hardware *blis_catalogue_hardware_at(const blis_catalogue *catalogue,
                                                          size_t index);

/*
 * Returns the constants of the composed step-time model for a GPU, by the name of its hardware
 * entry, or NULL. They live as long as the catalogue.
 */
const blis__gpu_constants *blis__catalogue_composed(const blis_catalogue *catalogue,
                                                    const char *gpu);

size_t blis_catalogue_coefficients_count(const blis_catalogue *catalogue);
const blis_catalogue_coefficients *blis_catalogue_coefficients_at(const blis_catalogue *catalogue,
                                                                  size_t index);

#endif
