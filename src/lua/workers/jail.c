#define _GNU_SOURCE /* memfd_create */
#include "lua/workers/jail.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#ifdef BLIS_HAVE_SECCOMP
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#endif

/* Returns the address space of the process, to which its limit is added. */
static rlim_t address_space(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file != NULL) {
    if (fscanf(file, "%lu", &pages) != 1) {
      pages = 0;
    }
    fclose(file);
  }
  return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

void blis_jail_limit_memory(int64_t bytes) {
  struct rlimit limit;
  if (bytes <= 0 || getrlimit(RLIMIT_AS, &limit) != 0) {
    return;
  }
  rlim_t wanted = address_space() + (rlim_t)bytes;
  if (limit.rlim_max == RLIM_INFINITY || wanted < limit.rlim_max) {
    limit.rlim_cur = wanted;
    (void)setrlimit(RLIMIT_AS, &limit);
  }
}

void blis_jail_die_with(int64_t parent) {
#ifdef __linux__
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (getppid() != (pid_t)parent) {
    _exit(0);
  }
}

/* Sets a resource limit to 0 if no more can be allocated. */
static void deny(int resource, rlim_t most) {
  const struct rlimit none = {.rlim_cur = most, .rlim_max = most};
  (void)setrlimit(resource, &none);
}

static void limit_resources(const blis_jail_limits *limits) {
  deny(RLIMIT_CORE, 0);
  deny(RLIMIT_NOFILE, 0); /* open files remain open */
#ifdef RLIMIT_NPROC
  deny(RLIMIT_NPROC, 0);
#endif
  if (limits->cpu_s > 0) {
    const struct rlimit cpu = {.rlim_cur = (rlim_t)limits->cpu_s,
                               .rlim_max = (rlim_t)limits->cpu_s + 1};
    (void)setrlimit(RLIMIT_CPU, &cpu);
  }
  blis_jail_limit_memory(limits->memory_bytes);
}

#ifdef BLIS_HAVE_SECCOMP

/* System calls for memory, for writing to open files, for times, and for exit. */
static const int allowed[] = {
    SCMP_SYS(brk),           SCMP_SYS(mmap),         SCMP_SYS(munmap),      SCMP_SYS(mremap),
    SCMP_SYS(mprotect),      SCMP_SYS(madvise),      SCMP_SYS(write),       SCMP_SYS(writev),
    SCMP_SYS(sendto),        SCMP_SYS(fstat),        SCMP_SYS(lseek),       SCMP_SYS(close),
    SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(futex),       SCMP_SYS(rt_sigreturn),
    SCMP_SYS(getpid),        SCMP_SYS(gettid),       SCMP_SYS(sched_yield), SCMP_SYS(exit),
    SCMP_SYS(exit_group),    SCMP_SYS(sigaltstack),
};

/* These calls fail as if the disk were empty. */
static const int absent[] = {
    SCMP_SYS(open),     SCMP_SYS(openat),     SCMP_SYS(openat2),    SCMP_SYS(creat),
    SCMP_SYS(stat),     SCMP_SYS(lstat),      SCMP_SYS(newfstatat), SCMP_SYS(statx),
    SCMP_SYS(access),   SCMP_SYS(faccessat),  SCMP_SYS(unlink),     SCMP_SYS(unlinkat),
    SCMP_SYS(readlink), SCMP_SYS(rename),     SCMP_SYS(renameat2),  SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),  SCMP_SYS(readlinkat),
};

/* blis never makes these calls in a restricted process, so any such call indicates a compromised
   process. */
static const int fatal[] = {
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(clone),
    SCMP_SYS(clone3),
    SCMP_SYS(socket),
    SCMP_SYS(connect),
    SCMP_SYS(bind),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(kill),
    SCMP_SYS(bpf),
    SCMP_SYS(process_vm_writev),
};

static bool add_rules(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t count) {
  for (size_t i = 0; i < count; i++) {
    /* A call that does not exist on this architecture needs no rule. */
    if (calls[i] >= 0 && seccomp_rule_add(filter, action, calls[i], 0) != 0) {
      return false;
    }
  }
  return true;
}

#define ADD_RULES(filter, action, calls)                                                           \
  add_rules(filter, action, calls, sizeof(calls) / sizeof(calls)[0])

static scmp_filter_ctx make_filter(void) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (filter == NULL) {
    return NULL;
  }
  if (!ADD_RULES(filter, SCMP_ACT_ALLOW, allowed) ||
      !ADD_RULES(filter, SCMP_ACT_ERRNO(ENOENT), absent) ||
      !ADD_RULES(filter, SCMP_ACT_KILL_PROCESS, fatal)) {
    seccomp_release(filter);
    return NULL;
  }
  return filter;
}

/* The filter in the kernel's format. It is created once; forked processes inherit it. */
enum { INSTRUCTIONS_MAX = 1024 };
static struct sock_filter instructions[INSTRUCTIONS_MAX];
static struct sock_fprog program = {.filter = instructions};

static bool compile(scmp_filter_ctx filter) {
  int file = memfd_create("filter", MFD_CLOEXEC);
  if (file < 0) {
    return false;
  }
  bool is_there = seccomp_export_bpf(filter, file) == 0;
  off_t size = is_there ? lseek(file, 0, SEEK_END) : 0;
  is_there = size > 0 && (size_t)size <= sizeof instructions &&
             pread(file, instructions, (size_t)size, 0) == size;
  close(file);
  if (is_there) {
    program.len = (unsigned short)((size_t)size / sizeof *instructions);
  }
  return is_there;
}

bool blis_jail_prepare(void) {
  if (program.len > 0) {
    return true;
  }
  scmp_filter_ctx filter = make_filter();
  if (filter == NULL) {
    return false;
  }
  bool is_there = compile(filter);
  seccomp_release(filter);
  return is_there;
}

static bool filter_calls(void) {
  return program.len > 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool blis_jail_can_filter(void) {
  return true;
}

#else

bool blis_jail_prepare(void) {
  return false;
}

static bool filter_calls(void) {
  return false;
}

bool blis_jail_can_filter(void) {
  return false;
}

#endif

bool blis_jail_enter(const blis_jail_limits *limits) {
  (void)blis_jail_prepare(); /* afterwards no file can be opened */
  limit_resources(limits);
  return filter_calls();
}
