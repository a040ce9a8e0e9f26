#include "observe/waiter.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/epoll.h>
#include <sys/timerfd.h>
#endif

void blis__waiter_init(blis__waiter *waiter) {
  *waiter = (blis__waiter){.epoll = -1, .timer = -1};
}

#ifdef __linux__

enum { EVENTS = 256, GIGA = 1000000000 };

blis_status blis__waiter_open(blis__waiter *waiter, const blis_alloc *alloc, blis_error *error) {
  waiter->alloc = *alloc;
  waiter->epoll = epoll_create1(EPOLL_CLOEXEC);
  waiter->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data = {.fd = waiter->timer}};
  if (waiter->epoll < 0 || waiter->timer < 0 ||
      epoll_ctl(waiter->epoll, EPOLL_CTL_ADD, waiter->timer, &event) != 0) {
    return blis_fail(error, BLIS_ERR_IO, "cannot wait for sockets: %s", strerror(errno));
  }
  return BLIS_OK;
}

void blis__waiter_close(blis__waiter *waiter) {
  if (waiter->epoll >= 0) {
    close(waiter->epoll);
  }
  if (waiter->timer >= 0) {
    close(waiter->timer);
  }
}

void blis__waiter_set(blis__waiter *waiter, int socket, bool is_known, bool reads, bool writes) {
  struct epoll_event event = {.events = (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u),
                              .data = {.fd = socket}};
  if (epoll_ctl(waiter->epoll, is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event) != 0 &&
      errno == ENOENT) {
    epoll_ctl(waiter->epoll, EPOLL_CTL_ADD, socket, &event);
  }
}

void blis__waiter_remove(blis__waiter *waiter, int socket) {
  struct epoll_event event = {.events = 0};
  epoll_ctl(waiter->epoll, EPOLL_CTL_DEL, socket, &event);
}

void blis__waiter_wait(blis__waiter *waiter, int64_t until_ns,
                       void (*ready)(void *ud, int socket, bool reads, bool writes, bool fails),
                       void *ud) {
  struct epoll_event events[EVENTS];
  /* A time of 0 would disable the timer. */
  int64_t at_ns = until_ns > 0 ? until_ns : 1;
  const struct itimerspec when = {
      .it_value = {.tv_sec = (time_t)(at_ns / GIGA), .tv_nsec = (long)(at_ns % GIGA)}};
  timerfd_settime(waiter->timer, TFD_TIMER_ABSTIME, &when, NULL);
  int count = epoll_wait(waiter->epoll, events, EVENTS, -1);
  for (int i = 0; i < count; i++) {
    uint32_t what = events[i].events;
    if (events[i].data.fd == waiter->timer) {
      uint64_t expirations;
      ssize_t ignored = read(waiter->timer, &expirations, sizeof expirations);
      (void)ignored;
    } else {
      ready(ud, events[i].data.fd, (what & (EPOLLIN | EPOLLHUP)) != 0, (what & EPOLLOUT) != 0,
            (what & EPOLLERR) != 0);
    }
  }
}

#else

blis_status blis__waiter_open(blis__waiter *waiter, const blis_alloc *alloc, blis_error *error) {
  (void)error;
  waiter->alloc = *alloc;
  return BLIS_OK;
}

void blis__waiter_close(blis__waiter *waiter) {
  blis_array_deinit(&waiter->alloc, &waiter->sockets);
}

static struct pollfd *find(blis__waiter *waiter, int socket) {
  for (size_t i = 0; i < waiter->sockets.count; i++) {
    if (waiter->sockets.items[i].fd == socket) {
      return &waiter->sockets.items[i];
    }
  }
  return NULL;
}

void blis__waiter_set(blis__waiter *waiter, int socket, bool is_known, bool reads, bool writes) {
  (void)is_known;
  struct pollfd *its = find(waiter, socket);
  const struct pollfd wanted = {.fd = socket,
                                .events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0))};
  if (its != NULL) {
    *its = wanted;
  } else if (blis_array_push(&waiter->alloc, &waiter->sockets, wanted) != BLIS_OK) {
    return; /* the request then fails because it receives no bytes */
  }
}

void blis__waiter_remove(blis__waiter *waiter, int socket) {
  struct pollfd *its = find(waiter, socket);
  if (its != NULL) {
    *its = waiter->sockets.items[--waiter->sockets.count];
  }
}

void blis__waiter_wait(blis__waiter *waiter, int64_t until_ns,
                       void (*ready)(void *ud, int socket, bool reads, bool writes, bool fails),
                       void *ud) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t left_ms = (until_ns - ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec)) / 1000000;
  poll(waiter->sockets.items, (nfds_t)waiter->sockets.count, left_ms > 0 ? (int)left_ms : 0);
  for (size_t i = waiter->sockets.count; i-- > 0;) {
    const struct pollfd its = waiter->sockets.items[i];
    if (its.revents != 0) {
      ready(ud, its.fd, (its.revents & (POLLIN | POLLHUP)) != 0, (its.revents & POLLOUT) != 0,
            (its.revents & POLLERR) != 0);
    }
  }
}

#endif
