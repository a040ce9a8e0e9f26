/*
 * golden.h - compares text with a committed file that holds the expected text.
 *
 * With BLIS_UPDATE_GOLDEN=1 in the environment, a check writes the file instead.
 * Read the difference in git before you commit it. Tests run from the root of
 * the repository. spec/support/golden.lua is the same for specs.
 */
#ifndef BLIS_GOLDEN_H
#define BLIS_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { GOLDEN_SIZE = 1 << 17 };

static inline void write_golden(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  CHECK(fputs(text, file) >= 0);
  CHECK(fclose(file) == 0);
}

/* Fails with the first line that differs. */
static inline void compare_golden(const char *path, const char *expected, const char *got) {
  int line = 1;
  while (*got != '\0' || *expected != '\0') {
    size_t got_length = strcspn(got, "\n");
    size_t expected_length = strcspn(expected, "\n");
    if (got_length != expected_length || memcmp(got, expected, got_length) != 0) {
      check_fail(__FILE__, __LINE__,
                 "%s: line %d differs\n  expected: %.*s\n  actual:   %.*s\n"
                 "If the change is intended, run this test with BLIS_UPDATE_GOLDEN=1.",
                 path, line, (int)expected_length, expected, (int)got_length, got);
      return;
    }
    line++;
    got += got_length + (got[got_length] != '\0');
    expected += expected_length + (expected[expected_length] != '\0');
  }
}

static inline void check_golden(const char *path, const char *text) {
  static char expected[GOLDEN_SIZE];
  if (getenv("BLIS_UPDATE_GOLDEN") != NULL) {
    write_golden(path, text);
    return;
  }
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    check_fail(__FILE__, __LINE__,
               "%s: the file is missing; run from the root of the repository, "
               "or write a new file with BLIS_UPDATE_GOLDEN=1",
               path);
    return;
  }
  size_t length = fread(expected, 1, sizeof expected - 1, file);
  expected[length] = '\0';
  CHECK(fclose(file) == 0);
  compare_golden(path, expected, text);
}

#endif
