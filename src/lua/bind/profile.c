#include "lua/bind/profile.h"

#include "cluster/gateway/gateway.h"
#include "cluster/handoff/go_blis.h"
#include "cluster/handoff/handoff.h"
#include "instance/config/go_blis.h"
#include "lua/bind/bind.h"
#include "policy/contract/go_blis.h"
#include "workload/go_blis.h"

static const blis_instance_defects no_defects = {.has_plain_kv = false};

static const bind_profile design = {
    .instances = &no_defects,
    .gateway = {.strict = BLIS_FLOW_STRICT,
                .deadline = BLIS_GATEWAY_DEADLINE,
                .eviction = BLIS_GATEWAY_EVICTS_SOME},
};

static const bind_profile go_blis = {
    .workload = &blis_workload_go_blis,
    .instances = &blis_instance_go_blis,
    .policies = &blis_policy_go_blis,
    .gateway = {.strict = BLIS_FLOW_STRICT_FIFO,
                .deadline = BLIS_GATEWAY_DEADLINE_INSIDE,
                .eviction = BLIS_GATEWAY_EVICTS_ONE,
                .joins_stages = true},
    .node_pools = {.takes_any_gpu = true, .orders_none = true, .has_first_price = true},
    .has_own_scaling_loop = true,
    .handoffs = &blis_handoff_go_blis,
    .encodes_in_passing = true,
    .shares_adapter_prefixes = true,
    .load_counts_in_flight = true,
    .surveys_mark_caches = true,
    .has_plain_ids = true,
};

const bind_profile *check_profile(lua_State *L, int index) {
  return opt_field_boolean(L, index, "go_blis", false) ? &go_blis : &design;
}
