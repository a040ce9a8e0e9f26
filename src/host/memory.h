/*
 * memory.h - the program's heap: small blocks from free lists, large blocks in huge pages, malloc
 * for the sizes between.
 *
 * A sweep forks the program. The cost of a fork grows with the number of pages (29 ms for 1 GB in
 * pages of 4 KB, 0.3 ms in huge pages), and filling a large workload is faster in huge pages. Lua
 * and short runs allocate many small blocks and free them soon. The caller passes the size when it
 * frees a block, so a free list per size serves them in a few instructions. Such memory stays
 * reserved for small blocks. The heap is for one thread.
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
 * Makes processes forked afterwards take small blocks from separate memory, close together. Free
 * blocks of the parent are on shared pages: a process that used one would first copy its page.
 */
void host_memory_watch_forks(void);

#endif
