#include "base/format/open_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Number of checks for the writer of a named pipe, and the interval between checks. */
enum { LOOKS = 50, LOOK_NS = 20000000 };

static bool starts_with(const char *path, const char *start) {
  return strncmp(path, start, strlen(start)) == 0;
}

/* Returns whether the parent process passed on a pipe with this name. */
static bool is_inherited(const char *path) {
  return starts_with(path, "/dev/fd/") || starts_with(path, "/dev/stdin") ||
         starts_with(path, "/proc/");
}

/* Returns the reason for not reading a file of this type, or NULL. */
static const char *refusal(const char *path, int file, const struct stat *about,
                           blis_input_kind kind) {
  if (S_ISDIR(about->st_mode)) {
    return strerror(EISDIR);
  }
  if (S_ISSOCK(about->st_mode)) {
    return "it is a socket, expected a file";
  }
  if (S_ISFIFO(about->st_mode)) {
    bool is_read = kind == BLIS_INPUT_DATA || is_inherited(path);
    return is_read ? NULL : "it is a named pipe, expected a file";
  }
  if (S_ISBLK(about->st_mode)) {
    return "it is a device, expected a file";
  }
  if (S_ISCHR(about->st_mode)) {
    bool is_read = isatty(file) || strcmp(path, "/dev/null") == 0;
    return is_read ? NULL : "it is a device, expected a file";
  }
  if (kind == BLIS_INPUT_TEXT && about->st_size > BLIS_TEXT_FILE_MAX) {
    return "it has more than 1073741824 bytes, the limit here";
  }
  return NULL;
}

/*
 * Waits for the writer of a pipe. A non-blocking read reports the end of the file if there is no
 * writer. If there is a writer, it returns a byte, which is put back.
 */
static const char *wait_for_writer(int file, FILE *stream) {
  const struct timespec pause = {.tv_nsec = LOOK_NS};
  for (int look = 0; look < LOOKS; look++) {
    unsigned char byte;
    ssize_t got = read(file, &byte, 1);
    if (got == 1) {
      (void)ungetc(byte, stream);
      return NULL;
    }
    if (got < 0) {
      return errno == EAGAIN ? NULL : strerror(errno);
    }
    (void)nanosleep(&pause, NULL);
  }
  return "it is a named pipe to which no process writes";
}

/* Prepares the file for the rest of the program, which expects reads to wait for bytes. */
static const char *prepare(const char *path, int file, FILE *stream, const struct stat *about) {
  if (S_ISREG(about->st_mode)) {
    return NULL; /* for example /proc/kmsg: a read that would wait fails */
  }
  if (S_ISFIFO(about->st_mode) && !is_inherited(path)) {
    const char *problem = wait_for_writer(file, stream);
    if (problem != NULL) {
      return problem;
    }
  }
  int flags = fcntl(file, F_GETFL);
  return flags >= 0 && fcntl(file, F_SETFL, flags & ~O_NONBLOCK) >= 0 ? NULL : strerror(errno);
}

FILE *blis__open_input(const char *path, blis_input_kind kind, const char **problem) {
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) {
    *problem = errno == ENXIO ? "it is a socket, expected a file" : strerror(errno);
    return NULL;
  }
  struct stat about;
  *problem = fstat(file, &about) == 0 ? refusal(path, file, &about, kind) : strerror(errno);
  FILE *stream = *problem == NULL ? fdopen(file, "rb") : NULL;
  if (stream == NULL) {
    *problem = *problem == NULL ? strerror(errno) : *problem;
    close(file);
    return NULL;
  }
  *problem = prepare(path, file, stream, &about);
  if (*problem != NULL) {
    fclose(stream);
    return NULL;
  }
  return stream;
}
