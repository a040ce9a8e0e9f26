#include "host/signals.h"

#include <lauxlib.h>
#include <signal.h>

#include "lua/bind/interrupt.h"

/* A handler has no argument, so its data must be global. */
static lua_State *watched_state;
static volatile sig_atomic_t last_signal; /* 0 = none */

/* Signals that request termination. */
static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
enum { ENDING_COUNT = sizeof ending / sizeof *ending };

/*
 * Runs inside Lua code. C code that polls the flag clears it when it raises the error; in this case
 * this function does nothing.
 */
static void stop_script(lua_State *L, lua_Debug *activation) {
  (void)activation;
  if (blis_interrupt_is_held()) {
    return; /* the hook is called again later */
  }
  lua_sethook(L, NULL, 0, 0);
  if (blis_interrupt_requested()) {
    blis_interrupt_clear();
    luaL_where(L, 0); /* a hook has no stack level */
    lua_pushliteral(L, "interrupted");
    lua_concat(L, 2);
    lua_error(L);
  }
}

static void on_signal(int number) {
  last_signal = number;
  blis_interrupt_raise();
  lua_sethook(watched_state, stop_script, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT,
              1);
}

/* Handles SIGXFSZ, so that a write beyond the file size limit fails and its file is removed. */
static void on_full(int number) {
  (void)number;
}

static void install(int number, void (*handler)(int), int flags) {
  struct sigaction action;
  sigemptyset(&action.sa_mask);
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(number, &action, NULL);
}

/* Returns whether a signal was ignored at start, for example because of nohup. */
static bool is_ignored(int number) {
  struct sigaction action;
  return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void host_signals_watch(lua_State *L) {
  watched_state = L;
  install(SIGINT, on_signal, (int)SA_RESETHAND);
  for (int i = 1; i < ENDING_COUNT; i++) {
    if (!is_ignored(ending[i])) {
      /* After the first SIGPIPE, writes fail, and files are still removed. */
      install(ending[i], on_signal, ending[i] == SIGPIPE ? 0 : (int)SA_RESETHAND);
    }
  }
  install(SIGXFSZ, on_full, 0);
}

void host_signals_reset(void) {
  for (int i = 0; i < ENDING_COUNT; i++) {
    if (i == 0 || !is_ignored(ending[i])) {
      install(ending[i], SIG_DFL, 0);
    }
  }
  last_signal = 0;
  blis_interrupt_clear();
}

void host_signals_ignore(void) {
  host_signals_reset();
  install(SIGINT, SIG_IGN, 0);
}

int host_signals_last(void) {
  return (int)last_signal;
}
