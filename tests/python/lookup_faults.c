// Faults in look-ups of files, for test_unreadable.py: preloaded, it makes the system answer one of them with an
// error. FAULT_AT, the root, and FAULT_NUMBER in the environment make all look-ups fail there; a program arms it
// itself with fault_arm(root, n, number, all): of the look-ups at or below `root`, the n-th fails with this errno, and
// with `all` each later one of the same path, too; n = 0 only counts. Look-ups are open, stat and readdir.
#define _GNU_SOURCE
#include <time.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX], victim[PATH_MAX];
static int wanted, error_number, hits_all, count, armed, hits;

void fault_arm(const char* at, int n, int number, int all) {
  pthread_mutex_lock(&mutex);
  snprintf(root, sizeof root, "%s", at);
  wanted = n, error_number = number, hits_all = all, count = 0, hits = 0, victim[0] = 0, armed = at[0] != 0;
  pthread_mutex_unlock(&mutex);
}
int fault_count(void) { return count; }
int fault_hits(void) { return hits; }
const char* fault_victim(void) { return victim; }

// The waits before a look-up is tried again.
int nanosleep(const struct timespec* wanted, struct timespec* left) {
  (void)wanted, (void)left;
  return 0;
}
int clock_nanosleep(clockid_t clock, int flags, const struct timespec* wanted, struct timespec* left) {
  (void)clock, (void)flags, (void)wanted, (void)left;
  return 0;
}

static int is_below(const char* path) {
  const size_t length = strlen(root);
  return strncmp(path, root, length) == 0 && (path[length] == 0 || path[length] == '/');
}

__attribute__((constructor)) static void arm_by_environment(void) {
  const char *at = getenv("FAULT_AT"), *number = getenv("FAULT_NUMBER");
  if (at && number) fault_arm(at, 1, atoi(number), 1), hits_all = 2;
}

// Whether this look-up fails; errno is set then.
static int fails(const char* path) {
  if (!armed || !is_below(path)) return 0;
  pthread_mutex_lock(&mutex);
  ++count;
  int hit = 0;
  if (count == wanted) {
    snprintf(victim, sizeof victim, "%s", path);
    hit = 1;
  } else if (hits_all && wanted > 0 && count > wanted) {
    hit = hits_all == 2 || strcmp(victim, path) == 0;
  }
  hits += hit;
  pthread_mutex_unlock(&mutex);
  if (hit) errno = error_number;
  return hit;
}

static int fails_in(int folder, const char* name) {
  char link[64], path[PATH_MAX];
  if (!armed) return 0;
  if (name && (name[0] == '/' || folder == AT_FDCWD)) return fails(name);
  snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  const ssize_t length = readlink(link, path, sizeof path - NAME_MAX - 2);
  if (length < 0) return 0;
  path[length] = 0;
  if (name) snprintf(path + length, NAME_MAX + 2, "/%s", name);
  return fails(path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int mode_of(int flags, va_list* more) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(*more, int) : 0;
}
#define OPEN(name)                                       \
  int name(const char* path, int flags, ...) {           \
    va_list more;                                        \
    va_start(more, flags);                               \
    const int mode = mode_of(flags, &more);              \
    va_end(more);                                        \
    return fails(path) ? -1 : NEXT(name)(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
#define STAT(name, kind) \
  int name(const char* path, struct kind* out) { return fails(path) ? -1 : NEXT(name)(path, out); }
STAT(stat, stat)
STAT(lstat, stat)
STAT(stat64, stat64)
STAT(lstat64, stat64)
#define FSTATAT(name, kind)                                                            \
  int name(int folder, const char* path, struct kind* out, int flags) {                \
    return fails_in(folder, path) ? -1 : NEXT(name)(folder, path, out, flags);         \
  }
FSTATAT(fstatat, stat)
FSTATAT(fstatat64, stat64)
#define READDIR(name, kind) \
  struct kind* name(DIR* folder) { return fails_in(dirfd(folder), NULL) ? NULL : NEXT(name)(folder); }
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)
