#include "lua/workers/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/invariant.h"

/* Maximum number of journals per stem and folder. */
enum { MAX_JOURNALS = 1000000 };

struct blis_journal {
  blis_alloc alloc;
  int file;
  time_t synced_at; /* time of a monotonic clock, in seconds */
  blis_buffer path;
  blis_buffer line;
};

static time_t seconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

static blis_status fail(const blis_journal *journal, const char *what, blis_error *error) {
  return blis_fail(error, BLIS_ERR_IO, "%s: %s: %s", blis_buffer_text(&journal->path), what,
                   strerror(errno));
}

static blis_status create_file(blis_journal *journal, const char *folder, const char *stem,
                               blis_error *error) {
  for (int i = 1; i <= MAX_JOURNALS; i++) {
    blis_buffer_clear(&journal->path);
    blis_buffer_format(&journal->path, i == 1 ? "%s/%s" : "%s/%s-%d", folder, stem, i);
    blis_buffer_string(&journal->path, ".jsonl");
    BLIS_TRY_MEM(blis_buffer_status(&journal->path), error);
    journal->file = open(blis_buffer_text(&journal->path),
                         O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (journal->file >= 0) {
      return BLIS_OK;
    }
    if (errno != EEXIST) {
      break;
    }
  }
  return fail(journal, "cannot be created", error);
}

blis_status blis_journal_create(const blis_alloc *alloc, const char *folder, const char *stem,
                                blis_journal **journal, blis_error *error) {
  *journal = NULL;
  blis_journal *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  BLIS_TRY_NEW(self, error);
  self->alloc = *alloc;
  self->file = -1;
  self->synced_at = seconds_now();
  blis_buffer_init(&self->path, alloc);
  blis_buffer_init(&self->line, alloc);
  blis_status status = create_file(self, folder, stem, error);
  if (status != BLIS_OK) {
    blis_journal_close(self);
    return status;
  }
  *journal = self;
  return BLIS_OK;
}

/* Returns false, and sets errno, if a part could not be written. */
static bool write_all(int file, const char *bytes, size_t left) {
  while (left > 0) {
    ssize_t written = write(file, bytes, left);
    if (written < 0 && errno != EINTR) {
      return false;
    }
    if (written > 0) {
      bytes += written;
      left -= (size_t)written;
    }
  }
  return true;
}

blis_status blis_journal_append(blis_journal *journal, blis_slice line, blis_error *error) {
  blis_buffer_clear(&journal->line);
  blis_buffer_bytes(&journal->line, line.data, line.length);
  blis_buffer_char(&journal->line, '\n');
  BLIS_TRY_MEM(blis_buffer_status(&journal->line), error);
  if (!write_all(journal->file, journal->line.data, journal->line.length)) {
    return fail(journal, "cannot be written", error);
  }
  time_t now = seconds_now();
  BLIS_ASSERT(now >= journal->synced_at);
  if (now != journal->synced_at) {
    journal->synced_at = now;
    (void)fdatasync(journal->file);
  }
  return BLIS_OK;
}

void blis_journal_close(blis_journal *journal) {
  if (journal == NULL) {
    return;
  }
  if (journal->file >= 0) {
    (void)fdatasync(journal->file);
    close(journal->file);
  }
  blis_alloc alloc = journal->alloc;
  blis_buffer_deinit(&journal->path);
  blis_buffer_deinit(&journal->line);
  blis_alloc_free(&alloc, journal, sizeof *journal);
}

blis_status blis_folder_make(const char *path, blis_error *error) {
  struct stat about;
  if (mkdir(path, 0777) == 0 ||
      (errno == EEXIST && stat(path, &about) == 0 && S_ISDIR(about.st_mode))) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_IO, "%s: cannot create folder: %s", path, strerror(errno));
}

static blis_status fail_claim(const char *path, blis_error *error) {
  return blis_fail(error, BLIS_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
}

blis_status blis_file_claim(const char *path, blis_slice line, bool *claimed, blis_error *error) {
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  *claimed = file >= 0;
  if (file < 0) {
    return errno == EEXIST ? BLIS_OK : fail_claim(path, error);
  }
  bool is_written = write_all(file, line.data, line.length) && write_all(file, "\n", 1);
  blis_status status = is_written ? BLIS_OK : fail_claim(path, error);
  close(file);
  return status;
}
