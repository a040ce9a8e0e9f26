#include "workload/graph/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/format/file_kind.h"
#include "base/format/input.h"
#include "base/nearest.h"
#include "workload/graph/format.h"

static const blis__graph_format *const formats[] = {
#define XX(name) &blis__graph_##name,
    BLIS__GRAPH_FORMAT_MAP(XX)
#undef XX
};

enum {
  FORMATS = sizeof formats / sizeof *formats,
  NOTES = 12, /* at most */
  NOTE_SIZE = BLIS__UNREAD_TEXT_SIZE + 256
};

struct blis_graph_file {
  blis_alloc alloc;
  char *path;
  size_t path_size;
  bool is_folder;
  blis__graph_folder folder; /* used if the path is a folder */
  blis_graph_file_options options;
  blis_intern *strings;
  const blis__graph_format *format;
  blis__graph_known known;
  blis__graph_names models;
  void *reader; /* NULL = no reader is open */
  int64_t count;
  int64_t taken;
  char *notes[NOTES];
  size_t note_count;
};

/* Formats. */

size_t blis_graph_format_count(void) {
  return FORMATS;
}

const char *blis_graph_format_name(size_t index) {
  return formats[index]->name;
}

const char *blis_graph_format_text(size_t index) {
  return formats[index]->text;
}

const char *blis_graph_format_needs(size_t index) {
  return formats[index]->needs;
}

static blis_status find_format(blis_graph_file *file, const char *name, blis_error *error) {
  blis_nearest nearest = {.wanted = name};
  for (size_t i = 0; i < FORMATS; i++) {
    if (strcmp(formats[i]->name, name) == 0) {
      file->format = formats[i];
      return BLIS_OK;
    }
    blis_nearest_offer(&nearest, formats[i]->name);
  }
  return blis_fail(error, BLIS_ERR_INVALID, "unknown format of graphs '%s'%s", name,
                   blis_nearest_suggest(&nearest).text);
}

/* path is the path of the file, or of the first file in the folder. */
static blis_status recognise(blis_graph_file *file, const char *path, blis_input *input,
                             blis_error *error) {
  blis_slice head;
  BLIS_TRY(blis_input_peek(input, &head, error));
  if (head.length >= 3 && memcmp(head.data, "\xef\xbb\xbf", 3) == 0) {
    head.data += 3; /* byte order mark */
    head.length -= 3;
  }
  head = blis_slice_trim(head);
  const char *kind = blis_file_kind(head);
  if (kind != NULL) {
    return blis_fail(error, BLIS_ERR_PARSE, "%s: %s", path, kind);
  }
  for (size_t i = 0; i < FORMATS; i++) {
    if (formats[i]->recognise(head)) {
      file->format = formats[i];
      return BLIS_OK;
    }
  }
  return blis_fail(error, BLIS_ERR_PARSE, "%s: %s (traces of single requests: { trace = path })",
                   path,
                   head.length == 0 ? "the file is empty" : "not recognised as session graphs");
}

static bool is_blank(blis_slice head) {
  return blis_slice_trim(head).length == 0;
}

/* Detects the format from the first nonempty file, or from the last file if all are empty. */
static blis_status recognise_folder(blis_graph_file *file, blis_error *error) {
  bool is_whole;
  blis__graph_folder_rewind(&file->folder);
  while (file->format == NULL) {
    const char *path;
    blis_input *input;
    blis_slice head;
    BLIS_TRY_MEM(blis__graph_folder_next(&file->folder, &path, &is_whole), error);
    BLIS_TRY(blis__graph_open_input(&file->alloc, path, &input, error));
    blis_status status = blis_input_peek(input, &head, error);
    bool is_last = file->folder.next == file->folder.names.count;
    if (status == BLIS_OK && (is_last || !is_blank(head))) {
      status = recognise(file, path, input, error);
    }
    blis_input_close(input);
    BLIS_TRY(status);
  }
  return BLIS_OK;
}

/* Readers. */

static void close_reader(blis_graph_file *file) {
  blis__graph_rows *rows = file->reader;
  if (rows == NULL) {
    return;
  }
  if (file->format->close != NULL) {
    file->format->close(file->reader);
  }
  blis_json_deinit(&rows->json);
  blis_text_close(rows->text);
  blis_graph_builder_deinit(&rows->builder);
  blis_alloc_free(&file->alloc, file->reader, file->format->reader_size);
  file->reader = NULL;
}

/* Opens the first file, which determines the format. */
static blis_status open_first(blis_graph_file *file, const char *path, blis_text **text,
                              blis_error *error) {
  blis_input *input;
  BLIS_TRY(blis__graph_open_input(&file->alloc, path, &input, error));
  blis_status status = file->format == NULL ? recognise(file, path, input, error) : BLIS_OK;
  if (status == BLIS_OK && file->is_folder && !file->format->reads_folders) {
    status = blis_fail(error, BLIS_ERR_INVALID,
                       "%s: graphs of format %s are in one file; a folder is "
                       "for weka",
                       file->path, file->format->name);
  }
  if (status != BLIS_OK) {
    blis_input_close(input);
    return status;
  }
  return blis_text_open_input(&file->alloc, input, text, error);
}

static blis_status open_reader(blis_graph_file *file, blis_error *error) {
  const char *path = file->path;
  bool is_whole = false;
  blis_text *text;
  close_reader(file);
  if (file->is_folder) {
    BLIS_TRY(recognise_folder(file, error));
    blis__graph_folder_rewind(&file->folder);
    BLIS_TRY_MEM(blis__graph_folder_next(&file->folder, &path, &is_whole), error);
  }
  BLIS_TRY(open_first(file, path, &text, error));
  file->reader = blis_alloc_zeroed(&file->alloc, 1, file->format->reader_size);
  if (file->reader == NULL) {
    blis_text_close(text);
    return blis_fail_nomem(error);
  }
  blis__graph_rows *rows = file->reader;
  rows->alloc = &file->alloc;
  rows->path = path;
  rows->folder = file->is_folder ? &file->folder : NULL;
  rows->is_whole = is_whole;
  rows->options = &file->options;
  rows->strings = file->strings;
  rows->known = &file->known;
  rows->models = &file->models;
  rows->text = text;
  blis_json_init(&rows->json, &file->alloc);
  blis_json_allow_any_number(&rows->json);
  blis_graph_builder_init(&rows->builder, &file->alloc);
  file->taken = 0;
  return file->format->open != NULL ? file->format->open(file->reader, error) : BLIS_OK;
}

static blis_status next_graph(void *state, blis_graph *graph, bool *done, blis_error *error) {
  blis_graph_file *file = state;
  if (file->reader == NULL) {
    BLIS_TRY(open_reader(file, error));
  }
  *done = file->options.limit > 0 && file->taken == file->options.limit;
  if (!*done) {
    BLIS_TRY(file->format->next(file->reader, graph, done, error));
  }
  if (!*done && !file->known.is_first && graph->start_us >= 0) {
    graph->start_us -= file->known.first_start_us;
  }
  file->taken += !*done;
  return BLIS_OK;
}

static blis_status rewind_file(void *state, blis_error *error) {
  return open_reader(state, error);
}

/* Notes. */

BLIS_PRINTF(2, 3)
static blis_status note(blis_graph_file *file, const char *format, ...) {
  char text[NOTE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  size_t size = (size_t)length < sizeof text ? (size_t)length + 1 : sizeof text;
  char *kept = blis_alloc_new(&file->alloc, size);
  if (kept == NULL) {
    return BLIS_ERR_NOMEM;
  }
  memcpy(kept, text, size);
  file->notes[file->note_count++] = kept;
  return BLIS_OK;
}

static blis_status note_count(blis_graph_file *file, int64_t count, const char *what) {
  return count == 0 ? BLIS_OK : note(file, "%s: %s: %lld", file->path, what, (long long)count);
}

static const char rootless[] = "conversations without own requests, skipped";
static const char uncounted[] =
    "model calls without token counts (gen_ai.usage.input_tokens) and without texts "
    "(gen_ai.input.messages), skipped";

static blis_status make_notes(blis_graph_file *file) {
  const blis__graph_known *known = &file->known;
  BLIS_TRY(note_count(file, known->dropped_agents,
                      "subagents before every request of their conversation, skipped"));
  BLIS_TRY(note_count(file, known->empty_files, "empty files, skipped"));
  BLIS_TRY(note_count(file, known->rootless, rootless));
  BLIS_TRY(note_count(file, known->same_agents,
                      "subagents with the agent_id of an earlier one of their "
                      "conversation, which have a session of their own"));
  BLIS_TRY(note_count(file, known->same_ids,
                      "conversations with the id of an earlier one, and so "
                      "with its sessions"));
  BLIS_TRY(note_count(file, known->excess_ids,
                      "requests with more hash ids than tokens, whose last ids are ignored"));
  BLIS_TRY(note_count(file, known->left_out, "entries that are no requests"));
  BLIS_TRY(note_count(file, known->uncounted, uncounted));
  BLIS_TRY(note_count(file, known->not_monotone,
                      "prompts that are shorter than their context, which "
                      "begin a new one"));
  if (known->is_unordered) {
    BLIS_TRY(note(file, "%s: sessions are not in order of their starts, so starts are not used",
                  file->path));
  }
  BLIS_TRY(note_count(file, known->estimated, "requests whose tokens were worked out of bytes"));
  if (file->models.given.recorded == NULL && file->models.seen.count > 0) {
    char models[NOTE_SIZE - 128];
    blis__graph_names_show(&file->models, models, sizeof models);
    BLIS_TRY(note(file, "%s: models by their order in the file: %s", file->path, models));
  }
  if (known->unread.count > 0) {
    char names[BLIS__UNREAD_TEXT_SIZE];
    blis__unread_list(&known->unread, names);
    BLIS_TRY(note(file, "%s: fields that are not read: %s", file->path, names));
  }
  return BLIS_OK;
}

/* Files. */

/* Records the earliest start, because starts are relative to it regardless of the clock of the
   file. */
static void note_start(blis__graph_known *known, int64_t start_us) {
  if (start_us >= 0 && (!known->has_starts || start_us < known->first_start_us)) {
    known->first_start_us = start_us;
    known->has_starts = true;
  }
}

/* Fails with the reasons why no entry of the file is a graph. */
static blis_status fail_without_graphs(const blis_graph_file *file, blis_error *error) {
  const struct {
    int64_t count;
    const char *what;
  } reasons[] = {{file->known.rootless, rootless},
                 {file->known.uncounted, uncounted},
                 {file->known.left_out, "entries that are no requests"}};
  char text[NOTE_SIZE] = "";
  size_t length = 0;
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    if (reasons[i].count > 0) {
      int added = snprintf(text + length, sizeof text - length, "; %s: %lld", reasons[i].what,
                           (long long)reasons[i].count);
      length += (size_t)added < sizeof text - length ? (size_t)added : 0;
    }
  }
  return blis_fail(error, BLIS_ERR_PARSE, "%s: contains no graphs%s", file->path, text);
}

static blis_status read_through(blis_graph_file *file, blis_error *error) {
  bool done = false;
  file->known.is_first = true;
  while (!done) {
    blis_graph graph;
    BLIS_TRY(next_graph(file, &graph, &done, error));
    if (!done) {
      file->known.requests += graph.node_count;
      note_start(&file->known, graph.start_us);
    }
  }
  file->count = file->taken;
  file->known.is_first = false;
  file->known.has_starts = file->known.has_starts && !file->known.is_unordered;
  close_reader(file);
  if (file->count == 0) {
    return fail_without_graphs(file, error);
  }
  if (file->models.given.count > 0 && file->models.seen.count == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: 'models' is set, but no request of the file names its model", file->path);
  }
  BLIS_TRY_MEM(make_notes(file), error);
  return BLIS_OK;
}

/* Copies data, which the caller may free afterwards. */
static blis_status keep(blis_graph_file *file, const char *path, const blis_graph_models *models,
                        blis_error *error) {
  file->options.models = (blis_graph_models){0};
  BLIS_TRY_MEM(blis__graph_names_init(&file->models, &file->alloc, models, file->strings), error);
  file->path_size = strlen(path) + 1;
  file->path = blis_alloc_new(&file->alloc, file->path_size);
  BLIS_TRY_NEW(file->path, error);
  memcpy(file->path, path, file->path_size);
  file->is_folder = blis__graph_is_folder(path);
  return file->is_folder ? blis__graph_folder_init(&file->folder, &file->alloc, file->path, error)
                         : BLIS_OK;
}

static blis_status fill(blis_graph_file *file, const char *path,
                        const blis_graph_file_options *options, blis_error *error) {
  BLIS_TRY(keep(file, path, &options->models, error));
  file->options.format = NULL; /* not stored */
  if (options->format != NULL) {
    BLIS_TRY(find_format(file, options->format, error));
  }
  return read_through(file, error);
}

blis_status blis_graph_file_open(const blis_alloc *alloc, const char *path,
                                 const blis_graph_file_options *options, blis_intern *strings,
                                 blis_graph_file **file, blis_error *error) {
  blis_graph_file *made = blis_alloc_zeroed(alloc, 1, sizeof *made);
  BLIS_TRY_NEW(made, error);
  made->alloc = *alloc;
  made->strings = strings;
  made->options = *options;
  blis_status status = fill(made, path, options, error);
  if (status != BLIS_OK) {
    blis_graph_file_close(made);
    return status;
  }
  *file = made;
  return BLIS_OK;
}

blis_status blis_graph_file_open_again(const blis_graph_file *known, const blis_alloc *alloc,
                                       blis_intern *strings, blis_graph_file **file,
                                       blis_error *error) {
  blis_graph_file *made = blis_alloc_zeroed(alloc, 1, sizeof *made);
  BLIS_TRY_NEW(made, error);
  made->alloc = *alloc;
  made->strings = strings;
  made->options = known->options;
  made->format = known->format;
  made->known = known->known;
  made->count = known->count;
  blis_status status = keep(made, known->path, &known->models.given, error);
  if (status != BLIS_OK) {
    blis_graph_file_close(made);
    return status;
  }
  *file = made;
  return BLIS_OK;
}

void blis_graph_file_close(blis_graph_file *file) {
  if (file == NULL) {
    return;
  }
  blis_alloc alloc = file->alloc;
  close_reader(file);
  for (size_t i = 0; i < file->note_count; i++) {
    blis_alloc_free(&alloc, file->notes[i], strlen(file->notes[i]) + 1);
  }
  blis__graph_names_deinit(&file->models);
  if (file->is_folder) {
    blis__graph_folder_deinit(&file->folder);
  }
  blis_alloc_free(&alloc, file->path, file->path_size);
  blis_alloc_free(&alloc, file, sizeof *file);
}

blis_graph_feed blis_graph_file_feed(blis_graph_file *file) {
  return (blis_graph_feed){
      .next = next_graph, .rewind = rewind_file, .state = file, .strings = file->strings};
}

const char *blis_graph_file_format(const blis_graph_file *file) {
  return file->format->name;
}

int64_t blis_graph_file_count(const blis_graph_file *file) {
  return file->count;
}

int64_t blis_graph_file_requests(const blis_graph_file *file) {
  return file->known.requests;
}

bool blis_graph_file_has_starts(const blis_graph_file *file) {
  return file->known.has_starts;
}

const char *blis_graph_file_model(const blis_graph_file *file, size_t index) {
  return index < file->models.given.count ? file->models.given.served[index] : NULL;
}

const char *blis_graph_file_note(const blis_graph_file *file, size_t index) {
  return index < file->note_count ? file->notes[index] : NULL;
}
