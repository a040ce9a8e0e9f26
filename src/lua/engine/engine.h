/*
 * engine.h - the serving engines of a cluster, from its options: latency
 * model, KV capacity and the configuration of every instance.
 */
#ifndef BLIS_LUA_ENGINE_ENGINE_H
#define BLIS_LUA_ENGINE_ENGINE_H

#include <lua.h>

#include "instance/instance.h"
#include "latency/create.h"
#include "latency/kv/kv_capacity.h"
#include "latency/step/latency_model.h"
#include "policy/contract/facts.h"

enum { ENGINE_NAME_SIZE = 128, ENGINE_NOTES_SIZE = 1024 };

/* Zero it first. */
typedef struct bind_engine {
  blis_latency_model latency;          /* empty for a model in Lua */
  blis_instance_config config;         /* of every instance; borrows latency */
  blis_speculation_config speculation; /* all zero without it */
  blis_power_config power;             /* likewise */
  blis_kv_layout kv_layout;            /* likewise */
  blis_rank_config ranks;              /* likewise */
  blis_front_end_config front_end;     /* likewise */
  blis_sglang_config sglang;           /* likewise */
  blis_trtllm_config trtllm;           /* likewise */
  char model[ENGINE_NAME_SIZE];
  char hardware[ENGINE_NAME_SIZE]; /* "" when no model needed one */
  char latency_name[ENGINE_NAME_SIZE];
  int64_t tp;
  int64_t dp;
  double kv_bytes_per_token;     /* on one GPU; 0: unknown */
  blis_fixed_kv fixed_kv;        /* in addition to these, on one GPU */
  double gpu_price_per_hour;     /* US dollars; 0 = unknown */
  bool strict_coverage;          /* steps beyond its coverage are an error */
  bool is_capacity_computed;     /* config.kv_blocks was worked out */
  blis_kv_capacity capacity;     /* how; all zero when it was not */
  blis_step_regime regime;       /* of the composed model; its weights are NULL for others */
  char notes[ENGINE_NOTES_SIZE]; /* sentences, a line each */
} bind_engine;

/*
 * Fills *engine from the table of cluster options at index. May raise, and
 * leaves *engine so that bind_engine_close can be called in any case.
 */
void check_engine(lua_State *L, int index, bind_engine *engine);

/*
 * Makes only the latency model, names, and notes, without an engine.
 */
void check_engine_latency(lua_State *L, int index, bind_engine *engine);

/* Returns the range in which its step times were fitted; NULL: unknown. */
const blis_coverage *bind_engine_coverage(const bind_engine *engine);

/* Idempotent. Never raises. */
void bind_engine_close(bind_engine *engine);

/*
 * Pushes facts about an engine before it runs: names, KV capacity with its terms, step times of
 * some batches.
 */
void push_engine_facts(lua_State *L, const bind_engine *engine);

/* engine_facts(cluster): these facts for a table of cluster options. */
int bind_engine_facts(lua_State *L);

#endif
