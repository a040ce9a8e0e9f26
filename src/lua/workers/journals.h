/*
 * journals.h - journals as userdata, their folders, and facts about the
 * machine (processors, clock, terminal).
 */
#ifndef BLIS_LUA_WORKERS_JOURNALS_H
#define BLIS_LUA_WORKERS_JOURNALS_H

#include <lua.h>

void bind_open_journals(lua_State *L);

/* journal(folder, stem): a new file; append(line), close(). */
int bind_journal_new(lua_State *L);

/* make_folder(path): raises unless it is there afterwards. */
int bind_folder_make(lua_State *L);

/* claim_file(path, line): true for the one who makes it, false for others. */
int bind_file_claim(lua_State *L);

/* writer_name(): "<host>-<pid>", different for all who write now. */
int bind_writer_name(lua_State *L);

/* processors(): how many this process may use. */
int bind_processors(lua_State *L);

/* clock_us(): of a clock that only goes forward; its zero is arbitrary. */
int bind_clock_us(lua_State *L);

/* hash128(text): XXH3, 32 hexadecimal digits. */
int bind_hash128(lua_State *L);

#endif
