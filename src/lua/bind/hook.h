/*
 * hook.h - the one place where the core calls Lua.
 *
 * Hooks run in protected calls. An error in a hook is stored as an error object that names the
 * policy, the request, and the simulated time. The core unwinds with BLIS_ERR_POLICY, and the
 * driver of the simulation raises that object.
 */
#ifndef BLIS_LUA_BIND_HOOK_H
#define BLIS_LUA_BIND_HOOK_H

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "lua/bind/alias.h"
#include "lua/bind/bind.h"

/*
 * Places in the anchor, the table that keeps a run's Lua values alive. The simulation owns it. The
 * registry refers to it only while the simulation is made or driven. So a hook that refers to its
 * own simulation does not keep itself and the simulation alive.
 */
enum {
  ANCHOR_ERROR = 1, /* the stored error object, or false */
  ANCHOR_REQUEST,
  ANCHOR_INSTANCES,  /* tables of all instances, by number + 1 */
  ANCHOR_CANDIDATES, /* tables of the candidates of a decision, in order */
  ANCHOR_PEERS,      /* candidates of the other stage, rebuilt for each decision */
  ANCHOR_CONTEXT,    /* facts about stages and links: two tables */
  ANCHOR_LINKS,
  ANCHOR_COLUMNS,
  ANCHOR_VECTORS, /* the columns, by signal + 1 */
  ANCHOR_SCORES,
  ANCHOR_SUMS,  /* of scores, as pickers get them */
  ANCHOR_LOOPS, /* of policies/score_loop.h: three tables */
  ANCHOR_LOOPS_END = ANCHOR_LOOPS + 2,
  ANCHOR_SCORERS,  /* at work in this run, by definition */
  ANCHOR_PREFIXES, /* memory of prefix indexes, by index */
  ANCHOR_BUFFER,
  ANCHOR_HINTS,     /* hints of the priority policy, by slot of the request */
  ANCHOR_SELF,      /* the simulation */
  ANCHOR_CALLBACKS, /* of sim:at, by address */
  ANCHOR_METRICS,   /* custom metrics of policies, by name */
  ANCHOR_FRESH,     /* policies made for this run, by definition */
  ANCHOR_LOG,       /* log of the driving calls, see simulation/drive_log.h */
  ANCHOR_FUNCTIONS  /* first of the functions of the hooks */
};

/* What all hooks of one simulation share. */
typedef struct bind_hooks {
  lua_State *L; /* thread that drives the run; NULL between drives */
  bool has_error;
  struct bind_sandbox *sandbox; /* NULL: none; sets the budget of each call */
  int functions;                /* places in use, starting at ANCHOR_FUNCTIONS */
  uint64_t entries;             /* how often script code may have run; never 0 */
  bind_alias alias;             /* of the ids and times that hooks see */
} bind_hooks;

/* Subject of a hook call, for error messages. */
typedef struct bind_hook_place {
  const char *kind;                 /* "scorer" */
  const char *name;                 /* "" when it has none */
  const bind_request_name *request; /* NULL = none */
  const char *instance;             /* NULL = none */
  int64_t now_us;                   /* -1 = outside of simulated time */
} bind_hook_place;

/*
 * Creates the anchor of hooks, pushes it for its owner to keep, and opens it. hooks must not move
 * afterwards.
 */
void push_hooks_anchor(lua_State *L, bind_hooks *hooks);

/*
 * Registers the anchor on top of the stack (popped) until it is shut. May raise; shutting never
 * does.
 */
void check_hooks_open(lua_State *L, bind_hooks *hooks);
void bind_hooks_shut(lua_State *L, const bind_hooks *hooks);

/* Pushes the anchor, which must be open. */
void bind_hooks_anchor(lua_State *L, const bind_hooks *hooks);

/* Keeps the value on top of the stack (popped) and returns its place. */
int push_hook_function(lua_State *L, bind_hooks *hooks);

/*
 * Keeps the function in a field of the table at index. Returns its place; 0 if the field is nil.
 */
int push_hook_field(lua_State *L, int index, const char *name, bind_hooks *hooks);

/*
 * Pushes the function at a place of the anchor at index `anchor`. If a table is there instead, it has
 * a function for each instance: pushes the function at [instance + 1], which __index may create.
 */
void push_instance_function(lua_State *L, int anchor, int place, uint32_t instance);

/*
 * Calls body in protected mode with argument as a light userdata at index 1.
 * On failure the error is stored and BLIS_ERR_POLICY returned.
 */
blis_status bind_pcall(bind_hooks *hooks, const bind_hook_place *place, lua_CFunction body,
                       void *argument, blis_error *error);

#endif
