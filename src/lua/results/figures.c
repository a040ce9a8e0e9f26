#include "lua/results/figures.h"

#include "lua/bind/bind.h"
#include "results/summary/goodput.h"
#include "results/summary/groups.h"

void set_figures(lua_State *L, blis_figure_list list, const void *values) {
  size_t count;
  const blis_figure *figures = blis_figures(list, &count);
  for (size_t i = 0; i < count; i++) {
    const void *place = (const char *)values + figures[i].offset;
    switch (figures[i].type) {
    case BLIS_FIGURE_INTEGER:
      lua_pushinteger(L, *(const int64_t *)place);
      break;
    case BLIS_FIGURE_NUMBER:
      lua_pushnumber(L, *(const double *)place);
      break;
    case BLIS_FIGURE_TIMES:
      lua_createtable(L, 0, BLIS_PERCENTILE_COUNT + 4);
      set_figures(L, BLIS_FIGURES_PERCENTILES, place);
      set_printable(L);
      break;
    }
    lua_setfield(L, -2, figures[i].name);
  }
}

static void set_word(lua_State *L, const char *name, const char *word) {
  if (word[0] != '\0') {
    set_field_string(L, name, word);
  }
}

static void push_figure(lua_State *L, const blis_figure *figure) {
  static const char *const types[] = {"integer", "number", "times"};
  lua_createtable(L, 0, 6);
  set_field_string(L, "name", figure->name);
  set_field_string(L, "type", types[figure->type]);
  set_field_string(L, "better", figure->better);
  set_word(L, "unit", figure->unit);
  set_word(L, "shown", figure->shown);
  set_field_string(L, "doc", figure->text);
}

int bind_figures(lua_State *L) {
  lua_createtable(L, 0, BLIS_FIGURE_LIST_COUNT);
  for (int list = 0; list < BLIS_FIGURE_LIST_COUNT; list++) {
    size_t count;
    const blis_figure *figures = blis_figures((blis_figure_list)list, &count);
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
      push_figure(L, &figures[i]);
      lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, blis_figure_list_name((blis_figure_list)list));
  }
  return 1;
}

static void set_waits(lua_State *L, const char *name, const blis_percentiles *waits) {
  lua_createtable(L, 0, BLIS_PERCENTILE_COUNT + 4);
  set_figures(L, BLIS_FIGURES_PERCENTILES, waits);
  set_printable(L);
  lua_setfield(L, -2, name);
}

static void set_group(lua_State *L, const blis_group *group, const blis_recorder *recorder) {
  set_figures(L, BLIS_FIGURES_COUNTS, &group->counts);
  set_figures(L, BLIS_FIGURES_GROUP, group);
  set_figures(L, BLIS_FIGURES_TIMES, &group->times);
  if (blis_recorder_has(recorder, BLIS_EXTRA_gateway_wait_us)) {
    set_waits(L, "gateway_wait_ms", &group->gateway_wait);
  }
  if (blis_recorder_has(recorder, BLIS_EXTRA_adapter_wait_us)) {
    set_waits(L, "adapter_wait_ms", &group->adapter_wait);
  }
}

/* Groups, which Lua frees if an error is raised. */
typedef struct guarded_groups {
  blis_alloc alloc;
  blis_groups groups;
} guarded_groups;

static int groups_gc(lua_State *L) {
  guarded_groups *self = lua_touserdata(L, 1);
  blis_groups_deinit(&self->groups, &self->alloc);
  return 0;
}

void push_groups(lua_State *L, const bind_records *records, blis_group_key key) {
  guarded_groups *self = push_guarded(L, 1, sizeof *self, groups_gc);
  self->alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L,
               blis_groups_init(&self->groups, &self->alloc, records->recorder, key,
                                records->source.source.strings, &error),
               &error);
  int count = (int)self->groups.count;
  lua_createtable(L, count, count); // [guard, list]
  for (int i = 0; i < count; i++) {
    const blis_group *group = &self->groups.items[i];
    lua_createtable(L, 0, 18);
    set_field_string(L, "name", group->name);
    set_group(L, group, records->recorder);
    set_printable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, group->name);
    lua_rawseti(L, -2, i + 1);
  }
  blis_groups_deinit(&self->groups, &self->alloc);
  set_printable(L);
  lua_remove(L, -2);
}

int bind_records_groups(lua_State *L) {
  static const char *const keys[] = {"slo_class", "tenant",  "model", "adapter",
                                     "session",   "program", NULL};
  const bind_records *records = check_records(L, 1);
  push_groups(L, records, (blis_group_key)check_word_of(L, 2, "requests:groups", keys));
  return 1;
}

/* window(from_us, to_us): returns the metrics of a part of the run. */
static void push_window(lua_State *L, const bind_records *records, const blis_window *window) {
  lua_createtable(L, 0, 24);
  set_group(L, &window->group, records->recorder);
  set_figures(L, BLIS_FIGURES_WINDOW, window);
  set_printable(L);
}

int bind_records_window(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  lua_Integer from_us = luaL_checkinteger(L, 2);
  lua_Integer to_us = luaL_checkinteger(L, 3);
  luaL_argcheck(L, to_us > from_us, 3, "the window ends before it starts");
  blis_alloc alloc = bind_alloc(L);
  blis_window window;
  check_status(L, blis_window_fill(&window, &alloc, records->recorder, from_us, to_us), NULL);
  push_window(L, records, &window);
  return 1;
}

int bind_records_after_completed(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  lua_Integer count = luaL_checkinteger(L, 2);
  luaL_argcheck(L, count >= 0, 2, "expected 0 or more");
  blis_alloc alloc = bind_alloc(L);
  blis_window window;
  check_status(L, blis_window_after_completed(&window, &alloc, records->recorder, (size_t)count),
               NULL);
  push_window(L, records, &window);
  return 1;
}

int bind_records_cohort(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  lua_Integer from_us = luaL_checkinteger(L, 2);
  lua_Integer to_us = luaL_checkinteger(L, 3);
  blis_alloc alloc = bind_alloc(L);
  blis_window window;
  check_status(L, blis_window_of_cohort(&window, &alloc, records->recorder, from_us, to_us), NULL);
  push_window(L, records, &window);
  return 1;
}

/* Pushes and returns a buffer with the targets in the list at index. */
static blis_goodput_target *push_targets(lua_State *L, int index, size_t *count) {
  luaL_checktype(L, index, LUA_TTABLE);
  *count = lua_rawlen(L, index);
  blis_goodput_target *targets = push_buffer(L, *count, sizeof *targets);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, index, (lua_Integer)i + 1);
    luaL_checktype(L, -1, LUA_TTABLE);
    targets[i] = (blis_goodput_target){
        .slo_class = check_field_string(L, -1, "slo_class"),
        .ttft_ms = opt_field_number(L, -1, "ttft_ms", 0),
        .itl_ms = opt_field_number(L, -1, "itl_ms", 0),
        .e2e_ms = opt_field_number(L, -1, "e2e_ms", 0),
    };
    lua_pop(L, 1);
  }
  return targets;
}

/* goodput { { slo_class =, ttft_ms =, itl_ms =, e2e_ms = }, ... } */
int bind_records_goodput(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  size_t count;
  const blis_goodput_target *targets = push_targets(L, 2, &count);
  blis_goodput *goodputs = push_buffer(L, count, sizeof *goodputs);
  blis_alloc alloc = bind_alloc(L);
  check_status(L,
               blis_goodput_fill(goodputs, targets, count, &alloc, records->recorder,
                                 records->source.source.strings),
               NULL);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 11);
    set_field_string(L, "name", targets[i].slo_class);
    set_figures(L, BLIS_FIGURES_GOODPUT, &goodputs[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* Pushes and returns a buffer of intervals that start at the times in the list. */
static blis_goodput_span *push_spans(lua_State *L, int index, size_t *count) {
  luaL_checktype(L, index, LUA_TTABLE);
  *count = lua_rawlen(L, index);
  blis_goodput_span *spans = push_buffer(L, *count, sizeof *spans);
  for (size_t i = 0; i < *count; i++) {
    int is_integer;
    lua_rawgeti(L, index, (lua_Integer)i + 1);
    spans[i].from_us = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || (i > 0 && spans[i].from_us < spans[i - 1].from_us)) {
      luaL_error(L,
                 "goodput_over_time: time %d is not a whole number of "
                 "microseconds, or it is before the one before it",
                 (int)i + 1);
    }
    lua_pop(L, 1);
  }
  return spans;
}

/* goodput_over_time(times_us, targets): returns { { from_us =, arrived =, ... }, ... } */
int bind_records_goodput_over_time(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  size_t span_count;
  size_t count;
  blis_goodput_span *spans = push_spans(L, 2, &span_count);
  const blis_goodput_target *targets = push_targets(L, 3, &count);
  blis_alloc alloc = bind_alloc(L);
  check_status(L,
               blis_goodput_over_time(spans, span_count, targets, count, &alloc, records->recorder,
                                      records->source.source.strings),
               NULL);
  lua_createtable(L, (int)span_count, 0);
  for (size_t i = 0; i < span_count; i++) {
    lua_createtable(L, 0, 4);
    set_field_integer(L, "from_us", spans[i].from_us);
    set_field_integer(L, "arrived", spans[i].arrived);
    set_field_integer(L, "judged", spans[i].judged);
    set_field_integer(L, "good", spans[i].good);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}
