#include "base/format/text.h"

#include <string.h>

#ifdef BLIS_PARANOID
enum { FIRST_SIZE = 4 };
#else
enum { FIRST_SIZE = 256 * 1024 };
#endif

/* Bytes from start to end were read from the input but not yet returned. */
struct blis_text {
  blis_alloc alloc;
  blis_input *input;
  char *bytes;
  size_t size;
  size_t start;
  size_t end;
  int64_t line_number; /* number of the last line returned */
  bool has_ended;      /* no input follows end */
};

blis_status blis_text_open_input(const blis_alloc *alloc, blis_input *input, blis_text **text,
                                 blis_error *error) {
  blis_text *made = blis_alloc_zeroed(alloc, 1, sizeof *made);
  if (made == NULL) {
    blis_input_close(input);
    return blis_fail_nomem(error);
  }
  made->alloc = *alloc;
  made->input = input;
  size_t size = blis_input_buffer_size(input, FIRST_SIZE);
  made->bytes = blis_alloc_new(alloc, size);
  made->size = made->bytes != NULL ? size : 0;
  if (made->bytes == NULL) {
    blis_text_close(made);
    return blis_fail_nomem(error);
  }
  *text = made;
  return BLIS_OK;
}

blis_status blis_text_open(const blis_alloc *alloc, const char *path, blis_text **text,
                           blis_error *error) {
  blis_input *input;
  BLIS_TRY(blis_input_open(alloc, path, &input, error));
  return blis_text_open_input(alloc, input, text, error);
}

blis_status blis_text_open_memory(const blis_alloc *alloc, const char *name, blis_slice bytes,
                                  blis_text **text, blis_error *error) {
  blis_input *input;
  BLIS_TRY(blis_input_open_memory(alloc, name, bytes, &input, error));
  return blis_text_open_input(alloc, input, text, error);
}

void blis_text_close(blis_text *text) {
  if (text == NULL) {
    return;
  }
  blis_alloc alloc = text->alloc;
  blis_input_close(text->input);
  blis_alloc_free(&alloc, text->bytes, text->size);
  blis_alloc_free(&alloc, text, sizeof *text);
}

const char *blis_text_name(const blis_text *text) {
  return blis_input_name(text->input);
}

static blis_status fail_line(const blis_text *text, const char *what, blis_error *error) {
  return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld: %s", blis_text_name(text),
                   (long long)text->line_number + 1, what);
}

/* Makes space for bytes after end. */
static blis_status make_room(blis_text *text, blis_error *error) {
  if (text->start > 0) {
    memmove(text->bytes, text->bytes + text->start, text->end - text->start);
    text->end -= text->start;
    text->start = 0;
  }
  if (text->end < text->size) {
    return BLIS_OK;
  }
  if (text->size > BLIS_TEXT_LINE_MAX) {
    return fail_line(text, "the line is longer than 64 MiB", error);
  }
  char *grown = text->alloc.fn(text->alloc.ud, text->bytes, text->size, text->size * 2);
  BLIS_TRY_NEW(grown, error);
  text->bytes = grown;
  text->size *= 2;
  return BLIS_OK;
}

/* Reads more bytes after end, or finds the end of the input. */
static blis_status read_more(blis_text *text, blis_error *error) {
  BLIS_TRY(make_room(text, error));
  size_t got;
  BLIS_TRY(
      blis_input_read(text->input, text->bytes + text->end, text->size - text->end, &got, error));
  text->end += got;
  text->has_ended = got == 0;
  return BLIS_OK;
}

/* Finds the newline of the next line; NULL at the end of the file. */
static blis_status find_newline(blis_text *text, const char **newline, blis_error *error) {
  size_t searched = 0; /* bytes after start without a newline */
  for (;;) {
    const char *from = text->bytes + text->start + searched;
    size_t count = text->end - text->start - searched;
    *newline = count > 0 ? memchr(from, '\n', count) : NULL;
    if (*newline != NULL || text->has_ended) {
      return BLIS_OK;
    }
    searched += count;
    BLIS_TRY(read_more(text, error));
  }
}

static void skip_byte_order_mark(blis_slice *content) {
  if (content->length >= 3 && memcmp(content->data, "\xef\xbb\xbf", 3) == 0) {
    content->data += 3;
    content->length -= 3;
  }
}

blis_status blis_text_next(blis_text *text, blis_text_line *line, bool *has_line,
                           blis_error *error) {
  const char *newline;
  BLIS_TRY(find_newline(text, &newline, error));
  const char *data = text->bytes + text->start;
  size_t length = newline != NULL ? (size_t)(newline - data) : text->end - text->start;
  *has_line = newline != NULL || length > 0;
  if (!*has_line) {
    return BLIS_OK;
  }
  if (length > BLIS_TEXT_LINE_MAX) {
    return fail_line(text, "the line is longer than 64 MiB", error);
  }
  if (length > 0 && memchr(data, '\0', length) != NULL) {
    return fail_line(text, "the line contains a zero byte; this is not a text file", error);
  }
  text->start += length + (newline != NULL);
  text->line_number++;
  blis_slice content = {.data = data, .length = length};
  if (length > 0 && data[length - 1] == '\r') {
    content.length--;
  }
  if (text->line_number == 1) {
    skip_byte_order_mark(&content);
  }
  *line = (blis_text_line){
      .content = content, .number = text->line_number, .has_newline = newline != NULL};
  return BLIS_OK;
}
