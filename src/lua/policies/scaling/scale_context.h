/*
 * scale_context.h - the tables that a scripted autoscaler reads. They have a fixed set of fields,
 * so reading any other name raises an error instead of returning nil.
 */
#ifndef BLIS_LUA_POLICIES_SCALING_SCALE_CONTEXT_H
#define BLIS_LUA_POLICIES_SCALING_SCALE_CONTEXT_H

#include <lauxlib.h>
#include <lua.h>

#include "lua/bind/alias.h"
#include "policy/autoscale/autoscaler.h"

/* Form of a result that is not a number; reason and unconstrained_target are optional. */
#define BIND_SCALE_ANSWER "{ target =, reason =, unconstrained_target = }"

/* Recent evaluations of a pool. Initially all zero. */
enum { BIND_SCALE_SAMPLES = 32, BIND_SAMPLED_METRICS = 5 };

typedef struct bind_scale_sample {
  int64_t now_us;
  uint32_t replicas;
  uint32_t ready;
  blis_scale_needs collected;
  double metrics[BIND_SAMPLED_METRICS];
} bind_scale_sample;

typedef struct bind_scale_samples {
  bind_scale_sample items[BIND_SCALE_SAMPLES]; /* a ring */
  size_t looks;                                /* number of evaluations so far */
} bind_scale_samples;

/* Pushes the table and appends the evaluation to the samples. May raise. */
void push_scale_context(lua_State *L, const bind_alias *alias, const blis_scale_context *context,
                        bind_scale_samples *samples);

#endif
