/*
 * file_kind.h - files that people pass as text by mistake: binary formats, archives, web pages.
 */
#ifndef BLIS_BASE_FORMAT_FILE_KIND_H
#define BLIS_BASE_FORMAT_FILE_KIND_H

#include "base/slice.h"

/*
 * Returns what a file is that starts with head, and how to get the text in it, for messages: "the
 * file is a Parquet file; ...". NULL if the file may be text. The result is static.
 */
const char *blis_file_kind(blis_slice head);

#endif
