/*
 * packer.h - gzip and zstd compression into a file.
 *
 * Equal bytes produce equal files, because the files contain no names and no times. Uses 64 KB
 * here, and the memory of the format on the C heap (some MB).
 */
#ifndef BLIS_BASE_FORMAT_PACKER_H
#define BLIS_BASE_FORMAT_PACKER_H

#include <stdbool.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/slice.h"

typedef enum blis_packing { BLIS_PACKING_NONE, BLIS_PACKING_GZIP, BLIS_PACKING_ZSTD } blis_packing;

/*
 * Returns the compression that the extension of a path selects: .gz, .zst, or none. *length (may be
 * NULL) is set to the length of the path without the extension.
 */
blis_packing blis_packing_of(const char *path, size_t *length);

typedef struct blis_packer blis_packer;

/* packing is not NONE. Copies *alloc. NULL = out of memory. */
blis_packer *blis_packer_new(const blis_alloc *alloc, blis_packing packing);

/* NULL is allowed. */
void blis_packer_free(blis_packer *packer);

/*
 * Compresses bytes; finished output goes to file. If is_end, also writes the rest, and no further
 * call is allowed. Returns false if the file could not be written (see errno).
 */
bool blis_packer_write(blis_packer *packer, blis_slice bytes, bool is_end, FILE *file);

#endif
