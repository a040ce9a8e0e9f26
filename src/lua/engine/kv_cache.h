/*
 * kv_cache.h - blis.kv_cache{}: a standalone KV cache of one engine, for exploration and tests.
 *
 * Content is identified by names. The prompt { {"system", 1024}, {"chat 7", 80}, 20 } consists of
 * 1,024 tokens shared by every prompt that starts with "system", 80 tokens of "chat 7", and 20
 * unique tokens.
 */
#ifndef BLIS_LUA_ENGINE_KV_CACHE_H
#define BLIS_LUA_ENGINE_KV_CACHE_H

#include <lua.h>

void bind_open_kv_caches(lua_State *L);

/* kv_cache(options) */
int bind_kv_cache_new(lua_State *L);

#endif
