/* What client.c needs of a C library, for Linux: with `-nostdlib -DBARE` there is none.

   A start of glibc asks the processor some seventy times what it is (CPUID). On a virtual machine
   each is a trap, and all of them are half of the client's time. */
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>

int main(int, char **);
char **environ;
static int last_error;
int *__errno_location(void) { return &last_error; }

#if !defined(__linux__) || !defined(__x86_64__)
#error "no other processor needs this"
#endif
__asm__(".globl _start\n_start:\n  xor %ebp, %ebp\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call begun\n");

static long asked(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  if (number < 0 && number > -4096) return last_error = -number, -1;
  return number;
}
#define ASK(name, a, b, c, d, e) asked(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

void _exit(int code) { for (;;) ASK(exit_group, code, 0, 0, 0, 0); }
void exit(int code) { _exit(code); }
__attribute__((used)) static void begun(long *stack) {
  char **words = (char **)(stack + 1);
  environ = words + *stack + 1;
  exit(main(*stack, words));
}

ssize_t read(int fd, void *at, size_t size) { return ASK(read, fd, at, size, 0, 0); }
ssize_t write(int fd, const void *at, size_t size) { return ASK(write, fd, at, size, 0, 0); }
ssize_t writev(int fd, const struct iovec *parts, int count) { return ASK(writev, fd, parts, count, 0, 0); }
int close(int fd) { return ASK(close, fd, 0, 0, 0, 0); }
int open(const char *path, int flags, ...) { return ASK(open, path, flags, 0600, 0, 0); }
int dup2(int from, int to) { return ASK(dup2, from, to, 0, 0, 0); }
int flock(int fd, int how) { return ASK(flock, fd, how, 0, 0, 0); }
int mkdir(const char *path, mode_t mode) { return ASK(mkdir, path, mode, 0, 0, 0); }
mode_t umask(mode_t mask) { return ASK(umask, mask, 0, 0, 0, 0); }
int stat(const char *path, struct stat *there) { return ASK(stat, path, there, 0, 0, 0); }
int lstat(const char *path, struct stat *there) { return ASK(lstat, path, there, 0, 0, 0); }
int chdir(const char *path) { return ASK(chdir, path, 0, 0, 0, 0); }
int socket(int family, int kind, int protocol) { return ASK(socket, family, kind, protocol, 0, 0); }
int connect(int fd, const struct sockaddr *where, socklen_t size) { return ASK(connect, fd, where, size, 0, 0); }
int shutdown(int fd, int how) { return ASK(shutdown, fd, how, 0, 0, 0); }
uid_t geteuid(void) { return ASK(geteuid, 0, 0, 0, 0, 0); }
pid_t getppid(void) { return ASK(getppid, 0, 0, 0, 0, 0); }
pid_t setsid(void) { return ASK(setsid, 0, 0, 0, 0, 0); }
pid_t fork(void) { return ASK(fork, 0, 0, 0, 0, 0); }
pid_t waitpid(pid_t pid, int *status, int how) { return ASK(wait4, pid, status, how, 0, 0); }
int clock_gettime(clockid_t clock, struct timespec *now) { return ASK(clock_gettime, clock, now, 0, 0, 0); }
int poll(struct pollfd *all, nfds_t count, int within_ms) { return ASK(poll, all, count, within_ms, 0, 0); }
__sighandler_t signal(int number, __sighandler_t handler) {
  void *how[4] = { (void *)handler }; /* the kernel's: handler, flags, restorer, mask */
  return ASK(rt_sigaction, number, how, 0, 8, 0) ? SIG_ERR : SIG_DFL;
}
int execl(const char *path, const char *word, ...) {
  const char *words[16];
  int count = 0;
  va_list more;
  va_start(more, word);
  for (; word && count < 15; word = va_arg(more, const char *)) words[count++] = word;
  va_end(more);
  words[count] = NULL;
  return ASK(execve, path, words, environ, 0, 0);
}

/* The size stands in front, on a page of its own. */
void *realloc(void *old, size_t size) {
  size_t *at = old ? (size_t *)((char *)old - 4096) : NULL;
  long got = at ? ASK(mremap, at, *at, size + 4096, MREMAP_MAYMOVE, 0) : asked(SYS_mmap, 0, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == -1) return NULL;
  *(size_t *)got = size + 4096;
  return (char *)got + 4096;
}

/* The compiler calls these by itself, too. */
void *memcpy(void *to, const void *from, size_t size) {
  for (size_t i = 0; i < size; i++) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}
void *memset(void *to, int byte, size_t size) {
  for (size_t i = 0; i < size; i++) ((char *)to)[i] = byte;
  return to;
}
int memcmp(const void *one, const void *other, size_t size) {
  const unsigned char *a = one, *b = other;
  for (size_t i = 0; i < size; i++)
    if (a[i] != b[i]) return a[i] - b[i];
  return 0;
}
void *memchr(const void *in, int byte, size_t size) {
  for (const char *p = in; size--; p++)
    if (*p == (char)byte) return (void *)p;
  return NULL;
}
size_t strlen(const char *text) {
  size_t size = 0;
  while (text[size]) size++;
  return size;
}
int strncmp(const char *one, const char *other, size_t most) {
  for (; most; one++, other++, most--)
    if (*one != *other || !*one) return (unsigned char)*one - (unsigned char)*other;
  return 0;
}
int strcmp(const char *one, const char *other) { return strncmp(one, other, (size_t)-1); }
char *strchr(const char *text, int byte) {
  for (;; text++) {
    if (*text == (char)byte) return (char *)text;
    if (!*text) return NULL;
  }
}
char *getenv(const char *name) {
  size_t size = strlen(name);
  for (char **one = environ; *one; one++)
    if (!strncmp(*one, name, size) && (*one)[size] == '=') return *one + size + 1;
  return NULL;
}

/* Digits alone; the end is where there are none, or too many. */
static unsigned long digits(const char **p, unsigned base) {
  unsigned long number = 0;
  for (;; (*p)++) {
    char c = **p | 0x20;
    unsigned digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
    if (digit >= base || number >> 56) return number;
    number = number * base + digit;
  }
}
unsigned long strtoul(const char *text, char **end, int base) { return (void)end, digits(&text, base); }

/* Of the formats: %s, %d, %u, %ld, %zu, %016llx. */
int snprintf(char *into, size_t room, const char *format, ...) {
  size_t size = 0;
  va_list values;
  va_start(values, format);
  for (; *format; format++) {
    char held[24], *text = held + sizeof held;
    *--text = 0;
    if (*format != '%') *--text = *format;
    else if (*++format == 's') text = va_arg(values, char *);
    else {
      int hex = *format == '0', wide = hex || *format == 'l' || *format == 'z';
      unsigned long number = wide ? va_arg(values, unsigned long) : va_arg(values, unsigned);
      do *--text = "0123456789abcdef"[number % (hex ? 16 : 10)];
      while ((number /= hex ? 16 : 10) || (hex && text > held + sizeof held - 17));
      format += hex ? 5 : *format == 'l' || *format == 'z' ? 1 : 0;
    }
    for (; *text; text++, size++)
      if (size + 1 < room) into[size] = *text;
  }
  va_end(values);
  if (room) into[size < room ? size : room - 1] = 0;
  return size;
}

/* Of the formats: %d and %zu, no sign; what stands between them has to be there. */
int sscanf(const char *text, const char *format, ...) {
  int found = 0;
  va_list into;
  va_start(into, format);
  for (; *format; format++) {
    if (*format != '%') {
      if (*text++ != *format) break;
      continue;
    }
    const char *begins = text;
    unsigned long number = digits(&text, 10);
    if (text == begins || (*++format == 'd' && number > 0x7fffffff)) break;
    found++;
    if (*format == 'z') *va_arg(into, size_t *) = number, format++;
    else *va_arg(into, int *) = number;
  }
  va_end(into);
  return found;
}
