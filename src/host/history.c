#include "host/history.h"

#ifdef BLIS_HAVE_EDITLINE

#include <editline/readline.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINES = 1000, MOST_PATH = 4096 };

/* Empty: history is only kept in memory. */
static char file[MOST_PATH];

/* Sets the path of the file. Returns false if no folder is configured. */
static bool find_file(void) {
  const char *own = getenv("BLIS_HISTORY");
  const char *state = getenv("XDG_STATE_HOME");
  const char *home = getenv("HOME");
  int length = -1;
  if (own != NULL) {
    length = snprintf(file, sizeof file, "%s", own);
  } else if (state != NULL && state[0] == '/') { /* relative paths must be ignored */
    length = snprintf(file, sizeof file, "%s/blis/history", state);
  } else if (home != NULL && home[0] != '\0') {
    length = snprintf(file, sizeof file, "%s/.local/state/blis/history", home);
  }
  return length > 0 && (size_t)length < sizeof file;
}

/* Creates missing folders of the path, accessible only to their owner. */
static void make_folders(void) {
  for (char *slash = strchr(file + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    (void)mkdir(file, S_IRWXU);
    *slash = '/';
  }
}

/* Ensures that the file exists, is regular, and is readable only by its owner. */
static bool make_private(void) {
  int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) {
    return false;
  }
  struct stat facts;
  bool is_ours =
      fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && fchmod(fd, S_IRUSR | S_IWUSR) == 0;
  close(fd);
  return is_ours;
}

/* The first line of a history file. A file with a different first line is not a history file. */
static const char mark[] = "-- what was typed at the prompt of blis\n";

/* Reads the lines into libedit. Returns their number, or -1 if the file is not a history file. */
static long read_lines(FILE *stream) {
  char *line = NULL;
  size_t size = 0;
  long count = 0;
  ssize_t length = getline(&line, &size, stream);
  if (length >= 0 && strcmp(line, mark) != 0) {
    free(line);
    return -1;
  }
  while ((length = getline(&line, &size, stream)) > 0) {
    line[length - (line[length - 1] == '\n')] = '\0';
    add_history(line);
    count++;
  }
  free(line);
  return count;
}

static void write_line(FILE *stream, const char *line) {
  (void)fprintf(stream, "%s\n", line);
}

/* Replaces the file with a new file that contains the last lines. */
static void shorten(void) {
  char fresh[MOST_PATH + 8];
  (void)snprintf(fresh, sizeof fresh, "%s.new", file);
  int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
  if (stream == NULL) {
    return;
  }
  (void)fputs(mark, stream);
  for (int i = 0; i < history_length; i++) {
    const HIST_ENTRY *entry = history_get(history_base + i);
    if (entry != NULL) {
      write_line(stream, entry->line);
    }
  }
  bool is_whole = fflush(stream) == 0 && !ferror(stream);
  if (fclose(stream) != 0 || !is_whole || rename(fresh, file) != 0) {
    (void)unlink(fresh);
  }
}

/* Reads the file. Returns whether lines can be stored in it. */
static bool read_file(void) {
  FILE *stream = make_private() ? fopen(file, "r+") : NULL;
  if (stream == NULL) {
    return false;
  }
  long count = read_lines(stream);
  if (count == 0 && ftell(stream) == 0) {
    (void)fputs(mark, stream);
  }
  (void)fclose(stream);
  if (count > 2L * MOST_LINES) {
    shorten();
  }
  return count >= 0;
}

void host_history_open(void) {
  using_history();
  stifle_history(MOST_LINES);
  bool is_known = find_file();
  if (is_known) {
    make_folders();
  }
  if (!is_known || !read_file()) {
    file[0] = '\0';
  }
}

void host_history_add(const char *line) {
  const HIST_ENTRY *last = history_get(history_base + history_length - 1);
  bool is_repeated = last != NULL && strcmp(last->line, line) == 0;
  if (line[strspn(line, " \t")] == '\0' || is_repeated) {
    return;
  }
  add_history(line);
  FILE *stream = file[0] == '\0' ? NULL : fopen(file, "a");
  if (stream != NULL) {
    write_line(stream, line);
    (void)fclose(stream);
  }
}

#endif
