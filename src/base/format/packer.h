/*
 * packer.h - gzip and zstd compression into a file.
 *
 * Equal bytes give equal files: there are no names and times in them. Takes
 * 64 KB here, and what the format needs on the C heap (some MB).
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
 * Returns the compression that the end of a path selects: .gz, .zst, or none. *length (may be NULL)
 * is the length of the path without it.
 */
blis_packing blis_packing_of(const char *path, size_t *length);

typedef struct blis_packer blis_packer;

/* packing is not NONE. Copies *alloc. NULL = out of memory. */
blis_packer *blis_packer_new(const blis_alloc *alloc, blis_packing packing);

/* NULL is allowed. */
void blis_packer_free(blis_packer *packer);

/*
 * Packs bytes; what is ready goes to file. With is_end, the rest as well, and
 * nothing may follow. False when the file could not be written (errno says
 * why).
 */
bool blis_packer_write(blis_packer *packer, blis_slice bytes, bool is_end, FILE *file);

#endif
