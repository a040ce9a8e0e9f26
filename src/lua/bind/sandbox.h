/*
 * sandbox.h - a Lua state for untrusted scripts: capped memory, a budget of instructions per call,
 * and string methods that cannot hang.
 *
 * lua/blis/sandbox.lua decides which functions a script may use; this file implements what Lua code
 * cannot do. Allocations of 1 KB and more cost one instruction per 48 bytes. An exceeded limit is
 * fatal: every later instruction raises an error, so a script cannot catch it. Chunk names that
 * start with '@' denote blis itself; scripts have chunk names that start with '='.
 */
#ifndef BLIS_LUA_BIND_SANDBOX_H
#define BLIS_LUA_BIND_SANDBOX_H

#include <lua.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bind_sandbox {
  size_t memory_bytes;       /* memory limit of the whole state */
  int64_t call_instructions; /* budget of the main chunk and of each hook call */
  int64_t all_instructions;  /* budget of all calls together; 0 = none */
  lua_Alloc inner;           /* underlying allocator; NULL = realloc */
  void *inner_ud;
  size_t used_bytes;
  int64_t left;      /* instructions left in the current call */
  int64_t spent;     /* instructions of all calls */
  const char *fatal; /* name of the limit that was reached; NULL = none. Static. */
  lua_State *L;
} bind_sandbox;

/* lua_Alloc; ud is a bind_sandbox. */
void *bind_sandbox_allocate(void *ud, void *block, size_t old_size, size_t new_size);

/*
 * Starts counting in a state whose allocator is bind_sandbox_allocate and whose libraries are open.
 * Borrows *sandbox for the lifetime of L. May raise.
 */
void bind_sandbox_open(lua_State *L, bind_sandbox *sandbox);

/*
 * Functions of blis.core for sandboxes; they are harmless outside of one. sandbox_charge(n)
 * subtracts n instructions from the budget. sandbox_seal(methods) makes string methods safe for
 * scripts.
 */
int bind_sandbox_charge(lua_State *L);
int bind_sandbox_seal(lua_State *L);

/*
 * Subtracts instructions (at least 0) from the budget. Call it for C code whose duration a script
 * can extend without limit. Raises if the budget is spent. Does nothing outside of a sandbox.
 */
void bind_sandbox_work(lua_State *L, int64_t instructions);

/*
 * sandbox_call(limits, fn, ...): calls fn(...) under limits in a state that is otherwise unlimited.
 * The limits are limits.memory_bytes (in addition to the memory in use), limits.call_instructions,
 * and limits.all_instructions. Returns the instructions spent, true, and the results of fn. On
 * failure returns false, then "instructions", "memory", or "error", and the error's value if that
 * is a string or a table.
 */
int bind_sandbox_call(lua_State *L);

/* Stops counting; call it before lua_close. */
void bind_sandbox_close(lua_State *L);

/* Returns the sandbox of the state, or NULL. */
bind_sandbox *bind_sandbox_of(lua_State *L);

#endif
