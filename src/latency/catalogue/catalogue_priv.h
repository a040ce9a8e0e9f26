/*
 * catalogue_priv.h - the internal structures of a catalog.
 *
 * The catalog is one module in several files. catalogue.c owns the entries, catalogue_find.c finds
 * them, and catalogue_yaml.c reads them.
 */
#ifndef BLIS_LATENCY_CATALOGUE_CATALOGUE_PRIV_H
#define BLIS_LATENCY_CATALOGUE_CATALOGUE_PRIV_H

#include "base/arena.h"
#include "base/array.h"
#include "latency/catalogue/catalogue.h"
#include "latency/composed/gpu_constants.h"
#include "latency/spec/names.h"

/* Entries and their strings are in the arena; the lists contain pointers. */
typedef struct blis__entries {
  BLIS_ARRAY(const blis_catalogue_model *) models;
  BLIS_ARRAY(const blis_catalogue_hardware *) hardware;
  BLIS_ARRAY(const blis_catalogue_coefficients *) coefficients;
  BLIS_ARRAY(const blis__gpu_constants *) composed;
} blis__entries;

/* A document that has not been parsed yet, borrowed. */
typedef struct blis__deferred_text {
  const char *name;
  const char *text;
  size_t size;
  /* The source contains only coefficients of this kind; NULL = models and hardware. */
  const char *kind;
  size_t models_before; /* number of entries before its entries */
  size_t hardware_before;
  size_t coefficients_before;
} blis__deferred_text;

/* An entry with a list of layers. The catalog owns the layers until it is freed, including
   layers of replaced entries. */
typedef struct blis__layered_entry {
  const blis_catalogue_model *model;
  blis_layered_model *layers;
} blis__layered_entry;

struct blis_catalogue {
  blis_alloc alloc;
  blis_arena arena;
  blis__entries entries;
  BLIS_ARRAY(blis__layered_entry) layered;
  BLIS_ARRAY(blis__deferred_text) deferred;
};

/* Reads a document into *entries, which must be empty. The caller frees *entries, even after a
   failure. Entries are allocated in the arena. */
BLIS_MUSTUSE blis_status blis__catalogue_read(blis_catalogue *catalogue, const char *name,
                                              const char *text, size_t size, blis__entries *entries,
                                              blis_error *error);

/* Reads the deferred sources that contain only coefficients of this kind. */
BLIS_MUSTUSE blis_status blis__catalogue_read_kind(const blis_catalogue *catalogue,
                                                   const char *kind, blis_error *error);

void blis__entries_deinit(const blis_alloc *alloc, blis__entries *entries);

bool blis__equal_keys(const blis_coefficients_key *a, const blis_coefficients_key *b);

#endif
