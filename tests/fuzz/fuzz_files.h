/* fuzz_files.h - a folder for what a fuzz target writes and reads again. */
#ifndef BLIS_TESTS_FUZZ_FILES_H
#define BLIS_TESTS_FUZZ_FILES_H

#include <unistd.h>

#include "fuzz.h"

enum { FUZZ_FOLDER_SIZE = 128, FUZZ_PATH_SIZE = 256, FUZZ_MAX_FILES = 8 };

static char fuzz_folder[FUZZ_FOLDER_SIZE];
static char fuzz_paths[FUZZ_MAX_FILES][FUZZ_PATH_SIZE];

static void fuzz_remove_folder(void) {
  for (size_t i = 0; i < FUZZ_MAX_FILES; i++) {
    if (fuzz_paths[i][0] != '\0') {
      unlink(fuzz_paths[i]);
    }
  }
  rmdir(fuzz_folder);
}

/* Makes the folder, at the first call only: then it says true. */
static inline bool fuzz_make_folder(void) {
  if (fuzz_folder[0] != '\0') {
    return false;
  }
  const char *parent = getenv("TMPDIR");
  const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; /* ten times faster */
  snprintf(fuzz_folder, sizeof fuzz_folder, "%.80s/blis-fuzz-XXXXXX",
           parent != NULL ? parent : memory);
  FUZZ_NEED(mkdtemp(fuzz_folder) != NULL);
  atexit(fuzz_remove_folder);
  return true;
}

/* The path of file number index, which is removed with the folder. */
static inline const char *fuzz_path(size_t index, const char *name) {
  FUZZ_NEED(index < FUZZ_MAX_FILES);
  snprintf(fuzz_paths[index], FUZZ_PATH_SIZE, "%s/%s", fuzz_folder, name);
  return fuzz_paths[index];
}

/* A new file: some file systems wait for the disk when an old one is reused. */
static inline void fuzz_write_file(const char *path, const void *bytes, size_t size) {
  unlink(path);
  FILE *file = fopen(path, "wb");
  FUZZ_NEED(file != NULL);
  FUZZ_NEED(fwrite(bytes, 1, size, file) == size);
  FUZZ_NEED(fclose(file) == 0);
}

#endif
