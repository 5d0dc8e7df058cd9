// Preloaded: of the reads of files whose path holds FAILING_PATH, those with a number below FAILING_READS fail
// with the error FAILING_ERROR, counted for each process; with FAILING_THREADS no thread can be started.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long failed;

static int fails(int descriptor) {
  const char* const path = getenv("FAILING_PATH");
  if (!path) return 0;
  char link[64], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, name, sizeof name - 1);
  if (length < 0) return 0;
  name[length] = 0;
  if (!strstr(name, path) || atomic_fetch_add(&failed, 1) >= atol(getenv("FAILING_READS"))) return 0;
  errno = atoi(getenv("FAILING_ERROR"));
  return 1;
}

ssize_t pread64(int descriptor, void* out, size_t size, off64_t offset) {
  static ssize_t (*next)(int, void*, size_t, off64_t);
  if (!next) next = (ssize_t (*)(int, void*, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
  return fails(descriptor) ? -1 : next(descriptor, out, size, offset);
}

ssize_t pread(int descriptor, void* out, size_t size, off_t offset) {
  return pread64(descriptor, out, size, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (!next)
    next = (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(RTLD_NEXT, "pthread_create");
  return getenv("FAILING_THREADS") ? EAGAIN : next(thread, attributes, run, argument);
}
