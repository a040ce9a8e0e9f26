/*
 * engine_model.h - determines the model and GPUs of one engine from the options of a cluster and
 * the catalog.
 */
#ifndef BLIS_LUA_ENGINE_ENGINE_MODEL_H
#define BLIS_LUA_ENGINE_ENGINE_MODEL_H

#include <lua.h>
#include <stdbool.h>

#include "latency/create.h"

/* The kind of a latency model in Lua, which the simulation creates. */
#define ENGINE_SCRIPTED "scripted"

typedef struct bind_engine_model {
  const blis_catalogue *catalogue;
  const char *kind;                        /* kind of latency model */
  const char *id;                          /* as the user wrote it */
  const blis_catalogue_model *model;       /* NULL = unknown and not needed */
  const blis_model_spec *spec;             /* NULL = dimensions are unknown */
  const blis_layered_model *layered;       /* the layers; NULL in profile go-blis, or if the
                                              model has too few details */
  bool has_own_layers;                     /* layered comes from a file or a list of layers, not
                                              from spec */
  const blis_catalogue_hardware *hardware; /* NULL = not needed */
  blis_parallelism parallelism;
  int64_t sharing_ranks; /* number of ranks over which experts are spread; 1 = not spread */
  blis_coefficients coefficients;
  blis_model_spec own_spec; /* dimensions from a config.json that the options name */
} bind_engine_model;

/*
 * Fills *m, which must not move, from the table of cluster options at index. Pushes values that
 * must remain on the stack as long as *m is used. has_blocks means that the KV capacity is not
 * needed. May raise.
 */
void check_engine_model(lua_State *L, int index, bool has_blocks, bind_engine_model *m);

/* Returns the argument of blis_latency_create. May raise. */
blis_latency_config check_latency_config(lua_State *L, int index, const bind_engine_model *m);

#endif
