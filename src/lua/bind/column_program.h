/*
 * column_program.h - a Lua function over columns, or of one candidate, as a
 * list of operations, so that it need not be called for every decision.
 *
 * A function has a program when it goes from its first instruction to its
 * return without a branch, changes nothing, and does only arithmetic, calls of
 * blis.vec and reads with constant names: of its arguments, of upvalues and
 * globals, and of tables in these. The program is made of the instructions of
 * the function, not of what they have once computed. Whatever the function
 * reads, a run of the program reads anew, raw and in the same places; where a
 * value is not of the kind that it was, or where the function would raise an
 * error, the run declines, and the caller calls the function instead. Nothing
 * has been changed then. So there is no result but the one that the function
 * would have had, to the last bit.
 *
 * It is one module in two files: column_program.c runs programs, and
 * column_translate.c makes them.
 *
 * What the debug library does to the metatable of vectors once a program has
 * been made is not noticed.
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
 * For the function at index function, whose arguments lie behind it on top of
 * the stack; vectors have count items now, and at most capacity later. When it
 * is made, pushes a table that keeps the program alive, and sets *program.
 * Raises when there is no memory. O(instructions).
 */
bind_translation push_column_program(lua_State *L, int function, size_t count, size_t capacity,
                                     bind_column_program **program);

/*
 * The function at index function, with its arguments behind it, by its
 * program; keeper is the index of the table. True: scores has count items, none
 * of them NaN. False: call the function. Leaves the stack as it was and does
 * not raise. O(operations x count).
 */
bool bind_column_program_run(lua_State *L, bind_column_program *program, int function, int keeper,
                             size_t count, double *scores);

/*
 * The same for a function of one candidate, with a table of its fields as
 * second argument (behind the function: something, and the table of any
 * candidate). All that it may do with the table is to read fields that are
 * numbers.
 */
bind_translation push_candidate_program(lua_State *L, int function, bind_column_program **program);

enum { CANDIDATE_FIELDS_MAX = 8 };

/*
 * The places in the keeper of the names of these fields; their count is
 * returned.
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
