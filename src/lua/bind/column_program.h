/*
 * column_program.h - translates a Lua function over columns, or over one candidate, into a list of
 * operations, so that it need not be called for every decision.
 *
 * A function can be translated if it has no branches, changes nothing, and only does arithmetic,
 * calls blis.vec, and reads fields with constant names. It may read its arguments, upvalues,
 * globals, and tables in these. The program is derived from the instructions of the function, not
 * from their results. A run of the program repeats all reads of the function, raw and in the same
 * order. The run fails, without side effects, if a value has a different type than before or if the
 * function would raise an error. The caller then calls the function instead. Results are therefore
 * bit-identical to those of the function.
 *
 * The module has two files: column_program.c runs programs, and column_translate.c creates them.
 *
 * A program ignores changes that the debug library makes to the metatable of vectors after the
 * translation.
 */
#ifndef BLIS_LUA_BIND_COLUMN_PROGRAM_H
#define BLIS_LUA_BIND_COLUMN_PROGRAM_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct bind_column_program bind_column_program;

/* Result of a translation, including whether it can succeed later with other arguments. */
typedef enum bind_translation {
  TRANSLATION_MADE,
  TRANSLATION_NOT_NOW, /* for example, a value that the function reads is nil */
  TRANSLATION_NEVER
} bind_translation;

/*
 * Translates the function at index function, whose arguments follow it on top of the stack. Vectors
 * currently have count items, and at most capacity items later. On success, pushes a table that
 * keeps the program alive, and sets *program. Raises if memory is exhausted. O(instructions).
 */
bind_translation push_column_program(lua_State *L, int function, size_t count, size_t capacity,
                                     bind_column_program **program);

/*
 * Runs the program of the function at index function, whose arguments follow it on the stack.
 * keeper is the index of the table. Returns true if scores has been filled with count items, none
 * of them NaN. Returns false if the caller must call the function. Leaves the stack unchanged and
 * does not raise. O(operations x count).
 */
bool bind_column_program_run(lua_State *L, bind_column_program *program, int function, int keeper,
                             size_t count, double *scores);

/*
 * Like push_column_program, for a function of one candidate, whose second argument is a table of
 * the candidate's fields. On the stack, the function is followed by any value and the table of any
 * candidate. The function may use the table only to read fields that are numbers.
 */
bind_translation push_candidate_program(lua_State *L, int function, bind_column_program **program);

enum { CANDIDATE_FIELDS_MAX = 8 };

/*
 * Stores the indices in the keeper of the names of the fields that the program reads. Returns their
 * number.
 */
int bind_candidate_program_fields(const bind_column_program *program,
                                  int texts[CANDIDATE_FIELDS_MAX]);

/*
 * Like bind_column_program_run. fields contains the values of all candidates for each field, in the
 * order of the field names, converted as push_signal does.
 */
bool bind_candidate_program_run(lua_State *L, bind_column_program *program, int function,
                                int keeper, const double *const *fields, size_t count,
                                double *scores);

/* Returns whether the program reads an argument, counted from 0. */
bool bind_column_program_reads(const bind_column_program *program, int argument);

#endif
