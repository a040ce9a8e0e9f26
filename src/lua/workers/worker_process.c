#include "lua/workers/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/invariant.h"
#include "lua/workers/jail.h"

enum { READ_SIZE = 1 << 16 };

/* ---- inside the worker ------------------------------------------------- */

static bool send_all(int socket, const void *data, size_t size) {
  const char *bytes = data;
  while (size > 0) {
    ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent <= 0) {
      return false;
    }
    bytes += sent;
    size -= (size_t)sent;
  }
  return true;
}

static bool receive_task(int socket, int64_t *task) {
  char *bytes = (char *)task;
  size_t missing = sizeof *task;
  while (missing > 0) {
    ssize_t got = recv(socket, bytes, missing, 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return false;
    }
    bytes += got;
    missing -= (size_t)got;
  }
  return true;
}

/*
 * Moves to a separate process group. Ctrl-C then reaches only the parent, which handles it, and the
 * parent can also end the processes that a task has started.
 */
static void leave_terminal(void) {
  (void)setpgid(0, 0);
  static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
  for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
    (void)signal(handled[i], SIG_DFL); /* the handlers belong to the parent */
  }
  int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) {
    (void)dup2(nothing, STDIN_FILENO);
    close(nothing);
  }
  (void)dup2(STDERR_FILENO, STDOUT_FILENO);
}

static bool answer(int socket, int64_t task, blis_worker_outcome outcome, const blis_buffer *text) {
  if (text->has_failed) {
    outcome = BLIS_WORKER_NO_MEMORY;
  }
  blis__worker_header header = {
      .task = task, .outcome = (uint32_t)outcome, .length = (uint32_t)text->length};
  /* Output of a task must appear before its end is reported. */
  (void)fflush(NULL);
  return send_all(socket, &header, sizeof header) && send_all(socket, text->data, text->length) &&
         outcome != BLIS_WORKER_NO_MEMORY;
}

_Noreturn static void run_worker(int socket, const blis_worker_options *options,
                                 blis_buffer *text) {
  blis_jail_limit_memory(options->memory_limit_bytes);
  int64_t task = 0;
  bool goes_on = true;
  while (goes_on && receive_task(socket, &task)) {
    blis_buffer_clear(text);
    blis_worker_outcome outcome = options->work(options->ud, task, text);
    goes_on = answer(socket, task, outcome, text) && !options->is_fresh;
  }
  _exit(0);
}

/* ---- in the parent ----------------------------------------------------- */

static blis_status fail(const char *what, blis_error *error) {
  return blis_fail(error, BLIS_ERR_IO, "%s: %s", what, strerror(errno));
}

blis_status blis__worker_start(blis__worker *worker, const blis_worker_options *options,
                               const blis__worker *others, int count, blis_error *error) {
  BLIS_ASSERT(worker->process == 0 && !worker->is_busy);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
    return fail("cannot create a socket for a worker process", error);
  }
  for (int i = 0; i < 2; i++) {
    (void)fcntl(pair[i], F_SETFD, FD_CLOEXEC);
  }
  (void)fflush(NULL); /* otherwise both processes would write the buffered output */
  pid_t parent = getpid();
  pid_t process = fork();
  if (process < 0) {
    blis_status status = fail("cannot start a worker process", error);
    close(pair[0]);
    close(pair[1]);
    return status;
  }
  if (process == 0) {
    blis_jail_die_with((int64_t)parent);
    close(pair[0]);
    for (int i = 0; i < count; i++) {
      if (others[i].process != 0) {
        close(others[i].socket);
      }
    }
    leave_terminal();
    run_worker(pair[1], options, &worker->input);
  }
  (void)setpgid(process, process); /* both processes call it, because their order is undefined */
  close(pair[1]);
  worker->process = process;
  worker->socket = pair[0];
  worker->is_busy = false;
  blis_buffer_clear(&worker->input);
  return BLIS_OK;
}

bool blis__worker_send(blis__worker *worker, int64_t task) {
  BLIS_ASSERT(worker->process > 0 && !worker->is_busy);
  worker->is_busy = send_all(worker->socket, &task, sizeof task);
  worker->task = task;
  return worker->is_busy;
}

static void read_header(const blis__worker *worker, blis__worker_header *header) {
  memcpy(header, worker->input.data, sizeof *header);
}

static bool is_complete(const blis__worker *worker) {
  blis__worker_header header;
  if (worker->input.length < sizeof header) {
    return false;
  }
  read_header(worker, &header);
  BLIS_ASSERT(worker->input.length <= sizeof header + header.length);
  return worker->input.length == sizeof header + header.length;
}

blis__worker_news blis__worker_receive(blis__worker *worker) {
  for (;;) {
    char *room = blis_buffer_reserve(&worker->input, READ_SIZE);
    if (room == NULL) {
      return BLIS__WORKER_GONE;
    }
    ssize_t got = recv(worker->socket, room, READ_SIZE, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return BLIS__WORKER_SILENT;
    }
    if (got <= 0) {
      return BLIS__WORKER_GONE;
    }
    worker->input.length += (size_t)got;
    if (is_complete(worker)) {
      return BLIS__WORKER_ANSWERED;
    }
  }
}

void blis__worker_result(const blis__worker *worker, blis_worker_result *result) {
  blis__worker_header header;
  read_header(worker, &header);
  result->task = header.task;
  result->outcome = (blis_worker_outcome)header.outcome;
  result->detail = 0;
  result->text.data = worker->input.data + sizeof header;
  result->text.length = header.length;
}

blis_worker_outcome blis__worker_stop(blis__worker *worker, int *detail) {
  BLIS_ASSERT(worker->process > 0); /* 0 would mean all processes of our group */
  int status = 0;
  /* A process that is already ending keeps its own exit status. */
  (void)kill(-worker->process, SIGKILL);
  (void)kill(worker->process, SIGKILL);
  pid_t waited;
  do {
    waited = waitpid(worker->process, &status, 0);
  } while (waited < 0 && errno == EINTR);
  close(worker->socket);
  worker->process = 0;
  worker->is_busy = false;
  if (waited > 0 && WIFEXITED(status)) {
    *detail = WEXITSTATUS(status);
    return BLIS_WORKER_EXITED;
  }
  *detail = waited > 0 ? WTERMSIG(status) : SIGKILL;
  return BLIS_WORKER_KILLED;
}
