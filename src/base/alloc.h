/*
 * alloc.h - memory allocation for all core code.
 *
 * Every module takes a blis_alloc at construction and keeps a copy, so a cap, accounting, and
 * failure injection are each one function. Only alloc.c calls malloc and related functions.
 */
#ifndef BLIS_BASE_ALLOC_H
#define BLIS_BASE_ALLOC_H

#include <stddef.h>

/*
 * Same contract as lua_Alloc: new_size 0 frees and returns NULL; NULL for any other size means "no
 * memory" and leaves the old block unchanged. old_size is 0 if block is NULL.
 */
typedef struct blis_alloc {
  void *(*fn)(void *ud, void *block, size_t old_size, size_t new_size);
  void *ud;
} blis_alloc;

/* The C library's heap. */
blis_alloc blis_alloc_heap(void);

/* Uninitialised memory, or NULL. size > 0. */
void *blis_alloc_new(const blis_alloc *alloc, size_t size);

/* count * item_size bytes of zeros, or NULL (also when that overflows). */
void *blis_alloc_zeroed(const blis_alloc *alloc, size_t count, size_t item_size);

/* Frees a block of size bytes; NULL is allowed. */
void blis_alloc_free(const blis_alloc *alloc, void *block, size_t size);

/*
 * For tests: an allocator on top of the heap that counts live blocks and can be set to fail. Stored
 * by the caller; zero it first.
 */
typedef struct blis_alloc_probe {
  size_t live_bytes;
  size_t peak_bytes;
  long requests;    /* allocations and growths so far */
  long fail_at;     /* refuse this request (1 = the first); 0 = never */
  int fail_forever; /* refuse every request after fail_at, too */
} blis_alloc_probe;

blis_alloc blis_alloc_probed(blis_alloc_probe *probe);

#endif
