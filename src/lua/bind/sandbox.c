#include "lua/bind/sandbox.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lua/bind/bind.h"

enum {
  COUNT = 1000,
  PRICED_BYTES = 1024, /* smaller allocations are included in the cost of their instructions */
  BYTES_PER_INSTRUCTION = 48
};

/* Registry key of the sandbox (the address of this variable). */
static const char sandbox_key;

bind_sandbox *bind_sandbox_of(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &sandbox_key);
  bind_sandbox *sandbox = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return sandbox;
}

/* Raises a value that a script cannot create and that needs no memory. */
static int raise_fatal(lua_State *L, bind_sandbox *sandbox, const char *what) {
  if (sandbox->fatal == NULL) {
    sandbox->fatal = what;
  }
  lua_pushlightuserdata(L, sandbox);
  return lua_error(L);
}

static const char out_of_instructions[] = "instructions";
static const char out_of_memory[] = "memory";

static bool is_spent(const bind_sandbox *sandbox) {
  return sandbox->all_instructions > 0 && sandbox->spent > sandbox->all_instructions;
}

static void count(lua_State *L, lua_Debug *event) {
  (void)event;
  bind_sandbox *sandbox = bind_sandbox_of(L);
  sandbox->left -= COUNT;
  sandbox->spent += COUNT;
  if (sandbox->fatal != NULL || sandbox->left < 0 || is_spent(sandbox)) {
    lua_sethook(L, count, LUA_MASKCOUNT, 1);
    raise_fatal(L, sandbox, out_of_instructions);
  }
}

static void *reallocate(const bind_sandbox *sandbox, void *block, size_t old_size,
                        size_t new_size) {
  if (sandbox->inner != NULL) {
    return sandbox->inner(sandbox->inner_ud, block, old_size, new_size);
  }
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  return realloc(block, new_size);
}

/*
 * A single instruction, such as a concatenation, can allocate any number of bytes. An allocator
 * cannot raise errors, so the next budget check raises the error.
 */
static void price(bind_sandbox *sandbox, size_t bytes) {
  if (bytes >= PRICED_BYTES && sandbox->L != NULL) {
    sandbox->left -= (int64_t)(bytes / BYTES_PER_INSTRUCTION);
    sandbox->spent += (int64_t)(bytes / BYTES_PER_INSTRUCTION);
  }
}

void *bind_sandbox_allocate(void *ud, void *block, size_t old_size, size_t new_size) {
  bind_sandbox *sandbox = ud;
  size_t held = block == NULL ? 0 : old_size; /* otherwise old_size is the kind of object */
  if (new_size == 0) {
    sandbox->used_bytes -= held < sandbox->used_bytes ? held : sandbox->used_bytes;
    return reallocate(sandbox, block, old_size, 0);
  }
  if (new_size > held && (new_size > sandbox->memory_bytes ||
                          sandbox->used_bytes - held > sandbox->memory_bytes - new_size)) {
    sandbox->fatal = sandbox->fatal == NULL ? out_of_memory : sandbox->fatal;
    if (sandbox->L != NULL) {
      lua_sethook(sandbox->L, count, LUA_MASKCOUNT, 1);
    }
    return NULL;
  }
  void *moved = reallocate(sandbox, block, old_size, new_size);
  if (moved != NULL) {
    sandbox->used_bytes += new_size - held;
    price(sandbox, new_size > held ? new_size - held : 0);
  }
  return moved;
}

void bind_sandbox_work(lua_State *L, int64_t instructions) {
  bind_sandbox *sandbox = bind_sandbox_of(L);
  if (sandbox == NULL) {
    return;
  }
  bool is_enough = instructions <= sandbox->left;
  sandbox->left = is_enough ? sandbox->left - instructions : -1;
  sandbox->spent += is_enough ? instructions : 0;
  if (sandbox->fatal != NULL || !is_enough || is_spent(sandbox)) {
    lua_sethook(L, count, LUA_MASKCOUNT, 1);
    raise_fatal(L, sandbox, out_of_instructions);
  }
}

int bind_sandbox_charge(lua_State *L) {
  lua_Integer instructions = luaL_checkinteger(L, 1);
  luaL_argcheck(L, instructions >= 0, 1, "below 0");
  bind_sandbox_work(L, instructions);
  return 0;
}

/*
 * Implements ("x"):method. Code of blis itself gets the string library; all other code gets the
 * functions of the sandbox. The upvalues are both tables.
 */
static int string_index(lua_State *L) {
  lua_Debug caller = {0};
  bool is_own = lua_getstack(L, 1, &caller) != 0 && lua_getinfo(L, "S", &caller) != 0 &&
                caller.source[0] == '@';
  lua_settop(L, 2);
  lua_rawget(L, lua_upvalueindex(is_own ? 1 : 2));
  return 1;
}

int bind_sandbox_seal(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  lua_getglobal(L, "string");
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, string_index, 2);
  lua_setfield(L, -2, "__index");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  return 0;
}

void bind_sandbox_open(lua_State *L, bind_sandbox *sandbox) {
  lua_pushlightuserdata(L, sandbox);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &sandbox_key);
  sandbox->L = L;
  sandbox->left = sandbox->call_instructions;
  lua_sethook(L, count, LUA_MASKCOUNT, COUNT);
}

void bind_sandbox_close(lua_State *L) {
  lua_sethook(L, NULL, 0, 0);
}

/*
 * Registry key of the sandbox for calls. The sandbox lives as long as the state, because objects of
 * a call may be freed later.
 */
static const char kept_key;

static bind_sandbox *push_kept(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kept_key) == LUA_TNIL) {
    lua_pop(L, 1);
    bind_sandbox *sandbox = lua_newuserdatauv(L, sizeof *sandbox, 0);
    *sandbox = (bind_sandbox){0};
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &kept_key);
    lua_pushnil(L); /* creates the key, so that setting it later cannot fail */
    lua_rawsetp(L, LUA_REGISTRYINDEX, &sandbox_key);
  }
  return lua_touserdata(L, -1);
}

/* Starts counting memory. */
static bind_sandbox *push_sandbox(lua_State *L, int limits) {
  int64_t call = check_field_integer(L, limits, "call_instructions");
  int64_t all = check_field_integer(L, limits, "all_instructions");
  int64_t more = check_field_integer(L, limits, "memory_bytes");
  bind_sandbox *sandbox = push_kept(L);
  *sandbox = (bind_sandbox){.call_instructions = call, .all_instructions = all};
  sandbox->used_bytes =
      (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB, 0);
  sandbox->memory_bytes = sandbox->used_bytes + (size_t)more;
  sandbox->inner = lua_getallocf(L, &sandbox->inner_ud);
  return sandbox;
}

/* Stops counting memory. Objects of the call may live longer than the call. */
static void leave_sandbox(lua_State *L, bind_sandbox *sandbox) {
  bind_sandbox_close(L);
  lua_setallocf(L, sandbox->inner, sandbox->inner_ud);
  sandbox->memory_bytes = SIZE_MAX;
  sandbox->L = NULL;
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &sandbox_key);
}

/* [..., error]: describes the error without running code of the script. */
static void push_outcome(lua_State *L, const bind_sandbox *sandbox) {
  lua_pushboolean(L, 0);
  lua_pushstring(L, sandbox->fatal != NULL ? sandbox->fatal : "error");
  lua_pushvalue(L, -3);
  if (lua_type(L, -1) != LUA_TSTRING && lua_type(L, -1) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, -3));
  }
}

int bind_sandbox_call(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  bind_sandbox *sandbox = push_sandbox(L, 1);
  lua_insert(L, 2); /* reserved for the number of instructions */
  bind_sandbox_open(L, sandbox);
  lua_setallocf(L, bind_sandbox_allocate, sandbox);
  int status = lua_pcall(L, lua_gettop(L) - 3, LUA_MULTRET, 0);
  leave_sandbox(L, sandbox);
  lua_pushinteger(L, (lua_Integer)sandbox->spent);
  lua_replace(L, 2);
  if (status == LUA_OK && sandbox->fatal == NULL) {
    lua_pushboolean(L, 1);
    lua_insert(L, 3);
    return lua_gettop(L) - 1;
  }
  lua_settop(L, status == LUA_OK ? 2 : 3);
  if (status == LUA_OK) {
    lua_pushnil(L);
  }
  push_outcome(L, sandbox);
  lua_remove(L, 3);
  return 4;
}
