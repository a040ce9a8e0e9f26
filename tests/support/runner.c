/* The executable that runner.h describes. BLIS_PROGRAMS is a generated file with PROGRAM(name) for
 * each program. */
#include "runner.h"

#include <stdio.h>
#include <string.h>

#define PROGRAM(name) extern const runner_program program_##name;
#include BLIS_PROGRAMS
#undef PROGRAM

static const struct {
  const char *name;
  const runner_program *program;
} programs[] = {
#define PROGRAM(name) {#name, &program_##name},
#include BLIS_PROGRAMS
#undef PROGRAM
};

enum { PROGRAM_COUNT = sizeof programs / sizeof *programs };

int main(int argc, char **argv) {
  if (argc < 2) {
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
      puts(programs[i].name);
    }
    return 0;
  }
  for (size_t i = 0; i < PROGRAM_COUNT; i++) {
    if (strcmp(argv[1], programs[i].name) == 0) {
      const runner_program *program = programs[i].program;
      return program->plain != NULL ? program->plain()
                                    : program->with_arguments(argc - 1, argv + 1);
    }
  }
  fprintf(stderr, "%s: unknown test program '%s'; without arguments, this program lists all\n",
          argv[0], argv[1]);
  return 2;
}
