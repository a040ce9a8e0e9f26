/*
 * jail.h - a process gives up what a simulation does not need: files, other
 * processes, the network, core dumps. There is no way back.
 *
 * It is the second wall around scripts from others: the first one is what
 * lua/blis/sandbox.lua offers them. With libseccomp the kernel refuses every
 * system call but those for memory, output to what is open and ending: files
 * are not there (ENOENT), attempts to start a process or to open a connection
 * end the process with SIGSYS, everything else fails with EPERM. Without it,
 * limits of resources are all there is: no file can be opened.
 */
#ifndef BLIS_LUA_WORKERS_JAIL_H
#define BLIS_LUA_WORKERS_JAIL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct blis_jail_limits {
  int64_t cpu_s;        /* then SIGXCPU; 0 = no limit */
  int64_t memory_bytes; /* on top of the address space in use; 0 = no limit */
} blis_jail_limits;

/*
 * True when system calls are filtered now; false when limits alone hold, for
 * lack of libseccomp or because the kernel refuses filters.
 */
bool blis_jail_enter(const blis_jail_limits *limits);

/* Does the common part of restricting a process once, so that processes forked afterwards skip
 * it: a third of the cost. Returns false if calls cannot be filtered. */
bool blis_jail_prepare(void);

/* Whether this build can filter system calls at all. */
bool blis_jail_can_filter(void);

/* Limits the address space to the current use plus this many bytes. No effect if that exceeds
 * the present limit. */
void blis_jail_limit_memory(int64_t bytes);

/* The process ends when its parent, which must still be that one, does. */
void blis_jail_die_with(int64_t parent);

#endif
