#include "lua/policies/autoscaler.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "lua/bind/bind.h"
#include "lua/policies/builtin.h"
#include "lua/policies/decision.h"
#include "lua/policies/fresh.h"

enum { REASON_SIZE = 160, SAMPLE_COUNT = 32 };

/* Metrics that samples have. */
static const blis_scale_metric sampled[] = {
    BLIS_SCALE_REQUEST_RATE, BLIS_SCALE_REQUESTS_RUNNING,
    BLIS_SCALE_QUEUE_DEPTH, BLIS_SCALE_KV_UTILIZATION,
    BLIS_SCALE_GATEWAY_QUEUE_SIZE};
enum { SAMPLED_COUNT = sizeof sampled / sizeof sampled[0] };

/* What was seen at a look. */
typedef struct scale_sample {
  int64_t now_us;
  uint32_t replicas;
  uint32_t ready;
  blis_scale_needs collected;
  double metrics[SAMPLED_COUNT];
} scale_sample;

typedef struct scripted_autoscaler {
  bind_hooks *hooks;
  int function; /* its place in the anchor */
  char name[64];
  char reason[REASON_SIZE];
  scale_sample samples[SAMPLE_COUNT]; /* a ring of the last looks */
  size_t looks;
} scripted_autoscaler;

typedef struct scale_call {
  scripted_autoscaler *autoscaler;
  const blis_scale_context *context;
  blis_scale_decision *decision;
} scale_call;

static void set_signal(lua_State *L, const char *name, double value) {
  push_signal(L, value);
  lua_setfield(L, -2, name);
}

static void push_instances(lua_State *L, const blis_scale_context *context) {
  lua_createtable(L, (int)context->instance_count, 0);
  for (size_t i = 0; i < context->instance_count; i++) {
    const blis_scale_instance *instance = &context->instances[i];
    lua_createtable(L, 0, 9);
    lua_pushfstring(L, "instance_%I", (LUAI_UACINT)instance->id);
    lua_setfield(L, -2, "id");
    set_signal(L, "kv_utilization", instance->kv_utilization);
    set_signal(L, "queue_depth", instance->queue_depth);
    set_signal(L, "batch_size", instance->batch_size);
    set_signal(L, "queued_prefill_tokens", instance->queued_prefill_tokens);
    set_signal(L, "running_kv_tokens", instance->running_kv_tokens);
    set_signal(L, "queued_kv_tokens", instance->queued_kv_tokens);
    set_signal(L, "kv_capacity_tokens", instance->kv_capacity_tokens);
    set_signal(L, "context_length_tokens", instance->context_length_tokens);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void keep_sample(scripted_autoscaler *self,
                        const blis_scale_context *context) {
  scale_sample *sample = &self->samples[self->looks++ % SAMPLE_COUNT];
  sample->now_us = context->now_us;
  sample->replicas = context->replicas;
  sample->ready = context->ready;
  for (int k = 0; k < SAMPLED_COUNT; k++) {
    sample->metrics[k] = context->metrics[sampled[k]];
    sample->collected = context->collected;
  }
}

/* The last looks, this one included, oldest first. */
static void push_samples(lua_State *L, const scripted_autoscaler *self) {
  size_t count = self->looks < SAMPLE_COUNT ? self->looks : SAMPLE_COUNT;
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    const scale_sample *sample =
        &self->samples[(self->looks - count + i) % SAMPLE_COUNT];
    lua_createtable(L, 0, SAMPLED_COUNT + 3);
    set_field_integer(L, "now_us", sample->now_us);
    set_field_integer(L, "replicas", sample->replicas);
    set_field_integer(L, "ready", sample->ready);
    for (int k = 0; k < SAMPLED_COUNT; k++) {
      if ((sample->collected & BLIS_SCALE_BIT(sampled[k])) != 0) {
        set_signal(L, blis_scale_metric_name(sampled[k]), sample->metrics[k]);
      }
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* A mean over the ready instances; 0 without any. */
static void set_mean(lua_State *L, const char *name,
                     const blis_scale_context *context,
                     blis_scale_metric metric) {
  double sum = context->metrics[metric];
  set_signal(L, name, context->ready > 0 ? sum / context->ready : 0);
}

static void push_context(lua_State *L, const blis_scale_context *context) {
  static const char *const pools[] = {"all", "prefill", "decode"};
  lua_createtable(L, 0, BLIS_SCALE_METRIC_COUNT + 14);
  set_field_string(L, "pool", pools[context->role]);
  set_field_string(L, "trigger", blis_scale_cause_name(context->cause));
  set_field_integer(L, "now_us", context->now_us);
  if (context->since_last_scale_us != BLIS_TIME_NEVER_US) {
    set_field_integer(L, "since_last_scale_us", context->since_last_scale_us);
  }
  set_field_integer(L, "replicas", context->replicas);
  set_field_integer(L, "ready", context->ready);
  set_field_integer(L, "starting", context->starting);
  set_field_integer(L, "draining", context->draining);
  set_mean(L, "avg_queue_depth", context, BLIS_SCALE_QUEUE_DEPTH);
  set_mean(L, "avg_utilization", context, BLIS_SCALE_KV_UTILIZATION);
  set_field_integer(L, "min", context->min);
  set_field_integer(L, "max", context->max);
  for (int m = 0; m < BLIS_SCALE_METRIC_COUNT; m++) {
    if ((context->collected & BLIS_SCALE_BIT(m)) != 0) {
      set_signal(L, blis_scale_metric_name((blis_scale_metric)m),
                 blis_scale_value(context, (blis_scale_metric)m));
    }
  }
  push_instances(L, context);
  lua_setfield(L, -2, "instances");
}

static void check_target(lua_State *L, int index, scale_call *call) {
  int is_whole = 0;
  lua_Integer target = lua_tointegerx(L, index, &is_whole);
  if (lua_type(L, index) != LUA_TNUMBER || !is_whole) {
    luaL_error(L,
               "it returned %s, expected a whole number of instances, { target "
               "=, reason = }, or nil for no change",
               push_what(L, index));
  }
  call->decision->target = target;
}

static void check_reason(lua_State *L, int index, scale_call *call) {
  if (lua_isnil(L, index)) {
    return;
  }
  if (lua_type(L, index) != LUA_TSTRING) {
    luaL_error(L, "the reason is a %s, expected a text",
               luaL_typename(L, index));
  }
  scripted_autoscaler *self = call->autoscaler;
  snprintf(self->reason, REASON_SIZE, "%s", lua_tostring(L, index));
  call->decision->reason = self->reason;
}

static void check_keys(lua_State *L, int answer) {
  lua_pushnil(L);
  while (lua_next(L, answer) != 0) {
    lua_pop(L, 1);
    bool is_known = lua_type(L, -1) == LUA_TSTRING &&
                    (strcmp(lua_tostring(L, -1), "target") == 0 ||
                     strcmp(lua_tostring(L, -1), "reason") == 0);
    if (!is_known) {
      luaL_error(L,
                 "it returned a table with an unknown member, %s; expected "
                 "{ target =, reason = }",
                 push_what(L, -1));
    }
  }
}

static int ask(lua_State *L) {
  enum { CALL = 1, ANCHOR };
  scale_call *call = lua_touserdata(L, CALL);
  bind_hooks_anchor(L, call->autoscaler->hooks);
  lua_rawgeti(L, ANCHOR, call->autoscaler->function);
  keep_sample(call->autoscaler, call->context);
  push_context(L, call->context);
  push_samples(L, call->autoscaler);
  lua_setfield(L, -2, "samples");
  lua_call(L, 1, 1);
  int answer = lua_gettop(L);
  if (lua_isnil(L, answer)) {
    return 0;
  }
  if (lua_istable(L, answer)) {
    check_keys(L, answer);
    lua_getfield(L, answer, "target");
    check_target(L, answer + 1, call);
    lua_getfield(L, answer, "reason");
    check_reason(L, answer + 2, call);
  } else {
    check_target(L, answer, call);
  }
  return 0;
}

static blis_status decide(void *state, const blis_scale_context *context,
                          blis_scale_decision *decision, blis_error *error) {
  scripted_autoscaler *self = state;
  scale_call call = {self, context, decision};
  const bind_hook_place place = {
      .kind = "autoscaler", .name = self->name, .now_us = context->now_us};
  return bind_pcall(self->hooks, &place, ask, &call, error);
}

static const blis_autoscaler_ops ops = {.decide = decide};

/* Those that its field metrics names; all without one. */
static blis_scale_needs check_needs(lua_State *L, int index) {
  if (lua_getfield(L, index, "metrics") == LUA_TNIL) {
    lua_pop(L, 1);
    return BLIS_SCALE_NEEDS_ALL;
  }
  int list = lua_gettop(L);
  luaL_checktype(L, list, LUA_TTABLE);
  blis_scale_needs needs = 0;
  for (lua_Integer i = 1; lua_rawgeti(L, list, i) != LUA_TNIL; i++) {
    blis_scale_metric metric;
    blis_error error = {0};
    check_status(
        L, blis_scale_metric_find(luaL_checkstring(L, -1), &metric, &error),
        &error);
    needs |= BLIS_SCALE_BIT(metric);
    lua_pop(L, 1);
  }
  lua_settop(L, list - 1);
  return needs;
}

static void check_scripted(lua_State *L, int index, bind_hooks *hooks,
                           blis_autoscaler *autoscaler) {
  scripted_autoscaler made = {.hooks = hooks};
  snprintf(made.name, sizeof made.name, "%s",
           check_field_string(L, index, "name"));
  made.function = push_hook_field(L, index, "decide", hooks);
  int64_t interval_us = check_field_integer(L, index, "interval_us");
  blis_scale_needs needs = check_needs(L, index);
  scripted_autoscaler *state = check_copy(L, &made, sizeof made);
  *autoscaler = (blis_autoscaler){.ops = &ops,
                                  .state = state,
                                  .state_size = sizeof *state,
                                  .alloc = bind_alloc(L),
                                  .needs = needs,
                                  .interval_us = interval_us,
                                  .name = state->name};
}

void check_autoscaler(lua_State *L, int index, bind_hooks *hooks,
                      const blis_policy_context *context,
                      blis_autoscaler *autoscaler) {
  luaL_checktype(L, index, LUA_TTABLE);
  if (is_scripted_policy(L, index, "decide")) {
    check_fresh(L, index, context);
    check_scripted(L, index, hooks, autoscaler);
  } else {
    check_builtin_autoscaler(L, index, context, autoscaler);
  }
}
