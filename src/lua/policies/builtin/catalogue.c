#include "lua/policies/builtin/catalogue.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "policy/contract/signals.h"
#include "policy/pipeline/scorer_list.h"
#include "policy/registry.h"

int bind_scorer_list(lua_State *L) {
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length);
  const char *place = luaL_checkstring(L, 2);
  blis_scorer_list list;
  blis_error error;
  blis_status status =
      strlen(text) == length
          ? blis_scorer_list_parse(&list, text, place, &error)
          : blis_fail(&error, BLIS_ERR_INVALID, "%s: the list contains a zero byte", place);
  check_status(L, status, &error);
  lua_createtable(L, (int)list.count, 0);
  for (size_t i = 0; i < list.count; i++) {
    lua_createtable(L, 2, 0);
    lua_pushstring(L, list.entries[i]->name);
    lua_rawseti(L, -2, 1);
    lua_pushnumber(L, list.weights[i]);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* Sets the default of a parameter, which the core uses if it is not set. */
static void set_usual_value(lua_State *L, const blis_param_spec *param) {
  switch (param->kind) {
  case BLIS_PARAM_BOOLEAN:
    lua_pushboolean(L, param->fallback != 0);
    break;
  case BLIS_PARAM_CHOICE:
    lua_pushlstring(L, param->choices, strcspn(param->choices, "|"));
    break;
  case BLIS_PARAM_TABLE: /* an empty table */
  case BLIS_PARAM_TEXTS:
  case BLIS_PARAM_TEXT_LISTS:
    return;
  default:
    push_signal(L, param->fallback);
  }
  lua_setfield(L, -2, "usual");
}

/* Pushes a parameter in the form in which lua/blis/config describes options. */
static void push_param(lua_State *L, const blis_param_spec *param) {
  static const char *const types[] = {"integer",       "number", "boolean",      "choice",
                                      "named_numbers", "texts",  "texts_by_name"};
  lua_createtable(L, 0, 8);
  set_field_string(L, "name", param->name);
  set_field_string(L, "type", types[param->kind]);
  set_field_string(L, "unit", param->unit);
  set_field_string(L, "doc", param->summary);
  set_usual_value(L, param);
  if (param->kind == BLIS_PARAM_CHOICE) {
    push_words(L, param->choices);
    lua_setfield(L, -2, "choices");
  } else if (param->kind != BLIS_PARAM_BOOLEAN && param->kind != BLIS_PARAM_TEXTS &&
             param->kind != BLIS_PARAM_TEXT_LISTS) {
    set_field_number(L, "min", param->minimum);
    set_field_number(L, "max", param->maximum);
  }
}

/* Sets the names of the options that delay signals of the entry, such as snapshot_refresh_us. */
static void set_ages(lua_State *L, const blis_policy_entry *entry) {
  static const char *const options[] = {"snapshot_refresh_us", "cache_signal_delay_us"};
  bool reads_signals = entry->kind == BLIS_POLICY_ROUTER || entry->kind == BLIS_POLICY_SCORER ||
                       entry->kind == BLIS_POLICY_FILTER || entry->kind == BLIS_POLICY_PICKER;
  if (!reads_signals) {
    return;
  }
  lua_createtable(L, 2, 0);
  for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
    for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
      if ((entry->needs & BLIS_SIGNAL_BIT(s)) != 0 &&
          strstr(blis_signal_freshness((blis_signal)s), options[k]) != NULL) {
        lua_pushstring(L, options[k]);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
        break;
      }
    }
  }
  lua_setfield(L, -2, "ages");
}

static void push_entry(lua_State *L, const blis_policy_entry *entry) {
  lua_createtable(L, 0, 6);
  set_field_string(L, "name", entry->name);
  push_words(L, entry->aliases == NULL ? "" : entry->aliases);
  lua_setfield(L, -2, "aliases");
  set_field_string(L, "summary", entry->summary);
  set_field_string(L, "source", entry->source);
  lua_createtable(L, (int)entry->param_count, 0);
  for (size_t i = 0; i < entry->param_count; i++) {
    push_param(L, &entry->params[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "options");
  set_ages(L, entry);
}

static const char *const kind_names[BLIS_POLICY_KIND_COUNT] = {
    "filters",      "scorers",     "pickers",
    "routers",      "admissions",  "priorities",
    "cascades",     "autoscalers", "saturation_detectors",
    "usage_limits", "deciders"};

static void push_kind(lua_State *L, blis_policy_kind kind) {
  size_t count = blis_policy_count(kind);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    push_entry(L, blis_policy_at(kind, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

int bind_policy_catalogue(lua_State *L) {
  const char *wanted = luaL_optstring(L, 1, NULL);
  if (wanted == NULL) {
    lua_createtable(L, 0, BLIS_POLICY_KIND_COUNT);
  }
  for (int kind = 0; kind < BLIS_POLICY_KIND_COUNT; kind++) {
    if (wanted == NULL) {
      push_kind(L, (blis_policy_kind)kind);
      lua_setfield(L, -2, kind_names[kind]);
    } else if (strcmp(wanted, kind_names[kind]) == 0) {
      push_kind(L, (blis_policy_kind)kind);
      return 1;
    }
  }
  return wanted == NULL ? 1 : 0;
}
