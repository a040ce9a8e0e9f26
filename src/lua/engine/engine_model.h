/*
 * engine_model.h - the model and GPUs of one engine, from the options of a
 * cluster and the catalogue.
 */
#ifndef BLIS_LUA_ENGINE_ENGINE_MODEL_H
#define BLIS_LUA_ENGINE_ENGINE_MODEL_H

#include <lua.h>
#include <stdbool.h>

#include "latency/create.h"

/* The kind of a latency model in Lua, which its simulation makes. */
#define ENGINE_SCRIPTED "scripted"

typedef struct bind_engine_model {
  const blis_catalogue *catalogue;
  const char *kind;                        /* of latency model */
  const char *id;                          /* as the user wrote it */
  const blis_catalogue_model *model;       /* NULL: unknown and not needed */
  const blis_model_spec *spec;             /* NULL: unknown dimensions */
  const blis_layered_model *layered;       /* the layers; NULL in profile go-blis, and if the
                                              model has too few details */
  bool has_own_layers;                     /* layered is of a file or of a list of layers, not
                                              equal layers of spec */
  const blis_catalogue_hardware *hardware; /* NULL: not needed */
  blis_parallelism parallelism;
  int64_t sharing_ranks; /* over which experts are spread; 1 = none */
  blis_coefficients coefficients;
  blis_model_spec own_spec; /* of a config.json that the options name */
} bind_engine_model;

/*
 * Fills *m, which must not move, from the table of cluster options at index. Pushes the values that
 * must stay on the stack as long as *m is used. has_blocks: the KV capacity is not needed. May
 * raise.
 */
void check_engine_model(lua_State *L, int index, bool has_blocks, bind_engine_model *m);

/* What blis_latency_create takes. May raise. */
blis_latency_config check_latency_config(lua_State *L, int index, const bind_engine_model *m);

#endif
