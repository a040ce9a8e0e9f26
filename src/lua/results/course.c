#include "results/analysis/course.h"

#include <lauxlib.h>

#include "lua/bind/bind.h"
#include "lua/results/record_methods.h"
#include "lua/results/records.h"

static void set_counts(lua_State *L, const char *name, const int64_t values[BLIS_COURSE_PARTS]) {
  lua_createtable(L, BLIS_COURSE_PARTS, 0);
  for (int k = 0; k < BLIS_COURSE_PARTS; k++) {
    lua_pushinteger(L, values[k]);
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -2, name);
}

/* Sets the TTFT list. A part without a first token is false, so that the list has no holes. */
static void set_ttft(lua_State *L, const blis_course *course) {
  lua_createtable(L, BLIS_COURSE_PARTS, 0);
  for (int k = 0; k < BLIS_COURSE_PARTS; k++) {
    if (course->first_tokens[k] > 0) {
      lua_pushnumber(L, course->ttft_us[k] / 1000);
    } else {
      lua_pushboolean(L, false);
    }
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -2, "ttft_ms");
}

static void set_double(lua_State *L, const char *name, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

static void set_integer(lua_State *L, const char *name, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

int bind_records_course(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  blis_course course;
  blis_course_measure(&course, records->recorder);
  lua_createtable(L, 0, 17);
  set_integer(L, "requests", course.requests);
  set_integer(L, "from_us", course.from_us);
  set_integer(L, "to_us", course.to_us);
  set_counts(L, "arrived", course.arrived);
  set_counts(L, "waiting", course.waiting);
  set_counts(L, "in_system", course.in_system);
  set_counts(L, "first_tokens", course.first_tokens);
  set_ttft(L, &course);
  set_double(L, "running", course.running);
  set_double(L, "held_tokens", course.held_tokens);
  set_double(L, "prompt_of_token", course.prompt_of_token);
  set_double(L, "output_of_token", course.output_of_token);
  set_double(L, "context_of_token", course.context_of_token);
  set_integer(L, "least_prompt_tokens", course.least_prompt_tokens);
  set_integer(L, "most_prompt_tokens", course.most_prompt_tokens);
  set_integer(L, "least_output_tokens", course.least_output_tokens);
  set_integer(L, "most_output_tokens", course.most_output_tokens);
  return 1;
}
