#include "latency/catalogue/catalogue.h"

#include <string.h>

#include "latency/catalogue/catalogue_priv.h"

blis_catalogue *blis_catalogue_new(const blis_alloc *alloc) {
  blis_catalogue *catalogue = blis_alloc_zeroed(alloc, 1, sizeof *catalogue);
  if (catalogue != NULL) {
    catalogue->alloc = *alloc;
    blis_arena_init(&catalogue->arena, alloc);
  }
  return catalogue;
}

void blis__entries_deinit(const blis_alloc *alloc, blis__entries *entries) {
  blis_array_deinit(alloc, &entries->models);
  blis_array_deinit(alloc, &entries->hardware);
  blis_array_deinit(alloc, &entries->coefficients);
  blis_array_deinit(alloc, &entries->composed);
}

void blis_catalogue_free(blis_catalogue *catalogue) {
  if (catalogue == NULL) {
    return;
  }
  blis_alloc alloc = catalogue->alloc;
  blis__entries_deinit(&alloc, &catalogue->entries);
  blis_arena_deinit(&catalogue->arena);
  blis_alloc_free(&alloc, catalogue, sizeof *catalogue);
}

bool blis__equal_keys(const blis_coefficients_key *a, const blis_coefficients_key *b) {
  return blis__equal_names(a->kind, b->kind) && blis__equal_names(a->model, b->model) &&
         blis__equal_names(a->hardware, b->hardware) && a->tp == b->tp &&
         blis__equal_names(a->version, b->version);
}

static void put_model(blis__entries *all, const blis_catalogue_model *model) {
  for (size_t i = 0; i < all->models.count; i++) {
    if (blis__equal_names(all->models.items[i]->id, model->id)) {
      all->models.items[i] = model;
      return;
    }
  }
  all->models.items[all->models.count++] = model;
}

static void put_hardware(blis__entries *all, const blis_catalogue_hardware *hardware) {
  for (size_t i = 0; i < all->hardware.count; i++) {
    if (blis__equal_names(all->hardware.items[i]->name, hardware->name)) {
      all->hardware.items[i] = hardware;
      return;
    }
  }
  all->hardware.items[all->hardware.count++] = hardware;
}

/* The newest entry is to be the last one, so a replaced one leaves. */
static void put_coefficients(blis__entries *all, const blis_catalogue_coefficients *coefficients) {
  size_t kept = 0;
  for (size_t i = 0; i < all->coefficients.count; i++) {
    const blis_catalogue_coefficients *old = all->coefficients.items[i];
    if (!blis__equal_keys(&old->key, &coefficients->key)) {
      all->coefficients.items[kept++] = old;
    }
  }
  all->coefficients.items[kept++] = coefficients;
  all->coefficients.count = kept;
}

static void put_composed(blis__entries *all, const blis__gpu_constants *constants) {
  for (size_t i = 0; i < all->composed.count; i++) {
    if (blis__equal_names(all->composed.items[i]->gpu, constants->gpu)) {
      all->composed.items[i] = constants;
      return;
    }
  }
  all->composed.items[all->composed.count++] = constants;
}

static blis_status merge(blis_catalogue *catalogue, const blis__entries *added) {
  const blis_alloc *alloc = &catalogue->alloc;
  blis__entries *all = &catalogue->entries;
  BLIS_TRY(blis_array_reserve(alloc, &all->models, all->models.count + added->models.count));
  BLIS_TRY(blis_array_reserve(alloc, &all->hardware, all->hardware.count + added->hardware.count));
  BLIS_TRY(blis_array_reserve(alloc, &all->coefficients,
                              all->coefficients.count + added->coefficients.count));
  BLIS_TRY(blis_array_reserve(alloc, &all->composed, all->composed.count + added->composed.count));
  for (size_t i = 0; i < added->models.count; i++) {
    put_model(all, added->models.items[i]);
  }
  for (size_t i = 0; i < added->hardware.count; i++) {
    put_hardware(all, added->hardware.items[i]);
  }
  for (size_t i = 0; i < added->coefficients.count; i++) {
    put_coefficients(all, added->coefficients.items[i]);
  }
  for (size_t i = 0; i < added->composed.count; i++) {
    put_composed(all, added->composed.items[i]);
  }
  return BLIS_OK;
}

blis_status blis_catalogue_add_yaml(blis_catalogue *catalogue, const char *name, const char *text,
                                    size_t size, blis_error *error) {
  blis__entries added = {0};
  blis_status status = blis__catalogue_read(catalogue, name, text, size, &added, error);
  if (status == BLIS_OK && merge(catalogue, &added) != BLIS_OK) {
    status = blis_fail_nomem(error);
  }
  blis__entries_deinit(&catalogue->alloc, &added);
  return status;
}

size_t blis_catalogue_model_count(const blis_catalogue *catalogue) {
  return catalogue->entries.models.count;
}

const blis_catalogue_model *blis_catalogue_model_at(const blis_catalogue *catalogue, size_t index) {
  return catalogue->entries.models.items[index];
}

size_t blis_catalogue_hardware_count(const blis_catalogue *catalogue) {
  return catalogue->entries.hardware.count;
}

const blis_catalogue_hardware *blis_catalogue_hardware_at(const blis_catalogue *catalogue,
                                                          size_t index) {
  return catalogue->entries.hardware.items[index];
}

size_t blis_catalogue_coefficients_count(const blis_catalogue *catalogue) {
  return catalogue->entries.coefficients.count;
}

const blis_catalogue_coefficients *blis_catalogue_coefficients_at(const blis_catalogue *catalogue,
                                                                  size_t index) {
  return catalogue->entries.coefficients.items[index];
}

const blis__gpu_constants *blis__catalogue_composed(const blis_catalogue *catalogue,
                                                    const char *gpu) {
  const blis__entries *all = &catalogue->entries;
  for (size_t i = 0; i < all->composed.count; i++) {
    if (blis__equal_names(all->composed.items[i]->gpu, gpu)) {
      return all->composed.items[i];
    }
  }
  return NULL;
}
