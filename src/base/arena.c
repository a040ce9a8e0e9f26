#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

enum { FIRST_CHUNK_SIZE = 1 << 10, LARGEST_CHUNK_SIZE = 1 << 20 };

typedef struct blis__arena_chunk {
  struct blis__arena_chunk *older;
  size_t size; /* size of bytes[] */
  alignas(max_align_t) unsigned char bytes[];
} chunk;

void blis_arena_init(blis_arena *arena, const blis_alloc *alloc) {
  *arena = (blis_arena){.alloc = *alloc};
}

void blis_arena_deinit(blis_arena *arena) {
  while (arena->newest != NULL) {
    chunk *older = arena->newest->older;
    blis_alloc_free(&arena->alloc, arena->newest, sizeof(chunk) + arena->newest->size);
    arena->newest = older;
  }
  arena->used = 0;
}

static size_t next_chunk_size(const blis_arena *arena, size_t needed) {
  size_t size = FIRST_CHUNK_SIZE;
  if (arena->newest != NULL) {
    size = arena->newest->size * 2;
  }
  if (size > LARGEST_CHUNK_SIZE) {
    size = LARGEST_CHUNK_SIZE;
  }
  return size < needed ? needed : size;
}

static void *new_unaligned(blis_arena *arena, size_t size) {
  if (arena->newest == NULL || size > arena->newest->size - arena->used) {
    size_t chunk_size = next_chunk_size(arena, size);
    if (chunk_size > SIZE_MAX - sizeof(chunk)) {
      return NULL;
    }
    chunk *newest = blis_alloc_new(&arena->alloc, sizeof(chunk) + chunk_size);
    if (newest == NULL) {
      return NULL;
    }
    newest->older = arena->newest;
    newest->size = chunk_size;
    arena->newest = newest;
    arena->used = 0;
  }
  void *piece = arena->newest->bytes + arena->used;
  arena->used += size;
  return piece;
}

void *blis_arena_new(blis_arena *arena, size_t size) {
  size_t past = arena->used % alignof(max_align_t);
  size_t gap = past == 0 ? 0 : alignof(max_align_t) - past;
  if (arena->newest != NULL && gap < arena->newest->size - arena->used) {
    arena->used += gap;
  } else if (arena->newest != NULL) {
    arena->used = arena->newest->size;
  }
  return new_unaligned(arena, size);
}

char *blis_arena_text(blis_arena *arena, const char *text, size_t length) {
  char *copy = length < SIZE_MAX ? new_unaligned(arena, length + 1) : NULL;
  if (copy != NULL) {
    if (length > 0) {
      memcpy(copy, text, length);
    }
    copy[length] = '\0';
  }
  return copy;
}
