/*
 * memory.h - the program's heap: small blocks from lists of free ones, large
 * ones in huge pages, malloc between them.
 *
 * A sweep forks the program; what a fork costs grows with the number of pages
 * (29 ms for 1 GB in pages of 4 KB, 0.3 ms in huge ones), and filling a large
 * workload is quicker too. Lua and short runs ask for many small blocks and
 * give them back soon; their sizes are known when they come back, so that a
 * list of free blocks per size serves them in a few instructions. Such memory
 * stays with small blocks. All this is for one thread.
 */
#ifndef BLIS_HOST_MEMORY_H
#define BLIS_HOST_MEMORY_H

#include <stddef.h>

/*
 * A lua_Alloc: blocks of 32 MB and more are, on Linux, mappings of their own.
 * old_size must be true, as lua_Alloc says, and blocks must be from here: a
 * state has it from lua_newstate on.
 */
void *host_memory_alloc(void *ud, void *block, size_t old_size, size_t new_size);

/*
 * From now on, forked processes take small blocks from memory of their own,
 * close together: the ones that are free in the parent lie on pages that both
 * have, and a process that takes one of them copies its page first.
 */
void host_memory_watch_forks(void);

#endif
