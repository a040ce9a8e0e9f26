#include "host/command.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "host/modules.h"
#include "host/report.h"

/* Returns whether a name can be a command; other names are mistyped paths. */
static bool could_be_command(const char *name) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  return strspn(name, allowed) == strlen(name);
}

/* Returns whether package.path contains a module of this name, which is an additional command. */
static bool is_on_path(lua_State *L, const char *module) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "searchpath");
  lua_pushstring(L, module);
  lua_getfield(L, -3, "path");
  lua_call(L, 2, 1);
  bool found = lua_type(L, -1) == LUA_TSTRING;
  lua_pop(L, 2);
  return found;
}

/* Raises an error for an unknown command. The list of commands is on top of the stack. */
static void raise_unknown(lua_State *L, const char *name) {
  static const char help[] = "'blis --help' lists the commands";
  blis_nearest nearest = {.wanted = name};
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    blis_nearest_offer(&nearest, lua_tostring(L, -1)); /* the list keeps it alive */
    lua_pop(L, 1);
  }
  host_raise(L, "usage", "'%.200s' is neither a file nor a command%s", name,
             blis_nearest_suggest_or(&nearest, help).text);
}

/* Returns whether the list of commands on top of the stack contains the name. */
static bool is_listed(lua_State *L, const char *name) {
  int list = lua_gettop(L);
  bool found = false;
  for (lua_Integer i = 1; !found && lua_rawgeti(L, list, i) != LUA_TNIL; i++) {
    found = strcmp(lua_tostring(L, -1), name) == 0;
    lua_pop(L, 1);
  }
  lua_settop(L, list);
  return found;
}

bool host_command_is_known(lua_State *L, const char *folder, const char *name) {
  host_modules_push_commands(L, folder);
  bool found = is_listed(L, name);
  lua_pop(L, 1);
  return found;
}

/* Returns the name of the command's module, pushed; raises without a module. */
static const char *push_module_name(lua_State *L, const char *folder, const char *name) {
  const char *module = lua_pushfstring(L, "blis.cmd.%s", name);
  host_modules_push_commands(L, folder);
  if (!is_listed(L, name) && !(could_be_command(name) && is_on_path(L, module))) {
    raise_unknown(L, name);
  }
  lua_pop(L, 1);
  return module;
}

/* Pushes require(module). */
static void push_module(lua_State *L, const char *module) {
  lua_getglobal(L, "require");
  lua_pushstring(L, module);
  lua_call(L, 1, 1);
}

static int exit_status(lua_State *L, int index) {
  if (lua_isinteger(L, index)) {
    return (int)(lua_tointeger(L, index) & 0xff);
  }
  return lua_isboolean(L, index) && !lua_toboolean(L, index) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int host_command_run(lua_State *L, const char *folder, const char *name, char **arguments,
                     int count) {
  push_module(L, push_module_name(L, folder, name));
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "run");
  }
  host_expect_errors(L);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_pushstring(L, arguments[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_call(L, 1, 1);
  return exit_status(L, -1);
}

void host_command_print_list(lua_State *L, const char *folder) {
  host_modules_push_commands(L, folder);
  int commands = lua_gettop(L);
  for (lua_Integer i = 1; lua_rawgeti(L, commands, i) != LUA_TNIL; i++) {
    const char *name = lua_tostring(L, -1);
    push_module(L, lua_pushfstring(L, "blis.cmd.%s", name));
    const char *summary = "";
    if (lua_istable(L, -1) && lua_getfield(L, -1, "summary") == LUA_TSTRING) {
      summary = lua_tostring(L, -1);
    }
    printf("  %-12s %s\n", name, summary);
    lua_settop(L, commands);
  }
  lua_settop(L, commands - 1);
}
