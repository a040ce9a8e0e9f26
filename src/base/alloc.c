#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *heap_fn(void *ud, void *block, size_t old_size, size_t new_size) {
  (void)ud;
  (void)old_size;
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  return realloc(block, new_size);
}

blis_alloc blis_alloc_heap(void) {
  return (blis_alloc){.fn = heap_fn, .ud = NULL};
}

void *blis_alloc_new(const blis_alloc *alloc, size_t size) {
  return alloc->fn(alloc->ud, NULL, 0, size);
}

void *blis_alloc_zeroed(const blis_alloc *alloc, size_t count, size_t item_size) {
  if (item_size != 0 && count > SIZE_MAX / item_size) {
    return NULL;
  }
  void *block = blis_alloc_new(alloc, count * item_size);
  if (block != NULL) {
    memset(block, 0, count * item_size);
  }
  return block;
}

void blis_alloc_free(const blis_alloc *alloc, void *block, size_t size) {
  if (block != NULL) {
    alloc->fn(alloc->ud, block, size, 0);
  }
}

static int must_refuse(const blis_alloc_probe *probe) {
  if (probe->fail_at == 0) {
    return 0;
  }
  return probe->requests == probe->fail_at ||
         (probe->fail_forever && probe->requests > probe->fail_at);
}

static void *probe_fn(void *ud, void *block, size_t old_size, size_t new_size) {
  blis_alloc_probe *probe = ud;
  if (new_size == 0) {
    probe->live_bytes -= old_size;
    free(block);
    return NULL;
  }
  probe->requests++;
  if (must_refuse(probe)) {
    return NULL;
  }
  void *grown = realloc(block, new_size);
  if (grown != NULL) {
    probe->live_bytes += new_size - old_size;
    if (probe->live_bytes > probe->peak_bytes) {
      probe->peak_bytes = probe->live_bytes;
    }
  }
  return grown;
}

blis_alloc blis_alloc_probed(blis_alloc_probe *probe) {
  return (blis_alloc){.fn = probe_fn, .ud = probe};
}
