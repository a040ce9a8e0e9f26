#include "lua/policies/routing/scorer.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lua/bind/bind.h"
#include "lua/bind/column_program.h"
#include "lua/policies/builtin/builtin.h"
#include "lua/policies/routing/score_loop.h"
#include "lua/policies/view/decision.h"
#include "lua/policies/view/fresh.h"
#include "lua/policies/view/listening.h"

#define SCORER_TYPE "blis.scorer_at_work"

struct bind_scorer {
  bind_decider decider;
  blis_scorer builtin; /* all zero if the scorer is scripted */
  bind_scorer *base;   /* NULL = none */
  bind_scorer_form form;
  int score;                    /* indices of the functions in the anchor */
  int observe;                  /* 0 = none */
  bool is_in_router;            /* the router reports decisions to this scorer */
  bind_column_program *program; /* program of score; NULL = none at present */
  int program_keeper;           /* index of its keeper in the anchor */
  int calls;                    /* number of calls of score */
  /* Programs on candidates: the fields that the program reads, and the value of the hooks'
     `entries` when the tables of instances were last checked. */
  int field_count;
  int field_texts[CANDIDATE_FIELDS_MAX];
  blis_signal fields[CANDIDATE_FIELDS_MAX];
  uint64_t looked_at;
  uint64_t decision; /* decision to which the scores belong; 0 = none */
  int64_t given;     /* number of scores returned to a pipeline */
  int64_t outside;   /* number of scores outside of 0 to 1 */
  double least;
  double most;
  bind_scorer *next; /* created later */
  double scores[];   /* instance_count items */
};

/* Arguments of a protected body. */
typedef struct scorer_call {
  bind_scorer *scorer;
  double *scores; /* out, one per candidate */
  size_t chosen;
} scorer_call;

static int raise_nan(lua_State *L, const char *id) {
  return luaL_error(L, "the score of %s is not a number (nan)", id);
}

/* Returns the score at index. */
static double check_score(lua_State *L, int index, const bind_scorer *self, size_t candidate) {
  const char *const *ids = self->decider.view->view->ids;
  int type = lua_type(L, index);
  bool is_missing = type == LUA_TNIL || (type == LUA_TBOOLEAN && self->form == SCORER_ALL);
  if (is_missing && self->decider.view->missing_is_zero) {
    return 0;
  }
  if (type != LUA_TNUMBER) {
    if (type == LUA_TBOOLEAN && self->form == SCORER_ALL) {
      luaL_error(L,
                 "score_all set no score for %s (scores[%I]); it fills in the "
                 "list that it is given",
                 ids[candidate], (LUAI_UACINT)candidate + 1);
    }
    luaL_error(L, "the score of %s is %s, expected a number", ids[candidate], push_what(L, index));
  }
  double score = lua_tonumberx(L, index, NULL);
  if (isnan(score)) {
    raise_nan(L, ids[candidate]);
  }
  return score;
}

/*
 * Calls the loop of a chunk, which is on the stack below its arguments. The loop returns the scores
 * of its candidates.
 */
static void check_chunk(lua_State *L, bind_scorer *self, int argument_count, size_t first,
                        size_t count) {
  int top = lua_gettop(L) - argument_count - 1;
  lua_call(L, argument_count, (int)count);
  for (size_t k = 0; k < count; k++) {
    self->scores[first + k] = check_score(L, top + 1 + (int)k, self, first + k);
  }
  lua_settop(L, top);
}

static size_t chunk_after(size_t first, size_t count) {
  return count - first < LOOP_CHUNK ? count - first : LOOP_CHUNK;
}

/* Reads the result of a column expression: a vector, or one number for all candidates. */
static void check_column_result(lua_State *L, bind_scorer *self) {
  const bind_view *view = self->decider.view;
  size_t count = view->view->count;
  const bind_vector *vector = bind_vector_test(L, -1);
  if (vector == NULL && lua_type(L, -1) != LUA_TNUMBER) {
    luaL_error(L, "score returned %s, expected a vector or a number", push_what(L, -1));
  }
  if (vector != NULL && vector->count != count) {
    luaL_error(L, "score returned a vector of %I items for %I candidates",
               (LUAI_UACINT)vector->count, (LUAI_UACINT)count);
  }
  double single = lua_tonumber(L, -1);
  for (size_t i = 0; i < count; i++) {
    self->scores[i] = vector != NULL ? vector->items[i] : single;
    if (isnan(self->scores[i])) {
      raise_nan(L, view->view->ids[i]);
    }
  }
}

/* Stores the signals that a candidate program reads. Returns false if it reads other fields. */
static bool set_fields(lua_State *L, bind_scorer *self, int keeper) {
  self->field_count = bind_candidate_program_fields(self->program, self->field_texts);
  self->looked_at = 0;
  bool are_signals = true;
  for (int i = 0; i < self->field_count; i++) {
    lua_rawgeti(L, keeper, self->field_texts[i]);
    self->fields[i] = blis_signal_find(lua_tostring(L, -1));
    are_signals &= self->fields[i] != BLIS_SIGNAL_COUNT;
    lua_pop(L, 1);
  }
  return are_signals;
}

/*
 * Creates a program for a function, if possible, starting with its second call, because the fields
 * that it reads exist only after the first call. Programs whose runs fail are translated again a
 * limited number of times.
 */
static void find_program(lua_State *L, bind_scorer *self, int anchor, int function) {
  enum { CALLS_MAX = 8 };
  const bind_view *view = self->decider.view;
  const int top = lua_gettop(L);
  if (self->calls == 0 || self->calls >= CALLS_MAX || lua_gethook(L) != NULL) {
    return;
  }
  bind_translation outcome = self->form == SCORER_COLUMNS
                                 ? push_column_program(L, function, view->view->count,
                                                       view->instance_count, &self->program)
                                 : push_candidate_program(L, function, &self->program);
  if (outcome == TRANSLATION_MADE && self->form == SCORER_PER_CANDIDATE &&
      !set_fields(L, self, top + 1)) {
    self->program = NULL;
    outcome = TRANSLATION_NEVER;
  }
  if (outcome == TRANSLATION_MADE) {
    lua_rawseti(L, anchor, self->program_keeper);
  } else if (outcome == TRANSLATION_NEVER) {
    self->calls = CALLS_MAX;
  }
  lua_settop(L, top);
}

/*
 * Returns whether the tables of instances still contain the original values of the fields that the
 * program reads. Scripts can write to these tables, so the check is skipped only if no script has
 * run.
 */
static bool has_own_fields(lua_State *L, bind_scorer *self, int anchor, int keeper) {
  const bind_view *view = self->decider.view;
  bool holds = true;
  if (self->looked_at == view->hooks->entries) {
    return true;
  }
  for (int i = 0; holds && i < self->field_count; i++) {
    lua_rawgeti(L, keeper, self->field_texts[i]);
    holds = bind_view_holds(L, view, anchor, lua_gettop(L), self->fields[i]);
    lua_pop(L, 1);
  }
  self->looked_at = holds ? view->hooks->entries : 0;
  return holds;
}

/* Computes the scores with the program of the function; does not raise. */
static bool run_made_program(lua_State *L, bind_scorer *self, int anchor, int function, int keeper,
                             double *scores) {
  const bind_view *view = self->decider.view;
  const double *fields[CANDIDATE_FIELDS_MAX];
  if (self->form == SCORER_COLUMNS) {
    return bind_column_program_run(L, self->program, function, keeper, view->view->count, scores);
  }
  if (!has_own_fields(L, self, anchor, keeper)) {
    return false;
  }
  for (int i = 0; i < self->field_count; i++) {
    fields[i] = bind_view_column(view, self->fields[i]);
    if (fields[i] == NULL) {
      return false;
    }
  }
  return bind_candidate_program_run(L, self->program, function, keeper, fields, view->view->count,
                                    scores);
}

/*
 * Returns whether the program of the function at index `function` has set the scores. If not, the
 * caller must call the function.
 */
static bool run_program(lua_State *L, bind_scorer *self, int anchor, int function) {
  if (self->program == NULL) {
    find_program(L, self, anchor, function);
  }
  if (self->program != NULL) {
    lua_rawgeti(L, anchor, self->program_keeper);
    bool has_run = run_made_program(L, self, anchor, function, lua_gettop(L), self->scores);
    lua_pop(L, 1);
    if (has_run) {
      return true;
    }
  }
  self->program = NULL;
  self->calls += self->calls < INT_MAX;
  return false;
}

static void score_columns(lua_State *L, bind_scorer *self, int anchor, const double *base) {
  bind_view *view = self->decider.view;
  lua_rawgeti(L, anchor, self->score);
  int function = lua_gettop(L);
  push_view_request(L, view, anchor);
  push_view_columns(L, view, anchor);
  if (base != NULL) {
    memcpy(push_vector_temporary(L, view->view->count), base, view->view->count * sizeof *base);
  }
  if (run_program(L, self, anchor, function)) {
    return;
  }
  lua_call(L, base == NULL ? 2 : 3, 1);
  check_column_result(L, self);
}

/* Sets the initial scores: the scores of the base, if any. */
static void set_scores(lua_State *L, int scores, const double *base, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (base != NULL) {
      lua_pushnumber(L, base[i]);
    } else {
      lua_pushboolean(L, 0); /* so that a missing score is detected */
    }
    lua_rawseti(L, scores, (lua_Integer)i + 1);
  }
}

/*
 * Pushes a table of scores, with false for each candidate. No other scorer writes to the table,
 * because one scorer may call another. The default table no longer contains the scores of the last
 * decision.
 */
static void push_scores_table(lua_State *L, const bind_view *view, int anchor) {
  if (view->scorings == 1) {
    lua_rawgeti(L, anchor, ANCHOR_SCORES);
  } else {
    lua_createtable(L, (int)view->view->count, 0);
    set_scores(L, lua_gettop(L), NULL, view->view->count);
  }
}

/* Reads the scores in the table at index scores. */
static void check_scores_in(lua_State *L, int anchor, int scores, bind_scorer *self) {
  size_t count = self->decider.view->view->count;
  for (size_t first = 0; first < count; first += LOOP_CHUNK) {
    size_t chunk = chunk_after(first, count);
    push_score_loop(L, anchor, LOOP_TAKE, first, chunk);
    lua_pushvalue(L, scores);
    check_chunk(L, self, 1, first, chunk);
  }
}

/* Returns whether the scores of all candidates were computed without a call. */
static bool has_scored_each(lua_State *L, bind_scorer *self, int anchor) {
  const int top = lua_gettop(L);
  bind_view *view = self->decider.view;
  lua_rawgeti(L, anchor, self->score);
  push_view_request(L, view, anchor);
  push_view_instances(L, view, anchor);
  lua_rawgeti(L, -1, (lua_Integer)view->view->instances[0] + 1);
  lua_remove(L, -2);
  bool has_run = run_program(L, self, anchor, top + 1);
  lua_settop(L, top);
  return has_run;
}

/* Calls the function once per candidate. base contains the scores of the base, or is NULL. */
static void score_each(lua_State *L, bind_scorer *self, int anchor, const double *base) {
  bind_view *view = self->decider.view;
  size_t count = view->view->count;
  luaL_checkstack(L, LOOP_CHUNK + LUA_MINSTACK, "a scorer");
  if (base == NULL && has_scored_each(L, self, anchor)) {
    return;
  }
  push_view_request(L, view, anchor);
  int request = lua_gettop(L);
  push_view_candidates(L, view, anchor);
  if (base != NULL) {
    push_scores_table(L, view, anchor);
    set_scores(L, request + 2, base, count);
  }
  for (size_t first = 0; first < count; first += LOOP_CHUNK) {
    size_t chunk = chunk_after(first, count);
    push_score_loop(L, anchor, base == NULL ? LOOP_CALL : LOOP_WITH_BASE, first, chunk);
    lua_rawgeti(L, anchor, self->score);
    lua_pushvalue(L, request);
    lua_pushvalue(L, request + 1);
    if (base == NULL) {
      check_chunk(L, self, 3, first, chunk);
    } else {
      lua_pushvalue(L, request + 2);
      lua_call(L, 4, 0);
    }
  }
  if (base != NULL) {
    check_scores_in(L, anchor, request + 2, self);
  }
}

static void score_all(lua_State *L, bind_scorer *self, int anchor, const double *base) {
  bind_view *view = self->decider.view;
  luaL_checkstack(L, LOOP_CHUNK + LUA_MINSTACK, "a scorer");
  push_scores_table(L, view, anchor);
  int scores = lua_gettop(L);
  if (base != NULL) {
    set_scores(L, scores, base, view->view->count);
  }
  lua_rawgeti(L, anchor, self->score);
  push_view_request(L, view, anchor);
  push_view_candidates(L, view, anchor);
  lua_pushvalue(L, scores);
  lua_call(L, 3, 0);
  check_scores_in(L, anchor, scores, self);
}

void push_scorer_places(lua_State *L, const bind_view *view) {
  int top = lua_gettop(L);
  bind_hooks_anchor(L, view->hooks);
  lua_newtable(L);
  lua_rawseti(L, top + 1, ANCHOR_SCORERS);
  push_score_loops(L, top + 1);
  lua_createtable(L, (int)view->instance_count, 0);
  set_scores(L, lua_gettop(L), NULL, view->instance_count);
  lua_rawseti(L, top + 1, ANCHOR_SCORES);
  lua_settop(L, top);
}

static void score_builtin(lua_State *L, bind_scorer *self) {
  bind_view *view = self->decider.view;
  if (view->request->chain == NULL) {
    luaL_error(L,
               "scorer '%s' can be called only while a request is being "
               "admitted or routed",
               self->decider.name);
  }
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    if ((self->builtin.needs & BLIS_SIGNAL_BIT(s)) != 0) {
      check_view_column(L, view, (blis_signal)s);
    }
  }
  blis_error error = {0};
  check_status(
      L,
      self->builtin.ops->score(
          &(blis_question){self->builtin.state, view->request, view->view, &error}, self->scores),
      &error);
}

const double *check_scores(lua_State *L, bind_scorer *self, int anchor) {
  typedef void scoring(lua_State * L, bind_scorer * self, int anchor, const double *base);
  static scoring *const forms[] = {score_each, score_columns, score_all};
  bind_view *view = self->decider.view;
  if (self->decision == view->pool->decision || view->view->count == 0) {
    return self->scores;
  }
  if (self->builtin.ops != NULL) {
    score_builtin(L, self);
  } else {
    int top = lua_gettop(L);
    luaL_checkstack(L, LUA_MINSTACK, "scorers that call each other");
    const double *base = self->base == NULL ? NULL : check_scores(L, self->base, anchor);
    view->scorings++;
    forms[self->form](L, self, anchor, base);
    view->scorings--;
    lua_settop(L, top);
  }
  self->decision = view->pool->decision;
  return self->scores;
}

static int score_body(lua_State *L, void *ud) {
  const scorer_call *call = ud;
  const bind_view *view = call->scorer->decider.view;
  const double *scores = check_scores(L, call->scorer, AT_ANCHOR);
  memcpy(call->scores, scores, view->view->count * sizeof *scores);
  return 0;
}

static int observe_body(lua_State *L, void *ud) {
  const scorer_call *call = ud;
  bind_view *view = call->scorer->decider.view;
  lua_rawgeti(L, AT_ANCHOR, call->scorer->observe);
  push_view_request(L, view, AT_ANCHOR);
  push_view_instances(L, view, AT_ANCHOR);
  lua_rawgeti(L, -1, (lua_Integer)view->view->instances[call->chosen] + 1);
  lua_remove(L, -2);
  lua_call(L, 2, 0);
  return 0;
}

/* Counts the scores that a pipeline will clamp. */
static void count_scores(bind_scorer *self, const double *scores, size_t count) {
  double least = self->least;
  double most = self->most;
  for (size_t i = 0; i < count; i++) {
    least = scores[i] < least ? scores[i] : least;
    most = scores[i] > most ? scores[i] : most;
  }
  self->given += (int64_t)count;
  self->least = least;
  self->most = most;
  for (size_t i = 0; (least < 0 || most > 1) && i < count; i++) {
    self->outside += scores[i] < 0 || scores[i] > 1;
  }
}

void set_clamped_scores(lua_State *L, const bind_view *view) {
  lua_Integer count = 0;
  lua_newtable(L);
  for (const bind_scorer *s = view->scorers; s != NULL; s = s->next) {
    if (s->outside == 0) {
      continue;
    }
    lua_createtable(L, 0, 5);
    set_field_string(L, "name", s->decider.name);
    set_field_integer(L, "scores", s->given);
    set_field_integer(L, "outside", s->outside);
    set_field_number(L, "least", s->least);
    set_field_number(L, "most", s->most);
    lua_rawseti(L, -2, ++count);
  }
  if (count > 0) {
    lua_setfield(L, -2, "clamped");
  } else {
    lua_pop(L, 1);
  }
}

/*
 * Computes the scores with a program, without a protected call, because nothing in this function
 * raises. The stack slot of the request is empty if the program does not read it.
 */
static bool set_scores_by_program(bind_scorer *self, double *scores) {
  const bind_view *view = self->decider.view;
  lua_State *L = view->hooks->L;
  if (!lua_checkstack(L, LUA_MINSTACK) ||
      (self->form == SCORER_COLUMNS && !bind_view_point_columns(view))) {
    return false;
  }
  const int top = lua_gettop(L);
  bind_hooks_anchor(L, view->hooks);
  lua_rawgeti(L, top + 1, self->program_keeper);
  lua_rawgeti(L, top + 1, self->score);
  lua_pushnil(L);
  lua_rawgeti(L, top + 1, ANCHOR_COLUMNS);
  bool has_run = run_made_program(L, self, top + 1, top + 3, top + 2, scores);
  lua_settop(L, top);
  return has_run;
}

/* Returns whether the scores were set without calling Lua. */
static bool has_scored_alone(bind_scorer *self, const blis_question *q, double *scores) {
  bind_view *view = self->decider.view;
  if (self->program == NULL || self->base != NULL || bind_column_program_reads(self->program, 0)) {
    return false;
  }
  view->request = q->request;
  view->view = q->view;
  bind_vector_scope scope = bind_vector_enter(view->pool, view);
  bool has_scored = set_scores_by_program(self, scores);
  bind_vector_leave(view->pool, scope);
  view->request = NULL;
  view->view = NULL;
  return has_scored;
}

static blis_status scorer_score(const blis_question *q, double *scores) {
  bind_scorer *scorer = q->state;
  scorer_call call = {.scorer = scorer, .scores = scores};
  scorer->decider.view->is_observed = false;
  if (has_scored_alone(scorer, q, scores)) {
    count_scores(scorer, scores, q->view->count);
    return BLIS_OK;
  }
  BLIS_TRY(bind_decide(&scorer->decider, q->request, q->view, score_body, &call, q->error));
  if (scorer->builtin.ops == NULL) {
    count_scores(scorer, scores, q->view->count);
  }
  return BLIS_OK;
}

static blis_status tell_of_decision(bind_scorer *scorer, const blis_routing_request *request,
                                    const blis_routing_view *view, size_t chosen,
                                    blis_error *error) {
  const blis_scorer *builtin = &scorer->builtin;
  if (builtin->ops != NULL) {
    return builtin->ops->observe == NULL
               ? BLIS_OK
               : builtin->ops->observe(&(blis_question){builtin->state, request, view, error},
                                       chosen);
  }
  scorer_call call = {.scorer = scorer, .chosen = chosen};
  return scorer->observe == 0
             ? BLIS_OK
             : bind_decide(&scorer->decider, request, view, observe_body, &call, error);
}

blis_status bind_observe_decision(bind_view *view, const blis_routing_request *request,
                                  const blis_routing_view *candidates, size_t chosen,
                                  blis_error *error) {
  view->is_observed = true;
  for (bind_scorer *s = view->scorers; s != NULL; s = s->next) {
    if (!s->is_in_router) {
      BLIS_TRY(tell_of_decision(s, request, candidates, chosen, error));
    }
  }
  return BLIS_OK;
}

static blis_status scorer_observe(const blis_question *q, size_t chosen) {
  const blis_routing_view *view = q->view;
  bind_scorer *scorer = q->state;
  BLIS_TRY(tell_of_decision(scorer, q->request, view, chosen, q->error));
  bind_view *shown = scorer->decider.view;
  return shown->is_observed ? BLIS_OK
                            : bind_observe_decision(shown, q->request, view, chosen, q->error);
}

/* Does nothing, because Lua owns the state. */
static void scorer_free(const blis_alloc *alloc, void *state) {
  (void)alloc;
  (void)state;
}

static const blis_scorer_ops scripted_ops = {
    .score = scorer_score, .observe = scorer_observe, .free = scorer_free};

static int scorer_gc(lua_State *L) {
  bind_scorer *self = lua_touserdata(L, 1);
  blis_scorer_free(&self->builtin);
  return 0;
}

static const luaL_Reg scorer_meta[] = {{"__gc", scorer_gc}, {NULL, NULL}};

void bind_open_scorers(lua_State *L) {
  push_new_type(L, SCORER_TYPE, scorer_meta, NULL);
  lua_pop(L, 1);
}

static bind_scorer *push_scorer(lua_State *L, bind_view *view) {
  size_t size = sizeof(bind_scorer) + (size_t)view->instance_count * sizeof(double);
  bind_scorer *self = lua_newuserdatauv(L, size, 0);
  memset(self, 0, size);
  luaL_setmetatable(L, SCORER_TYPE);
  self->decider = (bind_decider){.view = view, .kind = "scorer"};
  return self;
}

static void check_scripted(lua_State *L, int index, bind_scorer *self) {
  static const char *const forms[] = {"candidate", "columns", "all", NULL};
  bind_view *view = self->decider.view;
  self->form = (bind_scorer_form)check_field_choice(L, index, "form", forms);
  if (lua_getfield(L, index, "base") != LUA_TNIL) {
    self->base = check_view_scorer(L, lua_gettop(L), view);
  }
  lua_pop(L, 1);
  self->score = push_hook_field(L, index, "score", view->hooks);
  self->observe = push_hook_field(L, index, "observe", view->hooks);
  if (self->form != SCORER_ALL) {
    lua_pushboolean(L, 0);
    self->program_keeper = push_hook_function(L, view->hooks);
  }
  check_listening(L, index, view, &self->decider);
}

void check_shown_scorer(lua_State *L, int index, const bind_view *view,
                        const blis_policy_context *context, blis_scorer *scorer) {
  check_builtin_scorer(L, index, context, scorer);
  if (view->hides_live && (scorer->needs & BLIS_SIGNAL_BIT(BLIS_SIGNAL_LIVE_PREFIX_HIT)) != 0) {
    blis_scorer_free(scorer);
    *scorer = (blis_scorer){0};
    luaL_error(L,
               "scorer '%s' reads information that no router has; use it only "
               "for bounds, with live_signals = true in the experiment",
               check_field_string(L, index, "name"));
  }
}

/* Checks a new scorer. The definition at index is kept, because it identifies the scorer. */
static void check_new_scorer(lua_State *L, int index, bind_scorer *self) {
  const blis_policy_context *context = &self->decider.view->context;
  snprintf(self->decider.name, sizeof self->decider.name, "%s",
           check_field_string(L, index, "name"));
  if (is_scripted_policy(L, index, "score")) {
    lua_pushvalue(L, index);
    check_fresh(L, lua_gettop(L), context);
    check_scripted(L, lua_gettop(L), self);
    lua_pop(L, 1);
  } else {
    check_shown_scorer(L, index, self->decider.view, context, &self->builtin);
  }
}

/* Appends to the list, which is in order of creation. */
static void append(bind_view *view, bind_scorer *self) {
  bind_scorer **last = &view->scorers;
  while (*last != NULL) {
    last = &(*last)->next;
  }
  *last = self;
}

bind_scorer *check_view_scorer(lua_State *L, int index, bind_view *view) {
  int top = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, "scorers that build on each other");
  bind_hooks_anchor(L, view->hooks);
  lua_rawgeti(L, -1, ANCHOR_SCORERS);
  lua_pushvalue(L, index);
  lua_rawget(L, -2);
  bind_scorer *self = lua_touserdata(L, -1);
  if (self == NULL) {
    self = push_scorer(L, view); // [anchor, scorers, nil, scorer]
    check_new_scorer(L, index, self);
    lua_pushvalue(L, index);
    lua_pushvalue(L, top + 4);
    lua_rawset(L, top + 2);
    append(view, self);
  }
  lua_settop(L, top);
  return self;
}

void check_scripted_scorer(lua_State *L, int index, bind_view *view, blis_scorer *scorer) {
  bind_scorer *self = check_view_scorer(L, index, view);
  self->is_in_router = true;
  *scorer = (blis_scorer){
      .ops = &scripted_ops,
      .state = self,
      .alloc = bind_alloc(L),
      .needs = BLIS_SIGNALS_WITH_HISTORY, /* other signals are fetched when read */
      .name = self->decider.name,
  };
}
