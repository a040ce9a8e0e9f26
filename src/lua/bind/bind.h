/*
 * bind.h - shared helpers of the bindings: core failures as Lua errors, calls from the core into
 * Lua, and readers of plain configuration tables.
 *
 * Names show which functions may raise (longjmp): check_*, opt_*, push_*, set_*, and bind_raise.
 * All other functions never raise. Do not call a function that may raise while you own a resource
 * that Lua does not own.
 */
#ifndef BLIS_LUA_BIND_BIND_H
#define BLIS_LUA_BIND_BIND_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/intern.h"
#include "base/error.h"

/* Returns the allocator of the state, so that a memory limit also covers the core. */
blis_alloc bind_alloc(lua_State *L);

/*
 * Registers and pushes a metatable called name, which scripts cannot access. __index may be a
 * function in meta.
 */
void push_new_type(lua_State *L, const char *name, const luaL_Reg *meta, const luaL_Reg *methods);

/* Creates the metatable of error objects; called once per state. */
void bind_open_errors(lua_State *L);

/*
 * Metatable name for tables of metrics. It makes them print as short Lua (lua/blis/show.lua).
 * Created once per state.
 */
#define FIGURES_TYPE "blis.figures"
void bind_open_figures_type(lua_State *L);

/* Sets this metatable for the table on top of the stack. */
void set_printable(lua_State *L);

/*
 * Raises the error object of a core failure: a table with code ("invalid", "parse", "nomem", ...)
 * and message, whose tostring is the message. Only this function turns a core status into a Lua
 * error. Does not return.
 */
int bind_raise(lua_State *L, const blis_error *error);

/* Pushes the error object of a core failure. */
void push_core_error(lua_State *L, const blis_error *error);

/* Calls bind_raise unless status is BLIS_OK. */
void check_status(lua_State *L, blis_status status, const blis_error *error);

/*
 * Pushes a field of an error object. Returns false, and pushes nothing, if the value at index is
 * not an error object or the field is not a string. Raises if memory is exhausted.
 */
bool push_error_text(lua_State *L, int index, const char *name);

/* Pushes a new error object without message; code is a static word. */
void push_error_object(lua_State *L, const char *code);

/* Returns whether push_signal pushes an integer instead of a float, and sets *integer. */
bool bind_signal_is_integer(double value, lua_Integer *integer);

/* Pushes the value of a signal: an integer if it is a whole number, otherwise a float. */
void push_signal(lua_State *L, double value);

/* The parts of the id of a request; see blis_request_id_of. */
typedef struct bind_request_name {
  int64_t number;
  const char *session; /* borrowed; NULL if number >= 0 */
  int32_t round_index;
} bind_request_name;

void push_request_id(lua_State *L, const bind_request_name *name);

/* Pushes the id of an instance with at least `digits` digits (instance_id.h). */
void push_instance_id(lua_State *L, int64_t number, int digits);

/*
 * Pushes and returns a description of the value at index for error messages: nil, true, 1.5, the
 * text 'x', a table.
 */
const char *push_what(lua_State *L, int index);

/*
 * Raises if the table at index has a key that is not in the list of names, and suggests the nearest
 * name. what describes the table: "a record".
 */
void check_names(lua_State *L, int index, const char *what, const char *const *names, size_t count);

/*
 * Read the table at index, which the Lua half has filled and checked. They raise if a field is
 * missing or has the wrong type.
 */
int64_t check_field_integer(lua_State *L, int index, const char *name);
int64_t opt_field_integer(lua_State *L, int index, const char *name, int64_t fallback);
double check_field_number(lua_State *L, int index, const char *name);
double opt_field_number(lua_State *L, int index, const char *name, double fallback);
bool opt_field_boolean(lua_State *L, int index, const char *name, bool fallback);
/* The string is borrowed from the table. Returns NULL if the field is absent and not required. */
const char *check_field_string(lua_State *L, int index, const char *name);
const char *opt_field_string(lua_State *L, int index, const char *name);
/* Returns the index of the field's word in choices, which ends with NULL. */
int check_field_choice(lua_State *L, int index, const char *name, const char *const *choices);
/* Returns the index of an argument in words, which ends with NULL; fallback if the argument is
   absent. The error lists the words. */
int check_word(lua_State *L, int argument, const char *fallback, const char *const *words);
/* Like check_word, for a required word. The error names the function, because Lua cannot
   determine the name of a method that is called through pcall. */
int check_word_of(lua_State *L, int argument, const char *function, const char *const *words);

/* Pushes 16 hexadecimal digits. */
void push_hash(lua_State *L, uint64_t hash);

/* Set a field of the table on top of the stack. May raise. */
void set_field_integer(lua_State *L, const char *name, int64_t value);
void set_field_number(lua_State *L, const char *name, double value);
void set_field_string(lua_State *L, const char *name, const char *value);
void set_field_text(lua_State *L, const char *name, const blis_intern *strings, uint32_t id);

/* Pushes the words of "a|b|c" as a list. */
void push_words(lua_State *L, const char *words);

/* Pushes and returns a zeroed buffer that Lua owns and collects. count may be 0. */
void *push_buffer(lua_State *L, size_t count, size_t item_size);

/* Like push_buffer, with a finalizer that releases the content. */
void *push_guarded(lua_State *L, size_t count, size_t item_size, lua_CFunction gc);

#endif
