/*
 * kv_cache.h - blis.kv_cache{}: a standalone KV cache of one engine, for exploration and tests.
 *
 * Content has names. { {"system", 1024}, {"chat 7", 80}, 20 } is a prompt of 1,024 tokens shared by
 * every prompt with "system" at its start, 80 tokens of "chat 7", and 20 tokens of its own.
 */
#ifndef BLIS_LUA_ENGINE_KV_CACHE_H
#define BLIS_LUA_ENGINE_KV_CACHE_H

#include <lua.h>

void bind_open_kv_caches(lua_State *L);

/* kv_cache(options) */
int bind_kv_cache_new(lua_State *L);

#endif
