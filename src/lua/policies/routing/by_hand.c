#include "lua/policies/routing/by_hand.h"

#include <math.h>
#include <string.h>

#include "instance/request/instance_id.h"
#include "lua/bind/bind.h"
#include "lua/policies/builtin/builtin.h"
#include "lua/traffic/content.h"
#include "policy/contract/view.h"
#include "workload/block_namer.h"

#define BY_HAND_TYPE "blis.scorer_by_hand"

typedef struct by_hand {
  blis_alloc alloc;
  blis_scorer scorer;
  blis_block_namer *namer;
  blis_intern *contents; /* names of contents are used as streams */
  blis_intern *texts;    /* strings of requests */
} by_hand;

/* Input of one call: the request, its blocks, and the candidates. */
typedef struct question {
  by_hand *self;
  blis_request prompt;
  blis_block_chain chain;
  uint32_t chain_block_size; /* 0 = no chain yet */
  bool lacks_content;        /* the scorer requested blocks, but the request has no content */
  blis_ticket ticket;
  blis_routing_request request;
  blis_routing_view view;
  double *signals; /* values by signal and candidate; 0 if not set */
  bool *is_given;
} question;

static int by_hand_gc(lua_State *L) {
  by_hand *self = luaL_checkudata(L, 1, BY_HAND_TYPE);
  blis_scorer_free(&self->scorer);
  blis_block_namer_free(self->namer);
  self->namer = NULL;
  blis_intern_free(self->contents);
  self->contents = NULL;
  blis_intern_free(self->texts);
  self->texts = NULL;
  return 0;
}

static const luaL_Reg by_hand_meta[] = {{"__gc", by_hand_gc}, {NULL, NULL}};

void bind_open_by_hand(lua_State *L) {
  push_new_type(L, BY_HAND_TYPE, by_hand_meta, NULL);
  lua_pop(L, 1);
}

void push_scorer_by_hand(lua_State *L, int index) {
  const blis_policy_context context = {
      .instance_count = BY_HAND_INSTANCES, .kv_block_size_tokens = 16, .kv_blocks = 1};
  by_hand *self = lua_newuserdatauv(L, sizeof *self, 0);
  memset(self, 0, sizeof *self);
  luaL_setmetatable(L, BY_HAND_TYPE);
  self->alloc = bind_alloc(L);
  check_builtin_scorer(L, index, &context, &self->scorer);
  self->namer = blis_block_namer_new(&self->alloc);
  self->contents = blis_intern_new(&self->alloc);
  self->texts = blis_intern_new(&self->alloc);
  if (self->namer == NULL || self->contents == NULL || self->texts == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
}

/* The request. */

static blis_status name_content(void *ud, const char *name, size_t length, uint32_t *stream) {
  return blis_intern_add(ud, name, length, stream);
}

static uint32_t check_text(lua_State *L, int index, const by_hand *self, const char *name) {
  uint32_t number = 0;
  const char *text = opt_field_string(L, index, name);
  if (text != NULL) {
    check_status(L, blis_intern_add(self->texts, text, strlen(text), &number), NULL);
  }
  return number;
}

static const blis_block_chain *give_chain(void *ud, uint32_t block_size) {
  question *q = ud;
  if (q->lacks_content) {
    return NULL;
  }
  if (q->chain_block_size != block_size) {
    blis_error error;
    blis_block_namer_release(q->self->namer, &q->chain);
    q->chain_block_size = 0;
    if (blis_block_namer_chain(q->self->namer, &q->prompt, block_size, &q->chain, &error) !=
        BLIS_OK) {
      return NULL;
    }
    q->chain_block_size = block_size;
  }
  return &q->chain;
}

/* Pushes the owner of the segments. */
static void push_request_of(lua_State *L, int index, question *q) {
  by_hand *self = q->self;
  const bind_content_names names = {name_content, self->contents};
  luaL_checktype(L, index, LUA_TTABLE);
  bool has_content = lua_getfield(L, index, "content") != LUA_TNIL;
  if (has_content) {
    q->prompt = push_content(L, lua_gettop(L), &names);
  }
  int64_t prompt_tokens = opt_field_integer(L, index, "prompt_tokens", q->prompt.prompt_tokens);
  luaL_argcheck(L, prompt_tokens >= q->prompt.shared_tokens && prompt_tokens <= UINT32_MAX, index,
                "prompt_tokens is out of range");
  q->prompt.prompt_tokens = (uint32_t)prompt_tokens;
  q->lacks_content = !has_content && opt_field_integer(L, index, "shared_tokens", 0) > 0;
  q->request = (blis_routing_request){
      .number = opt_field_integer(L, index, "number", 0),
      .arrival_us = opt_field_integer(L, index, "arrival_us", 0),
      .deadline_us = opt_field_integer(L, index, "deadline_us", 0),
      .prompt_tokens = prompt_tokens,
      .max_output_tokens = opt_field_integer(L, index, "max_output_tokens", 0),
      .output_tokens = -1,
      .priority = opt_field_number(L, index, "priority", 0),
      .round_index = (int32_t)opt_field_integer(L, index, "round_index", 0),
      .tenant = check_text(L, index, self, "tenant"),
      .slo_class = check_text(L, index, self, "slo_class"),
      .model = check_text(L, index, self, "model"),
      .session = check_text(L, index, self, "session"),
      .client = check_text(L, index, self, "client"),
      .prefix_group = check_text(L, index, self, "prefix_group"),
      .prefix_tokens = (uint32_t)opt_field_integer(L, index, "prefix_tokens", 0),
      .segments = q->prompt.segments,
      .segment_count = q->prompt.segment_count,
      .peer = -1,
      .strings = self->texts,
      .ticket = &q->ticket,
      .chain = give_chain,
      .chain_ud = q,
  };
  q->view.now_us = opt_field_integer(L, index, "now_us", q->request.arrival_us);
}

/* The candidates. */

/* Sets signals that equal other signals, and the signal that is a sum. */
static void fill_in(question *q, size_t i) {
  size_t n = q->view.count;
#define AT(signal) ((size_t)BLIS_SIGNAL_##signal * n + i)
  if (!q->is_given[AT(REQUESTS)] && q->is_given[AT(IN_FLIGHT)]) {
    q->signals[AT(REQUESTS)] = q->signals[AT(IN_FLIGHT)];
    q->is_given[AT(REQUESTS)] = true;
  } else if (!q->is_given[AT(IN_FLIGHT)] && q->is_given[AT(REQUESTS)]) {
    q->signals[AT(IN_FLIGHT)] = q->signals[AT(REQUESTS)];
    q->is_given[AT(IN_FLIGHT)] = true;
  }
  bool has_parts =
      q->is_given[AT(QUEUE_DEPTH)] || q->is_given[AT(BATCH_SIZE)] || q->is_given[AT(PENDING)];
  if (!q->is_given[AT(EFFECTIVE_LOAD)] && has_parts) {
    q->signals[AT(EFFECTIVE_LOAD)] =
        q->signals[AT(QUEUE_DEPTH)] + q->signals[AT(BATCH_SIZE)] + q->signals[AT(PENDING)];
    q->is_given[AT(EFFECTIVE_LOAD)] = true;
  }
#undef AT
}

/* Reads candidate i from the top of the stack. */
static void check_candidate(lua_State *L, question *q, size_t i) {
  size_t n = q->view.count;
  int table = lua_gettop(L);
  if (lua_type(L, table) != LUA_TTABLE) {
    luaL_error(L, "candidate %I is %s, expected a table of signals", (LUAI_UACINT)i + 1,
               push_what(L, table));
  }
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    const char *name = blis_signal_name((blis_signal)s);
    if (lua_getfield(L, table, name) != LUA_TNIL) {
      int is_number = 0;
      double value = lua_tonumberx(L, -1, &is_number);
      if (!is_number || isnan(value)) {
        luaL_error(L, "candidate %I has %s = %s, expected a number", (LUAI_UACINT)i + 1, name,
                   push_what(L, -1));
      }
      q->signals[(size_t)s * n + i] = value;
      q->is_given[(size_t)s * n + i] = true;
    }
    lua_pop(L, 1);
  }
  fill_in(q, i);
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    if ((q->self->scorer.needs & BLIS_SIGNAL_BIT(s)) != 0 && !q->is_given[(size_t)s * n + i]) {
      luaL_error(L, "candidate %I has no %s, which scorer '%s' reads", (LUAI_UACINT)i + 1,
                 blis_signal_name((blis_signal)s), q->self->scorer.name);
    }
  }
}

/* Returns the instance of a candidate. Instances must be in ascending order. */
static uint32_t check_instance(lua_State *L, size_t i, int64_t last) {
  int64_t index = opt_field_integer(L, lua_gettop(L), "index", last + 2);
  if (index <= last + 1 || index > BY_HAND_INSTANCES) {
    luaL_error(L,
               "candidate %I has index = %I, expected an integer from %I to "
               "%d; they come in that order",
               (LUAI_UACINT)i + 1, (LUAI_UACINT)index, (LUAI_UACINT)last + 2, BY_HAND_INSTANCES);
  }
  return (uint32_t)(index - 1);
}

static const double *give_column(void *ud, blis_signal signal) {
  const question *q = ud;
  return &q->signals[(size_t)signal * q->view.count];
}

/* Pushes the buffers of the view. */
static void push_view_of(lua_State *L, int list, size_t count, question *q) {
  luaL_checkstack(L, LUA_MINSTACK, "candidates");
  q->view.count = count;
  q->signals = push_buffer(L, count * BLIS_SIGNAL_COUNT, sizeof(double));
  q->is_given = push_buffer(L, count * BLIS_SIGNAL_COUNT, sizeof(bool));
  uint32_t *instances = push_buffer(L, count, sizeof *instances);
  uint32_t *ranks = push_buffer(L, count, sizeof *ranks);
  const char **ids = push_buffer(L, count, sizeof *ids);
  lua_createtable(L, (int)count, 0); /* keeps the ids */
  int kept = lua_gettop(L);
  int64_t last = -1;
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    check_candidate(L, q, i);
    instances[i] = check_instance(L, i, last);
    last = instances[i];
    ranks[i] = (uint32_t)i;
    lua_settop(L, kept);
  }
  const int digits = blis_instance_id_digits(instances[count - 1] + 1);
  for (size_t i = 0; i < count; i++) {
    push_instance_id(L, instances[i], digits);
    ids[i] = lua_tostring(L, -1);
    lua_rawseti(L, kept, (lua_Integer)i + 1);
  }
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    q->view.columns[s] = &q->signals[(size_t)s * count];
  }
  q->view.instances = instances;
  q->view.ids = ids;
  q->view.id_ranks = ranks;
  q->view.column = give_column;
  q->view.column_ud = q;
}

/* Raises the error of a call, if it failed. */
static void check_answer(lua_State *L, question *q, blis_status status, const blis_error *error) {
  blis_block_namer_release(q->self->namer, &q->chain);
  if (status != BLIS_OK && q->lacks_content) {
    luaL_error(L,
               "scorer '%s' reads the prompt, and the content of this request "
               "stays in its list; describe it: content = { { 'system', %I }, "
               "... }",
               q->self->scorer.name, (LUAI_UACINT)q->request.prompt_tokens);
  }
  check_status(L, status, error);
}

const double *push_scores_by_hand(lua_State *L, int scorer, int request, int candidates) {
  int top = lua_gettop(L);
  luaL_checktype(L, candidates, LUA_TTABLE);
  size_t count = lua_rawlen(L, candidates);
  luaL_argcheck(L, count > 0 && count <= BY_HAND_INSTANCES, candidates,
                "expected a list of 1 to 1024 candidates");
  question q = {.self = luaL_checkudata(L, scorer, BY_HAND_TYPE)};
  double *scores = push_buffer(L, count, sizeof *scores);
  push_request_of(L, request, &q);
  push_view_of(L, candidates, count, &q);
  blis_error error = {0};
  const blis_scorer *asked = &q.self->scorer;
  blis_status status =
      asked->ops->score(&(blis_question){asked->state, &q.request, &q.view, &error}, scores);
  check_answer(L, &q, status, &error);
  lua_settop(L, top + 1);
  return scores;
}

void check_observe_by_hand(lua_State *L, int scorer, int request, int candidate) {
  int top = lua_gettop(L);
  question q = {.self = luaL_checkudata(L, scorer, BY_HAND_TYPE)};
  const blis_scorer *told = &q.self->scorer;
  luaL_checktype(L, candidate, LUA_TTABLE);
  if (lua_getfield(L, candidate, "index") == LUA_TNIL) {
    luaL_error(L, "expected the instance that was chosen, { index = 2 }");
  }
  int64_t index = check_field_integer(L, candidate, "index");
  luaL_argcheck(L, index >= 1 && index <= BY_HAND_INSTANCES, candidate, "index is out of range");
  push_request_of(L, request, &q);
  const double zeros[1] = {0};
  const uint32_t instances[1] = {(uint32_t)(index - 1)};
  const uint32_t ranks[1] = {0};
  push_instance_id(L, index - 1, blis_instance_id_digits((uint32_t)index));
  const char *ids[1] = {lua_tostring(L, -1)};
  q.view.count = 1;
  q.view.instances = instances;
  q.view.id_ranks = ranks;
  q.view.ids = ids;
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    q.view.columns[s] = zeros;
  }
  blis_error error = {0};
  blis_status status =
      told->ops->observe == NULL
          ? BLIS_OK
          : told->ops->observe(&(blis_question){told->state, &q.request, &q.view, &error}, 0);
  check_answer(L, &q, status, &error);
  lua_settop(L, top);
}
