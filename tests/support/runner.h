/*
 * runner.h - many test programs in one executable, which links once instead of
 * a hundred times.
 *
 * The build compiles every test_<name>.c with BLIS_TEST=<name>. The main() of
 * that file then becomes the entry <name> of the executable (runner.c):
 *
 *   unit                 prints the names
 *   unit <name> ARG...   runs one program in this process
 */
#ifndef BLIS_RUNNER_H
#define BLIS_RUNNER_H

/* One program; exactly one of the functions is set. */
typedef struct runner_program {
  int (*plain)(void);
  int (*with_arguments)(int argc, char **argv);
} runner_program;

#define RUNNER_JOIN_(a, b) a##b
#define RUNNER_JOIN(a, b) RUNNER_JOIN_(a, b)
#define RUNNER_MAIN RUNNER_JOIN(main_of_, BLIS_TEST)

#ifdef BLIS_TEST
#define main(...)                                                                                  \
  RUNNER_MAIN(__VA_ARGS__);                                                                        \
  extern const runner_program RUNNER_JOIN(program_, BLIS_TEST);                                    \
  const runner_program RUNNER_JOIN(program_, BLIS_TEST) = {                                        \
      .plain = _Generic(&RUNNER_MAIN, int (*)(void)                                                \
                        : &RUNNER_MAIN, int (*)(int, char **)                                      \
                        : NULL),                                                                   \
      .with_arguments = _Generic(&RUNNER_MAIN, int (*)(void)                                       \
                                 : NULL, int (*)(int, char **)                                     \
                                 : &RUNNER_MAIN)};                                                 \
  int RUNNER_MAIN(__VA_ARGS__)
#endif

#endif
