#include "lua/engine/catalogue.h"

#include <stdio.h>
#include <string.h>

#include "latency/hardware/hardware_spec.h"
#include "latency/kv/kv_capacity.h"
#include "latency/layers/totals.h"
#include "latency/model/layered_spec.h"
#include "latency/model/model_config.h"
#include "latency/model/model_spec.h"
#include "lua/bind/bind.h"
#include "lua/bind/embedded.h"

#define CATALOGUE_TYPE "blis.catalogue"

static int catalogue_gc(lua_State *L) {
  blis_catalogue **self = luaL_checkudata(L, 1, CATALOGUE_TYPE);
  blis_catalogue_free(*self);
  *self = NULL;
  return 0;
}

static void push_catalogue_type(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", catalogue_gc}, {NULL, NULL}};
  push_new_type(L, CATALOGUE_TYPE, meta, NULL);
}

static void check_added(lua_State *L, blis_catalogue *catalogue, const char *name, const char *text,
                        size_t size) {
  blis_error error = {0};
  check_status(L, blis_catalogue_add_yaml(catalogue, name, text, size, &error), &error);
}

/* Constants of the composed step-time model. */
#define COMPOSED_FILE "latency/composed.yaml"

/* Errors of that model, which engine/residuals.lua reads. */
#define RESIDUALS_FILE "validation/residuals.yaml"

/* Use of an embedded file by a catalog. Files that are not listed here and end in ".yaml" are
   read at once. */
typedef struct embedded_use {
  const char *name;
  bool is_deferred; /* read on first need, so that other runs do not incur its cost */
  const char *kind; /* a deferred file contains only coefficients of this kind */
} embedded_use;

static const embedded_use USES[] = {
    {"hardware/more_gpus.yaml", true, NULL},
    {"latency/blackbox.yaml", true, "blackbox"},
    {"latency/calibrated.yaml", true, "calibrated"},
    {COMPOSED_FILE, false, NULL}, /* loaded by name, like the next one */
    {RESIDUALS_FILE, false, NULL},
    {"models/layered.yaml", true, NULL},
};

static const embedded_use *find_use(const char *name) {
  for (size_t i = 0; i < sizeof USES / sizeof *USES; i++) {
    if (strcmp(name, USES[i].name) == 0) {
      return &USES[i];
    }
  }
  return NULL;
}

/* Adds an embedded file to the catalog, which Lua owns. */
static void check_embedded_file(lua_State *L, blis_catalogue *catalogue,
                                const blis_embedded_file *file) {
  const char *ending = strrchr(file->name, '.');
  const embedded_use *use = find_use(file->name);
  if (ending == NULL || strcmp(ending, ".yaml") != 0) {
    return;
  }
  if (use == NULL) {
    check_added(L, catalogue, file->name, file->bytes, file->size);
  } else if (use->is_deferred) {
    check_status(L,
                 blis_catalogue_defer_coefficients(catalogue, use->kind, file->name, file->bytes,
                                                   file->size),
                 NULL);
  }
}

static void check_embedded(lua_State *L, blis_catalogue *catalogue) {
  for (size_t i = 0; i < blis_embedded_data.count; i++) {
    check_embedded_file(L, catalogue, &blis_embedded_data.files[i]);
  }
}

static void check_embedded_composed(lua_State *L, blis_catalogue *catalogue) {
  const blis_embedded_file *file = blis_embedded_find(COMPOSED_FILE);
  check_added(L, catalogue, file->name, file->bytes, file->size);
}

/* Pushes a new catalog that contains the built-in entries. */
static blis_catalogue *
push_filled_catalogue(lua_State *L, void (*fill)(lua_State *L, blis_catalogue *catalogue)) {
  blis_catalogue **self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = NULL;
  push_catalogue_type(L);
  lua_setmetatable(L, -2);
  blis_alloc alloc = bind_alloc(L);
  *self = blis_catalogue_new(&alloc);
  if (*self == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  fill(L, *self);
  return *self;
}

static blis_catalogue *push_embedded_catalogue(lua_State *L) {
  return push_filled_catalogue(L, check_embedded);
}

/* Returns the catalog in a field of the registry, which the first call fills. */
static const blis_catalogue *check_registered(lua_State *L, const char *field,
                                              void (*fill)(lua_State *L,
                                                           blis_catalogue *catalogue)) {
  lua_getfield(L, LUA_REGISTRYINDEX, field);
  blis_catalogue **self = lua_touserdata(L, -1);
  if (self != NULL && *self != NULL) { /* a state that is closing has already freed it */
    lua_pop(L, 1);
    return *self;
  }
  const blis_catalogue *catalogue = push_filled_catalogue(L, fill);
  lua_setfield(L, LUA_REGISTRYINDEX, field);
  lua_pop(L, 1);
  return catalogue;
}

const blis_catalogue *check_catalogue(lua_State *L) {
  return check_registered(L, "blis.the_catalogue", check_embedded);
}

/* Name of the entry for all GPUs without a separate entry. */
#define OTHER_GPU "other"

const blis__gpu_constants *check_composed_constants(lua_State *L, const blis_catalogue *catalogue,
                                                    const char *gpu) {
  const blis__gpu_constants *constants = blis__catalogue_composed(catalogue, gpu);
  if (constants != NULL) {
    return constants;
  }
  const blis_catalogue *shipped =
      check_registered(L, "blis.composed_constants", check_embedded_composed);
  constants = blis__catalogue_composed(shipped, gpu);
  return constants != NULL ? constants : blis__catalogue_composed(shipped, OTHER_GPU);
}

#define STEP_CACHE_FIELD "blis.step_cache"

static int step_cache_gc(lua_State *L) {
  blis_step_cache **self = lua_touserdata(L, 1);
  blis_step_cache_free(*self);
  *self = NULL;
  return 0;
}

blis_step_cache *check_step_cache(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, STEP_CACHE_FIELD);
  blis_step_cache **self = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (self != NULL) {
    return *self;
  }
  self = push_guarded(L, 1, sizeof *self, step_cache_gc);
  blis_alloc alloc = bind_alloc(L);
  *self = blis_step_cache_new(&alloc);
  if (*self == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  lua_setfield(L, LUA_REGISTRYINDEX, STEP_CACHE_FIELD);
  return *self;
}

blis__kernel_tables shipped_kernel_tables(void) {
  blis__kernel_tables tables = {0};
  for (int kind = 0; kind < BLIS__TABLE_COUNT; kind++) {
    char name[64];
    snprintf(name, sizeof name, "kernels/%s", blis__table_file((blis__table_kind)kind));
    const blis_embedded_file *file = blis_embedded_find(name);
    if (file != NULL) {
      tables.texts[kind] = (blis_slice){file->bytes, file->size};
    }
  }
  return tables;
}

int bind_check_kernel_table(lua_State *L) {
  const char *file = luaL_checkstring(L, 1);
  const char *name = luaL_checkstring(L, 2);
  blis_slice text;
  text.data = luaL_checklstring(L, 3, &text.length);
  for (int kind = 0; kind < BLIS__TABLE_COUNT; kind++) {
    if (strcmp(file, blis__table_file((blis__table_kind)kind)) == 0) {
      blis_error error = {0};
      check_status(L, blis__kernel_table_check((blis__table_kind)kind, name, text, &error), &error);
      return 0;
    }
  }
  return luaL_argerror(L, 1, "must be gemm.csv, moe.csv, or allreduce.csv");
}

/* Returns the catalog at index, or the built-in catalog for nil. */
static const blis_catalogue *opt_catalogue(lua_State *L, int index) {
  if (lua_isnoneornil(L, index)) {
    return check_catalogue(L);
  }
  blis_catalogue **self = luaL_checkudata(L, index, CATALOGUE_TYPE);
  luaL_argcheck(L, *self != NULL, index, "the catalogue is gone");
  return *self;
}

const blis_catalogue *check_catalogue_of(lua_State *L, int index) {
  lua_getfield(L, index, "catalogue");
  const blis_catalogue *catalogue = opt_catalogue(L, lua_gettop(L));
  lua_pop(L, 1);
  return catalogue;
}

int bind_catalogue_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  blis_catalogue *catalogue = push_embedded_catalogue(L);
  lua_Integer count = luaL_len(L, 1);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 1, i);
    luaL_checktype(L, -1, LUA_TTABLE);
    const char *name = check_field_string(L, -1, "name");
    lua_getfield(L, -1, "text");
    size_t size = 0;
    const char *text = luaL_checklstring(L, -1, &size);
    check_added(L, catalogue, name, text, size);
    lua_settop(L, 2);
  }
  return 1;
}

static void push_texts(lua_State *L, const char *const *texts, size_t count) {
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_pushstring(L, texts[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Sets every member of a description that is stated. */
static void set_spec(lua_State *L, const void *spec, const blis_spec_field *fields, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const blis_spec_field *field = &fields[i];
    if (field->kind == BLIS_SPEC_TEXT) {
      const char *text = blis_spec_get_text(spec, field);
      lua_pushstring(L, text[0] == '\0' ? NULL : text);
    } else {
      double number = blis_spec_get_number(spec, field);
      if (number == 0) {
        lua_pushnil(L);
      } else if (field->kind == BLIS_SPEC_FLAG) {
        lua_pushboolean(L, 1);
      } else {
        push_signal(L, number);
      }
    }
    lua_setfield(L, -2, field->name);
  }
}

/* Returns the catalog at index with every entry, for a listing. */
static const blis_catalogue *check_whole_catalogue(lua_State *L, int index) {
  const blis_catalogue *catalogue = opt_catalogue(L, index);
  blis_error error = {0};
  check_status(L, blis_catalogue_read_deferred(catalogue, &error), &error);
  return catalogue;
}

/* Sets list.fields, the names of the members in order. */
static void set_field_names(lua_State *L, const blis_spec_field *fields, size_t count) {
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_pushstring(L, fields[i].name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "fields");
}

/* Sets the dimensions of a model and the memory of its weights. */
static void set_model_spec(lua_State *L, const blis_model_spec *spec) {
  size_t count = 0;
  const blis_spec_field *fields = blis_model_spec_fields(&count);
  set_spec(L, spec, fields, count);
  blis_model_spec built = *spec;
  built.counts_as_built = true;
  int64_t weight_bytes = 0;
  if (blis_model_weight_bytes(&built, &weight_bytes, NULL) == BLIS_OK) {
    set_field_integer(L, "weight_bytes", weight_bytes);
  }
}

/* Sets the bytes of the weights, which are exact for a model with layers. */
static void set_model_weights(lua_State *L, const blis_catalogue_model *model) {
  if (model->layered != NULL) {
    set_field_integer(L, "weight_bytes", (int64_t)blis_layered_weight_bytes(model->layered));
  }
}

static void push_model(lua_State *L, const blis_catalogue *catalogue,
                       const blis_catalogue_model *model) {
  const blis_catalogue_model *listed = NULL;
  blis_error error = {0};
  if (!model->has_dimensions) {
    check_status(L, blis_catalogue_find_layered(catalogue, model, &listed, &error), &error);
  }
  const blis_catalogue_model *described = listed != NULL ? listed : model;
  lua_createtable(L, 0, 32);
  if (described->has_dimensions) {
    set_model_spec(L, &described->spec);
  }
  set_model_weights(L, described);
  set_field_string(L, "id", model->id);
  push_texts(L, model->aliases, model->alias_count);
  lua_setfield(L, -2, "aliases");
  if (described->hardware[0] != '\0') {
    set_field_string(L, "hardware", described->hardware);
  }
  if (described->tp > 0) {
    set_field_integer(L, "tp", described->tp);
  }
  lua_pushboolean(L, described->has_dimensions);
  lua_setfield(L, -2, "has_dimensions");
  set_field_string(L, "source", described->source);
}

int bind_catalogue_models(lua_State *L) {
  const blis_catalogue *catalogue = check_whole_catalogue(L, 1);
  size_t count = 0;
  const blis_spec_field *fields = blis_model_spec_fields(&count);
  lua_newtable(L);
  set_field_names(L, fields, count);
  for (size_t i = 0; i < blis_catalogue_model_count(catalogue); i++) {
    push_model(L, catalogue, blis_catalogue_model_at(catalogue, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

int bind_catalogue_hardware(lua_State *L) {
  const blis_catalogue *catalogue = check_whole_catalogue(L, 1);
  size_t count = 0;
  const blis_spec_field *fields = blis_hardware_spec_fields(&count);
  lua_newtable(L);
  set_field_names(L, fields, count);
  for (size_t i = 0; i < blis_catalogue_hardware_count(catalogue); i++) {
    const blis_catalogue_hardware *one = blis_catalogue_hardware_at(catalogue, i);
    lua_createtable(L, 0, 12);
    set_spec(L, &one->spec, fields, count);
    set_field_string(L, "name", one->name);
    push_texts(L, one->aliases, one->alias_count);
    lua_setfield(L, -2, "aliases");
    set_field_string(L, "source", one->source);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

int bind_catalogue_gpu_memory(lua_State *L) {
  const char *name = luaL_optstring(L, 1, ENGINE_USUAL_GPU);
  const blis_catalogue_hardware *hardware = NULL;
  blis_error error = {0};
  check_status(L, blis_catalogue_find_hardware(opt_catalogue(L, 2), name, &hardware, &error),
               &error);
  lua_pushstring(L, hardware->name);
  lua_pushnumber(L, blis_hardware_spec_usable_gib(&hardware->spec));
  return 2;
}

int bind_catalogue_model_id(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  const blis_catalogue_model *model = NULL;
  blis_error error = {0};
  check_status(L, blis_catalogue_find_model(opt_catalogue(L, 2), name, &model, &error), &error);
  lua_pushstring(L, model->id);
  lua_pushstring(L, model->hardware[0] == '\0' ? NULL : model->hardware);
  return 2;
}

void check_model_file(lua_State *L, const char *path, const char *name, blis_model_spec *spec) {
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_model_config_load(&alloc, path, name, spec, &error), &error);
  /* The name implies the precision if the file does not state it. */
  if (spec->weight_bytes_per_param == 0) {
    spec->weight_bytes_per_param = blis_model_weight_bytes_from_name(name);
  }
}

void check_layered_file(lua_State *L, const char *path, const char *name,
                        const blis_model_options *options, blis_layered_model *layered) {
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_model_read_path(&alloc, path, name, options, layered, &error), &error);
}

static int layered_gc(lua_State *L) {
  blis_layered_model_free(lua_touserdata(L, 1));
  return 0;
}

int bind_model_config(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  const char *name = luaL_checkstring(L, 2);
  lua_settop(L, 2);
  blis_layered_model *layered = push_guarded(L, 1, sizeof *layered, layered_gc);
  check_layered_file(L, path, name, NULL, layered);
  blis_model_spec spec = blis_layered_model_spec(layered);
  lua_createtable(L, 0, 32);
  set_model_spec(L, &spec);
  set_field_integer(L, "weight_bytes", (int64_t)blis_layered_weight_bytes(layered));
  set_field_string(L, "id", name);
  lua_newtable(L);
  lua_setfield(L, -2, "aliases");
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, "has_dimensions");
  set_field_string(L, "source", path);
  return 1;
}
