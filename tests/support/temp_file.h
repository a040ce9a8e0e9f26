/*
 * temp_file.h - small files for tests of readers, in a folder of their own that
 * the end of the program removes.
 */
#ifndef BLIS_TEMP_FILE_H
#define BLIS_TEMP_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

enum { TEMP_FILES = 64, TEMP_PATH_SIZE = 256 };

static char temp_folder[TEMP_PATH_SIZE - 64];
static char temp_paths[TEMP_FILES][TEMP_PATH_SIZE];
static int temp_count;

static inline void temp_remove_all(void) {
  for (int i = 0; i < temp_count; i++) {
    unlink(temp_paths[i]);
  }
  rmdir(temp_folder);
}

/* Writes a file and returns its path; the same name is the same file. */
static inline const char *temp_file(const char *name, const char *content) {
  if (temp_folder[0] == '\0') {
    const char *parent = getenv("TMPDIR");
    snprintf(temp_folder, sizeof temp_folder, "%s/blis-test-XXXXXX",
             parent != NULL ? parent : "/tmp");
    CHECK(mkdtemp(temp_folder) != NULL);
    atexit(temp_remove_all);
  }
  char path[TEMP_PATH_SIZE];
  snprintf(path, sizeof path, "%s/%.60s", temp_folder, name);
  int i = 0;
  while (i < temp_count && strcmp(temp_paths[i], path) != 0) {
    i++;
  }
  CHECK(i < TEMP_FILES);
  if (i == temp_count) {
    memcpy(temp_paths[temp_count++], path, sizeof path);
  }
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL);
  CHECK(fwrite(content, 1, strlen(content), file) == strlen(content));
  CHECK(fclose(file) == 0);
  return temp_paths[i];
}

#endif
