/*
 * Joins by an open-loop schedule: listener i is due i / RATE seconds after the start, regardless of the earlier ones, and its time runs from that
 * moment to its first byte of audio. All then stay for SECONDS. Each one's ICY phase is checked from the first byte to the last, and so are the
 * headers of MP3 frames (MPEG 1 layer III) if the stream begins with one. Loopback only; it ends by itself. Prints a line of JSON.
 *
 *   joins 127.0.0.1 PORT PATH LISTENERS RATE SECONDS [full | resumed]
 *
 * The last argument needs -DTLS and OpenSSL at compile time: TLS, with a full handshake for each, or with the session of an earlier connection for
 * all.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef TLS
#include <openssl/ssl.h>
#endif

enum { PER_ADDRESS = 20000, HEAD = 2048, EVENTS = 1024, MAX_SECONDS = 60 };

typedef struct {
  void *tls;
  int file, accepted, done, walks, got, asked;
  double due, first;
  char *head;
  long metaint, audio_left, block_left, frame_left;
  unsigned char header[10];
  long frames;
} Listener;

static long bytes, refused, dropped, icy_errors, breaks, frames, resumed, fd_poll;
static char request[1024];
static int request_length;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* Length of the MPEG 1 layer III frame or the ID3v2 tag that begins with these ten bytes; 0: neither. */
static long unit(const unsigned char *b) {
  static const int kbits[] = {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0}, hertz[] = {44100, 48000, 32000, 0};
  if (!memcmp(b, "ID3", 3)) return 10 + (b[6] << 21 | b[7] << 14 | b[8] << 7 | b[9]);
  int rate = hertz[b[2] >> 2 & 3], kbit = kbits[b[2] >> 4];
  if (b[0] != 0xff || (b[1] & 0xfe) != 0xfa || !rate || !kbit) return 0;
  return 144000L * kbit / rate + (b[2] >> 1 & 1);
}

static void audio(Listener *l, const unsigned char *b, long n) {
  if (l->walks < 0) return;
  for (long at = 0; at < n;) {
    if (l->frame_left > 0) {
      long step = l->frame_left < n - at ? l->frame_left : n - at;
      l->frame_left -= step, at += step;
      continue;
    }
    l->header[l->got++] = b[at++];
    if (l->got < 10) continue;
    long length = unit(l->header);
    l->got = 0;
    if (length >= 10) {
      l->walks = 1, l->frames++, frames++, l->frame_left = length - 10;
      continue;
    }
    if (l->walks) breaks++;
    l->walks = -1; /* Not MP3, or no longer: no further checks. */
    return;
  }
}

static void body(Listener *l, const unsigned char *b, long n) {
  for (long at = 0; at < n;) {
    if (!l->first) l->first = now();
    if (l->block_left > 0) {
      long step = l->block_left < n - at ? l->block_left : n - at;
      l->block_left -= step, at += step;
    } else if (l->metaint && !l->audio_left) {
      l->block_left = b[at] * 16;
      /* Our titles are shorter than 1 kB: the phase was lost. */
      if (b[at++] > 64) icy_errors++;
      l->audio_left = l->metaint;
    } else {
      long step = !l->metaint || l->audio_left > n - at ? n - at : l->audio_left;
      audio(l, b + at, step);
      if (l->metaint) l->audio_left -= step;
      at += step;
    }
  }
}

static void leave(Listener *l) {
  if (l->done) return;
  l->done = 1;
  if (l->accepted) dropped++;
  else refused++;
  close(l->file);
#ifdef TLS
  SSL_free(l->tls);
  l->tls = NULL;
#endif
}

static void take(Listener *l, const unsigned char *b, long n) {
  bytes += n;
  if (l->accepted) return body(l, b, n);
  long had = strlen(l->head), step = n < HEAD - 1 - had ? n : HEAD - 1 - had;
  memcpy(l->head + had, b, step);
  l->head[had + step] = 0;
  char *end = strstr(l->head, "\r\n\r\n"), *metaint = strcasestr(l->head, "\r\nicy-metaint:");
  if (!end) return;
  if (!strstr(l->head, " 200 ")) return leave(l);
  l->accepted = 1;
  if (metaint && metaint < end) l->metaint = l->audio_left = atol(metaint + 14);
  else icy_errors++;
  long from = end + 4 - l->head - had;
  free(l->head);
  body(l, b + from, n - from);
}

static void join(Listener *l, int number, struct sockaddr_in *to) {
  struct sockaddr_in from = {.sin_family = AF_INET};
  /* Another source address for each run, since the ports of the last run are not free for a minute. */
  from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + ((getpid() & 0x7fff) + 256) * 256 + number / PER_ADDRESS);
  l->file = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  l->head = calloc(1, HEAD);
  int on = 1;
  /* Closes by a reset: thousands of ports in TIME_WAIT would slow the connections of the next run. */
  struct linger reset = {1, 0};
  setsockopt(l->file, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  setsockopt(l->file, IPPROTO_IP, 24 /* IP_BIND_ADDRESS_NO_PORT */, &on, sizeof on);
  /* As in browsers; else a request waits 40 ms for the acknowledgement of the handshake. */
  setsockopt(l->file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (l->file < 0 || bind(l->file, (void *)&from, sizeof from) || (connect(l->file, (void *)to, sizeof *to) && errno != EINPROGRESS))
    return leave(l);
  struct epoll_event event = {.events = EPOLLOUT | EPOLLIN, .data.u32 = number};
  epoll_ctl(fd_poll, EPOLL_CTL_ADD, l->file, &event);
}

static void wait_for(Listener *l, unsigned number, unsigned what) {
  struct epoll_event event = {.events = what, .data.u32 = number};
  epoll_ctl(fd_poll, EPOLL_CTL_MOD, l->file, &event);
}

static unsigned char buffer[1 << 18];

#ifdef TLS
static SSL_CTX *context;
/* The session that all resume; NULL: each has a full handshake. */
static SSL_SESSION *session;

static int keep(SSL *tls, SSL_SESSION *made) {
  (void)tls;
  if (session) return 0;
  session = made;
  return 1;
}

/* Gets the session from a first connection; 0: its first answer had none. */
static int first_session(struct sockaddr_in *to) {
  int file = socket(AF_INET, SOCK_STREAM, 0);
  SSL *tls = SSL_new(context);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, keep);
  if (file >= 0 && !connect(file, (void *)to, sizeof *to) && SSL_set_fd(tls, file) && SSL_connect(tls) == 1 &&
      SSL_write(tls, request, request_length) > 0)
    for (int i = 0; !session && i < 20 && SSL_read(tls, buffer, sizeof buffer) > 0; i++);
  /* Without this, OpenSSL would not resume the session, as the connection is not closed in order. */
  SSL_set_shutdown(tls, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  SSL_free(tls);
  close(file);
  SSL_CTX_sess_set_new_cb(context, NULL);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return session != NULL;
}

static void over_tls(Listener *l, unsigned number) {
  if (!l->tls) {
    l->tls = SSL_new(context);
    SSL_set_fd(l->tls, l->file);
    if (session) {
      SSL_SESSION *own = SSL_SESSION_dup(session);
      SSL_set_session(l->tls, own);
      SSL_SESSION_free(own);
    }
  }
  if (!l->asked) {
    int done = SSL_connect(l->tls);
    if (done != 1) {
      int why = SSL_get_error(l->tls, done);
      if (why == SSL_ERROR_WANT_READ) return wait_for(l, number, EPOLLIN);
      return why == SSL_ERROR_WANT_WRITE ? (void)0 : leave(l);
    }
    resumed += SSL_session_reused(l->tls);
    l->asked = 1;
    if (SSL_write(l->tls, request, request_length) != request_length) return leave(l);
    wait_for(l, number, EPOLLIN);
  }
  while (!l->done) {
    int n = SSL_read(l->tls, buffer, sizeof buffer);
    if (n > 0) take(l, buffer, n);
    else return SSL_get_error(l->tls, n) == SSL_ERROR_WANT_READ ? (void)0 : leave(l);
  }
}
#endif

static void in_the_clear(Listener *l, unsigned number, unsigned events) {
  if (events & EPOLLOUT) {
    if (send(l->file, request, request_length, MSG_NOSIGNAL) != request_length) return leave(l);
    wait_for(l, number, EPOLLIN);
  }
  if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
  long n = recv(l->file, buffer, sizeof buffer, 0);
  if (n > 0) take(l, buffer, n);
  else if (n == 0 || errno != EAGAIN) leave(l);
}

static int ascending(const void *a, const void *b) {
  double x = *(double *)a, y = *(double *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
  const char *mode = argc == 8 ? argv[7] : "";
  int is_full = !strcmp(mode, "full"), is_resumed = !strcmp(mode, "resumed");
  if (argc < 7 || argc > 8 || (argc == 8 && !is_full && !is_resumed) || strncmp(argv[1], "127.", 4))
    return fprintf(stderr, "usage: joins 127.0.0.1 PORT PATH LISTENERS RATE SECONDS [full | resumed]\n"), 2;
  int count = atoi(argv[4]), opened = 0;
  double rate = atof(argv[5]), seconds = atof(argv[6]);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
  inet_pton(AF_INET, argv[1], &to.sin_addr);
  request_length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s:%s\r\nUser-Agent: airsplice-bench\r\nIcy-MetaData: 1\r\n\r\n",
                            argv[3], argv[1], argv[2]);
  if (count < 1 || rate <= 0 || request_length >= (int)sizeof request) return fprintf(stderr, "joins: a bad argument\n"), 2;
  Listener *all = calloc(count, sizeof *all);
#ifdef TLS
  signal(SIGPIPE, SIG_IGN);
  context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  if (is_resumed && !first_session(&to)) return fprintf(stderr, "joins: the server gives no session\n"), 1;
#else
  if (is_full || is_resumed) return fprintf(stderr, "joins: compiled without TLS\n"), 2;
#endif
  struct epoll_event events[EVENTS];
  fd_poll = epoll_create1(0);
  double began = now(), late = 0, last = began + (count - 1) * 1e3 / rate, end = last + (seconds < MAX_SECONDS ? seconds : MAX_SECONDS) * 1e3;
  while (now() < end) {
    for (double due; opened < count && (due = began + opened * 1e3 / rate) <= now(); opened++) {
      if (now() - due > late) late = now() - due;
      all[opened].due = due;
      join(&all[opened], opened, &to);
    }
    int ready = epoll_wait(fd_poll, events, EVENTS, opened < count ? 1 : 20);
    for (int i = 0; i < ready; i++) {
      Listener *l = &all[events[i].data.u32];
      if (l->done) continue;
#ifdef TLS
      if (is_full || is_resumed) {
        over_tls(l, events[i].data.u32);
        continue;
      }
#endif
      in_the_clear(l, events[i].data.u32, events[i].events);
    }
  }
  double *ms = calloc(count, sizeof *ms);
  int joined = 0;
  for (int i = 0; i < count; i++)
    if (all[i].first) ms[joined++] = all[i].first - all[i].due;
  qsort(ms, joined, sizeof *ms, ascending);
#define AT(share) (joined ? ms[(int)(joined * share) < joined ? (int)(joined * share) : joined - 1] : 0)
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  double cpu = used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  printf("{\"joined\":%d,\"unanswered\":%ld,\"refused\":%ld,\"dropped\":%ld,\"icyErrors\":%ld,\"breaks\":%ld,\"frames\":%ld,\"bytes\":%ld,\"resumed\":%ld,", joined,
         count - joined - refused, refused, dropped, icy_errors, breaks, frames, bytes, resumed);
  printf("\"ms\":{\"p50\":%.2f,\"p90\":%.2f,\"p99\":%.2f,\"p999\":%.2f,\"max\":%.2f},\"lateMs\":%.2f,\"cpuSeconds\":%.2f}\n", AT(.5), AT(.9), AT(.99),
         AT(.999), AT(1), late, cpu);
  return 0;
}
