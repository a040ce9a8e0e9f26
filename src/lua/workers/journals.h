/*
 * journals.h - journals as userdata, their folders, and facts about the
 * machine (processors, clock, terminal).
 */
#ifndef BLIS_LUA_WORKERS_JOURNALS_H
#define BLIS_LUA_WORKERS_JOURNALS_H

#include <lua.h>

void bind_open_journals(lua_State *L);

/* journal(folder, stem): creates a file with the methods append(line) and close(). */
int bind_journal_new(lua_State *L);

/* make_folder(path): creates a folder. Raises if the folder does not exist afterwards. */
int bind_folder_make(lua_State *L);

/* claim_file(path, line): returns true for the process that creates the file, and false for all
   others. */
int bind_file_claim(lua_State *L);

/* writer_name(): returns "<host>-<pid>", which is unique among all current writers. */
int bind_writer_name(lua_State *L);

/* processors(): returns the number of processors that this process may use. */
int bind_processors(lua_State *L);

/* clock_us(): returns the time of a monotonic clock with an arbitrary zero. */
int bind_clock_us(lua_State *L);

/* hash128(text): returns the XXH3 hash as 32 hexadecimal digits. */
int bind_hash128(lua_State *L);

#endif
