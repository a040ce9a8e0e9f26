#define _GNU_SOURCE /* madvise, mremap */
#include "host/memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Blocks of MAPPED bytes and more are separate mappings that start at a huge page. When they grow,
 * whole huge pages are moved. malloc would also map such blocks, but realloc moves them to
 * arbitrary addresses, which splits huge pages.
 */
enum { PAGE = 4096, HUGE_PAGE = 2 << 20, LARGE = 8 << 20, MAPPED = 32 << 20 };

/* Requests huge pages for the parts of a block that contain whole huge pages. */
static void advise(void *block, size_t size) {
#ifdef MADV_HUGEPAGE
  uintptr_t first = ((uintptr_t)block + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
  uintptr_t end = ((uintptr_t)block + size) & ~(uintptr_t)(HUGE_PAGE - 1);
  if (first < end) {
    /* Failure is ignored, because huge pages are optional. */
    (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
  }
#else
  (void)block;
  (void)size;
#endif
}

static void *heap_alloc(void *block, size_t new_size) {
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  void *result = realloc(block, new_size);
  if (result != NULL && new_size >= LARGE) {
    advise(result, new_size);
  }
  return result;
}

/* Sanitizers check only memory from malloc. */
#if defined(__linux__) && !defined(BLIS_SANITIZE)

/* Returns the bytes of the mapping for a block; 0 if the size overflows. */
static size_t mapping_size(size_t size) {
  return size > SIZE_MAX - 2 * (size_t)HUGE_PAGE ? 0 : (size + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* Returns a mapping that starts at a huge page, or NULL. */
static void *map(size_t size) {
  size_t length = mapping_size(size);
  if (length == 0) {
    return NULL;
  }
  char *start =
      mmap(NULL, length + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    return NULL;
  }
  size_t before = -(uintptr_t)start & (HUGE_PAGE - 1);
  if (before > 0) {
    (void)munmap(start, before);
  }
  if (before < HUGE_PAGE) {
    (void)munmap(start + before + length, HUGE_PAGE - before);
  }
#ifdef MADV_HUGEPAGE
  /* Applied up to the last page, because a mapping with two kinds of pages could not be moved as
     a whole. */
  (void)madvise(start + before, length, MADV_HUGEPAGE);
#endif
  return start + before;
}

/* Changes the size of a mapping. Returns NULL on failure; the mapping is unchanged. */
static void *remap(void *block, size_t old_size, size_t new_size) {
  size_t old_length = mapping_size(old_size);
  size_t new_length = mapping_size(new_size);
  if (new_length == 0) {
    return NULL;
  }
  void *result = mremap(block, old_length, new_length, 0);
  if (result != MAP_FAILED) {
    return result;
  }
  void *target = map(new_size);
  if (target != NULL) {
    result = mremap(block, old_length, new_length, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    if (result == MAP_FAILED) {
      (void)munmap(target, new_length);
    }
    return result == MAP_FAILED ? NULL : result;
  }
  /* A limit on the address space may not allow both mappings at the same time. */
  result = mremap(block, old_length, new_length, MREMAP_MAYMOVE);
  return result == MAP_FAILED ? NULL : result;
}

/* Moves a block from the heap to a mapping or back. */
static void *change_kind(void *block, size_t old_size, size_t new_size) {
  void *result = new_size >= MAPPED ? map(new_size) : malloc(new_size);
  if (result == NULL || block == NULL) {
    return result;
  }
  memcpy(result, block, old_size < new_size ? old_size : new_size);
  if (old_size >= MAPPED) {
    (void)munmap(block, mapping_size(old_size));
  } else {
    free(block);
  }
  return result;
}

static void *large_alloc(void *block, size_t old_size, size_t new_size) {
  bool was_mapped = block != NULL && old_size >= MAPPED;
  bool is_mapped = new_size >= MAPPED;
  if (!was_mapped && !is_mapped) {
    return heap_alloc(block, new_size);
  }
  if (was_mapped && is_mapped) {
    return remap(block, old_size, new_size);
  }
  if (new_size == 0) {
    (void)munmap(block, mapping_size(old_size));
    return NULL;
  }
  return change_kind(block, old_size, new_size);
}

/* Blocks of up to SMALL bytes have sizes that are multiples of STEP, and are allocated from
   slabs. */
enum { STEP = 16, SMALL = 512, SLAB = 64 << 10 };

typedef struct free_block {
  struct free_block *next;
} free_block;

/* The heap is global, like that of malloc. */
static struct {
  free_block *free[SMALL / STEP]; /* [i]: free blocks of (i + 1) * STEP bytes */
  char *rest;                     /* unused rest of the newest slab */
  size_t rest_size;
} small;

static bool is_small(size_t size) {
  return size - 1 < SMALL;
}

static size_t class_of(size_t size) {
  return (size - 1) / STEP;
}

/* Allocates a block of a class without free blocks. */
static void *cut_block(size_t size_class) {
  size_t size = (size_class + 1) * STEP;
  if (small.rest_size < size) {
    char *slab = malloc(SLAB);
    if (slab == NULL) {
      return malloc(size); /* a smaller allocation may still succeed */
    }
    small.rest = slab;
    small.rest_size = SLAB;
  }
  void *block = small.rest;
  small.rest += size;
  small.rest_size -= size;
  return block;
}

static void *take_block(size_t size_class) {
  free_block *block = small.free[size_class];
  if (block == NULL) {
    return cut_block(size_class);
  }
  small.free[size_class] = block->next;
  return block;
}

static void give_back(void *block, size_t size_class) {
  free_block *freed = block;
  freed->next = small.free[size_class];
  small.free[size_class] = freed;
}

/* Reallocates a block if the old or the new size is small. */
static void *small_alloc(void *block, size_t old_size, size_t new_size) {
  if (block == NULL) {
    return take_block(class_of(new_size));
  }
  if (new_size == 0) {
    give_back(block, class_of(old_size));
    return NULL;
  }
  bool was_small = is_small(old_size);
  bool becomes_small = is_small(new_size);
  if (was_small && becomes_small && class_of(old_size) == class_of(new_size)) {
    return block;
  }
  void *result = becomes_small ? take_block(class_of(new_size)) : large_alloc(NULL, 0, new_size);
  if (result == NULL) {
    return new_size < old_size ? block : NULL; /* shrinking must never fail */
  }
  memcpy(result, block, old_size < new_size ? old_size : new_size);
  if (was_small) {
    give_back(block, class_of(old_size));
  } else {
    large_alloc(block, old_size, 0);
  }
  return result;
}

/* Forgets the blocks that the parent has freed: they are scattered over its pages. */
static void forget_free_blocks(void) {
  memset(&small, 0, sizeof small);
}

void host_memory_watch_forks(void) {
  /* Without this handler, forked processes cost more but behave the same. */
  (void)pthread_atfork(NULL, NULL, forget_free_blocks);
}

void *host_memory_alloc(void *ud, void *block, size_t old_size, size_t new_size) {
  (void)ud;
  if (is_small(new_size) || (block != NULL && is_small(old_size))) {
    return small_alloc(block, old_size, new_size);
  }
  return large_alloc(block, old_size, new_size);
}

#else

void host_memory_watch_forks(void) {}

void *host_memory_alloc(void *ud, void *block, size_t old_size, size_t new_size) {
  (void)ud;
  (void)old_size;
  return heap_alloc(block, new_size);
}

#endif
