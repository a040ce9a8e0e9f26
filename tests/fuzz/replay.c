/*
 * Feeds files to a fuzz target: unchanged, cut short at many places, and with a
 * few random changes. The seeds are fixed, so a failure is reproducible.
 *
 *   fuzz_replay TARGET FILE-OR-FOLDER...     fuzz_replay yaml tests/fuzz/corpus/yaml
 *
 * BLIS_PROGRAMS is a generated file with PROGRAM(name) for each target.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "base/random.h"
#include "fuzz.h"

enum {
  MAX_FILES = 200,
  MAX_FILE = 1 << 16,
  PATH_SIZE = 512,
  CUTS = 64,
  MUTATIONS = 96,
  MAX_CHANGES = 4,
  GROWTH = 64
};

/* What breaks parsers. */
static const char *const pieces[] = {"\"",
                                     "'",
                                     ",",
                                     "\n",
                                     "\r\n",
                                     ":",
                                     "-",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     "\\",
                                     "#",
                                     "&a ",
                                     "*a",
                                     "<<: ",
                                     "null",
                                     "true",
                                     "0",
                                     "-1",
                                     "1e99",
                                     "1e-9",
                                     "NaN",
                                     "\xff",
                                     "\xef\xbb\xbf",
                                     "\\u0000",
                                     "99999999999999999999",
                                     "9223372036854775807",
                                     "-9223372036854775808",
                                     "1000000000",
                                     "        ",
                                     "@",
                                     "+"};

typedef int fuzz_target(const uint8_t *data, size_t size);

#define PROGRAM(name) fuzz_target fuzz_##name;
#include BLIS_PROGRAMS
#undef PROGRAM

static const struct {
  const char *name;
  fuzz_target *run;
} targets[] = {
#define PROGRAM(name) {#name, fuzz_##name},
#include BLIS_PROGRAMS
#undef PROGRAM
};

static fuzz_target *target;

static char paths[MAX_FILES][PATH_SIZE];
static int path_count;
static long input_count;

static void feed(const char *bytes, size_t size) {
  /* A copy of the exact size, so that reading too far is noticed. */
  uint8_t *copy = malloc(size > 0 ? size : 1);
  FUZZ_NEED(copy != NULL);
  memcpy(copy, bytes, size);
  target(copy, size);
  free(copy);
  input_count++;
}

static size_t insert(blis_random *random, char *bytes, size_t size, const char *piece,
                     size_t length) {
  size_t at = (size_t)blis_random_intn(random, (int32_t)size + 1);
  memmove(bytes + at + length, bytes + at, size - at);
  memcpy(bytes + at, piece, length);
  return size + length;
}

static size_t change(blis_random *random, char *bytes, size_t size) {
  size_t at = (size_t)blis_random_intn(random, (int32_t)size + 1);
  size_t length = (size_t)blis_random_intn(random, 9);
  int32_t pick = blis_random_intn(random, sizeof pieces / sizeof *pieces);
  length = at + length > size ? size - at : length;
  char copy[16];
  switch (blis_random_intn(random, 5)) {
  case 0: /* another byte */
    if (at < size) {
      bytes[at] = (char)blis_random_intn(random, 256);
    }
    return size;
  case 1: /* one bit */
    if (at < size) {
      bytes[at] = (char)(bytes[at] ^ 1 << blis_random_intn(random, 8));
    }
    return size;
  case 2: /* some bytes less */
    memmove(bytes + at, bytes + at + length, size - at - length);
    return size - length;
  case 3: /* some bytes again, elsewhere */
    memcpy(copy, bytes + at, length);
    return insert(random, bytes, size, copy, length);
  default:
    return insert(random, bytes, size, pieces[pick], strlen(pieces[pick]));
  }
}

static void mutate(int64_t seed, const char *bytes, size_t size) {
  static char changed[MAX_FILE + MAX_CHANGES * GROWTH];
  blis_random random;
  blis_random_init(&random, seed);
  memcpy(changed, bytes, size);
  int32_t changes = 1 + blis_random_intn(&random, MAX_CHANGES);
  for (int32_t i = 0; i < changes; i++) {
    size = change(&random, changed, size);
  }
  feed(changed, size);
}

static void replay(const char *path) {
  static char bytes[MAX_FILE];
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    fprintf(stderr, "%s: cannot be opened\n", path);
    exit(1);
  }
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  feed(bytes, size);
  for (size_t i = 0; i < CUTS && i < size; i++) {
    feed(bytes, size <= CUTS ? i : size * i / CUTS);
  }
  for (int64_t seed = 0; seed < MUTATIONS; seed++) {
    mutate(seed, bytes, size);
  }
}

static void add_path(const char *path) {
  FUZZ_NEED(path_count < MAX_FILES && strlen(path) < PATH_SIZE);
  snprintf(paths[path_count++], PATH_SIZE, "%s", path);
}

static bool is_file(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static void add_folder(const char *path) {
  DIR *folder = opendir(path);
  if (folder == NULL) {
    fprintf(stderr, "%s: cannot be opened\n", path);
    exit(1);
  }
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char file[PATH_SIZE];
    int length = snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
    if (length > 0 && (size_t)length < sizeof file && is_file(file)) {
      add_path(file);
    }
  }
  closedir(folder);
}

static int compare_paths(const void *a, const void *b) {
  return strcmp(a, b);
}

static fuzz_target *find_target(const char *name) {
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    if (strcmp(targets[i].name, name) == 0) {
      return targets[i].run;
    }
  }
  fprintf(stderr, "fuzz_replay: unknown target '%s'\n", name);
  exit(2);
}

int main(int argc, char **argv) {
  FUZZ_NEED(argc > 2);
  target = find_target(argv[1]);
  for (int i = 2; i < argc; i++) {
    if (is_file(argv[i])) {
      add_path(argv[i]);
    } else {
      add_folder(argv[i]);
    }
  }
  FUZZ_NEED(path_count > 0);
  qsort(paths, (size_t)path_count, sizeof *paths, compare_paths);
  for (int i = 0; i < path_count; i++) {
    replay(paths[i]);
  }
  printf("%d files, %ld inputs\n", path_count, input_count);
  return 0;
}
