#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "latency/catalogue/catalogue_priv.h"

static bool has_alias(const char *const *aliases, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (blis__equal_names(aliases[i], name)) {
      return true;
    }
  }
  return false;
}

static const blis_catalogue_model *model_of(const blis_catalogue *catalogue, const char *id) {
  const blis__entries *all = &catalogue->entries;
  for (size_t i = 0; i < all->models.count; i++) {
    const blis_catalogue_model *model = all->models.items[i];
    if (blis__equal_names(model->id, id) || has_alias(model->aliases, model->alias_count, id)) {
      return model;
    }
  }
  for (size_t i = 0; i < all->models.count; i++) {
    const blis_catalogue_model *model = all->models.items[i];
    if (blis__equal_names(model->name, blis__last_part(id))) {
      return model;
    }
  }
  return NULL;
}

static const blis_catalogue_hardware *hardware_of(const blis_catalogue *catalogue,
                                                  const char *name) {
  const blis__entries *all = &catalogue->entries;
  for (size_t i = 0; i < all->hardware.count; i++) {
    const blis_catalogue_hardware *hardware = all->hardware.items[i];
    if (blis__equal_names(hardware->name, name) ||
        has_alias(hardware->aliases, hardware->alias_count, name)) {
      return hardware;
    }
  }
  return NULL;
}

/* Size of word lists in messages. */
enum { LIST_SIZE = 320 };

static size_t common_prefix(const char *a, const char *b) {
  size_t length = 0;
  while (a[length] != '\0' && blis__lower(a[length]) == blis__lower(b[length])) {
    length++;
  }
  return length;
}

/* Lists the models whose names share the longest prefix with name. */
static void list_similar_models(const blis_catalogue *catalogue, const char *name,
                                char list[LIST_SIZE]) {
  const blis__entries *all = &catalogue->entries;
  size_t longest = 0;
  for (size_t i = 0; i < all->models.count; i++) {
    size_t length = common_prefix(all->models.items[i]->name, name);
    longest = length > longest ? length : longest;
  }
  for (size_t i = 0; i < all->models.count; i++) {
    const char *known = all->models.items[i]->name;
    if (common_prefix(known, name) == longest) {
      blis_word_list_add(list, LIST_SIZE, known);
    }
  }
}

blis_status blis_catalogue_find_model(const blis_catalogue *catalogue, const char *id,
                                      const blis_catalogue_model **model, blis_error *error) {
  *model = model_of(catalogue, id);
  if (*model == NULL) {
    BLIS_TRY(blis_catalogue_read_deferred(catalogue, error));
    *model = model_of(catalogue, id);
  }
  if (*model != NULL) {
    return BLIS_OK;
  }
  const char *name = blis__last_part(id);
  blis_nearest nearest = {.wanted = name};
  for (size_t i = 0; i < catalogue->entries.models.count; i++) {
    blis_nearest_offer(&nearest, catalogue->entries.models.items[i]->name);
  }
  char similar[LIST_SIZE] = "";
  list_similar_models(catalogue, name, similar);
  blis_suggestion suggestion = blis_nearest_suggest_or(&nearest, "");
  bool has_suggestion = suggestion.text[0] != '\0';
  /* A single known name is already part of the suggestion. */
  bool has_others = !has_suggestion || strchr(similar, ',') != NULL;
  const char *lead = has_suggestion ? " Others that begin alike: " : "; nearest known: ";
  return blis_fail(error, BLIS_ERR_INVALID,
                   "unknown model '%.100s' (to add a model: --model FOLDER with its config.json)"
                   "%s%s%s",
                   id, suggestion.text, has_others ? lead : "", has_others ? similar : "");
}

static const blis_catalogue_model *layered_of(const blis_catalogue *catalogue, const char *id) {
  for (size_t i = catalogue->layered.count; i > 0; i--) {
    const blis_catalogue_model *model = catalogue->layered.items[i - 1].model;
    if (blis__equal_names(model->id, id)) {
      return model;
    }
  }
  return NULL;
}

/*
 * Returns whether the spec is exact: the model is dense and has attention heads, so identical
 * layers describe it exactly.
 */
static bool is_exact(const blis_catalogue_model *model) {
  return model->has_dimensions && !blis_model_spec_is_moe(&model->spec) &&
         model->spec.kv_lora_rank == 0;
}

blis_status blis_catalogue_find_layered(const blis_catalogue *catalogue,
                                        const blis_catalogue_model *model,
                                        const blis_catalogue_model **layered, blis_error *error) {
  *layered = model->layered != NULL ? model : NULL;
  if (*layered != NULL || is_exact(model)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_catalogue_read_deferred(catalogue, error));
  *layered = layered_of(catalogue, model->id);
  return BLIS_OK;
}

blis_status blis_catalogue_find_model_spec(const blis_catalogue *catalogue, const char *id,
                                           const blis_model_spec **spec, blis_error *error) {
  const blis_catalogue_model *model;
  BLIS_TRY(blis_catalogue_find_model(catalogue, id, &model, error));
  if (!model->has_dimensions) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the dimensions of model '%s' are not in the catalogue; "
                     "its config.json is needed",
                     model->id);
  }
  *spec = &model->spec;
  return BLIS_OK;
}

/* Lists names in sorted order: repeatedly takes the smallest name after the last listed one. */
static void list_hardware(const blis_catalogue *catalogue, char list[LIST_SIZE]) {
  const blis__entries *all = &catalogue->entries;
  const char *last = "";
  for (size_t listed = 0; listed < all->hardware.count; listed++) {
    const char *next = NULL;
    for (size_t i = 0; i < all->hardware.count; i++) {
      const char *name = all->hardware.items[i]->name;
      if (strcmp(name, last) > 0 && (next == NULL || strcmp(name, next) < 0)) {
        next = name;
      }
    }
    if (next == NULL) {
      return;
    }
    blis_word_list_add(list, LIST_SIZE, next);
    last = next;
  }
}

blis_status blis_catalogue_find_hardware(const blis_catalogue *catalogue, const char *name,
                                         const blis_catalogue_hardware **hardware,
                                         blis_error *error) {
  *hardware = hardware_of(catalogue, name);
  if (*hardware == NULL) {
    BLIS_TRY(blis_catalogue_read_deferred(catalogue, error));
    *hardware = hardware_of(catalogue, name);
  }
  if (*hardware != NULL) {
    return BLIS_OK;
  }
  char known[LIST_SIZE] = "";
  list_hardware(catalogue, known);
  return blis_fail(error, BLIS_ERR_INVALID, "unknown hardware '%.100s'; known are %s", name, known);
}

/*
 * Returns whether a and b name the same model: they are equal with or without the owner, or are
 * both names of one model.
 */
static bool is_same_model(const blis_catalogue *catalogue, const char *a, const char *b) {
  const blis_catalogue_model *known = model_of(catalogue, a);
  return blis__equal_names(blis__last_part(a), blis__last_part(b)) ||
         (known != NULL && known == model_of(catalogue, b));
}

static bool is_same_hardware(const blis_catalogue *catalogue, const char *a, const char *b) {
  const blis_catalogue_hardware *known = hardware_of(catalogue, a);
  return blis__equal_names(a, b) || (known != NULL && known == hardware_of(catalogue, b));
}

/* Returns how many parts of the wanted key the entry matches; -1 if it contradicts the key. */
static int match(const blis_catalogue *catalogue, const blis_coefficients_key *entry,
                 const blis_coefficients_key *wanted) {
  int stated = 0;
  if (!blis__equal_names(entry->kind, wanted->kind)) {
    return -1;
  }
  if (entry->model != NULL) {
    if (wanted->model == NULL || !is_same_model(catalogue, entry->model, wanted->model)) {
      return -1;
    }
    stated++;
  }
  if (entry->hardware != NULL) {
    if (wanted->hardware == NULL ||
        !is_same_hardware(catalogue, entry->hardware, wanted->hardware)) {
      return -1;
    }
    stated++;
  }
  if (entry->tp != 0) {
    if (entry->tp != wanted->tp) {
      return -1;
    }
    stated++;
  }
  if (entry->version != NULL && wanted->version != NULL) {
    if (!blis__equal_names(entry->version, wanted->version)) {
      return -1;
    }
    stated++;
  }
  return stated;
}

static blis_status fail_no_coefficients(const blis_catalogue *catalogue,
                                        const blis_coefficients_key *wanted, blis_error *error) {
  const blis__entries *all = &catalogue->entries;
  char known[LIST_SIZE] = "";
  for (size_t i = 0; i < all->coefficients.count; i++) {
    const blis_coefficients_key *key = &all->coefficients.items[i]->key;
    if (blis__equal_names(key->kind, wanted->kind) && key->model != NULL && wanted->model != NULL &&
        is_same_model(catalogue, key->model, wanted->model)) {
      char text[80];
      (void)snprintf(text, sizeof text, "%.30s TP %" PRId64 " %.20s",
                     key->hardware == NULL ? "any GPU" : key->hardware, key->tp,
                     key->version == NULL ? "" : key->version);
      blis_word_list_add(known, LIST_SIZE, text);
    }
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "no %s coefficients for model %.60s, GPU %.30s, TP %" PRId64
                   ", version %.20s; known for this model: %s",
                   wanted->kind, wanted->model == NULL ? "(none)" : wanted->model,
                   wanted->hardware == NULL ? "(none)" : wanted->hardware, wanted->tp,
                   wanted->version == NULL ? "(any)" : wanted->version,
                   *known == '\0' ? "nothing" : known);
}

blis_status blis_catalogue_find_coefficients(const blis_catalogue *catalogue,
                                             const blis_coefficients_key *wanted,
                                             const blis_catalogue_coefficients **coefficients,
                                             blis_error *error) {
  BLIS_TRY(blis__catalogue_read_kind(catalogue, wanted->kind, error));
  const blis__entries *all = &catalogue->entries;
  blis_coefficients_key key = *wanted;
  const blis_catalogue_model *model = key.model == NULL ? NULL : model_of(catalogue, key.model);
  if (model != NULL) {
    key.model = model->id; /* wanted->model may be an alias */
  }
  int best = -1;
  for (size_t i = 0; i < all->coefficients.count; i++) {
    const blis_catalogue_coefficients *entry = all->coefficients.items[i];
    int stated = match(catalogue, &entry->key, &key);
    if (stated >= 0 && stated >= best) {
      best = stated;
      *coefficients = entry;
    }
  }
  return best >= 0 ? BLIS_OK : fail_no_coefficients(catalogue, &key, error);
}
