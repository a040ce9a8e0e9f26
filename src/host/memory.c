#define _DEFAULT_SOURCE /* madvise */
#include "host/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20, LARGE = 8 << 20 };

/* Asks for huge pages where they lie wholly inside the block. */
static void advise(void *block, size_t size) {
#ifdef MADV_HUGEPAGE
  uintptr_t first =
      ((uintptr_t)block + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
  uintptr_t end = ((uintptr_t)block + size) & ~(uintptr_t)(HUGE_PAGE - 1);
  if (first < end) {
    /* Without them everything works as well. */
    (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
  }
#else
  (void)block;
  (void)size;
#endif
}

void *host_memory_alloc(void *ud, void *block, size_t old_size,
                        size_t new_size) {
  (void)ud;
  (void)old_size;
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
