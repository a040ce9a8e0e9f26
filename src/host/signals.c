#include "host/signals.h"

#include <lauxlib.h>
#include <signal.h>

#include "lua/bind/interrupt.h"

/* A handler gets no argument: what it needs has to be global. */
static lua_State *watched_state;
static volatile sig_atomic_t was_interrupted;

/*
 * Runs inside Lua code. Whoever polls the flag in C clears it when making an
 * error of it; then there is nothing left to do here.
 */
static void stop_script(lua_State *L, lua_Debug *activation) {
  (void)activation;
  if (blis_interrupt_is_held()) {
    return; /* and is called again */
  }
  lua_sethook(L, NULL, 0, 0);
  if (blis_interrupt_requested()) {
    blis_interrupt_clear();
    luaL_where(L, 0); /* a hook has no level of its own */
    lua_pushliteral(L, "interrupted");
    lua_concat(L, 2);
    lua_error(L);
  }
}

static void on_interrupt(int signal_number) {
  (void)signal_number;
  was_interrupted = 1;
  blis_interrupt_raise();
  lua_sethook(watched_state, stop_script, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT,
              1);
}

static void install(void (*handler)(int)) {
  struct sigaction action;
  sigemptyset(&action.sa_mask);
  action.sa_handler = handler;
  action.sa_flags = (int)SA_RESETHAND;
  sigaction(SIGINT, &action, NULL);
}

void host_signals_watch(lua_State *L) {
  watched_state = L;
  install(on_interrupt);
}

void host_signals_reset(void) {
  install(SIG_DFL);
  was_interrupted = 0;
  blis_interrupt_clear();
}

void host_signals_ignore(void) {
  install(SIG_IGN);
  was_interrupted = 0;
  blis_interrupt_clear();
}

bool host_signals_interrupted(void) {
  return was_interrupted != 0;
}
