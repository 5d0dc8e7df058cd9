/* A profiler in small: a library that NVTX loads, which writes each push and pop to the file that NVTX_TOOL_LOG names.

   One line an event: the thread, "push" or "pop", the domain, the name, the payload. After "create" and "register" come the
   names that were made known. Structures and numbers are those of NVTX 3, nvtxDetail/nvtxTypes.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void (*function)(void);
struct attributes {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const char* message;
};
struct callbacks {
  size_t size;
  int (*module_functions)(int module, function** functions, unsigned* count);
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static FILE* log_file;

static void tell(const char* event, const char* domain, const char* name, unsigned long long payload) {
  pthread_mutex_lock(&mutex);
  fprintf(log_file, "%ld\t%s\t%s\t%s\t%llu\n", (long)syscall(SYS_gettid), event, domain, name, payload);
  fflush(log_file);
  pthread_mutex_unlock(&mutex);
}

static void* create_domain(const char* name) {
  tell("create", name, "", 0);
  return strdup(name);
}
static void* register_string(void* domain, const char* text) {
  tell("register", domain, text, 0);
  return strdup(text);
}
static int push(void* domain, const struct attributes* what) {
  if (what->version != 3 || what->size != sizeof(struct attributes)) abort();
  if (what->message_type != 1 && what->message_type != 3) abort(); /* text, or what register_string answered */
  tell("push", domain, what->message, what->payload_type == 1 ? (unsigned long long)what->payload : 0);
  return 0;
}
static int pop(void* domain) {
  tell("pop", domain, "", 0);
  return 0;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void* (*tables)(uint32_t number)) {
  const struct callbacks* callbacks = tables(1);
  if (!callbacks || callbacks->size < sizeof(struct callbacks) || tables(99)) return 0;
  log_file = fopen(getenv("NVTX_TOOL_LOG"), "w");
  if (!log_file) return 0;
  function* functions = NULL;
  unsigned count = 0;
  /* Tools ask for all modules there are. */
  for (int module = 1; module <= 6; ++module)
    if (!callbacks->module_functions(module, &functions, &count) || functions[0] || functions[count]) return 0;
  if (callbacks->module_functions(7, &functions, &count)) return 0;
  if (!callbacks->module_functions(5, &functions, &count) || count < 16) return 0;
  const char* only = getenv("NVTX_TOOL_WANTS");
  *(function*)functions[12] = (function)create_domain;
  if (!only) *(function*)functions[10] = (function)register_string;
  if (!only || strcmp(only, "nothing") != 0) *(function*)functions[4] = (function)push;
  *(function*)functions[5] = (function)pop;
  return !only || strcmp(only, "refuse") != 0;
}
