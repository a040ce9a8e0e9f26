/*
 * folder.h - the files of a folder that contains one corpus; for graph files only.
 *
 * These are its .json and .jsonl files, compressed or not, in byte order of their names. Hidden
 * files and subfolders are ignored. The names are read once and kept in memory.
 */
#ifndef BLIS_WORKLOAD_GRAPH_FOLDER_H
#define BLIS_WORKLOAD_GRAPH_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/error.h"

typedef struct blis__graph_folder {
  blis_alloc alloc;
  const char *path; /* borrowed */
  BLIS_ARRAY(char *) names;
  size_t next;      /* index of the next name */
  blis_buffer file; /* path of the previous file */
} blis__graph_folder;

bool blis__graph_is_folder(const char *path);

/* Copies *alloc; path is borrowed. Call deinit even after an error. */
BLIS_MUSTUSE blis_status blis__graph_folder_init(blis__graph_folder *folder,
                                                 const blis_alloc *alloc, const char *path,
                                                 blis_error *error);
void blis__graph_folder_deinit(blis__graph_folder *folder);

/* Restarts from the first file. */
void blis__graph_folder_rewind(blis__graph_folder *folder);

/*
 * Returns the path of the next file, valid until the next call; NULL after the last file. *is_whole
 * is set if the file is one JSON text; otherwise it has one JSON text per line.
 */
BLIS_MUSTUSE blis_status blis__graph_folder_next(blis__graph_folder *folder, const char **path,
                                                 bool *is_whole);

#endif
