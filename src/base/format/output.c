#include "base/format/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/format/packer.h"

/* Maximum number of parts that can be written to the same target at the same time. */
enum { MAX_PARTS = 100 };

struct blis_output {
  blis_alloc alloc;
  FILE *file;
  blis_buffer path;
  blis_buffer part;    /* empty: written directly */
  blis_packer *packer; /* NULL: uncompressed */
};

static blis_status fail(const blis_output *output, const char *what, blis_error *error) {
  return blis_fail(error, BLIS_ERR_IO, "%s: %s: %s", blis_buffer_text(&output->path), what,
                   strerror(errno));
}

static void free_output(blis_output *output) {
  blis_alloc alloc = output->alloc;
  blis_packer_free(output->packer);
  blis_buffer_deinit(&output->path);
  blis_buffer_deinit(&output->part);
  blis_alloc_free(&alloc, output, sizeof *output);
}

bool blis_output_is_replaceable(const char *path) {
  struct stat about;
  return stat(path, &about) != 0 || S_ISREG(about.st_mode);
}

/* Creates the first part that does not exist yet. */
static blis_status open_part(blis_output *output, blis_error *error) {
  for (int i = 0; i < MAX_PARTS; i++) {
    blis_buffer_clear(&output->part);
    blis_buffer_bytes(&output->part, output->path.data, output->path.length);
    blis_buffer_string(&output->part, ".part");
    if (i > 0) {
      blis_buffer_int64(&output->part, i);
    }
    BLIS_TRY_MEM(blis_buffer_status(&output->part), error);
    output->file = fopen(blis_buffer_text(&output->part), "wbx");
    if (output->file != NULL) {
      return BLIS_OK;
    }
    if (errno != EEXIST) {
      break;
    }
  }
  if (errno == EEXIST) {
    return blis_fail(error, BLIS_ERR_IO,
                     "%s: %d unfinished files '%s.part...' exist; remove stale files",
                     blis_buffer_text(&output->path), MAX_PARTS, blis_buffer_text(&output->path));
  }
  return fail(output, "cannot be written", error);
}

/* Fails for file name extensions of formats that blis cannot write, because the content would not
   match the name. */
static blis_status check_ending(const char *path, blis_error *error) {
  static const char *const foreign[] = {".parquet", ".arrow", ".feather", ".orc"};
  size_t length = strlen(path);
  for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
    size_t its = strlen(foreign[i]);
    if (length > its && strcasecmp(path + length - its, foreign[i]) == 0) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%s: unsupported file type; write .csv or .jsonl, which DuckDB "
                       "and pandas convert in one line (docs/tables.md)",
                       path);
    }
  }
  return BLIS_OK;
}

static blis_status open_file(blis_output *output, blis_error *error) {
  BLIS_TRY_MEM(blis_buffer_status(&output->path), error);
  const char *path = blis_buffer_text(&output->path);
  BLIS_TRY(check_ending(path, error));
  blis_packing packing = blis_packing_of(path, NULL);
  if (packing != BLIS_PACKING_NONE) {
    output->packer = blis_packer_new(&output->alloc, packing);
    BLIS_TRY_NEW(output->packer, error);
  }
  if (strcmp(path, "-") == 0) {
    int copy = dup(STDOUT_FILENO); /* closing the copy leaves stdout open */
    output->file = copy >= 0 ? fdopen(copy, "wb") : NULL;
  } else if (blis_output_is_replaceable(path)) {
    return open_part(output, error);
  } else {
    output->file = fopen(path, "wb");
  }
  return output->file != NULL ? BLIS_OK : fail(output, "cannot be written", error);
}

blis_status blis_output_open(const blis_alloc *alloc, const char *path, blis_output **output,
                             blis_error *error) {
  blis_output *made = blis_alloc_zeroed(alloc, 1, sizeof *made);
  BLIS_TRY_NEW(made, error);
  made->alloc = *alloc;
  blis_buffer_init(&made->path, alloc);
  blis_buffer_init(&made->part, alloc);
  blis_buffer_string(&made->path, path);
  blis_status status = open_file(made, error);
  if (status != BLIS_OK) {
    free_output(made);
    return status;
  }
  *output = made;
  return BLIS_OK;
}

blis_status blis_output_probe(const blis_alloc *alloc, const char *path, blis_error *error) {
  if (strcmp(path, "-") == 0 || !blis_output_is_replaceable(path)) {
    return BLIS_OK;
  }
  blis_output *output;
  BLIS_TRY(blis_output_open(alloc, path, &output, error));
  blis_output_discard(output);
  return BLIS_OK;
}

blis_status blis_output_write(blis_output *output, blis_slice bytes, blis_error *error) {
  bool is_written =
      bytes.length == 0 ||
      (output->packer != NULL ? blis_packer_write(output->packer, bytes, false, output->file)
                              : fwrite(bytes.data, 1, bytes.length, output->file) == bytes.length);
  return is_written ? BLIS_OK : fail(output, "cannot be written", error);
}

static blis_status finish(blis_output *output, blis_error *error) {
  bool is_packed = output->packer == NULL ||
                   blis_packer_write(output->packer, (blis_slice){0}, true, output->file);
  bool is_written = fclose(output->file) == 0 && is_packed;
  output->file = NULL;
  if (!is_written) {
    return fail(output, "cannot be written", error);
  }
  if (output->part.length > 0 &&
      rename(blis_buffer_text(&output->part), blis_buffer_text(&output->path)) != 0) {
    return fail(output, "cannot be replaced", error);
  }
  return BLIS_OK;
}

blis_status blis_output_commit(blis_output *output, blis_error *error) {
  blis_status status = finish(output, error);
  if (status != BLIS_OK) {
    blis_output_discard(output);
    return status;
  }
  free_output(output);
  return BLIS_OK;
}

void blis_output_discard(blis_output *output) {
  if (output == NULL) {
    return;
  }
  if (output->file != NULL) {
    fclose(output->file);
  }
  if (output->part.length > 0) {
    remove(blis_buffer_text(&output->part));
  }
  free_output(output);
}
