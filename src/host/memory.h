/*
 * memory.h - the program's heap: malloc, with large blocks in huge pages.
 *
 * A sweep forks the program; what a fork costs grows with the number of pages
 * (29 ms for 1 GB in pages of 4 KB, 0.3 ms in huge ones), and filling a large
 * workload is quicker too.
 */
#ifndef BLIS_HOST_MEMORY_H
#define BLIS_HOST_MEMORY_H

#include <stddef.h>

/*
 * A lua_Alloc: blocks are malloc's, and from 32 MB on, on Linux, mappings of
 * their own. old_size must be true, as lua_Alloc says.
 */
void *host_memory_alloc(void *ud, void *block, size_t old_size,
                        size_t new_size);

#endif
