/*
 * latency.h - a latency model in Lua: an implementation of blis_latency_ops.
 *
 * The step time must depend only on the batch, so the engine may compute the same step twice. A
 * model that reads items is called once per step. A model that reads only sums (from_sums = true)
 * lets the fast engine skip ahead, as with a built-in model, at one call per step.
 */
#ifndef BLIS_LUA_ENGINE_LATENCY_H
#define BLIS_LUA_ENGINE_LATENCY_H

#include <lua.h>

#include "cluster/cluster.h"
#include "latency/step/latency_model.h"
#include "lua/bind/hook.h"
#include "lua/engine/batch.h"

typedef struct bind_latency {
  bind_hooks *hooks;
  const blis_cluster *cluster; /* supplies the time; NULL without a cluster */
  const char *name;            /* name of the definition, which outlives this structure */
  bool from_sums;
  bool has_failed;   /* an error is stored; no step may follow */
  bool failed_early; /* failed in step_time_from_sums, before the step itself was timed */
  int step_time;     /* index in the anchor; 0 = none */
  int queueing_time;
  int table;         /* index in the anchor of the table of the batch */
  bind_batch *batch; /* structure that belongs to the table */
  int64_t queueing_us;
  int64_t output_token_us;
  int64_t fixed_overhead_us;
} bind_latency;

/* The model as called by one instance, for error messages. */
typedef struct bind_instance_latency {
  blis_latency_model model; /* the state of the model is this structure */
  bind_latency *latency;
  int64_t instance; /* -1 = no instance and no cluster */
} bind_instance_latency;

/*
 * Fills *latency, which must not move, from the definition at index: name, step_time, from_sums,
 * and queueing_time, output_token_time, fixed_overhead as numbers (queueing_time as a function as
 * well). The anchor of hooks must be open; it keeps everything except the definition alive. May
 * raise.
 */
void check_scripted_latency(lua_State *L, int index, bind_hooks *hooks, bind_latency *latency);

/* Fills *of, which must not move either. It owns nothing that must be freed. */
void bind_instance_latency_init(bind_instance_latency *of, bind_latency *latency, int64_t instance);

#endif
