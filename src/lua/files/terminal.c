#include "lua/files/terminal.h"

#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lua/bind/bind.h"

enum { USUAL_COLUMNS = 80, USUAL_ROWS = 24 };

int bind_is_terminal(lua_State *L) {
  lua_pushboolean(L, isatty(STDERR_FILENO));
  return 1;
}

/* WebAssembly has no terminal: the page or script that runs it reads the text. */
static bool is_terminal(int stream) {
#ifdef __EMSCRIPTEN__
  (void)stream;
  return false;
#else
  return isatty(stream);
#endif
}

int bind_terminal_size(lua_State *L) {
  static const char *const streams[] = {"error", "output", NULL};
  static const int numbers[] = {STDERR_FILENO, STDOUT_FILENO};
  int stream = numbers[check_word(L, 1, "error", streams)];
  if (!is_terminal(stream)) {
    lua_pushnil(L);
    return 1;
  }
  struct winsize size = {0};
  (void)ioctl(stream, TIOCGWINSZ, &size); /* on failure the size remains zero */
  lua_pushinteger(L, size.ws_col > 0 ? size.ws_col : USUAL_COLUMNS);
  lua_pushinteger(L, size.ws_row > 0 ? size.ws_row : USUAL_ROWS);
  return 2;
}

int bind_is_in_background(lua_State *L) {
  pid_t in_front = tcgetpgrp(STDERR_FILENO);
  lua_pushboolean(L, in_front >= 0 && in_front != getpgrp());
  return 1;
}
