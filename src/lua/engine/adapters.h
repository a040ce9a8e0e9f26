/*
 * adapters.h - reads the LoRA adapters of a cluster from its options.
 */
#ifndef BLIS_LUA_ENGINE_ADAPTERS_H
#define BLIS_LUA_ENGINE_ADAPTERS_H

#include <lua.h>

#include "cluster/adapters/adapters.h"
#include "cluster/cluster.h"

typedef struct bind_adapters {
  blis_adapter_config config;
  blis_adapter_names names;
} bind_adapters;

/*
 * Fills *adapters from the table at index, { adapters = { { id =, rank =, load_us =, fetch_us = },
 * ... }, tiers = { { rank =, factor = }, ... }, slots =, ... }. Pushes a table that owns the
 * borrowed values, except the strings of the table at index.
 */
void check_adapters(lua_State *L, int index, bind_adapters *adapters);

#endif
