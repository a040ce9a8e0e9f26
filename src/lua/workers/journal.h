/*
 * journal.h - a file to which one writer appends lines, and its folder.
 *
 * Every line is one write, so a killed process leaves at most its last line incomplete. A file has
 * one writer during its whole life, so no locks are needed, even on shared file systems.
 */
#ifndef BLIS_LUA_WORKERS_JOURNAL_H
#define BLIS_LUA_WORKERS_JOURNAL_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/slice.h"

typedef struct blis_journal blis_journal;

/* Creates folder/<stem>.jsonl, or folder/<stem>-<n>.jsonl if that exists; never overwrites a
 * file. The caller owns *journal. */
BLIS_MUSTUSE blis_status blis_journal_create(const blis_alloc *alloc, const char *folder,
                                             const char *stem, blis_journal **journal,
                                             blis_error *error);

/*
 * Appends line and a newline; line must not contain a newline. Lines older than a second are on
 * disk or are being written. The message of BLIS_ERR_IO contains the file and the reason from the
 * system.
 */
BLIS_MUSTUSE blis_status blis_journal_append(blis_journal *journal, blis_slice line,
                                             blis_error *error);

/* Writes everything to disk and closes the file. NULL is allowed. */
void blis_journal_close(blis_journal *journal);

/* Creates a folder unless it exists; its parent must exist. */
BLIS_MUSTUSE blis_status blis_folder_make(const char *path, blis_error *error);

/*
 * Creates the file at path with line and a newline as content, unless the file exists. If several
 * processes claim the same path at the same time, *claimed is true for exactly one of them. This
 * also applies to shared file systems (NFS 3 or later).
 */
BLIS_MUSTUSE blis_status blis_file_claim(const char *path, blis_slice line, bool *claimed,
                                         blis_error *error);

#endif
