#include "lua/lua_result.h"

#include <inttypes.h>
#include <stdio.h>

#include "lua/bind.h"
#include "results/groups.h"
#include "results/instance_times.h"
#include "results/summary.h"

/* What is computed on the way; Lua frees it should something raise. */
typedef struct working {
  blis_alloc alloc;
  blis_summary summary;
  blis_groups groups;
  const blis_instance_times *times; /* Lua's own; NULL = not wanted */
} working;

static int working_gc(lua_State *L) {
  working *w = lua_touserdata(L, 1);
  if (w->alloc.fn != NULL) {
    blis_summary_deinit(&w->summary, &w->alloc);
    blis_groups_deinit(&w->groups, &w->alloc);
  }
  return 0;
}

static void set_percentiles(lua_State *L, const char *name,
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

static void set_counts(lua_State *L, const blis_state_counts *counts) {
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

/* What is known of one instance only when it was asked for. */
static void set_instance_times(lua_State *L, const blis_instance_times *times) {
  set_counts(L, &times->counts);
  set_percentiles(L, "ttft_ms", &times->ttft);
  set_percentiles(L, "itl_ms", &times->itl);
  set_percentiles(L, "e2e_ms", &times->e2e);
  set_percentiles(L, "scheduling_delay_ms", &times->scheduling_delay);
}

static void push_instance_summary(lua_State *L, uint32_t index,
                                  const blis_instance_summary *one) {
  lua_createtable(L, 0, 14);
  lua_pushfstring(L, "instance_%I", (LUAI_UACINT)index);
  lua_setfield(L, -2, "id");
  set_field_integer(L, "requests", one->requests);
  set_field_integer(L, "end_us", one->end_us);
  set_field_number(L, "cache_hit_rate", one->cache_hit_rate);
  set_field_integer(L, "completed", one->stats.completed);
  set_field_integer(L, "length_capped", one->stats.length_capped);
  set_field_integer(L, "timed_out", one->stats.timed_out);
  set_field_integer(L, "unservable", one->stats.unservable);
  set_field_integer(L, "preemptions", one->stats.preemptions);
  set_field_integer(L, "kv_allocation_failures",
                    one->stats.kv_allocation_failures);
  set_field_integer(L, "steps", one->stats.steps);
  set_field_integer(L, "queue_depth_sum", one->stats.queue_depth_sum);
  set_field_integer(L, "prompt_tokens", one->stats.prompt_tokens);
  set_field_integer(L, "output_tokens", one->stats.output_tokens);
  set_field_integer(L, "cache_hits", one->stats.cache_hits);
  set_field_integer(L, "cache_misses", one->stats.cache_misses);
  set_field_integer(L, "cpu_misses", one->stats.cpu_misses);
  set_field_integer(L, "cpu_saved", one->stats.cpu_saved);
  set_field_integer(L, "cpu_evictions", one->stats.cpu_evictions);
}

/* The groups in order as a list, and each by its name. */
static void set_groups(lua_State *L, const char *name, working *w,
                       const bind_records *records, blis_group_key key) {
  blis_error error = {0};
  check_status(L,
               blis_groups_init(&w->groups, &w->alloc, records->recorder, key,
                                records->source.source.strings, &error),
               &error);
  lua_createtable(L, (int)w->groups.count, (int)w->groups.count);
  for (size_t i = 0; i < w->groups.count; i++) {
    const blis_group *group = &w->groups.items[i];
    lua_createtable(L, 0, 16);
    set_field_string(L, "name", group->name);
    set_counts(L, &group->counts);
    set_field_integer(L, "prompt_tokens", group->prompt_tokens);
    set_field_integer(L, "output_tokens", group->output_tokens);
    set_percentiles(L, "ttft_ms", &group->ttft);
    set_percentiles(L, "itl_ms", &group->itl);
    set_percentiles(L, "e2e_ms", &group->e2e);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, group->name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, name);
  blis_groups_deinit(&w->groups, &w->alloc);
  w->groups = (blis_groups){0};
}

static void set_figures(lua_State *L, const working *w) {
  const blis_summary *s = &w->summary;
  set_counts(L, &s->counts);
  set_field_integer(L, "duration_us", s->duration_us);
  set_field_integer(L, "prompt_tokens", s->prompt_tokens);
  set_field_integer(L, "output_tokens", s->output_tokens);
  set_field_number(L, "requests_per_sec", s->requests_per_sec);
  set_field_number(L, "tokens_per_sec", s->tokens_per_sec);
  set_percentiles(L, "ttft_ms", &s->ttft);
  set_percentiles(L, "itl_ms", &s->itl);
  set_percentiles(L, "e2e_ms", &s->e2e);
  set_percentiles(L, "scheduling_delay_ms", &s->scheduling_delay);
  set_field_number(L, "cache_hit_rate", s->cache_hit_rate);
  set_field_number(L, "cache_hit_rate_overall", s->cache_hit_rate_overall);
  set_field_integer(L, "preemptions", s->preemptions);
  set_field_number(L, "preemption_rate", s->preemption_rate);
  set_field_integer(L, "kv_allocation_failures", s->kv_allocation_failures);
  set_field_integer(L, "steps", s->steps);
  set_field_number(L, "balance", s->balance);
  char hash[20];
  snprintf(hash, sizeof hash, "%016" PRIx64, s->hash);
  set_field_string(L, "hash", hash);
  lua_createtable(L, (int)s->instance_count, 0);
  for (uint32_t i = 0; i < s->instance_count; i++) {
    push_instance_summary(L, i, &s->instances[i]);
    if (w->times != NULL) {
      set_instance_times(L, &w->times[i]);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "instances");
}

static bool has_sessions(const blis_recorder *recorder) {
  const blis_record *records = blis_recorder_records(recorder);
  size_t count = blis_recorder_count(recorder);
  size_t i = 0;
  while (i < count && records[i].session == 0) {
    i++;
  }
  return i < count;
}

/* What the run was made of, as far as the program has worked it out. */
static void set_setup(lua_State *L, const bind_simulation *sim) {
  push_engine_facts(L, &sim->engine);
  set_field_integer(L, "instances", sim->instance_count);
  set_field_integer(L, "seed", sim->seed);
  lua_setfield(L, -2, "setup");
}

/* Pushes what each instance counted, and adds it up for the whole. */
static const blis_instance_times *push_times(lua_State *L,
                                             bind_simulation *sim) {
  uint32_t count = sim->instance_count;
  blis_alloc alloc = bind_alloc(L);
  blis_instance_times *times = push_buffer(L, count, sizeof *times);
  blis_histogram_clear(&sim->itl_us);
  for (uint32_t i = 0; i < count; i++) {
    check_status(
        L, blis_histogram_merge(&sim->itl_us, &sim->itl_of_instance_us[i]),
        NULL);
  }
  check_status(L,
               blis_instance_times_fill(times, count, &alloc,
                                        sim->records->recorder,
                                        sim->itl_of_instance_us),
               NULL);
  return times;
}

/* What only records tell; a run without them has none of these fields. */
static void set_from_records(lua_State *L, int index, working *w,
                             const bind_records *records) {
  set_groups(L, "by_slo_class", w, records, BLIS_GROUP_SLO_CLASS);
  set_groups(L, "by_tenant", w, records, BLIS_GROUP_TENANT);
  set_groups(L, "by_model", w, records, BLIS_GROUP_MODEL);
  lua_getiuservalue(L, index, SIMULATION_RECORDS);
  lua_setfield(L, -2, "requests");
  lua_pushboolean(L, has_sessions(records->recorder));
  lua_setfield(L, -2, "has_sessions");
}

void push_summary(lua_State *L, int index, bind_simulation *sim) {
  blis_error error = {0};
  working *w = push_guarded(L, 1, sizeof *w, working_gc);
  int guard = lua_gettop(L);
  w->alloc = bind_alloc(L);
  blis_recorder_sort(sim->records->recorder);
  if (sim->itl_of_instance_us != NULL) {
    w->times = push_times(L, sim);
  }
  check_status(L,
               blis_summary_init(&w->summary, &w->alloc, sim->cluster,
                                 sim->records->recorder, &sim->itl_us, &error),
               &error);
  lua_createtable(L, 0, 40);
  set_figures(L, w);
  set_setup(L, sim);
  bool keeps_records = blis_recorder_keeps_records(sim->records->recorder);
  lua_pushboolean(L, keeps_records);
  lua_setfield(L, -2, "keeps_records");
  if (keeps_records) {
    set_from_records(L, index, w, sim->records);
  }
  blis_summary_deinit(&w->summary, &w->alloc);
  w->alloc.fn = NULL;
  lua_replace(L, guard);
  lua_settop(L, guard);
}
