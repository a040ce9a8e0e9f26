#include "host/line.h"

#include <lauxlib.h>
#include <stdio.h>

#include "host/signals.h"

/* Pushes a line of standard input, without its end. */
static host_line_news read_plain(lua_State *L, const char *prompt) {
  fputs(prompt, stdout);
  fflush(stdout);
  luaL_Buffer line;
  luaL_buffinit(L, &line);
  int c;
  bool is_empty = true;
  while ((c = getchar()) != EOF && c != '\n') {
    luaL_addchar(&line, (char)c);
    is_empty = false;
  }
  luaL_pushresult(&line);
  if (c == EOF && is_empty) {
    lua_pop(L, 1);
    return HOST_LINE_END;
  }
  return HOST_LINE_READ;
}

#ifndef BLIS_HAVE_EDITLINE

void host_line_open(bool keeps_history) {
  (void)keeps_history;
}

host_line_news host_line_read(lua_State *L, const char *prompt, int words, const char *before) {
  (void)words;
  (void)before;
  host_signals_reset();
  return read_plain(L, prompt);
}

#else

#include <editline/readline.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "host/history.h"

enum { CTRL_C = 3 };

/* State for callbacks of libedit, which have no argument for it. */
static struct {
  lua_State *L; /* valid while a line is read */
  int words;
  const char *before;
  bool is_cleared;
} reading;

static int clear_line(int count, int key) {
  (void)count;
  (void)key;
  reading.is_cleared = true;
  rl_done = 1;
  return 0;
}

/* ---- characters --------------------------------------------------------- */

/*
 * Selects the locale of the user while a line is edited, because libedit drops bytes that are not
 * characters of the locale. Everywhere else, Lua's character classes and numbers use locale "C".
 * Locale "C" supports only ASCII, whereas modern terminals without a locale send UTF-8.
 */
static void use_characters_of_user(void) {
  const char *name = setlocale(LC_CTYPE, "");
  if (name == NULL || strcmp(name, "C") == 0 || strcmp(name, "POSIX") == 0) {
    (void)setlocale(LC_CTYPE, "C.UTF-8");
  }
}

static void use_characters_of_lua(void) {
  (void)setlocale(LC_CTYPE, "C");
}

/* ---- completion --------------------------------------------------------- */

/* The arguments of complete_word. */
enum { MADE = 1, WORDS };

/* Pushes the text up to the cursor, after the text of the previous lines. */
static void push_text(lua_State *L) {
  lua_pushstring(L, reading.before);
  lua_pushlstring(L, rl_line_buffer, (size_t)rl_point);
  lua_concat(L, 2);
}

/*
 * Calls words(text) and pushes the list. Sets *begin to the start of the word in the line, from 0;
 * it is negative if the word started in a previous line.
 */
static bool push_words(lua_State *L, lua_Integer *begin) {
  lua_pushvalue(L, WORDS);
  push_text(L);
  size_t length = lua_rawlen(L, -1);
  if (lua_pcall(L, 1, 2, 0) != LUA_OK || !lua_istable(L, -2)) {
    return false;
  }
  *begin = lua_tointeger(L, -1) - 1 - (lua_Integer)length + rl_point;
  return true;
}

/* Returns item i as the replacement of the text that begins at start: the text in between is
   kept or removed. */
static char *word_at(lua_State *L, int list, lua_Integer i, int start, lua_Integer begin) {
  lua_rawgeti(L, list, i);
  if (begin > start) {
    lua_pushlstring(L, &rl_line_buffer[start], (size_t)(begin - start));
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  const char *word = lua_tostring(L, -1);
  size_t cut = begin < start ? (size_t)(start - begin) : 0;
  char *copy = word == NULL || strlen(word) < cut ? NULL : strdup(word + cut);
  lua_pop(L, 1);
  return copy;
}

/* Returns the length of the common prefix of all words. */
static size_t common_length(char *const *words, size_t count) {
  size_t length = strlen(words[0]);
  for (size_t i = 1; i < count; i++) {
    size_t k = 0;
    while (k < length && words[0][k] == words[i][k]) {
      k++;
    }
    length = k;
  }
  return length;
}

typedef struct completion {
  int start;
  char **matches; /* the common prefix, the words, and NULL; libedit frees it */
} completion;

/* complete_word(completion, words) */
static int complete_word(lua_State *L) {
  completion *made = lua_touserdata(L, MADE);
  lua_Integer begin = 0;
  if (!push_words(L, &begin)) {
    return 0;
  }
  int list = lua_gettop(L) - 1;
  size_t count = lua_rawlen(L, list);
  char **matches = count == 0 ? NULL : calloc(count + 2, sizeof *matches);
  if (matches == NULL) {
    return 0;
  }
  size_t kept = 0;
  for (size_t i = 1; i <= count; i++) {
    char *word = word_at(L, list, (lua_Integer)i, made->start, begin);
    if (word != NULL) {
      matches[++kept] = word;
    }
  }
  matches[0] = kept == 0 ? NULL : strndup(matches[1], common_length(matches + 1, kept));
  if (matches[0] == NULL) { /* no match, or no memory */
    while (kept > 0) {
      free(matches[kept--]);
    }
    free(matches);
    matches = NULL;
  }
  made->matches = matches;
  return 0;
}

static char **complete(const char *text, int start, int end) {
  (void)text;
  (void)end;
  rl_attempted_completion_over = 1; /* otherwise libedit would add file names */
  completion made = {.start = start};
  lua_State *L = reading.L;
  int top = lua_gettop(L);
  lua_pushcfunction(L, complete_word);
  lua_pushlightuserdata(L, &made);
  lua_pushvalue(L, reading.words);
  use_characters_of_lua();
  if (lua_pcall(L, 2, 0, 0) != LUA_OK) {
    made.matches = NULL;
  }
  use_characters_of_user();
  lua_settop(L, top);
  return made.matches;
}

/* ---- lines -------------------------------------------------------------- */

static void open_editor(void) {
  static char breaks[] = " \t\n\"'`$><=;|&{}()+*%^~#,";
  rl_readline_name = "blis";
  use_characters_of_user();
  rl_initialize();
  use_characters_of_lua();
  rl_attempted_completion_function = complete;
  rl_completion_append_character = '\0';
  rl_completer_word_break_characters = breaks;
  (void)rl_add_defun("blis-clear-line", clear_line, CTRL_C);
}

/*
 * Reads a line. While a line is edited, Ctrl-C is an ordinary key at any cursor position, because
 * libedit adopts the terminal's settings for such keys.
 */
static char *read_edited(lua_State *L, const char *prompt) {
  struct termios usual;
  bool is_known = tcgetattr(STDIN_FILENO, &usual) == 0;
  if (is_known) {
    struct termios without = usual;
    without.c_cc[VINTR] = _POSIX_VDISABLE;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &without);
  }
  host_signals_reset();
  use_characters_of_user();
  char *line = readline(prompt);
  use_characters_of_lua();
  host_signals_watch(L);
  if (is_known) {
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &usual);
  }
  return line;
}

void host_line_open(bool keeps_history) {
  if (!isatty(STDIN_FILENO)) {
    return;
  }
  open_editor();
  if (keeps_history) {
    host_history_open();
  }
}

host_line_news host_line_read(lua_State *L, const char *prompt, int words, const char *before) {
  if (!isatty(STDIN_FILENO)) {
    host_signals_reset();
    return read_plain(L, prompt);
  }
  reading.L = L;
  reading.words = words;
  reading.before = before;
  reading.is_cleared = false;
  rl_inhibit_completion = lua_isnoneornil(L, words);
  rl_done = 0;
  char *line = read_edited(L, prompt);
  reading.L = NULL;
  if (reading.is_cleared) {
    free(line);
    fputs("^C\n", stdout);
    return HOST_LINE_CLEARED;
  }
  if (line == NULL) {
    return HOST_LINE_END;
  }
  host_history_add(line);
  lua_pushstring(L, line);
  free(line);
  return HOST_LINE_READ;
}

#endif
