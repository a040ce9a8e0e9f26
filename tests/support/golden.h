/*
 * golden.h - compares a text with a file that keeps what it was.
 *
 * Where a difference is what a change is about, BLIS_UPDATE_GOLDEN=1 in the
 * environment rewrites the files, and the reviewer reads their diff. Tests run
 * from the root of the project.
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

/* Names the first line that differs. */
static inline void compare_golden(const char *path, const char *expected, const char *got) {
  while (*got != '\0' || *expected != '\0') {
    size_t got_length = strcspn(got, "\n");
    size_t expected_length = strcspn(expected, "\n");
    if (got_length != expected_length || memcmp(got, expected, got_length) != 0) {
      check_fail(__FILE__, __LINE__, "%s: it has\n  %.*s\nand now\n  %.*s", path,
                 (int)expected_length, expected, (int)got_length, got);
      return;
    }
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
               "no file %s; run from the root of the project, and for "
               "something new with BLIS_UPDATE_GOLDEN=1",
               path);
    return;
  }
  size_t length = fread(expected, 1, sizeof expected - 1, file);
  expected[length] = '\0';
  CHECK(fclose(file) == 0);
  compare_golden(path, expected, text);
}

#endif
