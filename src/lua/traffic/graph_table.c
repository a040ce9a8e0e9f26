#include "lua/traffic/graph_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/time.h"
#include "lua/bind/bind.h"
#include "lua/traffic/graph_file.h"
#include "workload/hash_id.h"
#include "workload/workload.h"

enum { WHERE_SIZE = 128, MAX_BLOCK_TOKENS = 1048576, HASH_BLOCK = 512 /* tokens by default */ };

/* The fields of the table of a graph or of a request. */
typedef enum field {
  NAME, /* fields of graphs only */
  START,
  ID, /* first field that only requests have */
  AFTER,
  EXTENDS,
  PROMPT,
  OUTPUT,
  MAX_OUTPUT,
  DELAY,
  TOOL,
  BACKGROUND,
  SESSION,
  HASH_IDS,
  PREFIX_GROUP, /* first field of both: a request inherits these fields from its graph */
  PREFIX_TOKENS,
  HASH_BLOCK_TOKENS,
  TENANT,
  SLO_CLASS,
  MODEL,
  ADAPTER,
  CLIENT,
  TIMEOUT,
  SLO_TARGET,
  STREAMING,
  FIELDS
} field;

typedef enum field_kind { WHOLE, TEXT, FLAG, OTHER } field_kind;

static const struct {
  const char *name;
  field_kind kind;
  int64_t max;
} fields[FIELDS] = {
    [NAME] = {.name = "name", .kind = TEXT},
    [START] = {"start_us", WHOLE, BLIS_TIME_SPAN_MAX_US},
    [ID] = {.name = "id", .kind = OTHER},
    [AFTER] = {.name = "after", .kind = OTHER},
    [EXTENDS] = {.name = "extends", .kind = OTHER},
    [PROMPT] = {"prompt_tokens", WHOLE, BLIS_WORKLOAD_MAX_TOKENS},
    [OUTPUT] = {"output_tokens", WHOLE, BLIS_WORKLOAD_MAX_TOKENS},
    [MAX_OUTPUT] = {"max_output_tokens", WHOLE, BLIS_WORKLOAD_MAX_TOKENS},
    [DELAY] = {"delay_us", WHOLE, BLIS_TIME_SPAN_MAX_US},
    [TOOL] = {"tool_us", WHOLE, BLIS_TIME_SPAN_MAX_US},
    [BACKGROUND] = {.name = "background", .kind = FLAG},
    [SESSION] = {.name = "session", .kind = TEXT},
    [HASH_IDS] = {.name = "hash_ids", .kind = OTHER},
    [PREFIX_GROUP] = {.name = "prefix_group", .kind = TEXT},
    [PREFIX_TOKENS] = {"prefix_tokens", WHOLE, BLIS_WORKLOAD_MAX_TOKENS},
    [HASH_BLOCK_TOKENS] = {"hash_block_tokens", WHOLE, MAX_BLOCK_TOKENS},
    [TENANT] = {.name = "tenant", .kind = TEXT},
    [SLO_CLASS] = {.name = "slo_class", .kind = TEXT},
    [MODEL] = {.name = "model", .kind = TEXT},
    [ADAPTER] = {.name = "adapter", .kind = TEXT},
    [CLIENT] = {.name = "client", .kind = TEXT},
    [TIMEOUT] = {"timeout_us", WHOLE, BLIS_TIME_SPAN_MAX_US},
    [SLO_TARGET] = {"slo_target_us", WHOLE, BLIS_TIME_SPAN_MAX_US},
    [STREAMING] = {.name = "streaming", .kind = FLAG},
};

static bool belongs_to(field f, bool is_graph) {
  return f >= PREFIX_GROUP || (is_graph ? f <= START : f >= ID);
}

/* Values of a table. Strings are stored as their numbers. */
typedef struct values {
  bool is_given[FIELDS];
  int64_t items[FIELDS];
} values;

/* A graph while it is read. */
typedef struct reading {
  lua_State *L;
  int table;
  int ids; /* index of a table from request ids to request numbers, from 1 */
  char where[WHERE_SIZE];
  size_t where_length; /* length of the graph's part; the rest identifies a request */
  bind_graph_maker *maker;
  blis_graph_builder *builder; /* of the maker */
  const char *name;
  values graph;
  values node;
} reading;

static void raise_at(const reading *r, const char *what) {
  blis_error error = {0};
  (void)blis_fail(&error, BLIS_ERR_INVALID, "%s: %s", r->where, what);
  bind_raise(r->L, &error);
}

/* Returns the field whose name is below the top of the stack. */
static field check_name(const reading *r, bool is_graph) {
  lua_State *L = r->L;
  if (lua_type(L, -2) != LUA_TSTRING) {
    raise_at(r, lua_pushfstring(L, "a request has named fields, not %s", push_what(L, -2)));
  }
  const char *name = lua_tostring(L, -2);
  for (field f = 0; f < FIELDS; f++) {
    if (belongs_to(f, is_graph) && strcmp(fields[f].name, name) == 0) {
      return f;
    }
  }
  blis_nearest nearest = {.wanted = name};
  for (field f = 0; f < FIELDS; f++) {
    if (belongs_to(f, is_graph)) {
      blis_nearest_offer(&nearest, fields[f].name);
    }
  }
  raise_at(r,
           lua_pushfstring(L, "unknown field '%s'%s", name, blis_nearest_suggest(&nearest).text));
  return FIELDS;
}

/* Raises an error about the value on top of the stack. */
static void raise_value(const reading *r, field f, const char *expected) {
  lua_State *L = r->L;
  raise_at(r,
           lua_pushfstring(L, "%s is %s; expected %s", fields[f].name, push_what(L, -1), expected));
}

/* Returns the length of the list at index, which may contain nothing else. */
static lua_Unsigned check_list(const reading *r, int index, const char *what) {
  lua_State *L = r->L;
  lua_Unsigned length = lua_rawlen(L, index);
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    lua_Integer place = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
    if (place < 1 || (lua_Unsigned)place > length) {
      raise_at(
          r, lua_pushfstring(L, "%s is a list, and %s is no place of it", what, push_what(L, -2)));
    }
  }
  return length;
}

/* Returns the number of the string on top of the stack, which remains there. */
static uint32_t check_text(const reading *r) {
  size_t length;
  const char *text = lua_tolstring(r->L, -1, &length);
  uint32_t id = 0;
  if (length > 0) {
    check_status(r->L, blis_intern_add(r->maker->strings, text, length, &id), NULL);
  }
  return id;
}

/* Returns the value of a field, which is on top of the stack. */
static int64_t check_value(const reading *r, field f) {
  lua_State *L = r->L;
  int is_whole = 0;
  int64_t value = 0;
  switch (fields[f].kind) {
  case WHOLE:
    if (lua_type(L, -1) == LUA_TNUMBER) {
      value = lua_tointegerx(L, -1, &is_whole);
    }
    if (!is_whole || value < 0 || value > fields[f].max) {
      raise_at(r, lua_pushfstring(L, "%s is %s; expected an integer from 0 to %I", fields[f].name,
                                  push_what(L, -1), (LUAI_UACINT)fields[f].max));
    }
    return value;
  case TEXT:
    if (lua_type(L, -1) != LUA_TSTRING) {
      raise_value(r, f, "a string");
    }
    return check_text(r);
  case FLAG:
    if (lua_type(L, -1) != LUA_TBOOLEAN) {
      raise_value(r, f, "true or false");
    }
    return lua_toboolean(L, -1);
  case OTHER:
    break;
  }
  return 0;
}

/* Reads the named fields of the table on top of the stack. */
static void check_fields(const reading *r, bool is_graph, values *given) {
  lua_State *L = r->L;
  int table = lua_gettop(L);
  lua_Unsigned requests = is_graph ? lua_rawlen(L, table) : 0;
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_settop(L, table + 1)) {
    if (is_graph && lua_isinteger(L, table + 1)) {
      lua_Integer place = lua_tointeger(L, table + 1);
      if (place < 1 || (lua_Unsigned)place > requests) {
        raise_at(r, lua_pushfstring(L, "request %I comes after a gap", (LUAI_UACINT)place));
      }
      continue;
    }
    field f = check_name(r, is_graph);
    given->is_given[f] = true;
    given->items[f] = check_value(r, f);
  }
}

static bool is_said(const reading *r, field f) {
  return r->node.is_given[f] || (belongs_to(f, true) && r->graph.is_given[f]);
}

/* Returns the value of the request, or of its graph if the request does not set the field. */
static int64_t value_of(const reading *r, field f, int64_t fallback) {
  bool may_inherit = belongs_to(f, true) && r->graph.is_given[f];
  return r->node.is_given[f] ? r->node.items[f] : may_inherit ? r->graph.items[f] : fallback;
}

/* Returns the number, from 0, of the request to which the value on top of the stack refers. */
static uint32_t check_reference(const reading *r, field f) {
  lua_State *L = r->L;
  size_t above = r->builder->nodes.count;
  int is_number = 0;
  lua_Integer number = 0;
  if (lua_type(L, -1) == LUA_TSTRING) {
    lua_pushvalue(L, -1);
    lua_rawget(L, r->ids);
    number = lua_tointegerx(L, -1, &is_number);
    lua_pop(L, 1);
  } else if (lua_type(L, -1) == LUA_TNUMBER) {
    number = lua_tointegerx(L, -1, &is_number);
  }
  if (!is_number || number < 1 || number > (lua_Integer)above) {
    raise_value(r, f, "the id or the number of a request above this one");
  }
  return (uint32_t)(number - 1);
}

static int compare_numbers(const void *a, const void *b) {
  uint32_t left = *(const uint32_t *)a;
  uint32_t right = *(const uint32_t *)b;
  return (left > right) - (left < right);
}

/* Checks that the list at index contains no request twice. `sorted` has capacity for the list. */
static void check_each_once(const reading *r, int index, const uint32_t *waits, uint32_t count,
                            uint32_t *sorted) {
  memcpy(sorted, waits, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_numbers);
  for (uint32_t i = 1; i < count; i++) {
    if (sorted[i] == sorted[i - 1]) {
      uint32_t last = count - 1;
      while (waits[last] != sorted[i]) {
        last--;
      }
      lua_rawgeti(r->L, index, (lua_Integer)last + 1);
      raise_value(r, AFTER, "every request at most once");
    }
  }
}

/* Pushes a buffer with the requests that the request on top of the stack waits for. */
static uint32_t *push_waits(const reading *r, uint32_t *count) {
  lua_State *L = r->L;
  int node = lua_gettop(L);
  bool is_list = lua_getfield(L, node, "after") == LUA_TTABLE;
  lua_Unsigned length = is_list ? check_list(r, node + 1, "after") : lua_isnil(L, -1) ? 0 : 1;
  uint32_t *waits = push_buffer(L, (size_t)length * 2, sizeof *waits);
  *count = (uint32_t)length;
  for (lua_Unsigned i = 0; i < length; i++) {
    if (is_list) {
      lua_rawgeti(L, node + 1, (lua_Integer)i + 1);
    } else {
      lua_pushvalue(L, node + 1);
    }
    waits[i] = check_reference(r, AFTER);
    lua_pop(L, 1);
  }
  if (length > 1) {
    check_each_once(r, node + 1, waits, *count, waits + length);
  }
  lua_replace(L, node + 1);
  return waits;
}

/* Checks that a request waits for the request whose context it extends. */
static void check_has_ended(const reading *r, uint32_t extended, const uint32_t *waits,
                            uint32_t count) {
  bool has_ended;
  check_status(r->L, blis_graph_builder_has_ended(r->builder, extended, waits, count, &has_ended),
               NULL);
  if (!has_ended) {
    raise_value(r, EXTENDS,
                "a request that has ended by then: one of after, "
                "or one that these wait for");
  }
}

/* Finds the request whose context the request at index extends. */
static uint32_t check_extends(const reading *r, int index, const uint32_t *waits, uint32_t count) {
  lua_State *L = r->L;
  uint32_t extends = count > 0 ? waits[0] : BLIS_GRAPH_NO_NODE;
  switch (lua_getfield(L, index, "extends")) {
  case LUA_TNIL:
    break;
  case LUA_TBOOLEAN:
    if (lua_toboolean(L, -1)) {
      raise_value(r, EXTENDS, "a request above this one, or false");
    }
    extends = BLIS_GRAPH_NO_NODE;
    break;
  default:
    extends = check_reference(r, EXTENDS);
    check_has_ended(r, extends, waits, count);
  }
  lua_pop(L, 1);
  return extends;
}

static uint32_t check_new_text(const reading *r, const char *format, const char *name) {
  lua_pushfstring(r->L, format, r->name, name);
  uint32_t id = check_text(r);
  lua_pop(r->L, 1);
  return id;
}

/*
 * Sets the session and round of a node. The first node that extends another one continues its
 * session; later branches start sessions. caller is the node that it extends, or else the first
 * node that it waits for.
 */
static void set_session(const reading *r, int index, uint32_t caller, blis_graph_node *node) {
  lua_State *L = r->L;
  blis_request *request = &node->request;
  size_t number = r->builder->nodes.count;
  bool extends = node->extends != BLIS_GRAPH_NO_NODE;
  const blis_graph_node *before = extends ? &r->builder->nodes.items[node->extends] : NULL;
  bool goes_on = extends && !r->builder->is_extended.items[node->extends];
  if (r->node.is_given[SESSION]) {
    request->session = (uint32_t)r->node.items[SESSION];
    goes_on = extends && before->request.session == request->session;
  } else if (goes_on) {
    request->session = before->request.session;
  } else if (number == 0) {
    request->session = check_new_text(r, "%s", NULL);
  } else {
    bool has_id = lua_getfield(L, index, "id") == LUA_TSTRING;
    const char *id =
        has_id ? lua_tostring(L, -1) : lua_pushfstring(L, "%I", (LUAI_UACINT)number + 1);
    request->session = check_new_text(r, "%s/%s", id);
    lua_settop(L, index);
  }
  request->round_index = goes_on ? before->request.round_index + 1 : 0;
  if (caller != BLIS_GRAPH_NO_NODE) {
    const blis_graph_node *by = &r->builder->nodes.items[caller];
    node->parent_session =
        by->request.session != request->session ? by->request.session : by->parent_session;
  }
}

static void set_labels(const reading *r, blis_request *request) {
  request->tenant = (uint32_t)value_of(r, TENANT, 0);
  request->slo_class = (uint32_t)value_of(r, SLO_CLASS, 0);
  request->model = (uint32_t)value_of(r, MODEL, 0);
  request->adapter = (uint32_t)value_of(r, ADAPTER, 0);
  request->client = (uint32_t)value_of(r, CLIENT, 0);
  request->deadline_us = value_of(r, TIMEOUT, 0);
  request->slo_target_us = value_of(r, SLO_TARGET, 0);
  request->is_streaming = value_of(r, STREAMING, 0) != 0;
}

static void need(const reading *r, field f, int64_t min) {
  if (!r->node.is_given[f]) {
    raise_at(r, lua_pushfstring(r->L, "%s is missing", fields[f].name));
  }
  if (r->node.items[f] < min) {
    raise_at(r, lua_pushfstring(r->L, "%s is %I; at least %I is needed", fields[f].name,
                                (LUAI_UACINT)r->node.items[f], (LUAI_UACINT)min));
  }
}

/* Sets the prefix: the first tokens of the content whose name is the name of the group. */
static void set_prefix(const reading *r, blis_graph_node *node, blis_segment *prefix) {
  if (node->extends != BLIS_GRAPH_NO_NODE) {
    if (r->node.is_given[PREFIX_GROUP] || r->node.is_given[PREFIX_TOKENS]) {
      raise_at(r, "prefix_group is for requests that begin a context; this "
                  "one extends another's (extends = false begins a new one)");
    }
    const blis_request *before = &r->builder->nodes.items[node->extends].request;
    node->request.prefix_group = before->prefix_group;
    node->request.prefix_tokens = before->prefix_tokens;
    return;
  }
  *prefix = (blis_segment){.stream = (uint64_t)value_of(r, PREFIX_GROUP, 0),
                           .length_tokens = (uint32_t)value_of(r, PREFIX_TOKENS, 0)};
  bool has_group = is_said(r, PREFIX_GROUP);
  bool has_tokens = is_said(r, PREFIX_TOKENS);
  if ((prefix->stream != 0 && !has_tokens) || (prefix->length_tokens > 0 && !has_group)) {
    raise_at(r, has_group ? "prefix_group needs prefix_tokens, how long it is"
                          : "prefix_tokens needs prefix_group, what it is");
  }
  if (prefix->stream == 0 || prefix->length_tokens == 0) {
    return;
  }
  blis_request *request = &node->request;
  request->prefix_group = (uint32_t)prefix->stream;
  request->prefix_tokens = prefix->length_tokens;
  request->segments = prefix;
  request->segment_count = 1;
  request->shared_tokens = prefix->length_tokens;
}

/* Returns the key of the hash id on top of the stack, which is item `place` of its list. */
static uint64_t check_hash_id(const reading *r, lua_Integer place) {
  lua_State *L = r->L;
  lua_Integer number = 0;
  int is_whole = 0;
  if (lua_type(L, -1) == LUA_TSTRING) {
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    return blis__hash_id_of_text((blis_slice){text, length});
  }
  if (lua_type(L, -1) == LUA_TNUMBER) {
    number = lua_tointegerx(L, -1, &is_whole);
  }
  if (!is_whole) {
    raise_at(r, lua_pushfstring(L, "item %I of hash_ids is %s; expected an integer or a string",
                                (LUAI_UACINT)place, push_what(L, -1)));
  }
  return blis__hash_id_of_integer(number);
}

/* Reads the list hash_ids of the request at index. The ids of full blocks are its content. */
static void set_hash_ids(const reading *r, int index, blis_graph_node *node) {
  lua_State *L = r->L;
  if (!r->node.is_given[HASH_IDS]) {
    return;
  }
  if (node->extends != BLIS_GRAPH_NO_NODE || node->request.segment_count > 0) {
    raise_at(r, "hash_ids is for requests that begin a context without prefix_group");
  }
  blis__blocks *blocks = &r->maker->blocks;
  blis_request *request = &node->request;
  uint32_t block_tokens = (uint32_t)value_of(r, HASH_BLOCK_TOKENS, HASH_BLOCK);
  if (block_tokens == 0) {
    raise_at(r, "hash_block_tokens is 0; at least 1 is needed");
  }
  if (lua_getfield(L, index, "hash_ids") != LUA_TTABLE) {
    raise_value(r, HASH_IDS, "a list of integers or strings");
  }
  lua_Unsigned count = check_list(r, index + 1, "hash_ids");
  uint32_t full = request->prompt_tokens / block_tokens;
  if (count > (lua_Unsigned)full + 1) {
    raise_at(r, lua_pushfstring(L, "hash_ids has %I ids; a prompt of %I tokens has at most %I",
                                (LUAI_UACINT)count, (LUAI_UACINT)request->prompt_tokens,
                                (LUAI_UACINT)full + 1));
  }
  blis__blocks_clear(blocks, false);
  for (lua_Unsigned i = 1; i <= count && i <= full; i++) {
    lua_rawgeti(L, index + 1, (lua_Integer)i);
    check_status(L, blis__blocks_add(blocks, check_hash_id(r, (lua_Integer)i)), NULL);
    lua_pop(L, 1);
  }
  lua_settop(L, index);
  /* Blocks of another size are other content. */
  uint64_t stream = BLIS__BLOCKS_GLOBAL + ((uint64_t)block_tokens << 36);
  check_status(L,
               blis__blocks_segments(blocks, 0, (uint32_t)blocks->ids.count, stream, block_tokens,
                                     request, NULL),
               NULL);
  request->prompt_tokens -= request->shared_tokens;
}

/* Registers the id of the request at index, if it has one. */
static void check_id(const reading *r, int index) {
  lua_State *L = r->L;
  if (lua_getfield(L, index, "id") == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  if (lua_type(L, -1) != LUA_TSTRING) {
    raise_value(r, ID, "a string");
  }
  lua_pushvalue(L, -1);
  if (lua_rawget(L, r->ids) != LUA_TNIL) {
    lua_pop(L, 1);
    raise_value(r, ID, "an id that no other request of the graph has");
  }
  lua_pop(L, 1);
  lua_pushinteger(L, (lua_Integer)r->builder->nodes.count + 1);
  lua_rawset(L, r->ids);
}

/* Reads the request on top of the stack. */
static void check_node(reading *r) {
  lua_State *L = r->L;
  int index = lua_gettop(L);
  if (!lua_istable(L, index)) {
    raise_at(r, lua_pushfstring(L, "a request is a table, not %s", push_what(L, index)));
  }
  r->node = (values){{0}, {0}};
  check_fields(r, false, &r->node);
  need(r, PROMPT, 0);
  need(r, OUTPUT, 0);
  uint32_t wait_count;
  const uint32_t *waits = push_waits(r, &wait_count);
  lua_insert(L, index); /* the buffer remains below */
  index++;
  blis_graph_node node = {.request = {.prompt_tokens = (uint32_t)r->node.items[PROMPT],
                                      .output_tokens = (uint32_t)r->node.items[OUTPUT]},
                          .tool_us = r->node.items[TOOL],
                          .delay_us = r->node.items[DELAY] + r->node.items[TOOL],
                          .is_background = r->node.items[BACKGROUND] != 0,
                          .extends = check_extends(r, index, waits, wait_count)};
  node.request.max_output_tokens = r->node.is_given[MAX_OUTPUT]
                                       ? (uint32_t)r->node.items[MAX_OUTPUT]
                                       : node.request.output_tokens;
  blis_segment prefix;
  set_labels(r, &node.request);
  set_prefix(r, &node, &prefix);
  set_hash_ids(r, index, &node);
  bool has_caller = node.extends == BLIS_GRAPH_NO_NODE && wait_count > 0;
  set_session(r, index, has_caller ? waits[0] : node.extends, &node);
  check_id(r, index);
  blis_error error = {0};
  if (blis_graph_builder_add(r->builder, &node, true, waits, wait_count, &error) != BLIS_OK) {
    raise_at(r, error.message);
  }
}

static void check_nodes(reading *r) {
  lua_State *L = r->L;
  lua_Integer count = (lua_Integer)lua_rawlen(L, r->table);
  if (count == 0) {
    raise_at(r, "a graph has at least one request");
  }
  int top = lua_gettop(L);
  for (lua_Integer i = 1; i <= count; i++) {
    snprintf(r->where + r->where_length, sizeof r->where - r->where_length, "[%lld]", (long long)i);
    lua_rawgeti(L, r->table, i);
    check_node(r);
    lua_settop(L, top);
  }
}

blis_graph check_graph(lua_State *L, int index, const char *where, lua_Integer number,
                       bind_graph_maker *maker) {
  blis_graph_builder *builder = &maker->builder;
  reading r = {.L = L, .table = index, .maker = maker, .builder = builder};
  int top = lua_gettop(L);
  int length = snprintf(r.where, sizeof r.where, "%.80s[%lld]", where, (long long)number);
  r.where_length = (size_t)length;
  if (!lua_istable(L, index)) {
    raise_at(&r, lua_pushfstring(L, "a graph is a list of requests, not %s", push_what(L, index)));
  }
  lua_newtable(L);
  r.ids = lua_gettop(L);
  lua_pushvalue(L, index);
  check_fields(&r, true, &r.graph);
  if (!r.graph.is_given[NAME] || r.graph.items[NAME] == 0) {
    lua_pushfstring(L, "task_%I", (LUAI_UACINT)number);
    r.graph.items[NAME] = check_text(&r);
  }
  r.name = blis_intern_text(maker->strings, (uint32_t)r.graph.items[NAME]);
  blis_graph_builder_clear(builder);
  check_nodes(&r);
  lua_settop(L, top);
  return blis_graph_builder_get(builder, (uint32_t)r.graph.items[NAME],
                                r.graph.is_given[START] ? r.graph.items[START] : -1);
}

void bind_graph_maker_init(lua_State *L, bind_graph_maker *maker) {
  blis_alloc alloc = bind_alloc(L);
  blis_graph_builder_init(&maker->builder, &alloc);
  blis__blocks_init(&maker->blocks, &alloc);
  maker->strings = blis_intern_new(&alloc);
  if (maker->strings == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
}

void bind_graph_maker_close(bind_graph_maker *maker) {
  blis_intern_free(maker->strings);
  if (maker->builder.alloc.fn != NULL) {
    blis_graph_builder_deinit(&maker->builder);
    blis__blocks_deinit(&maker->blocks);
  }
  *maker = (bind_graph_maker){0};
}

static int scratch_close(lua_State *L) {
  bind_graph_maker_close(lua_touserdata(L, 1));
  return 0;
}

/* Builds the graph of the arguments of a function with memory that Lua frees. */
static blis_graph check_alone(lua_State *L, bind_graph_maker **maker) {
  lua_settop(L, 3);
  const char *where = luaL_checkstring(L, 2);
  lua_Integer number = luaL_checkinteger(L, 3);
  *maker = push_guarded(L, 1, sizeof **maker, scratch_close);
  bind_graph_maker_init(L, *maker);
  return check_graph(L, 1, where, number, *maker);
}

int bind_check_graph(lua_State *L) {
  bind_graph_maker *maker;
  lua_pushinteger(L, (lua_Integer)check_alone(L, &maker).node_count);
  return 1;
}

int bind_check_graphs(lua_State *L) {
  lua_settop(L, 2);
  luaL_checktype(L, 1, LUA_TTABLE);
  const char *where = luaL_checkstring(L, 2);
  bind_graph_maker *maker = push_guarded(L, 1, sizeof *maker, scratch_close);
  bind_graph_maker_init(L, maker);
  lua_Unsigned count = lua_rawlen(L, 1);
  lua_Integer requests = 0;
  for (lua_Unsigned i = 1; i <= count; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i);
    requests += check_graph(L, lua_gettop(L), where, (lua_Integer)i, maker).node_count;
    lua_pop(L, 1);
  }
  lua_pushinteger(L, requests);
  return 1;
}

int bind_show_graph(lua_State *L) {
  bind_graph_maker *maker;
  const blis_graph graph = check_alone(L, &maker);
  push_graph(L, &graph, maker->strings);
  return 1;
}
