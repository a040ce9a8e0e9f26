#include "lua/simulation/progress.h"

#include <time.h>

#include "lua/bind/bind.h"
#include "lua/bind/sandbox.h"

static int64_t wall_clock_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void check_progress(lua_State *L, int index, bind_hooks *hooks, bind_progress *progress) {
  progress->hooks = hooks;
  progress->interval_ms = opt_field_integer(L, index, "progress_interval_ms", 1000);
  if (bind_sandbox_of(L) != NULL) {
    progress->interval_ms = 0; /* called by number of events, because a sandbox has no clock */
  }
  progress->function = push_hook_field(L, index, "progress", hooks);
}

static int64_t steps_of(const blis_cluster *cluster) {
  int64_t steps = 0;
  for (uint32_t i = 0; i < blis_cluster_instance_count(cluster); i++) {
    blis_instance_stats stats;
    blis_instance_get_stats(blis_cluster_instance(cluster, i), &stats);
    steps += stats.steps;
  }
  return steps;
}

static int call_function(lua_State *L) {
  enum { PROGRESS = 1, ANCHOR };
  const bind_progress *progress = lua_touserdata(L, PROGRESS);
  blis_cluster_counts counts;
  blis_cluster_get_counts(progress->cluster, &counts);
  bind_hooks_anchor(L, progress->hooks);
  lua_rawgeti(L, ANCHOR, progress->function);
  lua_pushinteger(L, counts.arrived - counts.in_flight);
  lua_pushinteger(L, counts.arrived);
  lua_pushinteger(L, blis_cluster_now_us(progress->cluster));
  lua_pushinteger(L, steps_of(progress->cluster));
  lua_call(L, 4, 0);
  return 0;
}

static bool is_due(bind_progress *progress) {
  if (progress->interval_ms == 0) {
    return true;
  }
  int64_t now_ms = wall_clock_ms();
  bool is_first = progress->next_ms == 0;
  if (now_ms < progress->next_ms) {
    return false;
  }
  progress->next_ms = now_ms + progress->interval_ms;
  return !is_first;
}

void bind_progress_tell(bind_progress *progress) {
  if (progress->function == 0 || progress->hooks->has_error || !is_due(progress)) {
    return;
  }
  const bind_hook_place place = {
      .kind = "progress function", .name = "", .now_us = blis_cluster_now_us(progress->cluster)};
  blis_error error = {0};
  blis_status status = bind_pcall(progress->hooks, &place, call_function, progress, &error);
  (void)status; /* the driver of the run finds an error in the hooks */
}
