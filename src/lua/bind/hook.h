/*
 * hook.h - the only module through which the core calls Lua.
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
 * Indices in the anchor, the table that keeps a run's Lua values alive. The simulation owns the
 * anchor. The registry refers to the anchor only while the simulation is constructed or driven, so
 * a hook that refers to its own simulation does not keep itself and the simulation alive.
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
  ANCHOR_VECTORS, /* columns, by signal + 1 */
  ANCHOR_SCORES,
  ANCHOR_SUMS,  /* sums of scores, as passed to pickers */
  ANCHOR_LOOPS, /* three tables of policies/routing/score_loop.h */
  ANCHOR_LOOPS_END = ANCHOR_LOOPS + 2,
  ANCHOR_SCORERS,  /* scorers in use in this run, by definition */
  ANCHOR_PREFIXES, /* memory of prefix indexes, by index */
  ANCHOR_BUFFER,
  ANCHOR_HINTS,     /* hints of the priority policy, by slot of the request */
  ANCHOR_SELF,      /* the simulation */
  ANCHOR_CALLBACKS, /* callbacks of sim:at, by address */
  ANCHOR_METRICS,   /* custom metrics of policies, by name */
  ANCHOR_FRESH,     /* policies created for this run, by definition */
  ANCHOR_LOG,       /* log of the driving calls, see simulation/drive_log.h */
  ANCHOR_FUNCTIONS  /* index of the first hook function */
};

/* State that all hooks of one simulation share. */
typedef struct bind_hooks {
  lua_State *L; /* thread that drives the run; NULL between drives */
  bool has_error;
  struct bind_sandbox *sandbox; /* sets the instruction budget of each call; NULL = no sandbox */
  int functions;                /* number of indices in use from ANCHOR_FUNCTIONS on */
  uint64_t entries;             /* upper bound on the number of calls of script code; never 0 */
  bind_alias alias;             /* alias of the ids and times that hooks read */
} bind_hooks;

/* Subject of a hook call, for error messages. */
typedef struct bind_hook_place {
  const char *kind;                 /* "scorer" */
  const char *name;                 /* "" = none */
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
 * Opens the hooks: registers the anchor on top of the stack (popped) until bind_hooks_shut is
 * called. May raise; bind_hooks_shut never does.
 */
void check_hooks_open(lua_State *L, bind_hooks *hooks);
void bind_hooks_shut(lua_State *L, const bind_hooks *hooks);

/* Pushes the anchor, which must be open. */
void bind_hooks_anchor(lua_State *L, const bind_hooks *hooks);

/* Stores the value on top of the stack (popped) in the anchor and returns its index. */
int push_hook_function(lua_State *L, bind_hooks *hooks);

/*
 * Stores the function in a field of the table at index in the anchor. Returns its index in the
 * anchor, or 0 if the field is nil.
 */
int push_hook_field(lua_State *L, int index, const char *name, bind_hooks *hooks);

/*
 * Pushes the function that is stored at index `place` of the anchor. If the stored value is a
 * table, it contains a function for each instance. Then pushes the function at [instance + 1],
 * which __index may create. `anchor` is the stack index of the anchor.
 */
void push_instance_function(lua_State *L, int anchor, int place, uint32_t instance);

/*
 * Calls body in protected mode with argument as a light userdata at index 1. On failure, stores the
 * error and returns BLIS_ERR_POLICY.
 */
blis_status bind_pcall(bind_hooks *hooks, const bind_hook_place *place, lua_CFunction body,
                       void *argument, blis_error *error);

#endif
