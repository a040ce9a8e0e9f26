#include "lua/engine/latency.h"

#include <stdio.h>

#include "lua/bind/bind.h"

/* Microseconds up to this limit are whole numbers in Lua's floats. */
#define TIME_MAX_US (INT64_C(1) << 53)

/* One call of a function of a model. */
typedef struct latency_call {
  bind_latency *latency;
  const blis_batch_sums *sums;
  const blis_batch_item *items; /* NULL = only sums are known */
  size_t count;
  int64_t prompt_tokens;
  int64_t time_us; /* out */
} latency_call;

/* Raises because the result of a function, on top of the stack, is not a valid time. */
static int no_time(lua_State *L, const char *function) {
  bool is_nan = lua_type(L, -1) == LUA_TNUMBER && !lua_compare(L, -1, -1, LUA_OPEQ);
  return luaL_error(L, "%s returned %s, expected microseconds from 0 to 2^53", function,
                    is_nan ? "NaN" : push_what(L, -1));
}

/* Returns the result of a function, on top of the stack, in whole microseconds. */
static int64_t check_time(lua_State *L, const char *function) {
  double number = lua_tonumber(L, -1);
  if (lua_type(L, -1) != LUA_TNUMBER || !(number >= 0 && number <= (double)TIME_MAX_US)) {
    no_time(L, function);
  }
  return (int64_t)number;
}

static int call_step_time(lua_State *L) {
  enum { CALL = 1, ANCHOR, BATCH };
  latency_call *call = lua_touserdata(L, CALL);
  bind_latency *latency = call->latency;
  bind_hooks_anchor(L, latency->hooks);
  lua_rawgeti(L, ANCHOR, latency->table);
  set_batch(L, BATCH, latency->batch, call->sums, call->items, call->count);
  lua_rawgeti(L, ANCHOR, latency->step_time);
  lua_pushvalue(L, BATCH);
  lua_call(L, 1, 1);
  call->time_us = check_time(L, "step_time");
  hide_batch(L, BATCH, latency->batch);
  return 0;
}

static int call_queueing_time(lua_State *L) {
  enum { CALL = 1, ANCHOR };
  latency_call *call = lua_touserdata(L, CALL);
  bind_hooks_anchor(L, call->latency->hooks);
  lua_rawgeti(L, ANCHOR, call->latency->queueing_time);
  lua_pushinteger(L, call->prompt_tokens);
  lua_call(L, 1, 1);
  call->time_us = check_time(L, "queueing_time");
  return 0;
}

/* Returns the time of the instance: a fast engine can be ahead of the cluster's clock. Its last
 * event is the step being computed, and also the next one until its duration is known. */
static int64_t now_us(const bind_instance_latency *of, bool is_step) {
  const blis_cluster *cluster = of->latency->cluster;
  if (cluster == NULL) {
    return -1;
  }
  if (!is_step) {
    return blis_cluster_now_us(cluster);
  }
  const blis_instance *instance = blis_cluster_instance(cluster, (uint32_t)of->instance);
  blis_instance_stats stats;
  blis_instance_get_stats(instance, &stats);
  int64_t next_us = blis_instance_next_us(instance);
  return stats.end_us < next_us ? stats.end_us : next_us;
}

static blis_status enter(const bind_instance_latency *of, lua_CFunction body, latency_call *call,
                         blis_error *error) {
  bind_latency *latency = of->latency;
  const blis_cluster *cluster = latency->cluster;
  const bind_hook_place place = {
      .kind = "latency model",
      .name = latency->name,
      .instance =
          cluster != NULL ? blis_cluster_instance_id(cluster, (uint32_t)of->instance) : NULL,
      .now_us = now_us(of, body == call_step_time),
  };
  blis_status status = bind_pcall(latency->hooks, &place, body, call, error);
  latency->has_failed = latency->has_failed || status != BLIS_OK;
  return status;
}

static blis_status step_time(void *state, const blis_batch_item *items, size_t count,
                             int64_t *step_us, blis_error *error) {
  const bind_instance_latency *of = state;
  bind_latency *latency = of->latency;
  const blis_batch_sums sums = blis_batch_sums_of(items, count);
  latency_call call = {.latency = latency,
                       .sums = &sums,
                       .items = latency->from_sums ? NULL : items,
                       .count = count};
  if (!latency->has_failed || latency->failed_early) {
    BLIS_TRY(enter(of, call_step_time, &call, error));
  }
  if (latency->has_failed) {
    return blis_fail(error, BLIS_ERR_POLICY, "latency model %s failed", latency->name);
  }
  *step_us = call.time_us < 1 ? 1 : call.time_us;
  return BLIS_OK;
}

/*
 * If the function fails, no value is returned, so that step_time is called next and reports the
 * error with the time of that step.
 */
static bool step_time_from_sums(const void *state, const blis_batch_sums *sums, int64_t *step_us) {
  const bind_instance_latency *of = state;
  latency_call call = {.latency = of->latency, .sums = sums};
  blis_error error;
  if (of->latency->has_failed) {
    return false;
  }
  if (enter(of, call_step_time, &call, &error) != BLIS_OK) {
    of->latency->failed_early = true;
    return false;
  }
  *step_us = call.time_us < 1 ? 1 : call.time_us;
  return true;
}

/* The core does not expect a failure here, so the next step reports it. */
static int64_t queueing_time(const void *state, int64_t prompt_tokens) {
  const bind_instance_latency *of = state;
  latency_call call = {.latency = of->latency, .prompt_tokens = prompt_tokens};
  if (of->latency->queueing_time == 0) {
    return of->latency->queueing_us;
  }
  blis_error error;
  if (of->latency->has_failed || enter(of, call_queueing_time, &call, &error) != BLIS_OK) {
    return 0;
  }
  return call.time_us;
}

static int64_t output_token_time(const void *state) {
  const bind_instance_latency *of = state;
  return of->latency->output_token_us;
}

static int64_t fixed_overhead(const void *state) {
  const bind_instance_latency *of = state;
  return of->latency->fixed_overhead_us;
}

static const blis_latency_ops items_ops = {.name = "scripted",
                                           .step_time = step_time,
                                           .queueing_time = queueing_time,
                                           .output_token_time = output_token_time,
                                           .fixed_overhead = fixed_overhead};

static const blis_latency_ops sums_ops = {.name = "scripted",
                                          .step_time = step_time,
                                          .step_time_from_sums = step_time_from_sums,
                                          .queueing_time = queueing_time,
                                          .output_token_time = output_token_time,
                                          .fixed_overhead = fixed_overhead};

void check_scripted_latency(lua_State *L, int index, bind_hooks *hooks, bind_latency *latency) {
  *latency = (bind_latency){.hooks = hooks,
                            .name = check_field_string(L, index, "name"),
                            .from_sums = opt_field_boolean(L, index, "from_sums", false),
                            .output_token_us = opt_field_integer(L, index, "output_token_time", 0),
                            .fixed_overhead_us = opt_field_integer(L, index, "fixed_overhead", 0)};
  latency->step_time = push_hook_field(L, index, "step_time", hooks);
  if (lua_getfield(L, index, "queueing_time") == LUA_TFUNCTION) {
    latency->queueing_time = push_hook_function(L, hooks);
  } else {
    lua_pop(L, 1);
    latency->queueing_us = opt_field_integer(L, index, "queueing_time", 0);
  }
  latency->batch = push_batch(L);
  latency->table = push_hook_function(L, hooks);
}

void bind_instance_latency_init(bind_instance_latency *of, bind_latency *latency,
                                int64_t instance) {
  *of = (bind_instance_latency){
      .model = {.ops = latency->from_sums ? &sums_ops : &items_ops, .state = of},
      .latency = latency,
      .instance = instance};
}
