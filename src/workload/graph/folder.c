#include "workload/graph/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

static bool take_end(const char *name, size_t *length, const char *end) {
  size_t size = strlen(end);
  bool has_it = *length > size && memcmp(name + *length - size, end, size) == 0;
  *length -= has_it ? size : 0;
  return has_it;
}

/* Returns whether a file belongs to the corpus, and sets whether it is a single JSON text. */
static bool is_of_corpus(const char *name, bool *is_whole) {
  size_t length = strlen(name);
  if (!take_end(name, &length, ".gz")) {
    (void)take_end(name, &length, ".zst");
  }
  *is_whole = take_end(name, &length, ".json");
  return name[0] != '.' && (*is_whole || take_end(name, &length, ".jsonl"));
}

bool blis__graph_is_folder(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static blis_status add_name(blis__graph_folder *folder, const char *name) {
  size_t size = strlen(name) + 1;
  BLIS_TRY(blis_array_reserve(&folder->alloc, &folder->names, folder->names.count + 1));
  char *copy = blis_alloc_new(&folder->alloc, size);
  if (copy == NULL) {
    return BLIS_ERR_NOMEM;
  }
  folder->names.items[folder->names.count++] = memcpy(copy, name, size);
  return BLIS_OK;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static blis_status list_names(blis__graph_folder *folder, DIR *directory) {
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    bool is_whole;
    if (is_of_corpus(entry->d_name, &is_whole)) {
      BLIS_TRY(add_name(folder, entry->d_name));
    }
  }
  return BLIS_OK;
}

blis_status blis__graph_folder_init(blis__graph_folder *folder, const blis_alloc *alloc,
                                    const char *path, blis_error *error) {
  *folder = (blis__graph_folder){.alloc = *alloc, .path = path};
  blis_buffer_init(&folder->file, &folder->alloc);
  DIR *directory = opendir(path);
  if (directory == NULL) {
    return blis_fail(error, BLIS_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
  }
  blis_status status = list_names(folder, directory);
  (void)closedir(directory);
  BLIS_TRY_MEM(status, error);
  if (folder->names.count == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: the folder has no file that ends in .json or .jsonl "
                     "(.gz and .zst may follow)",
                     path);
  }
  qsort(folder->names.items, folder->names.count, sizeof *folder->names.items, compare_names);
  return BLIS_OK;
}

void blis__graph_folder_deinit(blis__graph_folder *folder) {
  for (size_t i = 0; i < folder->names.count; i++) {
    char *name = folder->names.items[i];
    blis_alloc_free(&folder->alloc, name, strlen(name) + 1);
  }
  blis_array_deinit(&folder->alloc, &folder->names);
  blis_buffer_deinit(&folder->file);
}

void blis__graph_folder_rewind(blis__graph_folder *folder) {
  folder->next = 0;
}

blis_status blis__graph_folder_next(blis__graph_folder *folder, const char **path, bool *is_whole) {
  *path = NULL;
  if (folder->next == folder->names.count) {
    return BLIS_OK;
  }
  const char *name = folder->names.items[folder->next++];
  size_t length = strlen(folder->path);
  (void)is_of_corpus(name, is_whole);
  blis_buffer_clear(&folder->file);
  blis_buffer_bytes(&folder->file, folder->path, length);
  if (folder->path[length - 1] != '/') {
    blis_buffer_char(&folder->file, '/');
  }
  blis_buffer_string(&folder->file, name);
  BLIS_TRY(blis_buffer_status(&folder->file));
  *path = blis_buffer_text(&folder->file);
  return BLIS_OK;
}
