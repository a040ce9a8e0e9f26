/*
 * column_program.h - a Lua function over columns, or of one candidate, as a list of operations, so
 * that it need not be called for every decision.
 *
 * A function has a program if it has no branch, changes nothing, and only does arithmetic, calls
 * blis.vec, and reads with constant names. It may read its arguments, upvalues, globals, and tables
 * in these. The program is made from the instructions of the function, not from their results. A
 * run of the program repeats all reads of the function, raw and in the same places. The run
 * declines if a value has a different type than before or if the function would raise an error;
 * then nothing has changed, and the caller calls the function instead. So results equal those of
 * the function, to the last bit.
 *
 * The module has two files: column_program.c runs programs, and column_translate.c makes them.
 *
 * Changes that the debug library makes to the metatable of vectors after a program was made have no
 * effect on it.
 */
#ifndef BLIS_LUA_BIND_COLUMN_PROGRAM_H
#define BLIS_LUA_BIND_COLUMN_PROGRAM_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct bind_column_program bind_column_program;

/* Whether a function may have a program once its arguments are others. */
typedef enum bind_translation {
  TRANSLATION_MADE,
  TRANSLATION_NOT_NOW, /* something that it reads is nil, say */
  TRANSLATION_NEVER
} bind_translation;

/*
 * Translates the function at index function, whose arguments follow it on top of the stack. Vectors
 * have count items now, and at most capacity later. On success, pushes a table that keeps the
 * program alive, and sets *program. Raises if memory is exhausted. O(instructions).
 */
bind_translation push_column_program(lua_State *L, int function, size_t count, size_t capacity,
                                     bind_column_program **program);

/*
 * Runs the program of the function at index function, which its arguments follow. keeper is the
 * index of the table. Returns true if scores has count items, none of them NaN; false: call the
 * function. Leaves the stack unchanged and does not raise. O(operations x count).
 */
bool bind_column_program_run(lua_State *L, bind_column_program *program, int function, int keeper,
                             size_t count, double *scores);

/*
 * Like push_column_program, for a function of one candidate, with a table of its fields as second
 * argument. Any value and the table of any candidate follow the function on the stack. The function
 * may use the table only to read fields that are numbers.
 */
bind_translation push_candidate_program(lua_State *L, int function, bind_column_program **program);

enum { CANDIDATE_FIELDS_MAX = 8 };

/*
 * Stores the places in the keeper of the names of these fields. Returns their number.
 */
int bind_candidate_program_fields(const bind_column_program *program,
                                  int texts[CANDIDATE_FIELDS_MAX]);

/*
 * As bind_column_program_run; fields has, in the order of their names, the
 * values of all candidates, as push_signal would put them into the tables.
 */
bool bind_candidate_program_run(lua_State *L, bind_column_program *program, int function,
                                int keeper, const double *const *fields, size_t count,
                                double *scores);

/* Whether it reads that argument, from 0. */
bool bind_column_program_reads(const bind_column_program *program, int argument);

#endif
