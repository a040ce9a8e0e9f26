#include "lua/workers/pipes.h"

#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lua/workers/jail.h"

enum { READ_MAX = 1 << 16 };

#ifndef PIPE_BUF
#define PIPE_BUF 512
#endif

static bool is_ready(int descriptor, short events) {
  struct pollfd polled = {.fd = descriptor, .events = events};
  return poll(&polled, 1, 0) > 0 && polled.revents != 0;
}

int bind_pipe_read(lua_State *L) {
  if (!is_ready(STDIN_FILENO, POLLIN)) {
    lua_pushliteral(L, "");
    return 1;
  }
  luaL_Buffer text;
  char *room = luaL_buffinitsize(L, &text, READ_MAX);
  ssize_t got = read(STDIN_FILENO, room, READ_MAX);
  bool is_end = got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
  luaL_pushresultsize(&text, got < 0 ? 0 : (size_t)got);
  if (is_end) {
    lua_pushnil(L);
  }
  return 1;
}

/*
 * A pipe that is ready accepts PIPE_BUF bytes. A longer write would block until the reader reads.
 */
int bind_pipe_write(lua_State *L) {
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length);
  size_t at = (size_t)luaL_checkinteger(L, 2) - 1;
  while (at < length && is_ready(STDOUT_FILENO, POLLOUT)) {
    size_t size = length - at < PIPE_BUF ? length - at : PIPE_BUF;
    ssize_t written = write(STDOUT_FILENO, text + at, size);
    if (written < 0 && errno != EINTR && errno != EAGAIN) {
      lua_pushnil(L);
      lua_pushstring(L, strerror(errno));
      return 2;
    }
    at += written > 0 ? (size_t)written : 0;
  }
  lua_pushinteger(L, (lua_Integer)at + 1);
  return 1;
}

static volatile sig_atomic_t termination;

static void on_termination(int number) {
  termination = number;
}

int bind_watch_termination(lua_State *L) {
  (void)L;
  static const int watched[] = {SIGTERM, SIGINT, SIGHUP};
  /* A second signal ends the process immediately. */
  struct sigaction action = {.sa_handler = on_termination, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
    struct sigaction before;
    if (sigaction(watched[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
      sigaction(watched[i], &action, NULL);
    }
  }
  (void)signal(SIGPIPE, SIG_IGN); /* pipe_write reports it */
  return 0;
}

int bind_termination_requested(lua_State *L) {
  if (termination == 0) {
    return 0;
  }
  lua_pushinteger(L, termination);
  return 1;
}

int bind_parent(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)getppid());
  return 1;
}

int bind_jail(lua_State *L) {
  const blis_jail_limits limits = {.cpu_s = luaL_checkinteger(L, 1)};
  lua_pushboolean(L, blis_jail_enter(&limits));
  return 1;
}

int bind_limit_memory(lua_State *L) {
  blis_jail_limit_memory(luaL_checkinteger(L, 1));
  return 0;
}

int bind_jail_prepare(lua_State *L) {
  lua_pushboolean(L, blis_jail_prepare());
  return 1;
}

int bind_jail_can_filter(lua_State *L) {
  lua_pushboolean(L, blis_jail_can_filter());
  return 1;
}
