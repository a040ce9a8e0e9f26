#include "observe/events.h"

#include <stdio.h>
#include <string.h>

void blis__answer_init(blis__answer *answer, const blis_alloc *alloc) {
  *answer = (blis__answer){.is_done = false};
  blis_buffer_init(&answer->line, alloc);
}

void blis__answer_deinit(blis__answer *answer) {
  blis_buffer_deinit(&answer->line);
}

void blis__answer_clear(blis__answer *answer) {
  blis_buffer line = answer->line;
  *answer = (blis__answer){.line = line};
  blis_buffer_clear(&answer->line);
}

static void copy_text(char *to, size_t size, blis_slice text) {
  size_t length = text.length < size ? text.length : size - 1;
  memcpy(to, text.data, length);
  to[length] = '\0';
  for (size_t i = 0; i < length; i++) { /* so that the message fits on one line of a table */
    to[i] = (unsigned char)to[i] < ' ' ? ' ' : to[i];
  }
}

static void take_text(blis_json_value value, char *to, size_t size) {
  blis_slice text;
  blis_error ignored;
  if (blis_json_type_of(value) == BLIS_JSON_TEXT &&
      blis_json_text(value, &text, &ignored) == BLIS_OK) {
    copy_text(to, size, text);
  }
}

static void take_count(blis_json_value value, uint32_t *to) {
  int64_t count;
  blis_error ignored;
  if (blis_json_type_of(value) == BLIS_JSON_INTEGER &&
      blis_json_int64(value, 0, UINT32_MAX, &count, &ignored) == BLIS_OK) {
    *to = (uint32_t)count;
  }
}

static void take_problem(blis__answer *answer, blis_json_value root) {
  blis_json_value problem = blis_json_member(root, "error");
  blis_json_value message = blis_json_member(problem, "message");
  snprintf(answer->problem, sizeof answer->problem, "error");
  take_text(problem, answer->problem, sizeof answer->problem);
  take_text(message, answer->problem, sizeof answer->problem);
}

static void take_event(blis__answer *answer, blis_json_value root) {
  blis_json_value choices = blis_json_member(root, "choices");
  if (blis_json_has(blis_json_member(root, "error"))) {
    take_problem(answer, root);
  }
  if (blis_json_count(choices) > 0) {
    answer->choices++;
    take_text(blis_json_member(blis_json_item(choices, 0), "finish_reason"), answer->finish,
              sizeof answer->finish);
  }
  blis_json_value usage = blis_json_member(root, "usage");
  take_count(blis_json_member(usage, "prompt_tokens"), &answer->prompt_tokens);
  take_count(blis_json_member(usage, "completion_tokens"), &answer->output_tokens);
  take_count(blis_json_member(blis_json_member(usage, "prompt_tokens_details"), "cached_tokens"),
             &answer->cached_tokens);
}

/* Handles a line "data: ..."; all other lines (comments, event names) are ignored. */
static void take_line(blis__answer *answer, blis_json *json, blis_slice line) {
  static const char start[] = "data:";
  if (line.length > 0 && line.data[line.length - 1] == '\r') {
    line.length--;
  }
  if (line.length < sizeof start - 1 || memcmp(line.data, start, sizeof start - 1) != 0) {
    return;
  }
  blis_slice text = {line.data + sizeof start - 1, line.length - (sizeof start - 1)};
  while (text.length > 0 && *text.data == ' ') {
    text.data++;
    text.length--;
  }
  if (text.length == 6 && memcmp(text.data, "[DONE]", 6) == 0) {
    answer->is_done = true;
    return;
  }
  blis_error ignored;
  if (blis_json_parse(json, "event", 1, text, &ignored) == BLIS_OK) {
    take_event(answer, blis_json_root(json));
  } else if (!answer->is_broken) {
    answer->is_broken = true;
    snprintf(answer->problem, sizeof answer->problem, "an event is no JSON");
  }
}

blis_status blis__answer_read(blis__answer *answer, blis_json *json, const char *data,
                              size_t length) {
  while (length > 0) {
    const char *end = memchr(data, '\n', length);
    size_t part = end == NULL ? length : (size_t)(end - data);
    if (end != NULL && answer->line.length == 0) {
      take_line(answer, json, (blis_slice){data, part});
    } else {
      blis_buffer_bytes(&answer->line, data, part);
      BLIS_TRY(blis_buffer_status(&answer->line));
      if (answer->line.length > BLIS__LINE_MAX) {
        return BLIS_ERR_PARSE;
      }
      if (end != NULL) {
        take_line(answer, json, blis_buffer_slice(&answer->line));
        blis_buffer_clear(&answer->line);
      }
    }
    data += part + (end != NULL);
    length -= part + (end != NULL);
  }
  return BLIS_OK;
}

void blis__answer_refused(blis__answer *answer, blis_json *json, int status) {
  blis_error ignored;
  blis_slice body = blis_buffer_slice(&answer->line);
  if (answer->problem[0] != '\0') {
    return;
  }
  if (blis_json_parse(json, "body", 1, body, &ignored) == BLIS_OK &&
      blis_json_has(blis_json_member(blis_json_root(json), "error"))) {
    take_problem(answer, blis_json_root(json));
  } else if (body.length > 0) {
    copy_text(answer->problem, sizeof answer->problem, body);
  } else {
    snprintf(answer->problem, sizeof answer->problem, "status %d", status);
  }
}
