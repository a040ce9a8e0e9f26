/*
 * main.c - the program: `blis FILE.lua`, `blis COMMAND`, and the options of the standard lua
 * program.
 *
 * Everything runs inside one protected call, so any error, including out of memory, results in a
 * message and an exit status.
 */
#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format/open_input.h"
#include "host/about.h"
#include "host/command.h"
#include "host/memory.h"
#include "host/modules.h"
#include "host/options.h"
#include "host/repl.h"
#include "host/report.h"
#include "host/sandbox.h"
#include "host/signals.h"

typedef struct host {
  int argc;
  char **argv;
  host_options options;
  int status; /* exit status if no error occurs */
  host_warnings warnings;
} host;

/* Sets `arg`. arg[0] is the script; the arguments before it have negative indices. */
static void set_arg(lua_State *L, const host *h) {
  int script = h->options.script < h->argc ? h->options.script : 0;
  lua_createtable(L, h->argc - script, script + 1);
  for (int i = 0; i < h->argc; i++) {
    lua_pushstring(L, h->argv[i]);
    lua_rawseti(L, -2, i - script);
  }
  lua_setglobal(L, "arg");
}

/* Pushes the arguments after the script; returns their number. */
static int push_script_arguments(lua_State *L, const host *h) {
  if (h->options.script == h->argc) {
    return 0;
  }
  int count = h->argc - h->options.script - 1;
  luaL_checkstack(L, count, "too many arguments to the script");
  for (int i = 1; i <= count; i++) {
    lua_pushstring(L, h->argv[h->options.script + i]);
  }
  return count;
}

/*
 * Fixes the seed of math.random, which Lua 5.4 takes from the clock, so that scripts produce the
 * same output in every run.
 */
static void fix_random_seed(lua_State *L) {
  lua_getglobal(L, "math");
  lua_getfield(L, -1, "randomseed");
  lua_pushinteger(L, 0);
  lua_call(L, 1, 0);
  lua_pop(L, 1);
}

/*
 * Lets the program allocate START_KB before the first collection. Starting leaves hardly any
 * garbage, and short runs end before. A negative step adds credit in Lua 5.4.
 */
static void postpone_collection(lua_State *L) {
  enum { START_KB = 4096 };
  lua_gc(L, LUA_GCSTEP, -START_KB);
}

static void open_state(lua_State *L, const host *h) {
  postpone_collection(L);
  luaL_checkversion(L);
  if (h->options.ignore_environment) {
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV"); /* for package.path */
  }
  luaL_openlibs(L);
  if (h->options.warnings) {
    lua_warning(L, "@on", 0);
  }
  fix_random_seed(L);
  host_modules_open(L, h->options.scripts_folder);
  set_arg(L, h);
}

/* Calls the function that luaL_load... has pushed, or raises the load error. */
static void run_loaded(lua_State *L, int load_status) {
  if (load_status != LUA_OK) {
    host_raise(L, "load", "%s", lua_tostring(L, -1));
  }
  lua_call(L, 0, 0);
}

static void run_text(lua_State *L, const char *text, const char *chunk_name) {
  run_loaded(L, luaL_loadbuffer(L, text, strlen(text), chunk_name));
}

static void run_lua_init(lua_State *L) {
  const char *name = "=LUA_INIT_5_4";
  const char *text = getenv(name + 1);
  if (text == NULL) {
    name = "=LUA_INIT";
    text = getenv(name + 1);
  }
  if (text == NULL) {
    return;
  }
  if (text[0] == '@') {
    run_loaded(L, luaL_loadfile(L, text + 1));
  } else {
    run_text(L, text, name);
  }
}

/* -l MODULE, or -l NAME=MODULE: the global NAME becomes require(MODULE). */
static void require_as_global(lua_State *L, const char *text) {
  const char *equals = strchr(text, '=');
  const char *module = equals != NULL ? equals + 1 : text;
  size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
  const char *name = lua_pushlstring(L, text, length);
  lua_getglobal(L, "require");
  lua_pushstring(L, module);
  lua_call(L, 1, 1);
  lua_setglobal(L, name);
  lua_pop(L, 1);
}

/* Sets the global `blis` for the text of -e, unless -l has set it. */
static void open_blis(lua_State *L) {
  if (lua_getglobal(L, "blis") == LUA_TNIL) {
    require_as_global(L, "blis");
  }
  lua_pop(L, 1);
}

static void run_statements(lua_State *L, const host *h) {
  int cursor = 1;
  host_statement statement;
  while (host_options_next(h->argv, &h->options, &cursor, &statement)) {
    if (statement.option == 'l') {
      require_as_global(L, statement.text);
    } else {
      open_blis(L);
      run_text(L, statement.text, "=(command line)");
    }
  }
}

/* Makes modules in the folder of a script available, regardless of the current folder. */
static void find_modules_beside(lua_State *L, const char *path) {
  const char *end = path == NULL ? NULL : strrchr(path, '/');
  if (end == NULL) {
    return;
  }
  lua_pushlstring(L, path, (size_t)(end - path));
  const char *folder = lua_tostring(L, -1);
  lua_getglobal(L, "package");
  if (lua_getfield(L, -1, "path") == LUA_TSTRING) {
    lua_pushfstring(L, "%s/?.lua;%s/?/init.lua;%s", folder, folder, lua_tostring(L, -1));
    lua_setfield(L, -3, "path");
  }
  lua_pop(L, 3);
}

/* Raises for files that cannot contain a script, such as pipes, on which the loader would block. */
static void check_script(lua_State *L, const char *path) {
  const char *problem = NULL;
  FILE *file = blis__open_input(path, BLIS_INPUT_TEXT, &problem);
  if (file == NULL) {
    host_raise(L, "load", "cannot open %s: %s", path, problem);
  }
  fclose(file);
}

/* luaL_loadfile as a C function that raises errors. */
static int load_file(lua_State *L) {
  if (luaL_loadfile(L, lua_tostring(L, 1)) != LUA_OK) {
    lua_error(L);
  }
  return 1;
}

/* Runs a file; path is NULL for standard input. */
static void run_file(lua_State *L, const host *h, const char *path) {
  find_modules_beside(L, path);
  if (path != NULL) {
    check_script(L, path);
  }
  lua_pushcfunction(L, load_file);
  lua_pushstring(L, path);
  /* Called without the error handler, which would add a traceback of blis. */
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) {
    const char *name = path != NULL ? path : "stdin";
    const char *problem = lua_tostring(L, -1);
    if (strcmp(problem, "C stack overflow") != 0) {
      host_raise(L, "load", "%s", problem);
    }
    host_raise(L, "load", "%s: too many nested levels (%s)", name, problem);
  }
  lua_call(L, push_script_arguments(L, h), 0);
}

/* Fails for a script whose results are incomplete; see lua/blis/incomplete.lua. */
static void check_complete(lua_State *L, host *h) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, "blis.incomplete") == LUA_TTABLE) {
    lua_getfield(L, -1, "message");
    lua_call(L, 0, 1);
    if (lua_isstring(L, -1)) {
      fprintf(stderr, "blis: %s\n", lua_tostring(L, -1));
      h->status = EXIT_FAILURE;
    }
  }
}

static bool is_file(const char *name) {
  struct stat information;
  return stat(name, &information) == 0 && !S_ISDIR(information.st_mode);
}

/* Runs a command or a script. A command has priority over a file of the same name; ./NAME runs
   the file. */
static void run_script(lua_State *L, host *h) {
  const char *name = h->argv[h->options.script];
  if (strcmp(name, "-") == 0 && strcmp(h->argv[h->options.script - 1], "--") != 0) {
    run_file(L, h, NULL);
  } else if (is_file(name) && !host_command_is_known(L, h->options.scripts_folder, name)) {
    run_file(L, h, name);
    check_complete(L, h);
  } else {
    h->status = host_command_run(L, h->options.scripts_folder, name,
                                 h->argv + h->options.script + 1, h->argc - h->options.script - 1);
  }
}

static int protected_main(lua_State *L) {
  host *h = lua_touserdata(L, 1);
  const host_options *options = &h->options;
  bool has_script = options->script < h->argc;
  bool has_nothing =
      !has_script && !options->has_statements && !options->interactive && !options->announce;
  open_state(L, h);
  if (options->show_help || (has_nothing && isatty(STDIN_FILENO))) {
    host_print_help(L, options->scripts_folder);
    return 0;
  }
  if (options->announce) {
    host_print_name();
  }
  if (!options->ignore_environment) {
    run_lua_init(L);
  }
  run_statements(L, h);
  if (has_script) {
    run_script(L, h);
  } else if (has_nothing) {
    run_file(L, h, NULL);
  }
  if (options->interactive) {
    host_repl_run(L, !options->no_history);
  }
  return 0;
}

/* A full disk must result in a failure status. */
static int flush_output(int status) {
  if (fflush(stdout) == 0 && !ferror(stdout)) {
    return status;
  }
  fprintf(stderr, "blis: cannot write to standard output: %s\n", strerror(errno));
  return status == EXIT_SUCCESS ? EXIT_FAILURE : status;
}

int main(int argc, char **argv) {
  host h = {.argc = argc, .argv = argv};
  if (!host_options_read(argc, argv, &h.options)) {
    fprintf(stderr, "blis: %s; 'blis --help' lists the options\n", h.options.problem);
    return HOST_EXIT_USAGE;
  }
  if (h.options.show_version) {
    host_print_version();
    return flush_output(EXIT_SUCCESS);
  }
  if (h.options.is_sandboxed) {
    return host_sandbox_run(argc, argv, &h.options);
  }
  host_memory_watch_forks();
  lua_State *L = lua_newstate(host_memory_alloc, NULL);
  if (L == NULL) {
    fputs("blis: out of memory\n", stderr);
    return EXIT_FAILURE;
  }
  lua_setwarnf(L, host_warn, &h.warnings);
  host_signals_watch(L);
  lua_pushcfunction(L, host_handle_error);
  lua_pushcfunction(L, protected_main);
  lua_pushlightuserdata(L, &h);
  bool is_done = lua_pcall(L, 1, 0, 1) == LUA_OK;
  int number = host_signals_last();
  /* The program ends silently if the reader of its output is gone. */
  int status = is_done || number == SIGPIPE ? h.status : host_print_error(L);
  lua_close(L);
  if (number != 0) {
    (void)fflush(stdout);
    return 128 + number;
  }
  return flush_output(status);
}
