#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/format/yaml.h"
#include "base/nearest.h"
#include "latency/catalogue/catalogue_priv.h"
#include "latency/model/layer_notation.h"
#include "latency/model/layered_spec.h"

enum { TP_MAX = 65536 };

/* The state of one call of blis__catalogue_read. */
typedef struct reader {
  blis_catalogue *catalogue; /* used only for its memory */
  const char *source;
  blis__entries *entries;
} reader;

typedef blis_status read_entry(const reader *r, const blis_yaml_node *node, blis_error *error);

/* Fails with a message that consists of the location of a node and `what`. */
static blis_status fail_at(const blis_yaml_node *node, const char *what, blis_error *error) {
  return blis_fail(error, BLIS_ERR_PARSE, "%.120s:%lld: %s", blis_yaml_file(node),
                   (long long)blis_yaml_line(node), what);
}

static blis_status fail_unknown_key(const blis_yaml_node *key, blis_nearest *nearest,
                                    const blis_spec_field *fields, size_t count,
                                    blis_error *error) {
  for (size_t i = 0; i < count; i++) {
    blis_nearest_offer(nearest, fields[i].name);
  }
  char text[640];
  (void)snprintf(text, sizeof text, "unknown key '%.60s'%s", nearest->wanted,
                 blis_nearest_suggest(nearest).text);
  return fail_at(key, text, error);
}

static blis_status copy_text(const reader *r, const blis_yaml_node *node, const char **copy,
                             blis_error *error) {
  blis_slice text;
  BLIS_TRY(blis_yaml_text(node, &text, error));
  if (text.length == 0) {
    return blis_yaml_fail(node, "must not be empty", error);
  }
  *copy = blis_arena_text(&r->catalogue->arena, text.data, text.length);
  return *copy == NULL ? blis_fail_nomem(error) : BLIS_OK;
}

/* Allocates memory for the items of a sequence, at least one byte. */
static blis_status new_items(const reader *r, const blis_yaml_node *node, size_t item_size,
                             void **items, blis_error *error) {
  BLIS_TRY(blis_yaml_need_sequence(node, error));
  *items = blis_arena_new(&r->catalogue->arena, blis_yaml_count(node) * item_size + 1);
  return *items == NULL ? blis_fail_nomem(error) : BLIS_OK;
}

static blis_status read_texts(const reader *r, const blis_yaml_node *node,
                              const char *const **texts, size_t *count, blis_error *error) {
  void *items;
  BLIS_TRY(new_items(r, node, sizeof(const char *), &items, error));
  const char **copies = items;
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    BLIS_TRY(copy_text(r, blis_yaml_item(node, i), &copies[i], error));
  }
  *texts = copies;
  *count = blis_yaml_count(node);
  return BLIS_OK;
}

static blis_status read_numbers(const reader *r, const blis_yaml_node *node, const double **numbers,
                                size_t *count, blis_error *error) {
  void *items;
  BLIS_TRY(new_items(r, node, sizeof(double), &items, error));
  double *values = items;
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    BLIS_TRY(blis_yaml_double(blis_yaml_item(node, i), 0.0, DBL_MAX, &values[i], error));
  }
  *numbers = values;
  *count = blis_yaml_count(node);
  return BLIS_OK;
}

static blis_status read_field(void *spec, const blis_spec_field *field, const blis_yaml_node *node,
                              blis_error *error) {
  blis_error fault = {0};
  blis_status status;
  if (field->kind == BLIS_SPEC_TEXT) {
    blis_slice text;
    BLIS_TRY(blis_yaml_text(node, &text, error));
    status = blis_spec_set_text(spec, field, text.data, &fault);
  } else if (field->kind == BLIS_SPEC_FLAG) {
    bool flag;
    BLIS_TRY(blis_yaml_bool(node, &flag, error));
    status = blis_spec_set_number(spec, field, flag ? 1.0 : 0.0, &fault);
  } else {
    double number;
    BLIS_TRY(blis_yaml_double(node, 0.0, DBL_MAX, &number, error));
    status = blis_spec_set_number(spec, field, number, &fault);
  }
  return status == BLIS_OK ? BLIS_OK : fail_at(node, fault.message, error);
}

/* Allocates a separate, zeroed entry in the arena. */
static void *new_entry(const reader *r, size_t size) {
  void *entry = blis_arena_new(&r->catalogue->arena, size);
  if (entry != NULL) {
    memset(entry, 0, size);
  }
  return entry;
}

static blis_status need_name(const blis_yaml_node *node, const char *key, const char *value,
                             blis_error *error) {
  if (value != NULL) {
    return BLIS_OK;
  }
  char text[80];
  (void)snprintf(text, sizeof text, "an entry needs the key '%s'", key);
  return fail_at(node, text, error);
}

static blis_status fail_twice(const blis_yaml_node *node, const char *name, blis_error *error) {
  char text[200];
  (void)snprintf(text, sizeof text, "'%.120s' is given twice", name);
  return fail_at(node, text, error);
}

static blis_status read_model_key(const reader *r, blis_catalogue_model *model,
                                  const blis_yaml_node *key, const blis_yaml_node *value,
                                  blis_error *error) {
  const char *name = blis_yaml_scalar(key).data;
  if (strcmp(name, "id") == 0) {
    return copy_text(r, value, &model->id, error);
  }
  if (strcmp(name, "aliases") == 0) {
    return read_texts(r, value, &model->aliases, &model->alias_count, error);
  }
  if (strcmp(name, "hardware") == 0) {
    return copy_text(r, value, &model->hardware, error);
  }
  if (strcmp(name, "tp") == 0) {
    return blis_yaml_int64(value, 1, TP_MAX, &model->tp, error);
  }
  size_t count;
  const blis_spec_field *fields = blis_model_spec_fields(&count);
  const blis_spec_field *field = blis_spec_find(fields, count, name);
  bool is_list = blis_yaml_type_of(value) != BLIS_YAML_SCALAR;
  if (is_list && strcmp(name, "layers") == 0) {
    return BLIS_OK; /* read_layers handles it together with the whole entry */
  }
  if (field == NULL && blis_layer_notation_has_key(name)) {
    return BLIS_OK;
  }
  if (field == NULL) {
    blis_nearest nearest = {.wanted = name};
    blis_nearest_offer(&nearest, "aliases");
    blis_nearest_offer(&nearest, "hardware");
    return fail_unknown_key(key, &nearest, fields, count, error);
  }
  model->has_dimensions = true;
  return read_field(&model->spec, field, value, error);
}

/* Rejects keys of individual layers, which would have no effect without a list. *has_formats is set
   if there are keys of the whole model that also apply to a number of layers. */
static blis_status check_without_layers(const blis_yaml_node *node, bool *has_formats,
                                        blis_error *error) {
  size_t count;
  const blis_spec_field *fields = blis_model_spec_fields(&count);
  *has_formats = false;
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    const blis_yaml_node *key = blis_yaml_key(node, i);
    const char *name = blis_yaml_scalar(key).data;
    if (blis_layer_notation_is_of_model(name)) {
      *has_formats = true;
    } else if (blis_layer_notation_has_key(name) && blis_spec_find(fields, count, name) == NULL) {
      return blis_yaml_fail(key, "requires a list of layers, for example layers: [{count: 32}]",
                            error);
    }
  }
  return BLIS_OK;
}

/* Applies `quantization` to identical layers, in an entry without bytes per weight. */
static blis_status read_method(const blis_yaml_node *node, blis_model_spec *spec,
                               blis_error *error) {
  if (spec->quantization[0] == '\0' || spec->weight_bytes_per_param > 0.0) {
    return BLIS_OK;
  }
  blis_weight_format format;
  blis_error fault = {0};
  if (blis_weight_format_named(spec->quantization, &format, &fault) != BLIS_OK) {
    return fail_at(blis_yaml_get(node, "quantization"), fault.message, error);
  }
  spec->weight_bytes_per_param = format.bytes;
  if (format.kind == BLIS_KIND_MODEL) {
    spec->quantization[0] = '\0';
  }
  return BLIS_OK;
}

static blis_status new_layered(const reader *r, blis_catalogue_model *model,
                               blis_layered_model **layered, blis_error *error) {
  *layered = new_entry(r, sizeof **layered);
  BLIS_TRY_NEW(*layered, error);
  blis__layered_entry owned = {model, *layered};
  blis_status status = blis_array_push(&r->catalogue->alloc, &r->catalogue->layered, owned);
  return status == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

/* Reads the layers of an entry that contains only their number, if it has formats that a
   description with identical layers cannot represent. */
static blis_status read_equal_layers(const reader *r, const blis_yaml_node *node,
                                     blis_catalogue_model *model, blis_error *error) {
  bool has_formats;
  BLIS_TRY(check_without_layers(node, &has_formats, error));
  if (!has_formats) {
    return read_method(node, &model->spec, error);
  }
  blis_layered_model *layered;
  BLIS_TRY(new_layered(r, model, &layered, error));
  BLIS_TRY(
      blis_layer_notation_read_equal(&r->catalogue->alloc, node, &model->spec, layered, error));
  const blis_model_spec made = blis_layered_model_spec(layered);
  model->spec.weight_bytes_per_param = made.weight_bytes_per_param;
  memcpy(model->spec.quantization, made.quantization, sizeof made.quantization);
  model->layered = layered;
  return BLIS_OK;
}

/* Reads the layers of an entry, which are a list or a number of identical layers. */
static blis_status read_layers(const reader *r, const blis_yaml_node *node,
                               blis_catalogue_model *model, blis_error *error) {
  const blis_yaml_node *layers = blis_yaml_get(node, "layers");
  if (model->spec.bytes_per_param == 0.0) {
    model->spec.bytes_per_param = 2.0;
  }
  if (layers == NULL || blis_yaml_type_of(layers) == BLIS_YAML_SCALAR) {
    return read_equal_layers(r, node, model, error);
  }
  blis_layered_model *layered;
  BLIS_TRY(new_layered(r, model, &layered, error));
  BLIS_TRY(blis_layer_notation_read(&r->catalogue->alloc, node, &model->spec, layered, error));
  model->spec = blis_layered_model_spec(layered);
  model->layered = layered;
  model->has_dimensions = true;
  return BLIS_OK;
}

static blis_status read_model(const reader *r, const blis_yaml_node *node, blis_error *error) {
  blis_catalogue_model *model = new_entry(r, sizeof *model);
  BLIS_TRY_NEW(model, error);
  model->hardware = "";
  model->source = r->source;
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    BLIS_TRY(read_model_key(r, model, blis_yaml_key(node, i), blis_yaml_item(node, i), error));
  }
  BLIS_TRY(need_name(node, "id", model->id, error));
  model->name = blis__last_part(model->id);
  (void)snprintf(model->spec.name, sizeof model->spec.name, "%s", model->name);
  BLIS_TRY(read_layers(r, node, model, error));
  blis_error fault;
  if (model->has_dimensions && blis_model_spec_validate(&model->spec, &fault) != BLIS_OK) {
    return fail_at(node, fault.message, error);
  }
  for (size_t i = 0; i < r->entries->models.count; i++) {
    if (blis__equal_names(r->entries->models.items[i]->id, model->id)) {
      return fail_twice(node, model->id, error);
    }
  }
  blis_status status = blis_array_push(&r->catalogue->alloc, &r->entries->models, model);
  return status == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

static blis_status read_hardware_key(const reader *r, blis_catalogue_hardware *hardware,
                                     const blis_yaml_node *key, const blis_yaml_node *value,
                                     blis_error *error) {
  const char *name = blis_yaml_scalar(key).data;
  if (strcmp(name, "name") == 0) {
    return copy_text(r, value, &hardware->name, error);
  }
  if (strcmp(name, "aliases") == 0) {
    return read_texts(r, value, &hardware->aliases, &hardware->alias_count, error);
  }
  size_t count;
  const blis_spec_field *fields = blis_hardware_spec_fields(&count);
  const blis_spec_field *field = blis_spec_find(fields, count, name);
  if (field == NULL) {
    blis_nearest nearest = {.wanted = name};
    blis_nearest_offer(&nearest, "aliases");
    return fail_unknown_key(key, &nearest, fields, count, error);
  }
  return read_field(&hardware->spec, field, value, error);
}

static blis_status read_hardware(const reader *r, const blis_yaml_node *node, blis_error *error) {
  blis_catalogue_hardware *hardware = new_entry(r, sizeof *hardware);
  BLIS_TRY_NEW(hardware, error);
  hardware->source = r->source;
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    BLIS_TRY(
        read_hardware_key(r, hardware, blis_yaml_key(node, i), blis_yaml_item(node, i), error));
  }
  BLIS_TRY(need_name(node, "name", hardware->name, error));
  (void)snprintf(hardware->spec.name, sizeof hardware->spec.name, "%s", hardware->name);
  for (size_t i = 0; i < r->entries->hardware.count; i++) {
    if (blis__equal_names(r->entries->hardware.items[i]->name, hardware->name)) {
      return fail_twice(node, hardware->name, error);
    }
  }
  blis_status status = blis_array_push(&r->catalogue->alloc, &r->entries->hardware, hardware);
  return status == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

static blis_status read_coverage_key(blis_coverage *coverage, const blis_yaml_node *key,
                                     const blis_yaml_node *value, blis_error *error) {
  size_t count;
  const blis_spec_field *fields = blis_coverage_fields(&count);
  const char *name = blis_yaml_scalar(key).data;
  const blis_spec_field *field = blis_spec_find(fields, count, name);
  if (field == NULL) {
    blis_nearest nearest = {.wanted = name};
    return fail_unknown_key(key, &nearest, fields, count, error);
  }
  return read_field(coverage, field, value, error);
}

static blis_status read_coverage(blis_catalogue_coefficients *c, const blis_yaml_node *node,
                                 blis_error *error) {
  BLIS_TRY(blis_yaml_need_mapping(node, error));
  c->has_coverage = true;
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    BLIS_TRY(
        read_coverage_key(&c->coverage, blis_yaml_key(node, i), blis_yaml_item(node, i), error));
  }
  return BLIS_OK;
}

static blis_status read_coefficients_key(const reader *r, blis_catalogue_coefficients *c,
                                         const blis_yaml_node *key, const blis_yaml_node *value,
                                         blis_error *error) {
  const struct {
    const char *name;
    const char **text;
  } texts[] = {{"kind", &c->key.kind},
               {"model", &c->key.model},
               {"hardware", &c->key.hardware},
               {"version", &c->key.version}};
  const char *name = blis_yaml_scalar(key).data;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (strcmp(name, texts[i].name) == 0) {
      return copy_text(r, value, texts[i].text, error);
    }
  }
  blis_coefficients *values = &c->values;
  if (strcmp(name, "alpha") == 0) {
    return read_numbers(r, value, &values->alpha, &values->alpha_count, error);
  }
  if (strcmp(name, "beta") == 0) {
    return read_numbers(r, value, &values->beta, &values->beta_count, error);
  }
  if (strcmp(name, "tp") == 0) {
    return blis_yaml_int64(value, 1, TP_MAX, &c->key.tp, error);
  }
  if (strcmp(name, "kv_blocks") == 0) {
    return blis_yaml_int64(value, 1, INT64_MAX, &c->kv_blocks, error);
  }
  if (strcmp(name, "coverage") == 0) {
    return read_coverage(c, value, error);
  }
  blis_nearest nearest = {.wanted = name};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    blis_nearest_offer(&nearest, texts[i].name);
  }
  return fail_unknown_key(key, &nearest, NULL, 0, error);
}

static blis_status read_coefficients(const reader *r, const blis_yaml_node *node,
                                     blis_error *error) {
  blis_catalogue_coefficients *c = new_entry(r, sizeof *c);
  BLIS_TRY_NEW(c, error);
  c->source = r->source;
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    BLIS_TRY(read_coefficients_key(r, c, blis_yaml_key(node, i), blis_yaml_item(node, i), error));
  }
  BLIS_TRY(need_name(node, "kind", c->key.kind, error));
  blis_error fault;
  if (blis_coefficients_validate(&c->values, 1, c->key.kind, &fault) != BLIS_OK) {
    return fail_at(node, fault.message, error);
  }
  for (size_t i = 0; i < r->entries->coefficients.count; i++) {
    if (blis__equal_keys(&r->entries->coefficients.items[i]->key, &c->key)) {
      return fail_twice(node, c->key.model == NULL ? c->key.kind : c->key.model, error);
    }
  }
  blis_status status = blis_array_push(&r->catalogue->alloc, &r->entries->coefficients, c);
  return status == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

static blis_status read_composed(const reader *r, const blis_yaml_node *node, blis_error *error) {
  blis__gpu_constants *constants = new_entry(r, sizeof *constants);
  BLIS_TRY_NEW(constants, error);
  BLIS_TRY(blis__gpu_constants_read(&r->catalogue->arena, node, constants, error));
  for (size_t i = 0; i < r->entries->composed.count; i++) {
    if (blis__equal_names(r->entries->composed.items[i]->gpu, constants->gpu)) {
      return fail_twice(node, constants->gpu, error);
    }
  }
  blis_status status = blis_array_push(&r->catalogue->alloc, &r->entries->composed, constants);
  return status == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

static blis_status read_section(const reader *r, const blis_yaml_node *section, read_entry *read,
                                blis_error *error) {
  BLIS_TRY(blis_yaml_need_sequence(section, error));
  for (size_t i = 0; i < blis_yaml_count(section); i++) {
    const blis_yaml_node *entry = blis_yaml_item(section, i);
    BLIS_TRY(blis_yaml_need_mapping(entry, error));
    BLIS_TRY(read(r, entry, error));
  }
  return BLIS_OK;
}

static blis_status read_root(const reader *r, const blis_yaml_node *root, blis_error *error) {
  static const struct {
    const char *name;
    read_entry *read;
  } SECTIONS[] = {{"models", read_model},
                  {"hardware", read_hardware},
                  {"coefficients", read_coefficients},
                  {"composed", read_composed}};
  BLIS_TRY(blis_yaml_need_mapping(root, error));
  for (size_t i = 0; i < blis_yaml_count(root); i++) {
    const blis_yaml_node *key = blis_yaml_key(root, i);
    read_entry *read = NULL;
    for (size_t j = 0; j < sizeof SECTIONS / sizeof *SECTIONS; j++) {
      if (blis_slice_equals(blis_yaml_scalar(key), SECTIONS[j].name)) {
        read = SECTIONS[j].read;
      }
    }
    if (read == NULL) {
      return blis_yaml_fail(key, "is unknown; known are models, hardware, coefficients, composed",
                            error);
    }
    BLIS_TRY(read_section(r, blis_yaml_item(root, i), read, error));
  }
  return BLIS_OK;
}

blis_status blis__catalogue_read(blis_catalogue *catalogue, const char *name, const char *text,
                                 size_t size, blis__entries *entries, blis_error *error) {
  reader r = {.catalogue = catalogue, .entries = entries};
  r.source = blis_arena_text(&catalogue->arena, name, strlen(name));
  BLIS_TRY_NEW(r.source, error);
  blis_yaml *yaml;
  BLIS_TRY(blis_yaml_parse(&catalogue->alloc, name, (blis_slice){text, size}, &yaml, error));
  blis_status status = read_root(&r, blis_yaml_root(yaml), error);
  blis_yaml_free(yaml);
  return status;
}
