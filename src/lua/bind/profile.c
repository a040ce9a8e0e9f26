#include "lua/bind/profile.h"

#include "cluster/handoff_go_blis.h"
#include "lua/bind/bind.h"

static const bind_profile design = {.handoffs = NULL};

static const bind_profile go_blis = {
    .handoffs = &blis_handoff_go_blis,
    .encodes_in_passing = true,
};

const bind_profile *check_profile(lua_State *L, int index) {
  return opt_field_boolean(L, index, "go_blis", false) ? &go_blis : &design;
}
