/*
 * sandbox.h - a Lua state for untrusted scripts: capped memory, a budget of instructions per call,
 * and string methods that cannot hang.
 *
 * lua/blis/sandbox.lua decides what a script may use; this file does what Lua cannot do. Memory
 * costs instructions: one for 48 bytes of an allocation of 1 KB and more. An exceeded limit is
 * fatal: every later instruction raises, so a script cannot catch it. Chunks whose name starts with
 * '@' are blis itself; scripts are loaded under names that start with '='.
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
  int64_t left;      /* of the current call */
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
 * Subtracts instructions (at least 0) from the budget, for work in C that a script can prolong
 * without limit. Raises if the budget is spent. Does nothing outside of a sandbox.
 */
void bind_sandbox_work(lua_State *L, int64_t instructions);

/*
 * sandbox_call(limits, fn, ...): calls fn(...) in a state that serves other purposes before and
 * after. Limits: limits.memory_bytes in addition to the memory in use, limits.call_instructions,
 * and limits.all_instructions. Returns the instructions spent, true, and the results of fn. On
 * failure returns false, then "instructions", "memory", or "error", and the error's value if that
 * is a string or a table.
 */
int bind_sandbox_call(lua_State *L);

/* Stops counting, for lua_close. */
void bind_sandbox_close(lua_State *L);

/* The sandbox of the state, or NULL. */
bind_sandbox *bind_sandbox_of(lua_State *L);

#endif
