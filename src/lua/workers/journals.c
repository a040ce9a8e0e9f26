#define _GNU_SOURCE /* sched_getaffinity, TIOCGWINSZ */
#include "lua/workers/journals.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "lua/bind/bind.h"
#include "lua/workers/journal.h"

#define JOURNAL_TYPE "blis.journal"

static blis_journal **to_journal(lua_State *L) {
  return luaL_checkudata(L, 1, JOURNAL_TYPE);
}

static int journal_append(lua_State *L) {
  blis_journal **self = to_journal(L);
  luaL_argcheck(L, *self != NULL, 1, "the journal is closed");
  blis_slice line;
  line.data = luaL_checklstring(L, 2, &line.length);
  luaL_argcheck(L, memchr(line.data, '\n', line.length) == NULL, 2, "a line has no newline inside");
  blis_error error = {0};
  check_status(L, blis_journal_append(*self, line, &error), &error);
  lua_settop(L, 1);
  return 1;
}

static int journal_close(lua_State *L) {
  blis_journal **self = to_journal(L);
  blis_journal_close(*self);
  *self = NULL;
  return 0;
}

static int journal_tostring(lua_State *L) {
  lua_pushstring(L, *to_journal(L) == NULL ? "journal (closed)" : "journal");
  return 1;
}

int bind_journal_new(lua_State *L) {
  const char *folder = luaL_checkstring(L, 1);
  const char *stem = luaL_checkstring(L, 2);
  blis_journal **self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = NULL;
  luaL_setmetatable(L, JOURNAL_TYPE);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_journal_create(&alloc, folder, stem, self, &error), &error);
  return 1;
}

int bind_folder_make(lua_State *L) {
  blis_error error = {0};
  check_status(L, blis_folder_make(luaL_checkstring(L, 1), &error), &error);
  return 0;
}

int bind_file_claim(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  blis_slice line;
  line.data = luaL_checklstring(L, 2, &line.length);
  blis_error error = {0};
  bool claimed = false;
  check_status(L, blis_file_claim(path, line, &claimed, &error), &error);
  lua_pushboolean(L, claimed);
  return 1;
}

int bind_writer_name(lua_State *L) {
  char host[256] = "host";
  if (gethostname(host, sizeof host) != 0) {
    strcpy(host, "host");
  }
  host[sizeof host - 1] = '\0';
  for (char *c = host; *c != '\0'; c++) {
    if (*c == '/') {
      *c = '_';
    }
  }
  lua_pushfstring(L, "%s-%I", host, (LUAI_UACINT)getpid());
  return 1;
}

int bind_processors(lua_State *L) {
  lua_Integer count = (lua_Integer)sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    count = CPU_COUNT(&allowed);
  }
#endif
  lua_pushinteger(L, count > 0 ? count : 1);
  return 1;
}

int bind_clock_us(lua_State *L) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  lua_pushinteger(L, (lua_Integer)time.tv_sec * 1000000 + time.tv_nsec / 1000);
  return 1;
}

int bind_hash128(lua_State *L) {
  size_t length = 0;
  const char *text = luaL_checklstring(L, 1, &length);
  blis_hash128_value hash = blis_hash128(text, length, 0);
  char digits[33];
  snprintf(digits, sizeof digits, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
  lua_pushstring(L, digits);
  return 1;
}

void bind_open_journals(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", journal_close},
                                  {"__close", journal_close},
                                  {"__tostring", journal_tostring},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"append", journal_append}, {"close", journal_close}, {NULL, NULL}};
  push_new_type(L, JOURNAL_TYPE, meta, methods);
  lua_pop(L, 1);
}
