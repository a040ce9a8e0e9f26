/*
 * engine.h - creates the serving engines of a cluster from its options: latency model, KV capacity,
 * and the configuration of every instance.
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

/* Must be zeroed before use. */
typedef struct bind_engine {
  blis_latency_model latency;          /* empty for a model in Lua */
  blis_instance_config config;         /* configuration of every instance; borrows latency */
  blis_speculation_config speculation; /* all zero if not configured */
  blis_power_config power;             /* all zero if not configured */
  blis_kv_layout kv_layout;            /* all zero if not configured */
  blis_rank_config ranks;              /* all zero if not configured */
  blis_front_end_config front_end;     /* all zero if not configured */
  blis_sglang_config sglang;           /* likewise */
  blis_trtllm_config trtllm;           /* likewise */
  char model[ENGINE_NAME_SIZE];
  char hardware[ENGINE_NAME_SIZE]; /* "" if no model needs a GPU */
  char latency_name[ENGINE_NAME_SIZE];
  int64_t tp;
  int64_t dp;
  double kv_bytes_per_token; /* on one GPU; 0 = unknown */
  blis_fixed_kv fixed_kv;    /* in addition to kv_bytes_per_token, on one GPU */
  double gpu_price_per_hour; /* US dollars; 0 = unknown */
  bool strict_coverage;      /* steps outside of the model's coverage are errors */
  bool is_capacity_computed; /* config.kv_blocks was computed */
  blis_kv_capacity capacity; /* terms of the computation; all zero if it was not computed */
  blis_step_regime regime;   /* regime of the composed model; its weights are NULL for other
                                models */
  bool has_own_gpu;       /* the user describes the GPU: its rates are not those of the catalog */
  bool has_own_constants; /* constants of the composed model come from the user's catalog file */
  char notes[ENGINE_NOTES_SIZE]; /* one sentence per line */
} bind_engine;

/*
 * Fills *engine from the table of cluster options at index. May raise. bind_engine_close can be
 * called in any case.
 */
void check_engine(lua_State *L, int index, bind_engine *engine);

/* Like check_engine, but sets only the latency model, names, and notes. */
void check_engine_latency(lua_State *L, int index, bind_engine *engine);

/* Returns the range in which the step times were fitted; NULL = unknown. */
const blis_coverage *bind_engine_coverage(const bind_engine *engine);

/* Idempotent. Never raises. */
void bind_engine_close(bind_engine *engine);

/*
 * Pushes facts about an engine before it runs: names, KV capacity with its terms, and the step
 * times of some batches.
 */
void push_engine_facts(lua_State *L, const bind_engine *engine);

/* engine_facts(cluster): returns these facts for a table of cluster options. */
int bind_engine_facts(lua_State *L);

#endif
