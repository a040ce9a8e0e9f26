#include "lua/policies/routing/replicas.h"

#include <stdio.h>

#include "base/time.h"
#include "lua/bind/bind.h"
#include "policy/replicas/replicas.h"

static const char *const balancers[] = {"round-robin", "random", "least-connections", "hash", NULL};
static const char *const keys[] = {"prefix", "session", "tenant", "client", NULL};
static const char *const modes[] = {"none", "events", "periodic", "pull-push", "shared", NULL};
static const char *const fail_opens[] = {"random", "round-robin", "reject", NULL};

/* Policies that no router has taken yet. */
typedef struct pending_policies {
  size_t count;
  blis_router items[];
} pending_policies;

static int pending_gc(lua_State *L) {
  pending_policies *pending = lua_touserdata(L, 1);
  for (size_t i = 0; i < pending->count; i++) {
    blis_router_free(&pending->items[i]);
  }
  pending->count = 0;
  return 0;
}

/* Pushes the first ticks of the replicas. */
static const int64_t *push_phases(lua_State *L, int index, uint32_t count) {
  int64_t *phases = push_buffer(L, count, sizeof *phases);
  if (lua_getfield(L, index, "phases_us") == LUA_TTABLE) {
    for (uint32_t r = 0; r < count; r++) {
      lua_rawgeti(L, -1, (lua_Integer)r + 1);
      phases[r] = luaL_optinteger(L, -1, 0);
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
  return phases;
}

static uint64_t replicas_of_fault(lua_State *L, int index) {
  uint64_t bits = 0;
  lua_getfield(L, index, "replicas");
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    bits |= UINT64_C(1) << (luaL_checkinteger(L, -1) - 1);
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
  return bits;
}

/* Pushes the faults. */
static const blis_replica_fault *push_faults(lua_State *L, int index, size_t *count) {
  int top = lua_gettop(L);
  lua_getfield(L, index, "faults");
  *count = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
  blis_replica_fault *faults = push_buffer(L, *count + 1, sizeof *faults);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
    int given = lua_gettop(L);
    faults[i] = (blis_replica_fault){
        .from_us = check_field_integer(L, given, "from_us"),
        .until_us = opt_field_integer(L, given, "until_us", BLIS_TIME_NEVER_US),
        .is_crash = opt_field_boolean(L, given, "is_crash", false),
        .replicas = replicas_of_fault(L, given)};
    lua_pop(L, 1);
  }
  lua_remove(L, top + 1);
  return faults;
}

/* Reads the options; pushes the values that they borrow. */
static blis_replica_options check_options(lua_State *L, int index,
                                          const blis_policy_context *context) {
  uint32_t count = (uint32_t)check_field_integer(L, index, "count");
  blis_replica_options options = {
      .count = count,
      .instance_count = context->instance_count,
      .seed = context->seed,
      .balancer = (blis_balancer)check_field_choice(L, index, "balancer", balancers),
      .hash_on = (blis_balancer_key)check_field_choice(L, index, "hash_on", keys),
      .vnodes = (uint32_t)check_field_integer(L, index, "vnodes"),
      .shards_instances = opt_field_boolean(L, index, "shards_instances", false),
      .is_active_passive = opt_field_boolean(L, index, "is_active_passive", false),
      .lease_us = opt_field_integer(L, index, "lease_us", 0),
      .fail_open = (blis_fail_open)check_field_choice(L, index, "fail_open", fail_opens),
      .mode = (blis_sync_mode)check_field_choice(L, index, "mode", modes),
      .shares_decisions = opt_field_boolean(L, index, "shares_decisions", false),
      .shares_in_flight = opt_field_boolean(L, index, "shares_in_flight", false),
      .every_us = check_field_integer(L, index, "every_us"),
      .jitter = opt_field_number(L, index, "jitter", 0),
      .delay_us = opt_field_integer(L, index, "delay_us", 0),
      .loss = opt_field_number(L, index, "loss", 0),
      .ttl_us = opt_field_integer(L, index, "ttl_us", 0),
      .own_is_published = opt_field_boolean(L, index, "own_is_published", false),
      .bytes_per_entry = (uint32_t)check_field_integer(L, index, "bytes_per_entry"),
  };
  options.phases_us = push_phases(L, index, count);
  options.faults = push_faults(L, index, &options.fault_count);
  return options;
}

/* Forgets the policies created so far, because each replica creates its own. */
static void forget_made(lua_State *L, bind_view *view) {
  bind_hooks_anchor(L, view->hooks);
  lua_pushnil(L);
  lua_rawseti(L, -2, ANCHOR_FRESH);
  lua_pop(L, 1);
}

/* Determines the replica for which policy number `place` is, and how often that replica has
   crashed before. */
static void find_owner(const blis_replica_options *options, uint32_t place,
                       blis_policy_context *own) {
  own->replica = place;
  if (place < options->count) {
    return;
  }
  uint32_t crashes = place - options->count + 1; /* the policy is used after the last of these
                                                    crashes */
  uint64_t crashed = 0;
  for (size_t i = 0; crashes > 0; i++) {
    crashes -= options->faults[i].is_crash;
    crashed = options->faults[i].replicas;
  }
  for (size_t i = 0, k = options->count; k <= place; i++) {
    k += options->faults[i].is_crash;
    own->incarnation += options->faults[i].is_crash && options->faults[i].replicas == crashed;
  }
  for (own->replica = 0; crashed >> own->replica != 1;) {
    own->replica++;
  }
}

/* Returns the context of a policy. The first context equals the context without replicas. */
static blis_policy_context context_of(const blis_policy_context *context, const bind_view *view,
                                      const blis_replica_options *options, uint32_t place) {
  blis_policy_context own = *context;
  own.replicas = options->count;
  find_owner(options, place, &own);
  if (place > 0) {
    char name[32];
    (void)snprintf(name, sizeof name, "router/%u", (unsigned)place);
    own.seed = blis_random_stream_seed(context->seed, name);
    own.script_seed = bind_alias_seed(&view->hooks->alias, own.seed);
  }
  return own;
}

static void check_policies(lua_State *L, int policy, bind_view *view,
                           const blis_policy_context *context, bind_router_maker *make,
                           const blis_replica_options *options, pending_policies *pending) {
  size_t count = blis_replicas_policy_count(options);
  const blis_policy_context usual = view->context;
  for (size_t i = 0; i < count; i++) {
    const blis_policy_context own = context_of(context, view, options, (uint32_t)i);
    view->context = own;
    lua_pushvalue(L, policy);
    make(L, lua_gettop(L), view, &own, &pending->items[i]);
    pending->count++;
    lua_pop(L, 1);
    forget_made(L, view);
  }
  view->context = usual;
}

void check_replicas(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                    bind_router_maker *make, blis_router *router) {
  int top = lua_gettop(L);
  lua_getfield(L, index, "policy");
  lua_getfield(L, index, "replicas");
  const blis_replica_options options = check_options(L, top + 2, context);
  size_t count = blis_replicas_policy_count(&options);
  pending_policies *pending =
      push_guarded(L, 1, sizeof *pending + count * sizeof *pending->items, pending_gc);
  check_policies(L, top + 1, view, context, make, &options, pending);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  pending->count = 0; /* the router takes ownership even on failure */
  check_status(L, blis_replicas_new(&alloc, &options, pending->items, router, &error), &error);
  view->replicas = router->state;
  lua_settop(L, top);
}

bool has_replicas(lua_State *L, int index) {
  bool has = lua_getfield(L, index, "replicas") != LUA_TNIL;
  lua_pop(L, 1);
  return has;
}

static void set_integer(lua_State *L, const char *name, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

static void push_report(lua_State *L, const blis_replica_report *report) {
  lua_createtable(L, 0, 8);
  set_integer(L, "requests", report->requests);
  set_integer(L, "in_flight", report->in_flight);
  set_integer(L, "messages_sent", report->messages_sent);
  set_integer(L, "messages_received", report->messages_received);
  set_integer(L, "messages_lost", report->messages_lost);
  set_integer(L, "bytes_sent", report->bytes_sent);
  set_integer(L, "ghosts", report->ghosts);
  if (report->messages_received > 0) {
    lua_pushnumber(L, (double)report->delivery_sum_us / (double)report->messages_received / 1000);
    lua_setfield(L, -2, "delivery_ms");
  }
}

void set_replica_reports(lua_State *L, const bind_view *view) {
  if (view->replicas == NULL) {
    return;
  }
  set_integer(L, "requests_without_router", blis_replicas_fail_open_count(view->replicas));
  uint32_t count = blis_replicas_count(view->replicas);
  lua_createtable(L, (int)count, 0);
  for (uint32_t r = 0; r < count; r++) {
    blis_replica_report report;
    blis_replicas_report(view->replicas, r, &report);
    push_report(L, &report);
    lua_rawseti(L, -2, (lua_Integer)r + 1);
  }
  lua_setfield(L, -2, "routers");
}
