#include "lua/traffic/request_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "base/time.h"
#include "lua/bind/bind.h"
#include "lua/traffic/content.h"
#include "lua/traffic/workload.h"

enum { WHERE_SIZE = 96 };

/* The fields of a table. */
enum field {
  ARRIVAL,
  DEADLINE,
  TIMEOUT,
  PROMPT,
  OUTPUT,
  MAX_OUTPUT,
  PREFIX_TOKENS,
  ROUND_INDEX,
  SLO_TARGET,
  TENANT,
  SLO_CLASS,
  MODEL,
  SESSION,
  CLIENT,
  ADAPTER,
  PREFIX_GROUP,
  STREAMING,
  CASCADE,
  MEAN_LOGPROB,
  CONTENT,
  ID,     /* set in requests passed to a function; not read */
  SHARED, /* also not read */
  FIELDS
};

typedef enum field_kind {
  WHOLE,
  TEXT,
  FLAG,
  MODELS,  /* a list of strings, joined into one */
  NUMBERS, /* numbers, joined into a string */
  OTHER
} field_kind;

static const struct {
  const char *name;
  field_kind kind;
  int64_t max;
} fields[FIELDS] = {
    [ARRIVAL] = {"arrival_us", WHOLE, INT64_MAX - 1},
    [DEADLINE] = {"deadline_us", WHOLE, INT64_MAX},
    [TIMEOUT] = {"timeout_us", WHOLE, INT64_MAX},
    [PROMPT] = {"prompt_tokens", WHOLE, BLIS_WORKLOAD_MAX_TOKENS},
    [OUTPUT] = {"output_tokens", WHOLE, BLIS_WORKLOAD_MAX_TOKENS},
    [MAX_OUTPUT] = {"max_output_tokens", WHOLE, BLIS_WORKLOAD_MAX_TOKENS},
    [PREFIX_TOKENS] = {"prefix_tokens", WHOLE, BLIS_WORKLOAD_MAX_TOKENS},
    [ROUND_INDEX] = {"round_index", WHOLE, INT32_MAX},
    [SLO_TARGET] = {"slo_target_us", WHOLE, INT64_MAX},
    [TENANT] = {.name = "tenant", .kind = TEXT},
    [SLO_CLASS] = {.name = "slo_class", .kind = TEXT},
    [MODEL] = {.name = "model", .kind = TEXT},
    [SESSION] = {.name = "session", .kind = TEXT},
    [CLIENT] = {.name = "client", .kind = TEXT},
    [ADAPTER] = {.name = "adapter", .kind = TEXT},
    [PREFIX_GROUP] = {.name = "prefix_group", .kind = TEXT},
    [STREAMING] = {.name = "streaming", .kind = FLAG},
    [CASCADE] = {.name = "cascade", .kind = MODELS},
    [MEAN_LOGPROB] = {.name = "mean_logprob", .kind = NUMBERS},
    [CONTENT] = {.name = "content", .kind = OTHER},
    [ID] = {.name = "id", .kind = OTHER},
    [SHARED] = {.name = "shared_tokens", .kind = OTHER},
};

/* A table while it is read. */
typedef struct row {
  lua_State *L;
  int table;
  blis_workload *workload; /* owns the strings */
  char where[WHERE_SIZE];  /* start of messages */
  bool is_given[FIELDS];
  int64_t values[FIELDS]; /* strings are stored as their numbers */
} row;

static void raise_row(const row *r, const char *what) {
  blis_error error = {0};
  (void)blis_fail(&error, BLIS_ERR_INVALID, "%s: %s", r->where, what);
  bind_raise(r->L, &error);
}

/* Raises an error about the value of a field, which is at index. */
static void raise_value(const row *r, int index, enum field field, const char *expected) {
  lua_State *L = r->L;
  raise_row(r, lua_pushfstring(L, "%s is %s; expected %s", fields[field].name, push_what(L, index),
                               expected));
}

/* Returns the field whose name is below the top of the stack. */
static enum field check_name(const row *r) {
  lua_State *L = r->L;
  if (lua_type(L, -2) != LUA_TSTRING) {
    raise_row(r, "a request has named fields: { arrival_us = 0, prompt_tokens "
                 "= 100, output_tokens = 10 }");
  }
  const char *name = lua_tostring(L, -2);
  blis_nearest nearest = {.wanted = name};
  for (int i = 0; i < FIELDS; i++) {
    if (strcmp(fields[i].name, name) == 0) {
      return (enum field)i;
    }
  }
  for (int i = 0; i < FIELDS; i++) {
    blis_nearest_offer(&nearest, fields[i].name);
  }
  blis_suggestion suggestion = blis_nearest_suggest(&nearest);
  raise_row(r, lua_pushfstring(L, "unknown field '%s'%s", name, suggestion.text));
  return FIELDS;
}

static void check_whole(row *r, enum field field) {
  lua_State *L = r->L;
  int top = lua_gettop(L);
  int is_whole = 0;
  bool is_number = lua_type(L, top) == LUA_TNUMBER;
  int64_t value = is_number ? lua_tointegerx(L, top, &is_whole) : 0;
  if (!is_whole || value < 0 || value > fields[field].max) {
    raise_value(r, top, field,
                lua_pushfstring(L, "an integer from 0 to %I", (LUAI_UACINT)fields[field].max));
  }
  r->values[field] = value;
}

/* Stores the string at index as the value of the field. */
static void keep_text(row *r, int index, enum field field) {
  size_t length;
  const char *text = lua_tolstring(r->L, index, &length);
  uint32_t id = 0;
  if (length > 0) {
    check_status(r->L, blis_workload_text(r->workload, text, length, &id), NULL);
  }
  r->values[field] = id;
}

static void check_text(row *r, enum field field) {
  if (lua_type(r->L, -1) != LUA_TSTRING) {
    raise_value(r, -1, field, "a string");
  }
  keep_text(r, -1, field);
}

/* Returns whether the value is a name that can be joined with other names. */
static bool is_plain_name(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TSTRING) {
    return false;
  }
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  return length > 0 && strcspn(text, ",;=") == length;
}

/* Converts { "small", "large" } to "small,large", and {} to "-". */
static void check_models(row *r, enum field field) {
  static const char expected[] = "a list of models, whose names have no comma in them";
  lua_State *L = r->L;
  int value = lua_gettop(L);
  if (lua_type(L, value) == LUA_TSTRING) {
    keep_text(r, value, field);
    return;
  }
  if (!lua_istable(L, value)) {
    raise_value(r, value, field, expected);
  }
  lua_Integer count = (lua_Integer)lua_rawlen(L, value);
  luaL_Buffer buffer;
  luaL_buffinit(L, &buffer);
  if (count == 0) {
    luaL_addchar(&buffer, '-');
  }
  for (lua_Integer i = 1; i <= count; i++) {
    if (i > 1) {
      luaL_addchar(&buffer, ',');
    }
    lua_rawgeti(L, value, i);
    if (!is_plain_name(L, -1)) {
      raise_value(r, -1, field, expected);
    }
    luaL_addvalue(&buffer);
  }
  luaL_pushresult(&buffer);
  keep_text(r, -1, field);
  lua_settop(L, value);
}

/* Pushes the shortest text of the number at index that reads back as the same value. */
static void push_number_text(const row *r, int index, enum field field) {
  double value = lua_tonumber(r->L, index);
  if (lua_type(r->L, index) != LUA_TNUMBER || !(value - value == 0)) {
    raise_value(r, index, field, "a number, or a table of numbers by model: { small = -1.5 }");
  }
  char text[BLIS_DOUBLE_TEXT_SIZE];
  size_t length = blis_format_double(value, BLIS_DOUBLE_SHORT, text);
  lua_pushlstring(r->L, text, length);
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Pushes the strings of a list in sorted order, separated by semicolons. */
static void push_sorted(lua_State *L, int list, lua_Integer count) {
  const char **texts = push_buffer(L, (size_t)count, sizeof *texts);
  for (lua_Integer i = 0; i < count; i++) {
    lua_rawgeti(L, list, i + 1);
    texts[i] = lua_tostring(L, -1); /* the list keeps it alive */
    lua_pop(L, 1);
  }
  if (count > 1) {
    qsort(texts, (size_t)count, sizeof *texts, compare_texts);
  }
  luaL_Buffer buffer;
  luaL_buffinit(L, &buffer);
  for (lua_Integer i = 0; i < count; i++) {
    luaL_addstring(&buffer, texts[i]);
    luaL_addstring(&buffer, i + 1 < count ? ";" : "");
  }
  luaL_pushresult(&buffer);
}

/* Converts -1.5 to "-1.5", and { small = -1.5, large = -0.3 } to "large=-0.3;small=-1.5". */
static void check_numbers(row *r, enum field field) {
  lua_State *L = r->L;
  int value = lua_gettop(L);
  if (lua_type(L, value) == LUA_TSTRING) {
    keep_text(r, value, field);
    return;
  }
  if (!lua_istable(L, value)) {
    push_number_text(r, value, field);
    keep_text(r, -1, field);
    lua_settop(L, value);
    return;
  }
  lua_newtable(L); /* parts, to be sorted */
  lua_Integer count = 0;
  for (lua_pushnil(L); lua_next(L, value) != 0; lua_settop(L, value + 2)) {
    if (!is_plain_name(L, value + 2)) {
      raise_value(r, value + 2, field,
                  "a table of numbers by model, whose names have no comma, "
                  "semicolon or equals sign in them");
    }
    push_number_text(r, value + 3, field);
    lua_pushfstring(L, "%s=%s", lua_tostring(L, value + 2), lua_tostring(L, -1));
    lua_rawseti(L, value + 1, ++count);
  }
  push_sorted(L, value + 1, count);
  keep_text(r, -1, field);
  lua_settop(L, value);
}

static void check_row(row *r) {
  lua_State *L = r->L;
  for (lua_pushnil(L); lua_next(L, r->table) != 0; lua_pop(L, 1)) {
    enum field field = check_name(r);
    r->is_given[field] = true;
    switch (fields[field].kind) {
    case WHOLE:
      check_whole(r, field);
      break;
    case TEXT:
      check_text(r, field);
      break;
    case FLAG:
      r->values[field] = lua_toboolean(L, -1);
      break;
    case MODELS:
      check_models(r, field);
      break;
    case NUMBERS:
      check_numbers(r, field);
      break;
    case OTHER:
      break;
    }
  }
}

/* Returns the value in the row, or else the existing value. */
static int64_t value_of(const row *r, enum field field, int64_t fallback) {
  return r->is_given[field] ? r->values[field] : fallback;
}

static void apply_labels(const row *r, blis_request *to) {
  to->tenant = (uint32_t)value_of(r, TENANT, to->tenant);
  to->slo_class = (uint32_t)value_of(r, SLO_CLASS, to->slo_class);
  to->model = (uint32_t)value_of(r, MODEL, to->model);
  to->session = (uint32_t)value_of(r, SESSION, to->session);
  to->client = (uint32_t)value_of(r, CLIENT, to->client);
  to->adapter = (uint32_t)value_of(r, ADAPTER, to->adapter);
  to->cascade = (uint32_t)value_of(r, CASCADE, to->cascade);
  to->mean_logprob = (uint32_t)value_of(r, MEAN_LOGPROB, to->mean_logprob);
  to->round_index = (int32_t)value_of(r, ROUND_INDEX, to->round_index);
  to->slo_target_us = value_of(r, SLO_TARGET, to->slo_target_us);
  to->is_streaming = value_of(r, STREAMING, to->is_streaming) != 0;
}

/* Sets the times. If the deadline is not changed, it moves with the arrival. */
static void apply_times(const row *r, blis_request *to) {
  int64_t old_us = to->arrival_us;
  int64_t deadline_us = to->deadline_us;
  to->arrival_us = value_of(r, ARRIVAL, old_us);
  to->deadline_us = value_of(r, DEADLINE, deadline_us);
  if (r->is_given[TIMEOUT]) {
    to->deadline_us =
        r->values[TIMEOUT] > 0 ? blis_time_after_us(to->arrival_us, r->values[TIMEOUT]) : 0;
  } else if (deadline_us > 0 && to->deadline_us == deadline_us) {
    to->deadline_us = blis_time_after_us(to->arrival_us, deadline_us - old_us);
  }
  if (to->deadline_us != 0 && to->deadline_us < to->arrival_us) {
    raise_row(r, "deadline_us is before arrival_us");
  }
}

static void apply_lengths(const row *r, blis_request *to) {
  bool had_limit = to->max_output_tokens != to->output_tokens;
  uint32_t old_limit = to->max_output_tokens;
  to->prompt_tokens = (uint32_t)value_of(r, PROMPT, to->prompt_tokens);
  to->output_tokens = (uint32_t)value_of(r, OUTPUT, to->output_tokens);
  uint32_t limit = (uint32_t)value_of(r, MAX_OUTPUT, old_limit);
  to->max_output_tokens = limit == old_limit && !had_limit ? to->output_tokens : limit;
}

/* Lists. */

static blis_workload *push_list(lua_State *L) {
  blis_workload **self = push_workload(L);
  blis_alloc alloc = bind_alloc(L);
  *self = blis_workload_new(&alloc);
  if (*self == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  return *self;
}

static void add_request(lua_State *L, blis_workload *list, const blis_request *request) {
  check_status(L, blis_workload_add(list, request), NULL);
}

/* Requests that a function creates. */

static blis_status name_content(void *ud, const char *name, size_t length, uint32_t *stream) {
  return blis_workload_text(ud, name, length, stream);
}

/* Pushes the content, from which the request then borrows. */
static void push_row_content(const row *r, blis_request *request) {
  lua_State *L = r->L;
  if (r->is_given[PROMPT] || r->is_given[PREFIX_GROUP]) {
    raise_row(r, "content replaces prompt_tokens and prefix_group");
  }
  const bind_content_names names = {name_content, r->workload};
  lua_getfield(L, r->table, "content");
  *request = push_content(L, lua_gettop(L), &names);
}

/* Sets the prefix: the first tokens of the content whose name is the name of the group. */
static void set_prefix(const row *r, blis_request *request, blis_segment *prefix) {
  *prefix = (blis_segment){.stream = (uint64_t)r->values[PREFIX_GROUP],
                           .length_tokens = (uint32_t)r->values[PREFIX_TOKENS]};
  request->prefix_group = (uint32_t)r->values[PREFIX_GROUP];
  request->prefix_tokens = prefix->length_tokens;
  if (r->values[PREFIX_TOKENS] > r->values[PROMPT]) {
    raise_row(r, "prefix_tokens is above prompt_tokens, which includes them");
  }
  if (request->prefix_group != 0 && prefix->length_tokens > 0) {
    request->segments = prefix;
    request->segment_count = 1;
    request->shared_tokens = prefix->length_tokens;
  }
}

static void need(const row *r, enum field field) {
  if (!r->is_given[field]) {
    raise_row(r, lua_pushfstring(r->L, "%s is missing", fields[field].name));
  }
}

/* Adds the request described by the table on top of the stack. */
static void add_row(row *r, int64_t number, int64_t *last_us) {
  lua_State *L = r->L;
  blis_request request = {0};
  blis_segment prefix;
  need(r, ARRIVAL);
  need(r, OUTPUT);
  if (r->is_given[CONTENT]) {
    push_row_content(r, &request);
  } else {
    need(r, PROMPT);
    set_prefix(r, &request, &prefix);
  }
  apply_labels(r, &request);
  apply_times(r, &request);
  apply_lengths(r, &request);
  request.number = number;
  if (request.arrival_us < *last_us) {
    raise_row(r, lua_pushfstring(L, "arrival_us is %I, before that of the previous request, %I",
                                 (LUAI_UACINT)request.arrival_us, (LUAI_UACINT)*last_us));
  }
  *last_us = request.arrival_us;
  add_request(L, r->workload, &request);
}

/* Pushes the next table; returns false at the end. */
static bool push_next_row(lua_State *L, const row *r) {
  lua_pushvalue(L, 1);
  lua_call(L, 0, 1);
  if (lua_isnil(L, -1)) {
    return false;
  }
  if (!lua_istable(L, -1)) {
    raise_row(r, lua_pushfstring(L,
                                 "the function returned %s; it must return a "
                                 "table, or nil at the end",
                                 push_what(L, -1)));
  }
  return true;
}

/* Limits for a function without a given number of requests: all requests, and requests with the
   same arrival time. */
enum { ENDLESS_COUNT = 5000000, STILL_COUNT = 1000000 };

/* State of the check for a function that appears to be endless. */
typedef struct endless {
  const char *function; /* "the function at FILE:LINE" */
  int64_t last_us;
  int64_t still; /* number of consecutive requests that arrived at last_us */
} endless;

/* Raises an error if a function without a given number returns too many requests. */
static void check_end(const row *r, endless *self, int64_t number) {
  int64_t arrival_us = r->is_given[ARRIVAL] ? r->values[ARRIVAL] : self->last_us;
  self->still = arrival_us == self->last_us ? self->still + 1 : 1;
  self->last_us = arrival_us;
  if (self->still > STILL_COUNT) {
    raise_row(r, lua_pushfstring(r->L,
                                 "%s returned %d requests in a row with arrival_us = %I; advance "
                                 "arrival_us, return nil at the end, or give requests = COUNT",
                                 self->function, (int)STILL_COUNT, (LUAI_UACINT)arrival_us));
  }
  if (number > ENDLESS_COUNT) {
    raise_row(r, lua_pushfstring(r->L,
                                 "%s returned %d requests and no nil; return nil at the end, or "
                                 "give requests = COUNT",
                                 self->function, (int)ENDLESS_COUNT));
  }
}

int bind_workload_of_function(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  const char *place = luaL_checkstring(L, 2);
  int64_t limit = luaL_checkinteger(L, 3);
  int64_t horizon_us = luaL_checkinteger(L, 4);
  endless end = {.function = luaL_optstring(L, 5, "the function")};
  const char *description = luaL_optstring(L, 6, "requests of a function");
  blis_workload *list = push_list(L);
  int base = lua_gettop(L);
  int64_t last_us = 0;
  for (int64_t i = 0; limit == 0 || i < limit; i++) {
    row r = {.L = L, .table = base + 1, .workload = list};
    snprintf(r.where, sizeof r.where, "%.60s: request %" PRId64, place, i + 1);
    if (!push_next_row(L, &r)) {
      break;
    }
    check_row(&r);
    if (limit == 0) {
      check_end(&r, &end, i + 1);
    }
    if (horizon_us > 0 && r.is_given[ARRIVAL] && r.values[ARRIVAL] >= horizon_us) {
      break;
    }
    add_row(&r, i, &last_us);
    lua_settop(L, base);
  }
  lua_settop(L, base);
  check_status(L, blis_workload_describe(list, "%s", description), NULL);
  check_status(L, blis_workload_seal(list), NULL);
  return 1;
}

/* Requests that a function changes. */

static void check_content_stays(const row *r, const blis_request *from, const blis_request *to) {
  if (r->is_given[CONTENT] || value_of(r, PREFIX_GROUP, from->prefix_group) != from->prefix_group ||
      value_of(r, PREFIX_TOKENS, from->prefix_tokens) != from->prefix_tokens) {
    raise_row(r, "content, prefix_group and prefix_tokens cannot be changed");
  }
  if (to->prompt_tokens < from->shared_tokens) {
    raise_row(r, lua_pushfstring(r->L,
                                 "prompt_tokens is %I; of the prompt, %I are "
                                 "known content",
                                 (LUAI_UACINT)to->prompt_tokens, (LUAI_UACINT)from->shared_tokens));
  }
  if (from->shares_output &&
      (to->prompt_tokens != from->prompt_tokens || to->output_tokens != from->output_tokens)) {
    raise_row(r, "its lengths cannot be changed: the prompt of the next round "
                 "contains this one");
  }
}

static void map_request(lua_State *L, const blis_request *from, row *r) {
  if (lua_isnil(L, r->table)) {
    return;
  }
  if (!lua_istable(L, r->table)) {
    raise_row(r, "the function must return a table of changes, or nil to drop "
                 "the request");
  }
  blis_request to = *from;
  check_row(r);
  apply_labels(r, &to);
  apply_times(r, &to);
  apply_lengths(r, &to);
  check_content_stays(r, from, &to);
  add_request(L, r->workload, &to);
}

int bind_workload_map(lua_State *L) {
  const blis_workload *from = check_workload(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  blis_workload *list = push_list(L);
  check_status(L, blis_workload_take_texts(list, from), NULL);
  for (size_t i = 0; i < blis_workload_count(from); i++) {
    lua_pushvalue(L, 2);
    push_workload_request(L, from, i);
    lua_call(L, 1, 1);
    row r = {.L = L, .table = lua_gettop(L), .workload = list};
    snprintf(r.where, sizeof r.where, "map: request %zu", i + 1);
    map_request(L, blis_workload_request(from, i), &r);
    lua_settop(L, 3);
  }
  check_status(L, blis_workload_seal(list), NULL);
  return 1;
}
