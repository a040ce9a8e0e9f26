/*
 * simulation.h - the simulation as a userdata: it owns the cluster, latency model, and hooks, and
 * lets a script drive them.
 */
#ifndef BLIS_LUA_SIMULATION_SIMULATION_H
#define BLIS_LUA_SIMULATION_SIMULATION_H

#include <lua.h>

#include "cluster/cluster.h"
#include "cluster/encode/encode.h"
#include "cluster/gateway/gateway.h"
#include "cluster/handoff/handoff.h"
#include "cluster/scaling/scaling.h"
#include "lua/bind/hook.h"
#include "lua/bind/math_random.h"
#include "lua/bind/profile.h"
#include "lua/engine/adapters.h"
#include "lua/engine/engine.h"
#include "lua/engine/groups.h"
#include "lua/engine/latency.h"
#include "lua/engine/power.h"
#include "lua/policies/engine/acceptance.h"
#include "lua/policies/engine/batch_scheduler.h"
#include "lua/policies/engine/kv_tiers.h"
#include "lua/policies/engine/scheduler.h"
#include "lua/policies/view/view.h"
#include "lua/results/records.h"
#include "lua/simulation/future.h"
#include "lua/simulation/observer.h"
#include "lua/simulation/progress.h"
#include "lua/simulation/run_events.h"
#include "lua/simulation/watch.h"
#include "policy/priority/priority.h"
#include "results/log/load_log.h"
#include "results/log/series.h"
#include "results/log/step_log.h"
#include "results/log/visit_log.h"

#define SIMULATION_TYPE "blis.simulation"

/* User values of the userdata. */
enum {
  SIMULATION_ANCHOR = 1,
  SIMULATION_CONFIG, /* keeps workload and definitions alive */
  SIMULATION_RECORDS,
  SIMULATION_INSTANCES,
  SIMULATION_RESULT,
  SIMULATION_GROUPS,
  SIMULATION_VALUES = SIMULATION_GROUPS
};

/* Pools that can have separate autoscalers: prefill and decode, or all instances as one pool. */
enum { SIMULATION_SCALED_POOLS = 2 };

/* Zeroed before anything is acquired, so that it can be closed at any time. */
typedef struct bind_simulation {
  bind_hooks hooks;
  const bind_profile *profile;
  bind_view view;
  bind_scheduler scheduler;
  bind_batch_scheduler batch_scheduler;
  bind_kv_tiers kv_tiers;         /* options of KV tiers that are functions */
  bind_instance_batches *batches; /* by instance; the anchor owns them */
  bind_instance_order *orders;    /* by instance; the anchor owns them */
  bind_observer observer;
  bind_run_events run_events;
  bind_progress progress;
  bind_watch watch;
  bind_engine engine;               /* engine of the first group of instances */
  bind_groups groups;               /* engines of the other groups */
  bind_adapters adapters;           /* all zero if not configured */
  bind_power *powers;               /* by group; the anchor owns them */
  bind_latency latency;             /* used by a Lua latency model */
  bind_instance_latency *latencies; /* by instance; the anchor owns them */
  bind_acceptance *acceptances;     /* by group; the anchor owns them */
  blis_histogram itl_us;
  blis_histogram *itl_of_instance_us; /* NULL unless requested */
  blis_series series;                 /* all-zero unless requested */
  blis_step_log steps;                /* all-zero unless requested */
  blis_step_sink step_sink;           /* fills steps; all-zero unless requested */
  blis_load_log loads;                /* all-zero unless requested */
  blis_load_sink load_sink;           /* fills loads; all-zero unless requested */
  blis_visit_log visits;              /* visits with loads and steps */
  blis_visit_sink visit_sink;
  bind_records *records;    /* kept alive by a user value */
  blis_router router;       /* until the cluster takes it */
  blis_admission admission; /* until the cluster takes it */
  blis_cascade cascade;     /* until the cluster takes it */
  /* By pool, until the cluster takes them. */
  blis_autoscaler autoscalers[SIMULATION_SCALED_POOLS];
  bind_future future;        /* for oracle autoscalers */
  blis_disaggregation apart; /* until the cluster takes it */
  blis_encode_stage encode;  /* until the cluster takes it */
  blis_gateway gateway;      /* until the cluster takes it */
  blis_priority priority;    /* the cluster borrows it */
  blis_cluster *cluster;     /* NULL once closed */
  uint32_t instance_count;   /* maximum number of instances */
  uint32_t initial_count;    /* initial instances; 0 = all */
  int64_t seed;
  bind_script_random script_random;  /* math.random in hooks */
  bind_script_random *random_before; /* stream to restore after the simulation is driven */
  bool has_cascade;
  bool has_pools;   /* prefill and decode pools */
  bool has_gateway; /* the gateway has a queue */
  bool has_failed;  /* the anchor contains the error */
  bool is_finished; /* the result is complete */
} bind_simulation;

void bind_open_simulations(lua_State *L);

/*
 * Return the simulation at index; raise for any other value. check_simulation also raises if the
 * simulation is closed.
 */
bind_simulation *check_any_simulation(lua_State *L, int index);
bind_simulation *check_simulation(lua_State *L, int index);

/* Releases everything except Lua values. Idempotent; never raises. */
void bind_simulation_close(bind_simulation *sim);

/*
 * Starts a method that drives the simulation at index 1: opens the hooks, and raises if they are
 * already open. The caller must always call check_shut afterwards.
 */
bind_simulation *check_drivable(lua_State *L, const char *method);

/*
 * Shuts the hooks of the simulation at index and raises the stored error. After an interrupt, the
 * run can continue; any other error is permanent.
 */
void check_shut(lua_State *L, int index, bind_simulation *sim, blis_status status,
                const blis_error *error);

/* Raises the stored error object of the simulation at index, which must have failed. */
int bind_simulation_raise_failure(lua_State *L, int index);

/*
 * Calls `change` between two events of the simulation at index, or inside one of its functions, and
 * raises the errors of `change`. The simulation can continue after BLIS_ERR_INVALID.
 */
void check_change(lua_State *L, int index,
                  blis_status (*change)(void *ud, blis_cluster *cluster, blis_error *error),
                  void *ud);

#endif
