#include "base/format/input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "base/format/open_input.h"

enum { RAW_SIZE = 64 * 1024, LEAST_SIZE = 4096 };

typedef enum format { FORMAT_PLAIN, FORMAT_GZIP, FORMAT_ZSTD } format;

struct blis_input {
  blis_alloc alloc;
  char *name;
  size_t name_size;
  FILE *file;        /* NULL if the bytes come from memory */
  blis_slice memory; /* unread input in memory */
  format format;
  int64_t stored_bytes; /* size in the file or in memory; -1: unknown */
  unsigned char *raw;   /* bytes as in the file */
  size_t raw_size;
  size_t raw_start;
  size_t raw_end;
  char *peeked; /* unpacked bytes that the next read returns first; NULL: none yet */
  size_t peeked_size;
  size_t peeked_start;
  size_t peeked_end;
  bool has_ended; /* no input follows the raw bytes */
  bool is_inside; /* inside a compressed piece that has not ended */
  bool has_gzip;  /* the next member is valid */
  z_stream gzip;
  ZSTD_DStream *zstd;
};

static blis_status fail_read(const blis_input *input, const char *what, blis_error *error) {
  return blis_fail(error, BLIS_ERR_IO, "%s: %s: %s", input->name, what, strerror(errno));
}

/* Reads raw bytes if the buffer is empty. */
static blis_status fill_raw(blis_input *input, blis_error *error) {
  if (input->raw_start < input->raw_end || input->has_ended) {
    return BLIS_OK;
  }
  size_t got;
  if (input->file != NULL) {
    got = fread(input->raw, 1, input->raw_size, input->file);
    if (got == 0 && ferror(input->file)) {
      return fail_read(input, "cannot be read", error);
    }
  } else {
    got = input->memory.length < input->raw_size ? input->memory.length : input->raw_size;
    if (got > 0) {
      memcpy(input->raw, input->memory.data, got);
      input->memory.data += got;
      input->memory.length -= got;
    }
  }
  input->raw_start = 0;
  input->raw_end = got;
  input->has_ended = got == 0;
  return BLIS_OK;
}

static bool starts_with(const blis_input *input, const char *magic, size_t size) {
  return input->raw_end >= size && memcmp(input->raw, magic, size) == 0;
}

/* Detects the format from the first raw bytes and prepares for it. */
static blis_status start_format(blis_input *input, blis_error *error) {
  BLIS_TRY(fill_raw(input, error));
  if (starts_with(input, "\x1f\x8b", 2)) {
    input->format = FORMAT_GZIP;
    input->has_gzip = inflateInit2(&input->gzip, 15 + 16) == Z_OK;
    return input->has_gzip ? BLIS_OK : blis_fail_nomem(error);
  }
  if (starts_with(input, "\x28\xb5\x2f\xfd", 4)) {
    input->format = FORMAT_ZSTD;
    input->zstd = ZSTD_createDStream();
    return input->zstd != NULL ? BLIS_OK : blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static blis_status new_input(const blis_alloc *alloc, const char *name, blis_input **input,
                             blis_error *error) {
  blis_input *made = blis_alloc_zeroed(alloc, 1, sizeof *made);
  BLIS_TRY_NEW(made, error);
  made->alloc = *alloc;
  made->name_size = strlen(name) + 1;
  made->name = blis_alloc_new(alloc, made->name_size);
  if (made->name == NULL) {
    blis_input_close(made);
    return blis_fail_nomem(error);
  }
  memcpy(made->name, name, made->name_size);
  *input = made;
  return BLIS_OK;
}

/* Returns the size of a buffer for all stored bytes, within limits. */
static size_t size_for_stored(const blis_input *input, size_t most) {
  if (input->stored_bytes < 0 || (uint64_t)input->stored_bytes >= most) {
    return most;
  }
  /* One more, so that the end is found without a second read. */
  size_t size = (size_t)input->stored_bytes + 1;
  size = size < LEAST_SIZE ? LEAST_SIZE : size; /* files of /proc have size 0 */
  return size < most ? size : most;
}

static blis_status make_raw(blis_input *input, blis_error *error) {
  input->stored_bytes =
      input->file != NULL ? blis_input_file_size(input) : (int64_t)input->memory.length;
  size_t size = size_for_stored(input, RAW_SIZE);
  input->raw = blis_alloc_new(&input->alloc, size);
  BLIS_TRY_NEW(input->raw, error);
  input->raw_size = size;
  return BLIS_OK;
}

/* Stores an opened input in *input, or closes it after an error. */
static blis_status finish_open(blis_input *made, blis_input **input, blis_error *error) {
  blis_status status = make_raw(made, error);
  if (status == BLIS_OK) {
    status = start_format(made, error);
  }
  if (status != BLIS_OK) {
    blis_input_close(made);
    return status;
  }
  *input = made;
  return BLIS_OK;
}

blis_status blis_input_open(const blis_alloc *alloc, const char *path, blis_input **input,
                            blis_error *error) {
  bool is_stdin = strcmp(path, "-") == 0;
  blis_input *made = NULL; /* gcc cannot see that make sets it */
  BLIS_TRY(new_input(alloc, is_stdin ? "stdin" : path, &made, error));
  const char *problem = NULL;
  made->file = is_stdin ? stdin : blis__open_input(path, BLIS_INPUT_DATA, &problem);
  if (made->file == NULL) {
    blis_status status =
        blis_fail(error, BLIS_ERR_IO, "%s: cannot be opened: %s", made->name, problem);
    blis_input_close(made);
    return status;
  }
  return finish_open(made, input, error);
}

blis_status blis_input_open_memory(const blis_alloc *alloc, const char *name, blis_slice bytes,
                                   blis_input **input, blis_error *error) {
  blis_input *made = NULL; /* gcc cannot see that make sets it */
  BLIS_TRY(new_input(alloc, name, &made, error));
  made->memory = bytes;
  return finish_open(made, input, error);
}

void blis_input_close(blis_input *input) {
  if (input == NULL) {
    return;
  }
  if (input->file != NULL && input->file != stdin) {
    fclose(input->file);
  }
  if (input->has_gzip) {
    inflateEnd(&input->gzip);
  }
  ZSTD_freeDStream(input->zstd);
  blis_alloc alloc = input->alloc;
  blis_alloc_free(&alloc, input->name, input->name_size);
  blis_alloc_free(&alloc, input->raw, input->raw_size);
  blis_alloc_free(&alloc, input->peeked, input->peeked_size);
  blis_alloc_free(&alloc, input, sizeof *input);
}

const char *blis_input_name(const blis_input *input) {
  return input->name;
}

int64_t blis_input_file_size(const blis_input *input) {
  struct stat facts;
  bool is_file = input->file != NULL && input->file != stdin &&
                 fstat(fileno(input->file), &facts) == 0 && S_ISREG(facts.st_mode);
  return is_file ? (int64_t)facts.st_size : -1;
}

bool blis_input_is_packed(const blis_input *input) {
  return input->format != FORMAT_PLAIN;
}

size_t blis_input_buffer_size(const blis_input *input, size_t most) {
  return blis_input_is_packed(input) ? most : size_for_stored(input, most);
}

static blis_status read_plain(blis_input *input, char *bytes, size_t size, size_t *got) {
  size_t count = input->raw_end - input->raw_start;
  count = count < size ? count : size;
  if (count > 0) {
    memcpy(bytes, input->raw + input->raw_start, count);
    input->raw_start += count;
  }
  *got = count;
  return BLIS_OK;
}

/* Performs one step of decompression. *got may be 0 before the end is reached. */
static blis_status read_gzip(blis_input *input, char *bytes, size_t size, size_t *got,
                             blis_error *error) {
  z_stream *gzip = &input->gzip;
  uInt room = size < (1U << 30) ? (uInt)size : 1U << 30;
  gzip->next_in = input->raw + input->raw_start;
  gzip->avail_in = (uInt)(input->raw_end - input->raw_start);
  gzip->next_out = (unsigned char *)bytes;
  gzip->avail_out = room;
  int result = inflate(gzip, Z_NO_FLUSH);
  input->raw_start = input->raw_end - gzip->avail_in;
  *got = room - gzip->avail_out;
  input->is_inside = result != Z_STREAM_END;
  if (result == Z_STREAM_END) {
    result = inflateReset(gzip);
  }
  if (result == Z_MEM_ERROR) {
    return blis_fail_nomem(error);
  }
  if (result != Z_OK && result != Z_BUF_ERROR) {
    return blis_fail(error, BLIS_ERR_PARSE, "%s: broken gzip data: %s", input->name,
                     gzip->msg != NULL ? gzip->msg : "no stream");
  }
  return BLIS_OK;
}

static blis_status read_zstd(blis_input *input, void *bytes, size_t size, size_t *got,
                             blis_error *error) {
  ZSTD_inBuffer in = {input->raw, input->raw_end, input->raw_start};
  ZSTD_outBuffer out = {bytes, size, 0};
  size_t result = ZSTD_decompressStream(input->zstd, &out, &in);
  if (ZSTD_isError(result)) {
    return blis_fail(error, BLIS_ERR_PARSE, "%s: broken zstd data: %s", input->name,
                     ZSTD_getErrorName(result));
  }
  input->raw_start = in.pos;
  input->is_inside = result != 0;
  *got = out.pos;
  return BLIS_OK;
}

static blis_status read_some(blis_input *input, char *bytes, size_t size, size_t *got,
                             blis_error *error) {
  switch (input->format) {
  case FORMAT_GZIP:
    return read_gzip(input, bytes, size, got, error);
  case FORMAT_ZSTD:
    return read_zstd(input, bytes, size, got, error);
  case FORMAT_PLAIN:
    break;
  }
  return read_plain(input, bytes, size, got);
}

static blis_status read_unpacked(blis_input *input, char *bytes, size_t size, size_t *got,
                                 blis_error *error) {
  *got = 0;
  while (*got == 0) {
    BLIS_TRY(fill_raw(input, error));
    bool is_dry = input->raw_start == input->raw_end;
    if (is_dry && !input->is_inside) {
      return BLIS_OK;
    }
    /* Even without raw bytes, the decompressor may still have buffered output. */
    BLIS_TRY(read_some(input, bytes, size, got, error));
    if (is_dry && *got == 0 && input->is_inside) {
      return blis_fail(error, BLIS_ERR_PARSE, "%s: truncated: the compressed data is incomplete",
                       input->name);
    }
  }
  return BLIS_OK;
}

blis_status blis_input_read(blis_input *input, char *bytes, size_t size, size_t *got,
                            blis_error *error) {
  size_t count = input->peeked_end - input->peeked_start;
  if (count == 0) {
    return read_unpacked(input, bytes, size, got, error);
  }
  count = count < size ? count : size;
  memcpy(bytes, input->peeked + input->peeked_start, count);
  input->peeked_start += count;
  *got = count;
  return BLIS_OK;
}

/* Resizes the buffer of peeked bytes. */
static blis_status size_peeked(blis_input *input, size_t size, blis_error *error) {
  char *grown = input->alloc.fn(input->alloc.ud, input->peeked, input->peeked_size, size);
  BLIS_TRY_NEW(grown, error);
  input->peeked = grown;
  input->peeked_size = size;
  return BLIS_OK;
}

/* Makes space after the peeked and unread bytes. */
static blis_status prepare_peek(blis_input *input, blis_error *error) {
  if (input->peeked == NULL) {
    BLIS_TRY(size_peeked(input, blis_input_buffer_size(input, BLIS_INPUT_PEEK_MAX), error));
  }
  input->peeked_end -= input->peeked_start;
  memmove(input->peeked, input->peeked + input->peeked_start, input->peeked_end);
  input->peeked_start = 0;
  return BLIS_OK;
}

blis_status blis_input_peek(blis_input *input, blis_slice *bytes, blis_error *error) {
  BLIS_TRY(prepare_peek(input, error));
  size_t got = 1;
  while (got > 0 && input->peeked_end < BLIS_INPUT_PEEK_MAX) {
    if (input->peeked_end == input->peeked_size) { /* the file has grown */
      BLIS_TRY(size_peeked(input, BLIS_INPUT_PEEK_MAX, error));
    }
    BLIS_TRY(read_unpacked(input, input->peeked + input->peeked_end,
                           input->peeked_size - input->peeked_end, &got, error));
    input->peeked_end += got;
  }
  *bytes = (blis_slice){input->peeked, input->peeked_end};
  return BLIS_OK;
}

static blis_status read_rest(blis_input *input, size_t max_size, blis_buffer *buffer,
                             blis_error *error) {
  size_t before = buffer->length;
  size_t size = blis_input_buffer_size(input, RAW_SIZE);
  for (;;) {
    char *end = blis_buffer_reserve(buffer, size);
    BLIS_TRY_NEW(end, error);
    size_t got;
    BLIS_TRY(blis_input_read(input, end, size, &got, error));
    if (got == 0) {
      return BLIS_OK;
    }
    buffer->length += got;
    if (buffer->length - before > max_size) {
      return blis_fail(error, BLIS_ERR_INVALID, "%s: is larger than %zu bytes, the limit here",
                       input->name, max_size);
    }
  }
}

blis_status blis_input_read_rest(blis_input *input, size_t max_size, blis_buffer *buffer,
                                 blis_error *error) {
  size_t before = buffer->length;
  blis_status status = read_rest(input, max_size, buffer, error);
  if (status != BLIS_OK) {
    buffer->length = before;
  }
  return status;
}

blis_status blis_input_read_file(const char *path, size_t max_size, blis_buffer *buffer,
                                 blis_error *error) {
  blis_input *input = NULL; /* gcc cannot see that open sets it */
  BLIS_TRY(blis_input_open(&buffer->alloc, path, &input, error));
  blis_status status = blis_input_read_rest(input, max_size, buffer, error);
  blis_input_close(input);
  return status;
}
