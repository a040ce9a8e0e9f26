/*
 * alloc.h - memory allocation for all core code.
 *
 * Every module takes a blis_alloc at construction and keeps a copy. A memory limit, accounting, or
 * failure injection therefore needs only one function. Only alloc.c calls malloc and related
 * functions.
 */
#ifndef BLIS_BASE_ALLOC_H
#define BLIS_BASE_ALLOC_H

#include <stddef.h>

/*
 * Same contract as lua_Alloc: new_size 0 frees and returns NULL; a NULL result for any other size
 * means that memory is exhausted, and the old block is unchanged. old_size is 0 if block is NULL.
 */
typedef struct blis_alloc {
  void *(*fn)(void *ud, void *block, size_t old_size, size_t new_size);
  void *ud;
} blis_alloc;

/* The C library's heap. */
blis_alloc blis_alloc_heap(void);

/* Returns uninitialized memory, or NULL. size > 0. */
void *blis_alloc_new(const blis_alloc *alloc, size_t size);

/* Returns count * item_size bytes of zeros, or NULL (also if the product overflows). */
void *blis_alloc_zeroed(const blis_alloc *alloc, size_t count, size_t item_size);

/* Frees a block of size bytes; NULL is allowed. */
void blis_alloc_free(const blis_alloc *alloc, void *block, size_t size);

/*
 * For tests: a heap allocator that counts live bytes and can be set to fail. The caller stores it,
 * and zeroes it before use.
 */
typedef struct blis_alloc_probe {
  size_t live_bytes;
  size_t peak_bytes;
  long requests;    /* allocations and growths so far */
  long fail_at;     /* refuse this request (1 = the first); 0 = never */
  int fail_forever; /* also refuse every request after fail_at */
} blis_alloc_probe;

blis_alloc blis_alloc_probed(blis_alloc_probe *probe);

#endif
