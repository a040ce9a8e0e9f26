/*
 * sandbox.h - a Lua state for untrusted scripts: capped memory, a budget of
 * instructions per call, and string methods that cannot hang.
 *
 * What a script may use is decided in lua/blis/sandbox.lua; this is what that
 * cannot do by itself. A limit that is reached is fatal: from then on every
 * instruction raises, so that nothing can catch it. Chunks whose name starts
 * with '@' are blis itself; scripts are loaded under names that start with '='.
 */
#ifndef BLIS_LUA_BIND_SANDBOX_H
#define BLIS_LUA_BIND_SANDBOX_H

#include <lua.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bind_sandbox {
  size_t memory_bytes;       /* limit of everything in the state */
  int64_t call_instructions; /* budget of the main chunk, and of each hook */
  size_t used_bytes;
  int64_t left;      /* of the call under way */
  const char *fatal; /* which limit was reached; NULL = none. Static. */
  lua_State *L;
} bind_sandbox;

/* lua_Alloc; ud is a bind_sandbox. */
void *bind_sandbox_allocate(void *ud, void *block, size_t old_size,
                            size_t new_size);

/*
 * Starts counting, and makes the module blis.sandbox_core: charge(n) takes n
 * instructions off the budget; seal() makes string methods safe for scripts.
 * The libraries are open. Borrows *sandbox while L lives. May raise.
 */
void bind_sandbox_open(lua_State *L, bind_sandbox *sandbox);

/* Stops counting, for lua_close. */
void bind_sandbox_close(lua_State *L);

/* The sandbox of the state, or NULL. */
bind_sandbox *bind_sandbox_of(lua_State *L);

#endif
