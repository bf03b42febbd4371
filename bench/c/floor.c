/*
 * The floor in C: the least that any server can do. It answers each GET with one head and each second write()s one shared buffer to every
 * listener in one go; no titles, no lag, no checks. The buffer is that of bench/floor.ts: 16,000 bytes of audio (whole frames of silence, the
 * rest an ID3v2 tag) and an empty ICY block, so that it passes all checks of listeners. Loopback only; its starter stops it.
 *
 *   floor PORT
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { METAINT = 16000, FRAME = 384, FILES = 1 << 16, EVENTS = 512 };

static const char HEAD[] =
    "HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-metaint: 16000\r\nConnection: close\r\n\r\n";
static unsigned char segment[METAINT + 1];
/* The listeners; and for each file descriptor, its index in that list plus one. */
static int listeners[FILES], count, place[FILES];

static void fill(void) {
  int frames = (METAINT - 10) / FRAME, tag = frames * FRAME, rest = METAINT - tag - 10;
  for (int i = 0; i < frames; i++) memcpy(segment + i * FRAME, "\xff\xfb\x94", 3);
  memcpy(segment + tag, "ID3\4", 4);
  segment[tag + 8] = rest >> 7;
  segment[tag + 9] = rest & 127;
}

static void leave(int file) {
  int at = place[file] - 1;
  close(file);
  place[file] = 0;
  if (at < 0) return;
  listeners[at] = listeners[--count];
  if (at < count) place[listeners[at]] = at + 1;
}

int main(int argc, char **argv) {
  if (argc != 2) return fprintf(stderr, "usage: floor PORT\n"), 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(server, (void *)&address, sizeof address) || listen(server, 4096)) return perror("floor"), 1;
  int poll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
  struct itimerspec second = {{1, 0}, {1, 0}};
  timerfd_settime(timer, 0, &second, 0);
  struct epoll_event one = {.events = EPOLLIN}, events[EVENTS];
  one.data.fd = server, epoll_ctl(poll, EPOLL_CTL_ADD, server, &one);
  one.data.fd = timer, epoll_ctl(poll, EPOLL_CTL_ADD, timer, &one);
  fill();
  for (char request[4096];;) {
    int ready = epoll_wait(poll, events, EVENTS, -1);
    for (int i = 0; i < ready; i++) {
      int file = events[i].data.fd;
      unsigned long ticks;
      if (file == server) {
        while ((one.data.fd = accept4(server, 0, 0, SOCK_NONBLOCK)) >= 0)
          if (one.data.fd >= FILES) close(one.data.fd);
          else epoll_ctl(poll, EPOLL_CTL_ADD, one.data.fd, &one);
      } else if (file == timer) {
        if (read(timer, &ticks, sizeof ticks) < 0) continue;
        for (int j = 0; j < count; j++) (void)!send(listeners[j], segment, sizeof segment, MSG_NOSIGNAL);
      } else if (recv(file, request, sizeof request, 0) <= 0) leave(file);
      else if (!place[file]) {
        /* Sends the first audio at once, like a server with a burst: it ends the measured time of a join. */
        (void)!send(file, HEAD, sizeof HEAD - 1, MSG_NOSIGNAL);
        (void)!send(file, segment, sizeof segment, MSG_NOSIGNAL);
        listeners[count++] = file;
        place[file] = count;
      }
    }
  }
}
