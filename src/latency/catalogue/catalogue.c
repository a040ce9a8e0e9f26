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
  for (size_t i = 0; i < catalogue->layered.count; i++) {
    blis_layered_model_free(catalogue->layered.items[i].layers);
  }
  blis_array_deinit(&alloc, &catalogue->layered);
  blis__entries_deinit(&alloc, &catalogue->entries);
  blis_array_deinit(&alloc, &catalogue->deferred);
  blis_arena_deinit(&catalogue->arena);
  blis_alloc_free(&alloc, catalogue, sizeof *catalogue);
}

bool blis__equal_keys(const blis_coefficients_key *a, const blis_coefficients_key *b) {
  return blis__equal_names(a->kind, b->kind) && blis__equal_names(a->model, b->model) &&
         blis__equal_names(a->hardware, b->hardware) && a->tp == b->tp &&
         blis__equal_names(a->version, b->version);
}

static size_t place_of_model(const blis__entries *all, const char *id) {
  size_t i = 0;
  while (i < all->models.count && !blis__equal_names(all->models.items[i]->id, id)) {
    i++;
  }
  return i;
}

static size_t place_of_hardware(const blis__entries *all, const char *name) {
  size_t i = 0;
  while (i < all->hardware.count && !blis__equal_names(all->hardware.items[i]->name, name)) {
    i++;
  }
  return i;
}

static void put_model(blis__entries *all, const blis_catalogue_model *model) {
  size_t place = place_of_model(all, model->id);
  all->models.items[place] = model;
  all->models.count += place == all->models.count;
}

static void put_hardware(blis__entries *all, const blis_catalogue_hardware *hardware) {
  size_t place = place_of_hardware(all, hardware->name);
  all->hardware.items[place] = hardware;
  all->hardware.count += place == all->hardware.count;
}

/* Keeps the newest entry last, so a replaced entry is removed. */
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

static blis_status reserve(blis_catalogue *catalogue, const blis__entries *added) {
  const blis_alloc *alloc = &catalogue->alloc;
  blis__entries *all = &catalogue->entries;
  BLIS_TRY(blis_array_reserve(alloc, &all->models, all->models.count + added->models.count));
  BLIS_TRY(blis_array_reserve(alloc, &all->hardware, all->hardware.count + added->hardware.count));
  BLIS_TRY(blis_array_reserve(alloc, &all->coefficients,
                              all->coefficients.count + added->coefficients.count));
  return blis_array_reserve(alloc, &all->composed, all->composed.count + added->composed.count);
}

static void merge(blis__entries *all, const blis__entries *added) {
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
}

/* Inserts models and GPUs with new names at the place where the first deferred source was added,
   and moves the places of the other deferred sources. */
static void insert(blis_catalogue *catalogue, const blis__deferred_text *text,
                   const blis__entries *added) {
  blis__entries *all = &catalogue->entries;
  size_t models = text->models_before;
  size_t hardware = text->hardware_before;
  for (size_t i = 0; i < added->models.count; i++) {
    const blis_catalogue_model *model = added->models.items[i];
    if (place_of_model(all, model->id) == all->models.count) {
      const blis_catalogue_model **place = all->models.items + models++;
      memmove(place + 1, place,
              (size_t)(all->models.items + all->models.count++ - place) * sizeof *place);
      *place = model;
    }
  }
  for (size_t i = 0; i < added->hardware.count; i++) {
    const blis_catalogue_hardware *one = added->hardware.items[i];
    if (place_of_hardware(all, one->name) == all->hardware.count) {
      const blis_catalogue_hardware **place = all->hardware.items + hardware++;
      memmove(place + 1, place,
              (size_t)(all->hardware.items + all->hardware.count++ - place) * sizeof *place);
      *place = one;
    }
  }
  for (size_t i = 1; i < catalogue->deferred.count; i++) {
    catalogue->deferred.items[i].models_before += models - text->models_before;
    catalogue->deferred.items[i].hardware_before += hardware - text->hardware_before;
  }
}

blis_status blis_catalogue_add_yaml(blis_catalogue *catalogue, const char *name, const char *text,
                                    size_t size, blis_error *error) {
  blis__entries added = {0};
  blis_status status = blis__catalogue_read(catalogue, name, text, size, &added, error);
  if (status == BLIS_OK && reserve(catalogue, &added) != BLIS_OK) {
    status = blis_fail_nomem(error);
  }
  if (status == BLIS_OK) {
    merge(&catalogue->entries, &added);
  }
  blis__entries_deinit(&catalogue->alloc, &added);
  return status;
}

blis_status blis_catalogue_defer_yaml(blis_catalogue *catalogue, const char *name, const char *text,
                                      size_t size) {
  blis__deferred_text deferred = {.name = name,
                                  .text = text,
                                  .size = size,
                                  .models_before = catalogue->entries.models.count,
                                  .hardware_before = catalogue->entries.hardware.count};
  return blis_array_push(&catalogue->alloc, &catalogue->deferred, deferred);
}

static blis_status read_first_deferred(blis_catalogue *catalogue, blis_error *error) {
  const blis__deferred_text text = catalogue->deferred.items[0];
  blis__entries added = {0};
  blis_status status =
      blis__catalogue_read(catalogue, text.name, text.text, text.size, &added, error);
  if (status == BLIS_OK && reserve(catalogue, &added) != BLIS_OK) {
    status = blis_fail_nomem(error);
  }
  if (status == BLIS_OK) {
    insert(catalogue, &text, &added);
    catalogue->deferred.count--;
    memmove(catalogue->deferred.items, catalogue->deferred.items + 1,
            catalogue->deferred.count * sizeof text);
  }
  blis__entries_deinit(&catalogue->alloc, &added);
  return status;
}

blis_status blis_catalogue_read_deferred(const blis_catalogue *catalogue, blis_error *error) {
  /* Every catalogue comes from blis_catalogue_new, so the object itself is not const. */
  blis_catalogue *self = (blis_catalogue *)catalogue;
  while (self->deferred.count > 0) {
    BLIS_TRY(read_first_deferred(self, error));
  }
  return BLIS_OK;
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
    if (blis__gpu_constants_are_of(all->composed.items[i], gpu)) {
      return all->composed.items[i];
    }
  }
  return NULL;
}
