/* test_jail.c - what a process can and cannot do any more, each in a fork. */
#include "lua/workers/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { NO_FILTER = 99 };

/* Ends with what attempt returned, in a process that has gone to jail. */
static int status_of(int (*attempt)(void), int64_t cpu_s) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    const blis_jail_limits limits = {.cpu_s = cpu_s};
    bool is_filtered = blis_jail_enter(&limits);
    _exit(is_filtered || cpu_s > 0 ? attempt() : NO_FILTER);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

static int do_nothing(void) {
  void *block = malloc(1 << 20); /* memory is allowed */
  bool is_there = block != NULL;
  free(block);
  return is_there ? 0 : 1;
}

static int open_a_file(void) {
  errno = 0;
  return open("/etc/passwd", O_RDONLY) < 0 && errno == ENOENT ? 0 : 1;
}

static int make_a_file(void) {
  return open("/tmp/blis_jail", O_CREAT | O_WRONLY, 0600) < 0 ? 0 : 1;
}

static int signal_the_parent(void) {
  return kill(getppid(), 0) != 0 ? 0 : 1;
}

static int start_a_process(void) {
  return fork() == 0 ? 0 : 1;
}

static int run_a_program(void) {
  return execl("/bin/true", "true", (char *)NULL);
}

static int open_a_socket(void) {
  return socket(AF_INET, SOCK_STREAM, 0);
}

static int loop(void) {
  for (volatile int i = 0; i >= 0; i = (i + 1) & 1) {
  }
  return 0;
}

static void test_what_fails(void) {
  static int (*const attempts[])(void) = {do_nothing, open_a_file, make_a_file};
  for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
    int status = status_of(attempts[i], 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == NO_FILTER);
    CHECK((WEXITSTATUS(status) == NO_FILTER) == !blis_jail_can_filter());
  }
}

static void test_what_kills(void) {
  static int (*const attempts[])(void) = {start_a_process, run_a_program, open_a_socket,
                                          signal_the_parent};
  for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
    int status = status_of(attempts[i], 0);
    if (blis_jail_can_filter()) {
      CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    }
  }
}

static void test_time(void) {
  int status = status_of(loop, 1);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU);
}

int main(void) {
  RUN(test_what_fails);
  RUN(test_what_kills);
  RUN(test_time);
  return check_done();
}
