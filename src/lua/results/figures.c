#include "lua/results/figures.h"

#include "lua/bind/bind.h"
#include "results/goodput.h"
#include "results/window.h"

void set_percentiles(lua_State *L, const char *name,
                     const blis_percentiles *d) {
  lua_createtable(L, 0, BLIS_PERCENTILE_COUNT + 4);
  set_field_integer(L, "count", d->count);
  set_field_number(L, "mean", d->mean_ms);
  set_field_number(L, "min", d->min_ms);
  set_field_number(L, "max", d->max_ms);
  for (int p = 0; p < BLIS_PERCENTILE_COUNT; p++) {
    set_field_number(L, blis_percentile_name((blis_percentile)p), d->at_ms[p]);
  }
  lua_setfield(L, -2, name);
}

void set_counts(lua_State *L, const blis_state_counts *counts) {
  set_field_integer(L, "arrived", counts->arrived);
  set_field_integer(L, "completed", counts->completed);
  set_field_integer(L, "length_capped", counts->length_capped);
  set_field_integer(L, "rejected", counts->rejected);
  set_field_integer(L, "timed_out", counts->timed_out);
  set_field_integer(L, "unservable", counts->unservable);
  set_field_integer(L, "failed", counts->failed);
  set_field_integer(L, "still_running", counts->still_running);
  set_field_integer(L, "still_queued", counts->still_queued);
  set_field_integer(L, "still_arriving", counts->still_arriving);
}

void set_group(lua_State *L, const blis_group *group) {
  set_counts(L, &group->counts);
  set_field_integer(L, "prompt_tokens", group->prompt_tokens);
  set_field_integer(L, "output_tokens", group->output_tokens);
  set_percentiles(L, "ttft_ms", &group->ttft);
  set_percentiles(L, "itl_ms", &group->itl);
  set_percentiles(L, "e2e_ms", &group->e2e);
  set_percentiles(L, "scheduling_delay_ms", &group->scheduling_delay);
}

/* Groups that Lua frees should something raise. */
typedef struct guarded_groups {
  blis_alloc alloc;
  blis_groups groups;
} guarded_groups;

static int groups_gc(lua_State *L) {
  guarded_groups *self = lua_touserdata(L, 1);
  blis_groups_deinit(&self->groups, &self->alloc);
  return 0;
}

void push_groups(lua_State *L, const bind_records *records,
                 blis_group_key key) {
  guarded_groups *self = push_guarded(L, 1, sizeof *self, groups_gc);
  self->alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L,
               blis_groups_init(&self->groups, &self->alloc, records->recorder,
                                key, records->source.source.strings, &error),
               &error);
  int count = (int)self->groups.count;
  lua_createtable(L, count, count); // [guard, list]
  for (int i = 0; i < count; i++) {
    const blis_group *group = &self->groups.items[i];
    lua_createtable(L, 0, 18);
    set_field_string(L, "name", group->name);
    set_group(L, group);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, group->name);
    lua_rawseti(L, -2, i + 1);
  }
  blis_groups_deinit(&self->groups, &self->alloc);
  lua_remove(L, -2);
}

int bind_records_groups(lua_State *L) {
  static const char *const keys[] = {"slo_class", "tenant", "model", NULL};
  const bind_records *records = check_records(L, 1);
  push_groups(L, records, (blis_group_key)luaL_checkoption(L, 2, NULL, keys));
  return 1;
}

/* window(from_us, to_us): figures of a part of the run. */
int bind_records_window(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  lua_Integer from_us = luaL_checkinteger(L, 2);
  lua_Integer to_us = luaL_checkinteger(L, 3);
  luaL_argcheck(L, to_us > from_us, 3, "the window ends before it begins");
  blis_alloc alloc = bind_alloc(L);
  blis_window window;
  check_status(
      L, blis_window_fill(&window, &alloc, records->recorder, from_us, to_us),
      NULL);
  lua_createtable(L, 0, 22);
  set_group(L, &window.group);
  set_field_integer(L, "from_us", from_us);
  set_field_integer(L, "to_us", to_us);
  set_field_number(L, "requests_per_sec", window.requests_per_sec);
  set_field_number(L, "tokens_per_sec", window.tokens_per_sec);
  return 1;
}

static void push_goodput(lua_State *L, const blis_goodput *goodput,
                         const blis_goodput_target *target) {
  lua_createtable(L, 0, 8);
  set_field_string(L, "name", target->slo_class);
  set_field_integer(L, "arrived", goodput->arrived);
  set_field_integer(L, "completed", goodput->completed);
  set_field_integer(L, "good", goodput->good);
  set_field_integer(L, "ttft_met", goodput->ttft_met);
  set_field_integer(L, "itl_met", goodput->itl_met);
  set_field_integer(L, "e2e_met", goodput->e2e_met);
  set_field_number(L, "attainment", blis_goodput_attainment(goodput));
}

/* goodput { { slo_class =, ttft_ms =, itl_ms =, e2e_ms = }, ... } */
int bind_records_goodput(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  size_t count = lua_rawlen(L, 2);
  blis_goodput_target *targets = push_buffer(L, count, sizeof *targets);
  blis_goodput *goodputs = push_buffer(L, count, sizeof *goodputs);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    luaL_checktype(L, -1, LUA_TTABLE);
    targets[i] = (blis_goodput_target){
        .slo_class = check_field_string(L, -1, "slo_class"),
        .ttft_ms = opt_field_number(L, -1, "ttft_ms", 0),
        .itl_ms = opt_field_number(L, -1, "itl_ms", 0),
        .e2e_ms = opt_field_number(L, -1, "e2e_ms", 0),
    };
    lua_pop(L, 1);
  }
  blis_alloc alloc = bind_alloc(L);
  check_status(L,
               blis_goodput_fill(goodputs, targets, count, &alloc,
                                 records->recorder,
                                 records->source.source.strings),
               NULL);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    push_goodput(L, &goodputs[i], &targets[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}
