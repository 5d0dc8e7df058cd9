/* Makes each read of a regular file take SLOW_READ_MS longer, as over a network: for LD_PRELOAD. Nothing counts
   as cached, so that no read is replaced by a look into a map.
     cc -O2 -shared -fPIC -o slow_reads.so slow_reads.c -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void wait_for_store(int file) {
  static double milliseconds = -1;
  if (milliseconds < 0) {
    const char* given = getenv("SLOW_READ_MS");
    milliseconds = given ? atof(given) : 0;
  }
  struct stat is;
  if (fstat(file, &is) != 0 || !S_ISREG(is.st_mode) || is.st_size == 0) return; /* also of /proc */
  const long ns = (long)(milliseconds * 1e6);
  const struct timespec wait = {ns / 1000000000, ns % 1000000000};
  nanosleep(&wait, NULL);
}

ssize_t pread(int file, void* to, size_t size, off_t at) {
  static ssize_t (*real)(int, void*, size_t, off_t);
  if (!real) real = (ssize_t(*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  wait_for_store(file);
  return real(file, to, size, at);
}

ssize_t pread64(int file, void* to, size_t size, off64_t at) {
  static ssize_t (*real)(int, void*, size_t, off64_t);
  if (!real) real = (ssize_t(*)(int, void*, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
  wait_for_store(file);
  return real(file, to, size, at);
}

/* Only used to ask what is cached. */
ssize_t preadv2(int file, const struct iovec* to, int count, off_t at, int flags) {
  (void)file, (void)to, (void)count, (void)at, (void)flags;
  errno = EAGAIN;
  return -1;
}

ssize_t preadv64v2(int file, const struct iovec* to, int count, off64_t at, int flags) {
  return preadv2(file, to, count, at, flags);
}
