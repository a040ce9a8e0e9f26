/*
 * arena.h - memory that is allocated piece by piece and freed all at once.
 *
 * Pieces never move. Allocating a piece costs a few ns. Chunks double from 1 KB to 1 MB, so small
 * arenas stay small.
 */
#ifndef BLIS_BASE_ARENA_H
#define BLIS_BASE_ARENA_H

#include <stddef.h>

#include "base/alloc.h"

/* The members are private. */
typedef struct blis_arena {
  blis_alloc alloc;
  struct blis__arena_chunk *newest;
  size_t used; /* bytes used in the newest chunk */
} blis_arena;

/* Copies *alloc; allocates nothing yet. */
void blis_arena_init(blis_arena *arena, const blis_alloc *alloc);

/* Frees every piece. The arena is then empty and can be used again. */
void blis_arena_deinit(blis_arena *arena);

/* Returns size uninitialized bytes, aligned for any type; NULL if memory is exhausted. */
void *blis_arena_new(blis_arena *arena, size_t size);

/* Returns a zero-terminated copy of text; NULL if memory is exhausted. */
char *blis_arena_text(blis_arena *arena, const char *text, size_t length);

#endif
