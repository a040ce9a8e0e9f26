/*
 * memory.h - the program's heap: small blocks from free lists, large blocks in huge pages, and
 * malloc for the sizes in between.
 *
 * A sweep forks the program. The cost of a fork grows with the number of pages (29 ms for 1 GB in
 * pages of 4 KB, 0.3 ms in huge pages), and filling a large workload is faster in huge pages. Lua
 * and short runs allocate many small blocks and free them soon. Callers pass the size when they
 * free a block, so a free list per size serves small blocks in a few instructions. This memory
 * remains reserved for small blocks. The heap supports only one thread.
 */
#ifndef BLIS_HOST_MEMORY_H
#define BLIS_HOST_MEMORY_H

#include <stddef.h>

/*
 * A lua_Alloc. Blocks of 32 MB and more are separate mappings on Linux. old_size must be correct,
 * as lua_Alloc requires, and blocks must come from this allocator: pass it to lua_newstate.
 */
void *host_memory_alloc(void *ud, void *block, size_t old_size, size_t new_size);

/*
 * Makes processes that are forked afterwards allocate small blocks from separate, contiguous
 * memory. Free blocks of the parent are on shared pages, and a process that writes to one must
 * first copy its page.
 */
void host_memory_watch_forks(void);

#endif
