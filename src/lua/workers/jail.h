/*
 * jail.h - lets a process drop access to everything that a simulation does not need: files, other
 * processes, the network, core dumps. This cannot be undone.
 *
 * It is the second isolation layer around untrusted scripts; the first layer is the environment of
 * lua/blis/sandbox.lua. With libseccomp the kernel refuses every system call except memory, output
 * to open files, and exit. Opening a file fails with ENOENT. Starting a process or opening a
 * connection ends the process with SIGSYS. Everything else fails with EPERM. Without libseccomp
 * only resource limits apply: no file can be opened.
 */
#ifndef BLIS_LUA_WORKERS_JAIL_H
#define BLIS_LUA_WORKERS_JAIL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct blis_jail_limits {
  int64_t cpu_s;        /* CPU time until SIGXCPU; 0 = no limit */
  int64_t memory_bytes; /* in addition to the address space in use; 0 = no limit */
} blis_jail_limits;

/*
 * Returns true if system calls are filtered now. Returns false if only limits apply, because
 * libseccomp is missing or the kernel refuses filters.
 */
bool blis_jail_enter(const blis_jail_limits *limits);

/*
 * Performs the common part of restricting a process in advance. Processes that are forked
 * afterwards skip this part, which is a third of the cost. Returns false if calls cannot be
 * filtered.
 */
bool blis_jail_prepare(void);

/* Returns whether this build can filter system calls at all. */
bool blis_jail_can_filter(void);

/*
 * Limits the address space to the current use plus this number of bytes. Has no effect if that
 * exceeds the current limit.
 */
void blis_jail_limit_memory(int64_t bytes);

/* Makes the process end when its parent ends. The parent must still be the process `parent`. */
void blis_jail_die_with(int64_t parent);

#endif
