/* One hook of another agent: what the agent says goes to the daemon of its session, the reply back.

   client AGENT EVENT [--closed]

   Starts the daemon if there is none. If it cannot be reached, --closed denies in the agent's own
   way; else nothing is said and the exit code is 0. The build writes facts.h: the interpreter, the
   variables that the daemon may have, times, sizes, and how each agent is denied. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef BARE
#include "bare.h"
#endif

struct guard { const char *agent, *event, *out, *err; int code; };
#include "facts.h"

extern char **environ;
static const char *agent, *event;
static int closed, shortened;
static long deadline;
static struct sockaddr_un address = { .sun_family = AF_UNIX };
struct bytes { char *at; size_t size, room; };

static long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000L + t.tv_nsec / 1000000L;
}

static void say(int fd, const char *text, size_t size) {
  while (size) {
    ssize_t done = write(fd, text, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    text += done, size -= done;
  }
}

static void unreached(void) {
  if (closed)
    for (const struct guard *g = GUARDS; g->agent; g++)
      if (!strcmp(g->agent, agent) && !strcmp(g->event, event)) {
        say(1, g->out, strlen(g->out));
        say(2, g->err, strlen(g->err));
        exit(g->code);
      }
  exit(0);
}

static void await_fd(int fd, short what) {
  struct pollfd one = { .fd = fd, .events = what };
  long left = deadline - now_ms();
  if (left <= 0) unreached();
  int got = poll(&one, 1, left);
  if (got == 0 || (got < 0 && errno != EINTR)) unreached();
}

/* Waits for more and appends it; how much, or 0 at the end. */
static size_t read_more(int fd, struct bytes *all) {
  if (all->size == all->room && !(all->at = realloc(all->at, all->room = all->room ? 2 * all->room : 65536)))
    unreached();
  for (;;) {
    await_fd(fd, POLLIN);
    ssize_t got = read(fd, all->at + all->size, all->room - all->size);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return 0;
    all->size += got;
    return got;
  }
}

/* Empties each string of JSON that is longer than LONG_STRING. Called for one piece after the other,
   each time with where the piece begins. */
static void shorten(struct bytes *in, size_t from) {
  static int in_string, escaped, is_long;
  static size_t begins;
  size_t kept = from;
  for (size_t i = from; i < in->size; i++) {
    char c = in->at[i];
    int quotes = c == '"' && !escaped;
    escaped = in_string && !escaped && c == '\\';
    if (quotes) in_string = !in_string, is_long = 0;
    if (!is_long) in->at[kept++] = c;
    if (quotes) begins = kept;
    if (in_string && !is_long && kept - begins > LONG_STRING) is_long = 1, kept = begins;
  }
  in->size = kept;
}

/* What the agent says; if that is more than MAX_STDIN, without its long strings. */
static struct bytes read_stdin(void) {
  struct bytes in = { 0 };
  for (size_t got; (got = read_more(0, &in));) {
    if (shortened) shorten(&in, in.size - got);
    else if (in.size > MAX_STDIN) shorten(&in, 0), shortened = 1;
    if (in.size > MAX_STDIN) unreached();
  }
  return in;
}

/* One string of JSON without its quotes and escapes, from behind its first quote; NULL: no end. */
static const char *unquoted(const char *p, const char *end, struct bytes *text) {
  text->size = 0;
  for (; p < end && *p != '"'; p++) {
    unsigned code = (unsigned char)*p;
    char hex[5] = { 0 };
    if (*p == '\\') {
      if (++p == end) return NULL;
      const char *found = strchr("n\nt\tr\rb\bf\f", *p);
      code = found && *p ? (unsigned char)found[1] : (unsigned char)*p;
      if (*p == 'u') {
        if (end - p < 5) return NULL;
        memcpy(hex, p + 1, 4), p += 4, code = strtoul(hex, NULL, 16);
      }
    }
    if (text->size + 3 > text->room) continue; /* too long for a name or an id */
    if (!*hex || code < 0x80) text->at[text->size++] = code;
    else {
      if (code >= 0x800) text->at[text->size++] = 0xe0 | code >> 12;
      text->at[text->size++] = code < 0x800 ? 0xc0 | code >> 6 : 0x80 | (code >> 6 & 0x3f);
      text->at[text->size++] = 0x80 | (code & 0x3f);
    }
  }
  return p < end ? p + 1 : NULL;
}

static int is_name(struct bytes text) {
  static const char *const names[] = { "session_id", "sessionId", "conversation_id", NULL };
  for (const char *const *name = names; *name; name++)
    if (strlen(*name) == text.size && !memcmp(*name, text.at, text.size)) return 1;
  return 0;
}

/* The id of the session, a member of the outermost object. */
static int find_id(struct bytes in, struct bytes *id) {
  static char held[1024];
  struct bytes text = { held, 0, sizeof held };
  int depth = 0, is_id = 0;
  for (const char *p = in.at, *end = in.at + in.size; p && p < end;) {
    char c = *p++;
    if (c == '{' || c == '[') depth++, is_id = 0;
    else if (c == '}' || c == ']') depth--;
    else if (c == ',') is_id = 0;
    else if (c == '"') {
      if (!(p = unquoted(p, end, &text)) || depth != 1) continue;
      if (is_id && text.size) return *id = text, 1;
      const char *q = p;
      while (q < end && strchr(" \t\r\n", *q) && *q) q++;
      is_id = q < end && *q == ':' && is_name(text);
    }
  }
  return 0;
}

/* Our folder in `in`: that is there, short, and no other user can change what is ours in it. A variable
   that came from another user, as with `sudo -E`, names no such folder. */
static int makes(char folder[sizeof address.sun_path], struct stat *ours, const char *in, int is_shared) {
  struct stat there;
  if (!in || *in != '/' || stat(in, &there) || !S_ISDIR(there.st_mode)) return 0;
  int is_own = there.st_uid == geteuid(), is_sticky = there.st_mode & S_ISVTX;
  if (is_own ? there.st_mode & S_IWOTH && !is_sticky : !is_shared || !is_sticky) return 0;
  int size = is_shared ? snprintf(folder, sizeof address.sun_path, "%s/sliphook-%u", in, geteuid())
                       : snprintf(folder, sizeof address.sun_path, "%s/sliphook", in);
  if (size > (int)sizeof address.sun_path - ROOM_FOR_NAME) return 0;
  return !lstat(folder, ours) || ((!mkdir(folder, 0700) || errno == EEXIST) && !lstat(folder, ours));
}

static void place(struct bytes id) {
  unsigned long long hash = 14695981039346656037ULL;
  for (size_t i = 0; i < id.size; i++) hash = (hash ^ (unsigned char)id.at[i]) * 1099511628211ULL;
  struct stat there;
  char folder[sizeof address.sun_path];
  if (!makes(folder, &there, getenv("XDG_RUNTIME_DIR"), 0) && !makes(folder, &there, getenv("TMPDIR"), 1) && !makes(folder, &there, "/tmp", 1))
    unreached();
  if (!S_ISDIR(there.st_mode) || there.st_uid != geteuid() || there.st_mode & 077)
    unreached(); /* somebody else could listen there */
  if (snprintf(address.sun_path, sizeof address.sun_path, "%s/%s-%016llx.sock", folder, agent, hash) >= (int)sizeof address.sun_path)
    unreached();
}

static int connected(void) {
  for (;;) {
#ifdef SOCK_CLOEXEC
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) unreached();
#else
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) unreached();
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
#endif
    if (!connect(fd, (void *)&address, sizeof address)) return fd;
    int why = errno;
    close(fd);
    if (why != EAGAIN && why != EINTR) return -1;
    if (now_ms() > deadline) unreached();
    poll(NULL, 0, 5); /* its queue is full */
  }
}

static int is_allowed(const char *variable) {
  if (!strncmp(variable, "LC_", 3) || !strncmp(variable, "XDG_", 4)) return 1;
  for (const char *const *name = ENVIRONMENT; *name; name++) {
    size_t size = strlen(*name);
    if (!strncmp(variable, *name, size) && variable[size] == '=') return 1;
  }
  return 0;
}

static void become_daemon(const char *parent) {
  int nothing = open("/dev/null", O_RDWR), kept = 0;
  for (int fd = 0; fd < 3; fd++) dup2(nothing, fd);
  for (int fd = 3; fd < 1024; fd++) close(fd);
  setsid();
  if (chdir("/")) _exit(1); /* it must not hold the project's folder */
  for (char **one = environ; *one; one++)
    if (is_allowed(*one)) environ[kept++] = *one;
  environ[kept] = NULL;
  execl(PYTHON, PYTHON, "-I", "-m", MODULE, agent, address.sun_path, parent, (char *)NULL);
  _exit(1);
}

/* A connection to a daemon that is there or is started; one starter at a time. */
static int started(const char *parent) {
  long until = now_ms() + START_MS;
  char path[sizeof address.sun_path + 8];
  snprintf(path, sizeof path, "%s.lock", address.sun_path);
  int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), fd;
  if (lock < 0) unreached();
  while (flock(lock, LOCK_EX | LOCK_NB)) {
    if ((fd = connected()) >= 0) return fd;
    if (now_ms() > until) unreached();
    poll(NULL, 0, 10);
  }
  if ((fd = connected()) >= 0) return fd;
  pid_t child = fork();
  if (child < 0) unreached();
  if (!child) become_daemon(parent);
  for (int over = 0; now_ms() < until; poll(NULL, 0, 5)) {
    if ((fd = connected()) >= 0) return fd;
    if (over) unreached();
    over = waitpid(child, NULL, WNOHANG) > 0; /* it may have joined another daemon: look once more */
  }
  unreached();
  return -1;
}

struct reply { int code; size_t out, err, begins; };

/* Whether all of the reply has come; what is none counts as unreached. */
static int is_whole(struct bytes in, struct reply *reply) {
  if (!reply->begins) {
    int version;
    char *line = memchr(in.at, '\n', in.size);
    if (!line && in.size < MAX_HEAD) return 0;
    if (!line) unreached();
    *line++ = 0;
    if (sscanf(in.at, "sliphook %d %d %zu %zu", &version, &reply->code, &reply->out, &reply->err) != 4) unreached();
    if (version != VERSION || reply->out > MAX_REPLY || reply->err > MAX_REPLY) unreached();
    reply->begins = line - in.at;
  }
  size_t whole = reply->begins + reply->out + reply->err;
  if (in.size > whole) unreached();
  return in.size == whole;
}

/* The bytes of the whole reply; none if the daemon has gone without a word. */
static struct bytes exchanged(int fd, struct bytes in, const char *parent, struct reply *reply) {
  char head[MAX_HEAD];
  const char *how = closed ? "closed" : "open", *what = shortened ? " shortened" : "";
  int size = snprintf(head, sizeof head, "sliphook %d %s %s %s %s %zu%s\n", VERSION, agent, event, parent, how, in.size, what);
  struct iovec parts[2] = { { head, size }, { in.at, in.size } };
  struct bytes came = { 0 };
  for (int i = 0; i < 2;) { /* in one piece, if it fits: the daemon wakes once */
    ssize_t done = writev(fd, parts + i, 2 - i);
    if (done < 0 && errno == EAGAIN) await_fd(fd, POLLOUT);
    else if (done < 0 && errno != EINTR) return came;
    for (; i < 2 && done >= (ssize_t)parts[i].iov_len; i++) done -= parts[i].iov_len;
    if (i < 2 && done > 0) parts[i].iov_base = (char *)parts[i].iov_base + done, parts[i].iov_len -= done;
  }
  shutdown(fd, SHUT_WR);
  while (read_more(fd, &came)) /* not until its end, which would be one wake-up more */
    if (is_whole(came, reply)) return came;
  if (came.size) unreached();
  close(fd);
  return came;
}

int main(int count, char **words) {
  if (count < 3 || strlen(words[1]) > 64 || strlen(words[2]) > 64) return 64;
  agent = words[1], event = words[2], closed = count > 3 && !strcmp(words[3], "--closed");
  deadline = now_ms() + ANSWER_MS;
  signal(SIGPIPE, SIG_IGN);
  umask(umask(077) & 077); /* what is made here is the user's own */
  struct bytes in = read_stdin(), id;
  if (!find_id(in, &id)) unreached();
  place(id);
  char parent[24];
  snprintf(parent, sizeof parent, "%ld", (long)getppid());
  struct reply reply = { 0 };
  struct bytes came = { 0 };
  for (int times = 0; times < 2 && !came.size; times++) { /* a daemon that was ending says nothing */
    int fd = connected();
    if (fd < 0) {
      for (const char *const *name = NO_START; *name; name++)
        if (!strcmp(*name, event)) exit(0); /* to start one only to end it helps nobody */
      fd = started(parent);
    }
    came = exchanged(fd, in, parent, &reply);
  }
  if (!came.size) unreached();
  say(1, came.at + reply.begins, reply.out);
  say(2, came.at + reply.begins + reply.out, reply.err);
  return reply.code;
}
