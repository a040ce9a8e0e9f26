/*
 * sandbox.h - a Lua state for untrusted scripts: capped memory, a budget of
 * instructions per call, and string methods that cannot hang.
 *
 * What a script may use is decided in lua/blis/sandbox.lua; this is what that
 * cannot do by itself. Memory costs instructions: one for 48 bytes of an
 * allocation of 1 KB and more. A limit that is reached is fatal: from then on every
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
  int64_t all_instructions;  /* budget of everything; 0 = none */
  lua_Alloc inner;           /* where memory comes from; NULL = realloc */
  void *inner_ud;
  size_t used_bytes;
  int64_t left;      /* of the call under way */
  int64_t spent;     /* instructions of all calls */
  const char *fatal; /* which limit was reached; NULL = none. Static. */
  lua_State *L;
} bind_sandbox;

/* lua_Alloc; ud is a bind_sandbox. */
void *bind_sandbox_allocate(void *ud, void *block, size_t old_size, size_t new_size);

/*
 * Starts counting in a state whose allocator is bind_sandbox_allocate. The
 * libraries are open. Borrows *sandbox while L lives. May raise.
 */
void bind_sandbox_open(lua_State *L, bind_sandbox *sandbox);

/*
 * The functions of blis.core for this, which do no harm outside of a sandbox.
 * sandbox_charge(n) takes n instructions off the budget; sandbox_seal(methods)
 * makes string methods safe for scripts.
 */
int bind_sandbox_charge(lua_State *L);
int bind_sandbox_seal(lua_State *L);

/*
 * Takes so many instructions, at least 0, off the budget, for work in C that
 * a script can make as long as it likes. Raises when it is spent; outside of a
 * sandbox it does nothing.
 */
void bind_sandbox_work(lua_State *L, int64_t instructions);

/*
 * sandbox_call(limits, fn, ...): fn(...) within limits.memory_bytes on top of
 * what is in use, limits.call_instructions and limits.all_instructions, in a
 * state that serves other purposes before and after. Returns the instructions
 * spent, true and what fn returned, or, false, "instructions", "memory" or
 * "error", and the error's value where that is a text or a table.
 */
int bind_sandbox_call(lua_State *L);

/* Stops counting, for lua_close. */
void bind_sandbox_close(lua_State *L);

/* The sandbox of the state, or NULL. */
bind_sandbox *bind_sandbox_of(lua_State *L);

#endif
