/*
 * arena.h - memory handed out piece by piece and freed all at once.
 *
 * Pieces never move. Handing one out costs a few ns; chunks double from 1 KB
 * to 1 MB, so small arenas stay small.
 */
#ifndef BLIS_BASE_ARENA_H
#define BLIS_BASE_ARENA_H

#include <stddef.h>

#include "base/alloc.h"

/* The members are private. */
typedef struct blis_arena {
  blis_alloc alloc;
  struct blis__arena_chunk *newest;
  size_t used; /* bytes of the newest chunk */
} blis_arena;

/* Copies *alloc; allocates nothing yet. */
void blis_arena_init(blis_arena *arena, const blis_alloc *alloc);

/* Gives every piece back; the arena is empty and usable again. */
void blis_arena_deinit(blis_arena *arena);

/* size bytes, aligned for any type, uninitialised; NULL when out of memory. */
void *blis_arena_new(blis_arena *arena, size_t size);

/* A copy of text with a zero behind it; NULL when out of memory. */
char *blis_arena_text(blis_arena *arena, const char *text, size_t length);

#endif
