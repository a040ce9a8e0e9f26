#include "lua/workers/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/invariant.h"
#include "lua/bind/interrupt.h"
#include "lua/workers/jail.h"

enum { READ_SIZE = 1 << 12, LOOK_MS = 100, GRACE_MS = 1000 };

_Noreturn static void become(const char *command, int socket, pid_t parent) {
  blis_jail_die_with((int64_t)parent);
  (void)setpgid(0, 0); /* Ctrl-C must reach only the parent */
  (void)signal(SIGINT, SIG_DFL);
  (void)signal(SIGPIPE, SIG_DFL);
  if (dup2(socket, STDIN_FILENO) >= 0 && dup2(socket, STDOUT_FILENO) >= 0) {
    (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  }
  _exit(127);
}

blis_status blis_child_start(blis_child_process *child, const char *command,
                             const blis_alloc *alloc, blis_error *error) {
  BLIS_ASSERT(child->process == 0);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return blis_fail(error, BLIS_ERR_IO, "cannot make a socket: %s", strerror(errno));
  }
  (void)fflush(NULL);
  pid_t parent = getpid();
  pid_t process = fork();
  if (process == 0) {
    become(command, pair[1], parent);
  }
  int problem = errno;
  close(pair[1]);
  if (process < 0) {
    close(pair[0]);
    return blis_fail(error, BLIS_ERR_IO, "cannot start a process: %s", strerror(problem));
  }
  (void)setpgid(process, process); /* both processes call it; the first call takes effect */
  child->process = process;
  child->owner = parent;
  child->socket = pair[0];
  blis_buffer_init(&child->heard, alloc);
  return BLIS_OK;
}

static int64_t clock_ms(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for a short time for the process to end without a signal. */
static bool has_ended(const blis_child_process *child, int *status) {
  int64_t until_ms = clock_ms() + GRACE_MS;
  pid_t ended = 0;
  do {
    ended = waitpid((pid_t)child->process, status, WNOHANG);
    if (ended == 0) {
      (void)poll(NULL, 0, 1);
    }
  } while (ended == 0 && clock_ms() < until_ms);
  return ended > 0;
}

static void forget(blis_child_process *child) {
  close(child->socket);
  blis_buffer_deinit(&child->heard);
  *child = (blis_child_process){0};
}

/* Kills the process and all processes that it has started. */
static void end(blis_child_process *child, bool was_waited_for) {
  (void)kill(-(pid_t)child->process, SIGKILL);
  if (!was_waited_for) {
    while (waitpid((pid_t)child->process, NULL, 0) < 0 && errno == EINTR) {
    }
  }
  forget(child);
}

/* Reports a child whose streams are closed, with its exit status if there is one. */
static blis_status fail_gone(blis_child_process *child, blis_error *error) {
  int status = 0;
  bool was_waited_for = has_ended(child, &status);
  end(child, was_waited_for);
  if (!was_waited_for) {
    return blis_fail(error, BLIS_ERR_IO, "it has closed its output");
  }
  return WIFEXITED(status)
             ? blis_fail(error, BLIS_ERR_IO, "it has ended with status %d", WEXITSTATUS(status))
             : blis_fail(error, BLIS_ERR_IO, "it was killed by signal %d", WTERMSIG(status));
}

/* Reads the available output; *is_open is false at its end. */
static blis_status hear(blis_child_process *child, bool *is_open, blis_error *error) {
  char *room = blis_buffer_reserve(&child->heard, READ_SIZE);
  BLIS_TRY_NEW(room, error);
  ssize_t got = recv(child->socket, room, READ_SIZE, MSG_DONTWAIT);
  *is_open = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  child->heard.length += got > 0 ? (size_t)got : 0;
  return BLIS_OK;
}

static const char *line_end(const blis_child_process *child) {
  return child->heard.length == 0 ? NULL : memchr(child->heard.data, '\n', child->heard.length);
}

/* Sends as much of the rest of the line as possible. */
static bool tell(const blis_child_process *child, blis_slice line, size_t *sent) {
  ssize_t now =
      send(child->socket, line.data + *sent, line.length - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);
  *sent += now > 0 ? (size_t)now : 0;
  return now >= 0 || errno == EAGAIN || errno == EINTR;
}

/* Sends and reads as much as possible without blocking. */
static blis_status exchange_some(blis_child_process *child, blis_slice line, int64_t left_ms,
                                 size_t *sent, bool *is_open, blis_error *error) {
  struct pollfd polled = {.fd = child->socket, .events = POLLIN};
  polled.events |= *sent < line.length ? POLLOUT : 0;
  int ready = poll(&polled, 1, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS);
  if (ready <= 0) {
    return BLIS_OK;
  }
  if ((polled.revents & ~POLLOUT) != 0) {
    BLIS_TRY(hear(child, is_open, error));
  }
  if (*is_open && (polled.revents & POLLOUT) != 0) {
    *is_open = tell(child, line, sent);
  }
  return BLIS_OK;
}

/* Repeats the exchange until a line has been received. */
static blis_status exchange(blis_child_process *child, blis_slice line, int64_t timeout_ms,
                            blis_error *error) {
  int64_t until_ms = clock_ms() + timeout_ms;
  size_t sent = 0;
  bool is_open = true;
  while (line_end(child) == NULL) {
    int64_t left_ms = until_ms - clock_ms();
    if (!is_open) {
      return fail_gone(child, error);
    }
    if (blis_interrupt_requested()) {
      return blis_fail(error, BLIS_ERR_INTERRUPTED, "interrupted");
    }
    if (left_ms <= 0) {
      return blis_fail(error, BLIS_ERR_IO, "it has not answered within %" PRId64 " ms", timeout_ms);
    }
    if (child->heard.length > BLIS_ANSWER_MAX_BYTES) {
      return blis_fail(error, BLIS_ERR_IO, "its answer is longer than a line of 1 MiB");
    }
    BLIS_TRY(exchange_some(child, line, left_ms, &sent, &is_open, error));
  }
  return sent == line.length
             ? BLIS_OK
             : blis_fail(error, BLIS_ERR_IO, "it answers before it has read the question");
}

static blis_status ask(blis_child_process *child, blis_slice line, int64_t timeout_ms,
                       blis_slice *answer, blis_error *error) {
  bool is_open = true;
  blis_buffer_clear(&child->heard);
  BLIS_TRY(hear(child, &is_open, error)); /* expects no output, because none was requested */
  if (child->heard.length == 0) {
    BLIS_TRY(exchange(child, line, timeout_ms, error));
  }
  const char *newline = line_end(child);
  size_t length = newline == NULL ? 0 : (size_t)(newline - child->heard.data) + 1;
  if (length != child->heard.length) {
    return blis_fail(error, BLIS_ERR_IO, "it writes more than one line per request");
  }
  *answer = (blis_slice){.data = child->heard.data, .length = length - 1};
  return BLIS_OK;
}

blis_status blis_child_ask(blis_child_process *child, blis_slice line, int64_t timeout_ms,
                           blis_slice *answer, blis_error *error) {
  if (child->process == 0) {
    return blis_fail(error, BLIS_ERR_IO, "it has ended");
  }
  blis_status status = ask(child, line, timeout_ms, answer, error);
  if (status != BLIS_OK && child->process != 0) {
    end(child, false);
  }
  return status;
}

void blis_child_stop(blis_child_process *child) {
  if (child->process == 0) {
    return;
  }
  if (child->owner != (int64_t)getpid()) { /* this process is a forked copy of the owner */
    forget(child);
    return;
  }
  int status = 0;
  (void)shutdown(child->socket, SHUT_WR);
  end(child, has_ended(child, &status));
}
