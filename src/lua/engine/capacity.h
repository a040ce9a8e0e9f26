/*
 * capacity.h - the KV capacity (with its terms) and the step-time coefficients
 * of a model on its GPUs.
 */
#ifndef BLIS_LUA_ENGINE_CAPACITY_H
#define BLIS_LUA_ENGINE_CAPACITY_H

#include <lua.h>

#include "latency/kv/kv_capacity.h"
#include "lua/engine/engine_model.h"

/*
 * Computes the KV capacity from the table of cluster options at index. m must have dimensions and
 * hardware. Raises if the model does not fit.
 */
void check_capacity(lua_State *L, int index, const bind_engine_model *m,
                    blis_kv_capacity *capacity);

/* Sets all terms in the table on top of the stack. May raise. */
void set_capacity(lua_State *L, const blis_kv_capacity *capacity);

/* kv_capacity(cluster): returns a table of blocks, tokens, and the terms. */
int bind_kv_capacity(lua_State *L);

/* coefficients(cluster): returns { alpha = numbers, beta = numbers } for the cluster's model. */
int bind_coefficients(lua_State *L);

/*
 * own_coefficients(cluster, kind): returns the name of the user's file with the coefficients of a
 * kind of latency model for the engine of these options. Returns nothing if there is no such file.
 * May raise.
 */
int bind_own_coefficients(lua_State *L);

#endif
