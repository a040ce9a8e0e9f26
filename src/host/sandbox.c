#include "host/sandbox.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/format/open_input.h"
#include "host/modules.h"
#include "host/report.h"
#include "lua/bind/sandbox.h"
#include "lua/workers/jail.h"

enum { MEBIBYTE = 1 << 20, SOURCE_MAX = 1 << 17, MESSAGE_MAX = 8000 };

/* One sandboxed script. */
typedef struct boxed {
  int argc;
  char **argv;
  const host_options *options;
  bind_sandbox sandbox;
} boxed;

/* Pushes the text of the script. */
static void push_source(lua_State *L, const char *path) {
  const char *refusal = NULL;
  FILE *file = strcmp(path, "-") == 0 ? stdin : blis__open_input(path, BLIS_INPUT_TEXT, &refusal);
  if (file == NULL) {
    host_raise(L, "load", "cannot open %s: %s", path, refusal);
    return;
  }
  static char buffer[SOURCE_MAX]; /* longer scripts are rejected */
  size_t size = fread(buffer, 1, sizeof buffer, file);
  int problem = ferror(file) ? errno : 0;
  if (file != stdin) {
    fclose(file);
  }
  if (problem != 0) {
    host_raise(L, "load", "cannot read %s: %s", path, strerror(problem));
  }
  lua_pushlstring(L, buffer, size);
}

/* Pushes the loaded script. */
static void push_script(lua_State *L, boxed *b) {
  const char *path = b->argv[b->options->script];
  lua_getglobal(L, "require");
  lua_pushliteral(L, "blis.sandbox");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "load");
  push_source(L, path);
  lua_pushstring(L, path);
  lua_call(L, 2, 1);
}

static int run_script(lua_State *L) {
  boxed *b = lua_touserdata(L, 1);
  luaL_openlibs(L);
  lua_pushboolean(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  host_modules_open(L, b->options->scripts_folder);
  bind_sandbox_open(L, &b->sandbox);
  push_script(L, b);
  int count = b->argc - b->options->script - 1;
  luaL_checkstack(L, count, "too many arguments to the script");
  for (int i = 1; i <= count; i++) {
    lua_pushstring(L, b->argv[b->options->script + i]);
  }
  const blis_jail_limits limits = {.cpu_s = b->options->sandbox_seconds + 1};
  (void)blis_jail_enter(&limits); /* limits apply even without a filter */
  b->sandbox.left = b->sandbox.call_instructions;
  lua_call(L, count, 0);
  return 0;
}

/* Adds the traceback to an error that is a string. Runs no code of the script. */
static int add_traceback(lua_State *L) {
  if (lua_type(L, 1) == LUA_TSTRING) {
    luaL_traceback(L, L, lua_tostring(L, 1), 1);
  }
  return 1;
}

static void tell_limit(const boxed *b) {
  const bind_sandbox *sandbox = &b->sandbox;
  if (strcmp(sandbox->fatal, "memory") == 0) {
    fprintf(stderr, "blis: sandbox: memory limit of %zu MiB exceeded\n",
            sandbox->memory_bytes / MEBIBYTE);
  } else {
    fprintf(stderr, "blis: sandbox: limit of %lld instructions per call exceeded\n",
            (long long)sandbox->call_instructions);
  }
}

/*
 * Prints a string of the script on the terminal, without control characters and without lines that
 * look like blis output.
 */
static void tell_text(const char *text) {
  fputs("blis: ", stderr);
  for (int i = 0; text[i] != '\0' && i < MESSAGE_MAX; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '\n') {
      fputs(text[i + 1] == '\t' ? "\n" : "\n  ", stderr);
    } else if ((c < ' ' && c != '\t') || c == 127) {
      fprintf(stderr, "\\%d", c);
    } else {
      fputc(c, stderr);
    }
  }
  fputc('\n', stderr);
}

/* Prints the value on top of the stack, without calling any of its functions. */
static void tell_error(lua_State *L) {
  const char *type = luaL_typename(L, -1);
  if (lua_type(L, -1) == LUA_TTABLE) {
    lua_pushliteral(L, "message");
    lua_rawget(L, -2);
  }
  if (lua_type(L, -1) == LUA_TSTRING) {
    tell_text(lua_tostring(L, -1));
  } else {
    fprintf(stderr, "blis: sandbox: error object is a %s value\n", type);
  }
}

/* A full disk must result in a failure status. */
static int flush_output(int status) {
  bool was_lost = ferror(stdout) != 0;
  if (fflush(stdout) == 0 && !was_lost) {
    return status;
  }
  fputs("blis: cannot write to standard output\n", stderr);
  return EXIT_FAILURE;
}

static int run_in_state(int argc, char **argv, const host_options *options) {
  boxed b = {.argc = argc, .argv = argv, .options = options};
  b.sandbox.memory_bytes = (size_t)options->sandbox_mib * MEBIBYTE;
  b.sandbox.call_instructions = options->sandbox_instructions;
  lua_State *L = lua_newstate(bind_sandbox_allocate, &b.sandbox);
  if (L == NULL) {
    fputs("blis: out of memory\n", stderr);
    return EXIT_FAILURE;
  }
  lua_pushcfunction(L, add_traceback);
  lua_pushcfunction(L, run_script);
  lua_pushlightuserdata(L, &b);
  int status = lua_pcall(L, 1, 0, 1);
  bind_sandbox_close(L);
  fflush(stdout);
  if (b.sandbox.fatal != NULL) {
    tell_limit(&b);
    status = LUA_ERRRUN;
  } else if (status != LUA_OK) {
    tell_error(L);
  }
  lua_close(L);
  return flush_output(status == LUA_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void wake_up(int number) {
  (void)number; /* waitpid returns */
}

/* Waits for the child, and stops it when its time limit is reached. */
static int supervise(pid_t child, const host_options *options) {
  const struct sigaction on_alarm = {.sa_handler = wake_up};
  sigaction(SIGALRM, &on_alarm, NULL);
  signal(SIGINT, SIG_IGN); /* the child receives it as well */
  alarm((unsigned)options->sandbox_seconds);
  int status = 0;
  bool is_late = false;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    is_late = true;
    kill(child, SIGKILL);
  }
  if (WIFEXITED(status)) {
    return WEXITSTATUS(status);
  }
  int number = WTERMSIG(status);
  if (is_late || number == SIGXCPU) {
    fprintf(stderr, "blis: sandbox: time limit of %lld s exceeded\n",
            (long long)options->sandbox_seconds);
  } else if (number == SIGINT) {
    return HOST_EXIT_INTERRUPTED;
  } else if (number == SIGPIPE) {
    return 128 + SIGPIPE; /* exit status of a program whose reader is gone */
  } else if (number == SIGSYS) {
    fputs("blis: sandbox: the script tried to start a process or to open a "
          "connection\n",
          stderr);
  } else {
    fprintf(stderr, "blis: sandbox: the script crashed its process (%s)\n", strsignal(number));
  }
  return EXIT_FAILURE;
}

int host_sandbox_run(int argc, char **argv, const host_options *options) {
  if (options->script >= argc || options->has_statements || options->interactive) {
    fputs("blis: --sandbox needs a script and excludes -e, -l and -i\n", stderr);
    return HOST_EXIT_USAGE;
  }
  fflush(stdout);
  pid_t parent = getpid();
  pid_t child = fork();
  if (child < 0) {
    fprintf(stderr, "blis: cannot start a process: %s\n", strerror(errno));
    return EXIT_FAILURE;
  }
  if (child > 0) {
    return supervise(child, options);
  }
  blis_jail_die_with((int64_t)parent);
  int status = run_in_state(argc, argv, options);
  fflush(NULL);
  _exit(status); /* exit handlers may need operations that the sandbox denies */
}
