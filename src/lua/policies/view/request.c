#include "lua/policies/view/request.h"

#include <string.h>

#include "base/hash.h"
#include "base/nearest.h"
#include "lua/bind/bind.h"
#include "lua/policies/view/hints.h"
#include "policy/contract/facts.h"

typedef enum field_kind {
  FIELD_INTEGER,
  FIELD_NUMBER,  /* bits of a double */
  FIELD_ID,      /* "request_<number>" */
  FIELD_TEXT,    /* number of a string */
  FIELD_NAME,    /* number of a generated string, not from the user */
  FIELD_MOMENT,  /* a time of the run */
  FIELD_TIME,    /* like FIELD_MOMENT; 0 means none and is shown as nil */
  FIELD_SPAN,    /* 0 means none and is shown as nil */
  FIELD_PEER,    /* like FIELD_SPAN, for the peer instance */
  FIELD_HINTS,   /* a table of the priority policy, or nil */
  FIELD_PROGRAM, /* a table, or nil */
  FIELD_TENANTS, /* a table of all tenants */
  FIELD_STAGE,   /* one of BLIS_ROLE_* as a word, or nil */
  FIELD_FUTURE,  /* shown in oracle experiments only */
} field_kind;

/* XX(constant, name, kind, value, from request r and view v) */
#define REQUEST_FIELD_MAP(XX)                                                                      \
  XX(ID, "id", FIELD_ID, r->number)                                                                \
  XX(PROMPT_TOKENS, "prompt_tokens", FIELD_INTEGER, r->prompt_tokens)                              \
  XX(MAX_OUTPUT_TOKENS, "max_output_tokens", FIELD_INTEGER, r->max_output_tokens)                  \
  XX(OUTPUT_TOKENS, "output_tokens", FIELD_FUTURE, r->output_tokens)                               \
  XX(TENANT, "tenant", FIELD_TEXT, r->tenant)                                                      \
  XX(SLO_CLASS, "slo_class", FIELD_TEXT, r->slo_class)                                             \
  XX(MODEL, "model", FIELD_TEXT, r->model)                                                         \
  XX(SESSION, "session", FIELD_NAME, r->session)                                                   \
  XX(CLIENT, "client", FIELD_TEXT, r->client)                                                      \
  XX(ADAPTER, "adapter", FIELD_TEXT, r->adapter)                                                   \
  XX(PREFIX_GROUP, "prefix_group", FIELD_NAME, r->prefix_group)                                    \
  XX(PREFIX_TOKENS, "prefix_tokens", FIELD_INTEGER, r->prefix_tokens)                              \
  XX(ROUND_INDEX, "round_index", FIELD_INTEGER, r->round_index)                                    \
  XX(PRIORITY, "priority", FIELD_NUMBER, priority_bits(view, r))                                   \
  XX(HINTS, "hints", FIELD_HINTS, 0)                                                               \
  XX(PROGRAM, "program", FIELD_PROGRAM, program_hash(r))                                           \
  XX(TENANT_REQUESTS, "tenant_requests", FIELD_INTEGER, traffic_of(r, v).tenant_requests)          \
  XX(TENANT_ACTIVE, "tenant_active", FIELD_INTEGER, traffic_of(r, v).tenant_active)                \
  XX(TENANT_RATE, "tenant_rate", FIELD_NUMBER, bits_of(traffic_of(r, v).tenant_rate))              \
  XX(TENANTS, "tenants", FIELD_TENANTS, 0)                                                         \
  XX(REQUEST_RATE, "request_rate", FIELD_NUMBER, bits_of(traffic_of(r, v).request_rate))           \
  XX(GATEWAY_QUEUE_SIZE, "gateway_queue_size", FIELD_INTEGER, pool_of(r, v).gateway_queue_size)    \
  XX(POOL_SATURATION, "pool_saturation", FIELD_NUMBER, bits_of(pool_of(r, v).pool_saturation))     \
  XX(PREFIX_HASH, "prefix_hash", FIELD_INTEGER, prefix_hash(view, r))                              \
  XX(ARRIVAL_US, "arrival_us", FIELD_MOMENT, r->arrival_us)                                        \
  XX(DEADLINE_US, "deadline_us", FIELD_TIME, r->deadline_us)                                       \
  XX(SLO_TARGET_US, "slo_target_us", FIELD_SPAN, r->slo_target_us)                                 \
  XX(STAGE, "stage", FIELD_STAGE, r->stage)                                                        \
  XX(PEER, "peer", FIELD_PEER, r->stage != 0 ? r->peer + 1 : 0)                                    \
  XX(NOW_US, "now_us", FIELD_MOMENT, v->now_us)

typedef enum request_field {
#define XX(constant, name, kind, value) REQUEST_##constant,
  REQUEST_FIELD_MAP(XX)
#undef XX
      REQUEST_FIELD_COUNT
} request_field;

_Static_assert((int)REQUEST_FIELD_COUNT <= (int)REQUEST_FIELDS_MAX, "bits");

static const struct {
  const char *name;
  field_kind kind;
} request_fields[] = {
#define XX(constant, name, kind, value) {name, kind},
    REQUEST_FIELD_MAP(XX)
#undef XX
};

static int64_t bits_of(double number) {
  int64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

/* Returns the bits of the priority in the form that scripts read. */
static int64_t priority_bits(const bind_view *view, const blis_routing_request *request) {
  return bits_of(bind_view_priority(view, request->priority));
}

static void push_number(lua_State *L, int64_t bits) {
  double number;
  memcpy(&number, &bits, sizeof number);
  push_signal(L, number);
}

static blis_traffic_state traffic_of(const blis_routing_request *request,
                                     const blis_routing_view *view) {
  return request->traffic == NULL
             ? (blis_traffic_state){0}
             : request->traffic(request->traffic_ud, request->tenant, view->now_us);
}

static blis_pool_state pool_of(const blis_routing_request *request, const blis_routing_view *view) {
  return request->pool == NULL ? (blis_pool_state){0} : request->pool(request->pool_ud, view);
}

/* Returns the hash of the shared part of the prompt; 0 if nothing is shared. */
static int64_t prefix_hash(const bind_view *view, const blis_routing_request *request) {
  if (request->segment_count == 0) {
    return 0;
  }
  const blis_segment *first = &request->segments[0];
  const uint64_t name[] = {first->stream, first->offset_tokens, first->length_tokens};
  const uint64_t key = view->hooks->alias.key;
  return (int64_t)(blis_hash64(name, sizeof name, key) >> 11) + 1;
}

/* Returns a value that changes with every visible property of a program; 0 without a program. */
static int64_t program_hash(const blis_routing_request *request) {
  const blis_call *call = request->call;
  if (call == NULL) {
    return 0;
  }
  const int64_t shown[] = {request->number, call->program->ended_requests,
                           call->program->started_us, (int64_t)call->program->root_session,
                           (int64_t)call->program->name};
  return (int64_t)(blis_hash64(shown, sizeof shown, 0) >> 1) + 1;
}

static void set_known(lua_State *L, const char *name, int64_t value) {
  if (value >= 0) {
    set_field_integer(L, name, value);
  }
}

/* Pushes a table about the program of the request; nil without a program. */
static void push_program(lua_State *L, const bind_view *view) {
  const blis_routing_request *request = view->request;
  const blis_call *call = request->call;
  const bind_alias *alias = &view->hooks->alias;
  if (call == NULL) {
    lua_pushnil(L);
    return;
  }
  const blis_program *program = call->program;
  const blis_intern *strings = request->strings;
  lua_createtable(L, 0, 10);
  push_alias_text(L, alias, blis_intern_text(strings, program->name),
                  blis_intern_length(strings, program->name));
  lua_setfield(L, -2, "id");
  push_alias_text(L, alias, blis_intern_text(strings, program->root_session),
                  blis_intern_length(strings, program->root_session));
  lua_setfield(L, -2, "root_session");
  push_alias_text(L, alias, blis_intern_text(strings, call->parent_session),
                  blis_intern_length(strings, call->parent_session));
  lua_setfield(L, -2, "parent_session");
  set_field_integer(L, "started_us", bind_alias_us(alias, program->started_us));
  set_field_integer(L, "ended_requests", program->ended_requests);
  set_field_integer(L, "prompt_tokens", program->prompt_tokens);
  set_field_integer(L, "output_tokens", program->output_tokens);
  set_field_integer(L, "service_us", program->service_us);
  set_field_integer(L, "path_service_us", call->path_service_us);
  set_known(L, "requests_left", program->requests_left);
  set_known(L, "reused_after_us", call->reused_after_us);
}

/* Pushes the state of all tenants by name; an empty table if it is not maintained. */
static void push_tenants(lua_State *L, const bind_view *view) {
  const blis_routing_request *r = view->request;
  uint32_t limit = traffic_of(r, view->view).tenant_limit;
  lua_newtable(L);
  for (uint32_t i = 0; i < limit; i++) {
    const blis_traffic_state state = r->traffic(r->traffic_ud, i, view->view->now_us);
    if (state.tenant_requests == 0) {
      continue;
    }
    lua_pushlstring(L, blis_intern_text(r->strings, i), blis_intern_length(r->strings, i));
    lua_createtable(L, 0, 4);
    set_field_integer(L, "requests", state.tenant_requests);
    set_field_integer(L, "active", state.tenant_active);
    push_signal(L, state.tenant_rate);
    lua_setfield(L, -2, "rate");
    lua_pushlstring(L, blis_intern_text(r->strings, state.slo_class),
                    blis_intern_length(r->strings, state.slo_class));
    lua_setfield(L, -2, "slo_class");
    lua_rawset(L, -3);
  }
}

static int64_t request_value(const bind_view *view, request_field field) {
  const blis_routing_request *r = view->request;
  const blis_routing_view *v = view->view;
  switch (field) {
#define XX(constant, name, kind, value)                                                            \
  case REQUEST_##constant:                                                                         \
    return (int64_t)(value);
    REQUEST_FIELD_MAP(XX)
#undef XX
  case REQUEST_FIELD_COUNT:
    break;
  }
  return 0;
}

static void push_stage(lua_State *L, int64_t stage) {
  if (stage == 0) {
    lua_pushnil(L);
  } else {
    lua_pushstring(L, stage == BLIS_ROLE_PREFILL ? "prefill" : "decode");
  }
}

static void push_request_value(lua_State *L, const bind_view *view, request_field field,
                               int64_t value) {
  const blis_routing_request *request = view->request;
  const blis_intern *strings = request->strings;
  const bind_request_name name = {.number = request->number,
                                  .session = blis_intern_text(strings, request->session),
                                  .round_index = request->round_index};
  const bind_alias *alias = &view->hooks->alias;
  switch (request_fields[field].kind) {
  case FIELD_ID:
    push_alias_request(L, alias, &name);
    return;
  case FIELD_NAME:
    push_alias_text(L, alias, blis_intern_text(strings, (uint32_t)value),
                    blis_intern_length(strings, (uint32_t)value));
    return;
  case FIELD_TEXT:
    lua_pushlstring(L, blis_intern_text(strings, (uint32_t)value),
                    blis_intern_length(strings, (uint32_t)value));
    return;
  case FIELD_STAGE:
    push_stage(L, value);
    return;
  case FIELD_HINTS:
    push_hints(L, view, request->slot);
    return;
  case FIELD_PROGRAM:
    push_program(L, view);
    return;
  case FIELD_TENANTS:
    push_tenants(L, view);
    return;
  case FIELD_TIME:
  case FIELD_SPAN:
  case FIELD_PEER:
    if (value == 0) {
      lua_pushnil(L);
      return;
    }
    break;
  case FIELD_MOMENT:
    break;
  case FIELD_NUMBER:
    push_number(L, value);
    return;
  case FIELD_INTEGER:
  case FIELD_FUTURE:
    break;
  }
  const bool is_time =
      request_fields[field].kind == FIELD_MOMENT || request_fields[field].kind == FIELD_TIME;
  lua_pushinteger(L, is_time ? bind_alias_us(alias, value) : value);
}

/* Returns a number that is equal for equal hints while a table refers to them; 0 without hints. */
static int64_t hints_value(lua_State *L, const bind_view *view) {
  push_hints(L, view, view->request->slot);
  int64_t value = (int64_t)(intptr_t)lua_topointer(L, -1);
  lua_pop(L, 1);
  return value;
}

/* Returns a number that changes with the value of a field. Tenants may change at any time. */
static int64_t version_of(lua_State *L, const bind_view *view, request_field field) {
  switch (request_fields[field].kind) {
  case FIELD_HINTS:
    return hints_value(L, view);
  case FIELD_TENANTS:
    return view->request_values[field] == 0;
  default:
    return request_value(view, field);
  }
}

/* Sets table.field to value, unless the table already has it. */
static void refresh_field(lua_State *L, bind_view *view, int table, request_field field) {
  int64_t value = version_of(L, view, field);
  if (view->request_values[field] != value) {
    push_request_value(L, view, field, value);
    lua_setfield(L, table, request_fields[field].name);
    view->request_values[field] = value;
  }
}

static request_field check_request_field(lua_State *L, int index) {
  const char *name = luaL_tolstring(L, index, NULL);
  blis_nearest nearest = {.wanted = name};
  for (int i = 0; i < REQUEST_FIELD_COUNT; i++) {
    if (strcmp(name, request_fields[i].name) == 0) {
      return (request_field)i;
    }
    blis_nearest_offer(&nearest, request_fields[i].name);
  }
  blis_suggestion suggestion =
      blis_nearest_suggest_or(&nearest, "'blis help Request' lists its fields, "
                                        "such as prompt_tokens and session");
  luaL_error(L, "a request has no field '%s'%s", name, suggestion.text);
  return REQUEST_FIELD_COUNT;
}

/* Handles the first read of a field, or a read of a field that is nil. */
static int request_index(lua_State *L) {
  bind_view *view = lua_touserdata(L, lua_upvalueindex(1));
  request_field field = check_request_field(L, 2);
  if (view->view == NULL) {
    return luaL_error(L, "a request can be read only during a decision about it");
  }
  if (request_fields[field].kind == FIELD_FUTURE && !view->oracle) {
    return luaL_error(L,
                      "request.%s lies in the future; policies see it only "
                      "with oracle = true in the experiment",
                      request_fields[field].name);
  }
  if (field == REQUEST_POOL_SATURATION && view->is_strict) {
    return luaL_error(L, "request.pool_saturation is computed from all instances, so "
                         "locality = 'strict' hides it from policies; oracle = true "
                         "shows it");
  }
  if ((view->request_fields & (UINT32_C(1) << field)) == 0) {
    view->request_fields |= UINT32_C(1) << field;
    view->request_values[field] = INT64_MIN; /* differs from every value */
    refresh_field(L, view, 1, field);
  }
  push_request_value(L, view, field, request_value(view, field));
  return 1;
}

void push_request_table(lua_State *L, bind_view *view) {
  lua_createtable(L, 0, REQUEST_FIELD_COUNT);
  lua_createtable(L, 0, 2);
  lua_pushlightuserdata(L, view);
  lua_pushcclosure(L, request_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
}

void push_view_request(lua_State *L, bind_view *view, int anchor) {
  lua_rawgeti(L, anchor, ANCHOR_REQUEST);
  int table = lua_gettop(L);
  for (int field = 0; view->request_fields >> field != 0; field++) {
    if ((view->request_fields >> field & 1) != 0) {
      refresh_field(L, view, table, (request_field)field);
    }
  }
}
