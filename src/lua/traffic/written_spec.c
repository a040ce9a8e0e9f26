#include "lua/traffic/written_spec.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "lua/bind/profile.h"
#include "lua/files/tree.h"
#include "lua/traffic/workload.h"
#include "workload/spec/compose.h"
#include "workload/spec/write.h"

static blis_written_spec **to_written(lua_State *L, int index) {
  return luaL_checkudata(L, index, WRITTEN_SPEC_TYPE);
}

static blis_written_spec *check_written(lua_State *L, int index) {
  blis_written_spec *written = *to_written(L, index);
  luaL_argcheck(L, written != NULL, index, "the specification is empty");
  return written;
}

const blis_workload_spec *check_written_spec(lua_State *L, int index) {
  return blis_written_spec_get(check_written(L, index));
}

static int written_gc(lua_State *L) {
  blis_written_spec **self = to_written(L, 1);
  blis_written_spec_free(*self);
  *self = NULL;
  return 0;
}

/* Returns whether a setting exists, and sets *value if so. */
static bool opt_setting(lua_State *L, const char *name, int64_t *value) {
  bool is_there = lua_getfield(L, 3, name) != LUA_TNIL;
  lua_pop(L, 1);
  *value = is_there ? check_field_integer(L, 3, name) : 0;
  return is_there;
}

static void check_settings(lua_State *L, blis_spec_settings *s) {
  luaL_checktype(L, 3, LUA_TTABLE);
  *s = (blis_spec_settings){
      .seed = check_field_integer(L, 3, "seed"),
      .replaces_seed = opt_field_boolean(L, 3, "replaces_seed", false),
      .horizon_us = opt_field_integer(L, 3, "horizon_us", 0),
      .replaces_horizon = opt_field_boolean(L, 3, "replaces_horizon", false),
      .lazy_tokens = opt_field_boolean(L, 3, "has_lazy_tokens", false),
      .rules = check_profile(L, 3)->workload,
      .keeps_group_prefixes = opt_field_boolean(L, 3, "keeps_group_prefixes", false),
      .refuses_adapters = opt_field_boolean(L, 3, "refuses_adapters", false),
      .may_be_endless = opt_field_boolean(L, 3, "is_only_read", false),
      .cohort_prefix = opt_field_string(L, 3, "cohort_prefix"),
  };
  s->replaces_num_requests = opt_setting(L, "num_requests", &s->num_requests);
  s->replaces_tokens = lua_getfield(L, 3, "has_lazy_tokens") != LUA_TNIL;
  lua_pop(L, 1);
  s->replaces_timeout = opt_setting(L, "timeout_us", &s->timeout_us);
}

int bind_written_spec_new(lua_State *L) {
  blis_spec_settings settings;
  check_settings(L, &settings);
  const char *place = luaL_checkstring(L, 2);
  blis_written_spec **self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = NULL;
  luaL_setmetatable(L, WRITTEN_SPEC_TYPE);
  int made = lua_gettop(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_status status;
  if (lua_type(L, 1) == LUA_TSTRING) {
    status = blis_written_spec_read(&alloc, lua_tostring(L, 1), &settings, self, &error);
  } else {
    settings.is_script = true;
    const blis_yaml *tree = push_tree(L, 1, place);
    status = blis_written_spec_from(&alloc, blis_yaml_root(tree), &settings, self, &error);
    status = status == BLIS_ERR_PARSE ? BLIS_ERR_INVALID : status;
    error.status = status;
  }
  check_status(L, status, &error);
  lua_settop(L, made);
  return 1;
}

static int written_notes(lua_State *L) {
  const blis_written_spec *written = check_written(L, 1);
  lua_newtable(L);
  for (size_t i = 0; i < blis_written_spec_note_count(written); i++) {
    lua_pushstring(L, blis_written_spec_note(written, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* spec:has_follow_ups(): returns whether requests wait for the responses to others. */
static int written_has_follow_ups(lua_State *L) {
  lua_pushboolean(L, blis_workload_spec_has_follow_ups(check_written_spec(L, 1)));
  return 1;
}

/* spec:totals(): returns { seed =, num_requests =, horizon_us = } */
static int written_totals(lua_State *L) {
  const blis_workload_spec *spec = check_written_spec(L, 1);
  lua_createtable(L, 0, 3);
  set_field_integer(L, "seed", spec->seed);
  set_field_integer(L, "num_requests", spec->num_requests);
  set_field_integer(L, "horizon_us", spec->horizon_us);
  return 1;
}

/* spec:goodput_targets(): returns { { slo_class =, ttft_ms =, ... }, ... }; 0 = none */
static int written_goodput_targets(lua_State *L) {
  const blis_workload_spec *spec = check_written_spec(L, 1);
  push_goodput_targets(L, spec->goodput_targets, spec->goodput_target_count);
  return 1;
}

static int written_tostring(lua_State *L) {
  const blis_workload_spec *spec = check_written_spec(L, 1);
  lua_pushfstring(L, "workload specification (%I requests, seed %I)",
                  (LUAI_UACINT)spec->num_requests, (LUAI_UACINT)spec->seed);
  return 1;
}

static int text_gc(lua_State *L) {
  blis_buffer_deinit(lua_touserdata(L, 1));
  return 0;
}

/* Pushes a specification as YAML. */
static void push_yaml(lua_State *L, const blis_workload_spec *spec) {
  blis_buffer *text = push_guarded(L, 1, sizeof *text, text_gc);
  blis_alloc alloc = bind_alloc(L);
  blis_buffer_init(text, &alloc);
  blis_workload_spec_write(spec, text);
  check_status(L, blis_buffer_status(text), NULL);
  lua_pushstring(L, blis_buffer_text(text));
}

/* spec:yaml() */
static int written_yaml(lua_State *L) {
  push_yaml(L, check_written_spec(L, 1));
  return 1;
}

/* spec:is_spread(): returns whether requests are spread over a time, which cannot be written to
   a file. */
static int written_is_spread(lua_State *L) {
  const blis_workload_spec *spec = check_written_spec(L, 1);
  bool is_spread = false;
  for (size_t i = 0; i < spec->client_count; i++) {
    is_spread = is_spread || spec->clients[i].spread_count > 0;
  }
  lua_pushboolean(L, is_spread);
  return 1;
}

static int arena_gc(lua_State *L) {
  blis_arena_deinit(lua_touserdata(L, 1));
  return 0;
}

/* Notes of a composition; static strings. */
typedef struct note_list {
  const char *texts[32];
  size_t count;
} note_list;

static blis_status add_note(void *ud, const char *text) {
  note_list *list = ud;
  if (list->count < sizeof list->texts / sizeof *list->texts) {
    list->texts[list->count++] = text;
  }
  return BLIS_OK;
}

/* Pushes a buffer with the parts {{name, spec}, ...} at index 1. */
static blis_spec_part *push_parts(lua_State *L, size_t *count) {
  luaL_checktype(L, 1, LUA_TTABLE);
  *count = lua_rawlen(L, 1);
  luaL_argcheck(L, *count > 0, 1, "nothing to compose");
  blis_spec_part *parts = push_buffer(L, *count, sizeof *parts);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2); /* the list keeps both alive */
    parts[i] = (blis_spec_part){.name = luaL_checkstring(L, -2),
                                .spec = check_written_spec(L, lua_gettop(L))};
    lua_pop(L, 3);
  }
  return parts;
}

int bind_workload_compose(lua_State *L) {
  size_t count;
  const blis_spec_part *parts = push_parts(L, &count);
  blis_arena *arena = push_guarded(L, 1, sizeof *arena, arena_gc);
  blis_alloc alloc = bind_alloc(L);
  blis_arena_init(arena, &alloc);
  note_list notes = {.count = 0};
  blis_workload_spec whole;
  blis_error error = {0};
  check_status(L, blis_workload_spec_compose(parts, count, arena, &whole, add_note, &notes, &error),
               &error);
  push_yaml(L, &whole);
  lua_newtable(L);
  for (size_t i = 0; i < notes.count; i++) {
    lua_pushstring(L, notes.texts[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 2;
}

/* Sets a limit as an integer; sets nothing if there is no limit. */
static void set_limit(lua_State *L, const char *name, double limit) {
  if (limit - limit == 0) {
    set_field_integer(L, name, (int64_t)limit);
  }
}

/* Pushes the description of a key, in the form of an option (blis.config.schema). */
static void push_key(lua_State *L, const blis_spec_key *key) {
  const blis_key *value = key->value;
  lua_createtable(L, 0, 10);
  set_field_string(L, "name", value->name);
  set_field_string(L, "type", key->type);
  set_field_string(L, "doc", value->summary);
  set_field_string(L, "unit", value->unit);
  set_field_string(L, "section", key->section);
  if (value->choices != NULL) {
    push_words(L, value->choices);
    lua_setfield(L, -2, "choices");
  }
  if (key->alias != NULL) {
    push_words(L, key->alias);
    lua_setfield(L, -2, "aliases");
  }
  bool is_boolean = strcmp(key->type, "boolean") == 0;
  if (!is_boolean && value->choices == NULL && value->maximum > value->minimum) {
    set_limit(L, value->is_above ? "above" : "min", value->minimum);
    set_limit(L, "max", value->maximum);
  }
  lua_pushboolean(L, key->is_required);
  lua_setfield(L, -2, "required");
  if (key->is_usually_zero && is_boolean) {
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "default");
  } else if (key->is_usually_zero) {
    set_field_integer(L, "default", 0);
  } else {
    set_field_string(L, "default", value->usual);
  }
}

int bind_workload_keys(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < blis_spec_section_count(); i++) {
    lua_createtable(L, 0, 3);
    set_field_string(L, "name", blis_spec_section_name(i));
    set_field_string(L, "summary", blis_spec_section_summary(i));
    lua_newtable(L);
    blis_spec_key key;
    for (size_t j = 0; blis_spec_section_key(i, j, &key); j++) {
      push_key(L, &key);
      lua_rawseti(L, -2, (lua_Integer)j + 1);
    }
    lua_setfield(L, -2, "options");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static const luaL_Reg written_meta[] = {
    {"__gc", written_gc},
    {"__tostring", written_tostring},
    {NULL, NULL},
};

static const luaL_Reg written_methods[] = {
    {"goodput_targets", written_goodput_targets},
    {"has_follow_ups", written_has_follow_ups},
    {"is_spread", written_is_spread},
    {"notes", written_notes},
    {"totals", written_totals},
    {"yaml", written_yaml},
    {NULL, NULL},
};

void bind_open_written_specs(lua_State *L) {
  push_new_type(L, WRITTEN_SPEC_TYPE, written_meta, written_methods);
  lua_pop(L, 1);
}
