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

/* Adds an entry at the end, and removes an entry that it replaces. */
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

/* Inserts an entry into an array of pointers, which must have capacity for it. */
#define INSERT(array, place, entry)                                                                \
  do {                                                                                             \
    memmove((array)->items + (place) + 1, (array)->items + (place),                                \
            ((array)->count++ - (place)) * sizeof *(array)->items);                                \
    (array)->items[place] = (entry);                                                               \
  } while (0)

static bool has_coefficients(const blis__entries *all, const blis_coefficients_key *key) {
  for (size_t i = 0; i < all->coefficients.count; i++) {
    if (blis__equal_keys(&all->coefficients.items[i]->key, key)) {
      return true;
    }
  }
  return false;
}

/* Inserts entries with new names at the position where the deferred source was added, and shifts
   the positions of the sources that were added after it. */
static void insert(blis_catalogue *catalogue, size_t source, const blis__entries *added) {
  blis__entries *all = &catalogue->entries;
  const blis__deferred_text text = catalogue->deferred.items[source];
  size_t models = text.models_before;
  size_t hardware = text.hardware_before;
  size_t coefficients = text.coefficients_before;
  for (size_t i = 0; i < added->models.count; i++) {
    if (place_of_model(all, added->models.items[i]->id) == all->models.count) {
      INSERT(&all->models, models, added->models.items[i]);
      models++;
    }
  }
  for (size_t i = 0; i < added->hardware.count; i++) {
    if (place_of_hardware(all, added->hardware.items[i]->name) == all->hardware.count) {
      INSERT(&all->hardware, hardware, added->hardware.items[i]);
      hardware++;
    }
  }
  for (size_t i = 0; i < added->coefficients.count; i++) {
    if (!has_coefficients(all, &added->coefficients.items[i]->key)) {
      INSERT(&all->coefficients, coefficients, added->coefficients.items[i]);
      coefficients++;
    }
  }
  for (size_t i = source + 1; i < catalogue->deferred.count; i++) {
    blis__deferred_text *later = &catalogue->deferred.items[i];
    later->models_before += models - text.models_before;
    later->hardware_before += hardware - text.hardware_before;
    later->coefficients_before += coefficients - text.coefficients_before;
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

blis_status blis_catalogue_defer_coefficients(blis_catalogue *catalogue, const char *kind,
                                              const char *name, const char *text, size_t size) {
  blis__deferred_text deferred = {.name = name,
                                  .text = text,
                                  .size = size,
                                  .kind = kind,
                                  .models_before = catalogue->entries.models.count,
                                  .hardware_before = catalogue->entries.hardware.count,
                                  .coefficients_before = catalogue->entries.coefficients.count};
  return blis_array_push(&catalogue->alloc, &catalogue->deferred, deferred);
}

blis_status blis_catalogue_defer_yaml(blis_catalogue *catalogue, const char *name, const char *text,
                                      size_t size) {
  return blis_catalogue_defer_coefficients(catalogue, NULL, name, text, size);
}

static blis_status read_source(blis_catalogue *catalogue, size_t source, blis_error *error) {
  const blis__deferred_text text = catalogue->deferred.items[source];
  blis__entries added = {0};
  blis_status status =
      blis__catalogue_read(catalogue, text.name, text.text, text.size, &added, error);
  if (status == BLIS_OK && reserve(catalogue, &added) != BLIS_OK) {
    status = blis_fail_nomem(error);
  }
  if (status == BLIS_OK) {
    insert(catalogue, source, &added);
    catalogue->deferred.count--;
    memmove(catalogue->deferred.items + source, catalogue->deferred.items + source + 1,
            (catalogue->deferred.count - source) * sizeof text);
  }
  blis__entries_deinit(&catalogue->alloc, &added);
  return status;
}

/* Every catalog comes from blis_catalogue_new, so the object itself is not const. */
static blis_catalogue *changeable(const blis_catalogue *catalogue) {
  return (blis_catalogue *)catalogue;
}

blis_status blis_catalogue_read_deferred(const blis_catalogue *catalogue, blis_error *error) {
  while (catalogue->deferred.count > 0) {
    BLIS_TRY(read_source(changeable(catalogue), 0, error));
  }
  return BLIS_OK;
}

blis_status blis__catalogue_read_kind(const blis_catalogue *catalogue, const char *kind,
                                      blis_error *error) {
  for (size_t i = 0; i < catalogue->deferred.count;) {
    const char *contained = catalogue->deferred.items[i].kind;
    if (contained != NULL && blis__equal_names(contained, kind)) {
      BLIS_TRY(read_source(changeable(catalogue), i, error));
    } else {
      i++;
    }
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
