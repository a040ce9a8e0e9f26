/*
 * admission.h - an admission policy as one Lua function.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_ADMISSION_H
#define BLIS_LUA_POLICIES_ROUTING_ADMISSION_H

#include <lua.h>

#include "lua/policies/view/view.h"
#include "policy/admission/admission.h"

/*
 * Creates *admission from the function at index, which is called as function(request, cluster). It
 * returns true or "admit", false or "reject" and a reason, or "delay" and microseconds. blis.admit,
 * blis.reject, and blis.delay return these values. The caller owns *admission, which borrows view.
 * May raise; in this case nothing remains allocated.
 */
void check_scripted_admission(lua_State *L, int index, bind_view *view, blis_admission *admission);

#endif
