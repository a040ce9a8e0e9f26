#include "host/modules.h"

#include <dirent.h>
#include <lauxlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/options.h"
#include "host/report.h"
#include "lua/bind/embedded.h"
#include "lua/core.h"

/* The files below lua/, as text and as chunks, made by the build. */
extern const blis_embedded_table blis_embedded_lua;
extern const blis_embedded_table blis_compiled_lua;

static const char command_folder[] = "blis/cmd/";
static const char lua_suffix[] = ".lua";

/*
 * Pushes the function of a compiled-in file, or an error message. There need
 * not be a chunk, and another release of the shared liblua may refuse it.
 */
static int load_compiled(lua_State *L, const blis_embedded_file *text) {
  const char *path = text->name;
  const blis_embedded_file *chunk = blis_embedded_lookup(&blis_compiled_lua, path);
  if (chunk != NULL) {
    if (luaL_loadbufferx(L, chunk->bytes, chunk->size, path, "b") == LUA_OK) {
      return LUA_OK;
    }
    lua_pop(L, 1);
  }
  const char *chunk_name = lua_pushfstring(L, "@%s", path);
  int status = luaL_loadbufferx(L, text->bytes, text->size, chunk_name, "t");
  lua_remove(L, -2);
  return status;
}

/*
 * Loads path, which is relative to the Lua half. Returns true and pushes a function; false, and
 * pushes nothing, if the file is missing. Raises a syntax error.
 */
static int load_part(lua_State *L, const char *folder, const char *path) {
  int status;
  const blis_embedded_file *text = NULL;
  if (folder != NULL) {
    const char *file = lua_pushfstring(L, "%s/%s", folder, path);
    struct stat information;
    if (stat(file, &information) != 0) {
      lua_pop(L, 1);
      return 0;
    }
    status = luaL_loadfilex(L, file, "t");
    lua_remove(L, -2);
  } else if ((text = blis_embedded_lookup(&blis_embedded_lua, path)) != NULL) {
    status = load_compiled(L, text);
  } else {
    return 0;
  }
  return status == LUA_OK ? 1 : lua_error(L);
}

/* A searcher in the sense of package.searchers. Upvalue: the folder or nil. */
static int search(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  const char *folder = lua_tostring(L, lua_upvalueindex(1));
  const char *stem = luaL_gsub(L, name, ".", "/");
  static const char *const endings[] = {".lua", "/init.lua"};
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    const char *path = lua_pushfstring(L, "%s%s", stem, endings[i]);
    if (load_part(L, folder, path)) {
      lua_pushvalue(L, -2);
      return 2;
    }
    lua_pop(L, 1);
  }
  if (folder != NULL) {
    lua_pushfstring(L, "no file '%s/%s.lua' (--scripts)", folder, stem);
  } else {
    lua_pushfstring(L, "no compiled-in file '%s.lua'", stem);
  }
  return 1;
}

static void insert_searcher(lua_State *L, const char *folder) {
  lua_getglobal(L, "table");
  lua_getfield(L, -1, "insert");
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "searchers");
  lua_remove(L, -2);
  lua_pushinteger(L, 2);
  lua_pushstring(L, folder);
  lua_pushcclosure(L, search, 1);
  lua_call(L, 3, 0);
  lua_pop(L, 1);
}

static void extend_path(lua_State *L) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "path");
  const char *path = lua_tostring(L, -1);
  if (path != NULL && strstr(path, BLIS_INSTALLED_LUA "/?.lua") == NULL) {
    lua_pushfstring(L, BLIS_INSTALLED_LUA "/?.lua;" BLIS_INSTALLED_LUA "/?/init.lua;%s", path);
    lua_setfield(L, -3, "path");
  }
  lua_pop(L, 2);
}

/* source(path): the text of a file of the Lua half, or nil. */
static int push_source(lua_State *L) {
  const char *folder = lua_tostring(L, lua_upvalueindex(1));
  const char *path = luaL_checkstring(L, 1);
  if (folder != NULL) {
    lua_getglobal(L, "io");
    lua_getfield(L, -1, "open");
    lua_pushfstring(L, "%s/%s", folder, path);
    lua_call(L, 1, 1);
    if (lua_isnil(L, -1)) {
      return 1;
    }
    lua_getfield(L, -1, "read");
    lua_insert(L, -2);
    lua_pushliteral(L, "a");
    lua_call(L, 2, 1); /* the collector closes it */
    return 1;
  }
  const blis_embedded_file *file = blis_embedded_lookup(&blis_embedded_lua, path);
  if (file == NULL) {
    lua_pushnil(L);
  } else {
    lua_pushlstring(L, file->bytes, file->size);
  }
  return 1;
}

/* Pushes the names of the files of the Lua half inside the program. */
static void push_files(lua_State *L) {
  lua_createtable(L, (int)blis_embedded_lua.count, 0);
  for (size_t i = 0; i < blis_embedded_lua.count; i++) {
    lua_pushstring(L, blis_embedded_lua.files[i].name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes {{"-e STATEMENT", "run a Lua statement"}, ...}. */
static void push_options(lua_State *L) {
  lua_newtable(L);
  for (int i = 0; host_option_texts[i].option != NULL; i++) {
    lua_createtable(L, 2, 0);
    lua_pushstring(L, host_option_texts[i].option);
    lua_rawseti(L, -2, 1);
    lua_pushstring(L, host_option_texts[i].text);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, i + 1);
  }
}

/* The module blis.program. Upvalue: the folder or nil. */
static int open_program(lua_State *L) {
  lua_createtable(L, 0, 4);
  if (lua_isnil(L, lua_upvalueindex(1))) {
    push_files(L);
    lua_setfield(L, -2, "files");
  }
  push_options(L);
  lua_setfield(L, -2, "options");
  host_modules_push_commands(L, lua_tostring(L, lua_upvalueindex(1)));
  lua_setfield(L, -2, "commands");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, push_source, 1);
  lua_setfield(L, -2, "source");
  return 1;
}

void host_modules_open(lua_State *L, const char *folder) {
  if (folder != NULL) {
    struct stat information;
    const char *first = lua_pushfstring(L, "%s/blis/init.lua", folder);
    if (stat(first, &information) != 0) {
      host_raise(L, "usage", "--scripts %s: %s does not exist", folder, first);
    }
    lua_pop(L, 1);
  }
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_blis_core);
  lua_setfield(L, -2, "blis.core");
  lua_pushstring(L, folder);
  lua_pushcclosure(L, open_program, 1);
  lua_setfield(L, -2, "blis.program");
  lua_pop(L, 1);
  insert_searcher(L, folder);
  extend_path(L);
}

/* Appends the command that file_name makes, if it does, to the table on top. */
static void add_command(lua_State *L, const char *file_name) {
  size_t length = strlen(file_name);
  size_t suffix = sizeof lua_suffix - 1;
  if (length > suffix && strchr(file_name, '/') == NULL &&
      strcmp(file_name + length - suffix, lua_suffix) == 0) {
    lua_pushlstring(L, file_name, length - suffix);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
}

static void add_commands_on_disk(lua_State *L, const char *folder) {
  const char *path = lua_pushfstring(L, "%s/%s", folder, command_folder);
  lua_insert(L, -2);
  DIR *directory = opendir(path);
  if (directory != NULL) {
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
      add_command(L, entry->d_name);
    }
    closedir(directory);
  }
  lua_remove(L, -2);
}

void host_modules_push_commands(lua_State *L, const char *folder) {
  luaL_checkstack(L, 4, NULL);
  lua_newtable(L);
  if (folder != NULL) {
    add_commands_on_disk(L, folder);
  } else {
    size_t prefix = sizeof command_folder - 1;
    for (size_t i = 0; i < blis_embedded_lua.count; i++) {
      const char *name = blis_embedded_lua.files[i].name;
      if (strncmp(name, command_folder, prefix) == 0) {
        add_command(L, name + prefix);
      }
    }
  }
  lua_getglobal(L, "table");
  lua_getfield(L, -1, "sort");
  lua_remove(L, -2);
  lua_pushvalue(L, -2);
  lua_call(L, 1, 0);
}
