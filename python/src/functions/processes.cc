// Functions in other processes. Calls and answers are written to shared memory and announced through a
// socket; the GIL of the calling process is not taken.
#include <fcntl.h>
#include <nanobind/stl/tuple.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "python/src/base/errors.h"
#include "python/src/base/gil.h"
#include "python/src/base/text.h"
#include "python/src/functions/runner.h"

namespace headrace::python {
namespace {

constexpr size_t kAlign = 64;
size_t aligned(size_t size) { return (size + kAlign - 1) / kAlign * kAlign; }

enum class Kind : uint64_t { call, answer, exception, ready };

struct Message {
  Kind kind = Kind::call;
  uint64_t leaves = 0;  // described at the beginning of the memory; for an exception: its size in bytes
  Key key;              // of a call
  uint64_t cpu_ns = 0;  // of an answer or exception: CPU time of the call
};

struct Leaf {
  int32_t dtype = 0, rank = 0;
  std::array<int64_t, kMaxRank> dims{};
  uint64_t at = 0;    // offset of its bytes in the memory
  int64_t rows = -1;  // for a ragged batch: the rows follow, and it has no bytes itself
};

// A leaf in place.
struct Part {
  View view;
  int64_t rows = -1;
  size_t size_bytes() const { return rows < 0 ? view.size_bytes() : 0; }
};

// CPU time of this process, all threads.
uint64_t process_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

bool send_all(int socket, const Message& message) {
  const auto* from = reinterpret_cast<const char*>(&message);
  for (size_t done = 0; done < sizeof message;) {
    const ssize_t count = ::send(socket, from + done, sizeof message - done, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

// False at the end of the socket: the other side is gone.
bool receive_all(int socket, Message& message) {
  auto* to = reinterpret_cast<char*>(&message);
  for (size_t done = 0; done < sizeof message;) {
    const ssize_t count = ::recv(socket, to + done, sizeof message - done, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

// Handle Ctrl-C while waiting for an answer in the main thread: `raised` is set to what it raises, if
// anything.
void listen_for_signals(int socket, std::optional<nb::python_error>& raised) {
  constexpr int kLookMs = 20;
  if (::gettid() != ::getpid()) return;  // Python handles signals in the main thread only
  while (!raised) {
    pollfd answer{socket, POLLIN, 0};
    const int ready = ::poll(&answer, 1, kLookMs);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return;
    const Gil gil;
    if (PyErr_CheckSignals() != 0) raised.emplace();
  }
}

// Anonymous growing memory, mapped by both processes.
class SharedMemory {
 public:
  explicit SharedMemory(int file) : file_(file) {}
  ~SharedMemory() {
    if (size_ > 0) ::munmap(data_, size_);
    ::close(file_);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

  Status grow(size_t size) {
    if (size <= size_) return {};
    size = std::max(aligned(size), 2 * size_);
    // Allocated now: without room, a later write would kill the process.
    const int error = ::posix_fallocate(file_, 0, static_cast<off_t>(size));
    if (error != 0)
      return {Code::exhausted,
              "cannot allocate " + std::to_string(size) + " bytes of shared memory: " + ::strerror(error)};
    return map(size);
  }
  // Map the current size: the other side may have made it larger.
  Status follow() {
    struct stat s;
    if (::fstat(file_, &s) != 0) return internal_error("cannot stat the shared memory");
    const auto size = static_cast<size_t>(s.st_size);
    return size > size_ ? map(size) : Status();
  }

 private:
  Status map(size_t size) {
    void* const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (data == MAP_FAILED) return {Code::exhausted, "cannot map " + std::to_string(size) + " bytes"};
    if (size_ > 0) ::munmap(data_, size_);
    data_ = static_cast<std::byte*>(data), size_ = size;
    return {};
  }
  int file_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

void append_rows(const Tensor& batch, std::vector<Part>& out) {
  out.push_back({{batch.dtype, batch.shape, nullptr}, static_cast<int64_t>(batch.rows->size())});
  for (const Tensor& row : *batch.rows) {
    if (row.is_ragged())
      append_rows(row, out);
    else
      out.push_back({row.view()});
  }
}

// The inputs of a call, batches row by row.
std::vector<Part> parts_of(std::span<const View> in, const CallContext& call) {
  std::vector<Part> out;
  for (size_t i = 0; i < in.size(); ++i) {
    if (const Tensor* const batch = call.ragged_input(i))
      append_rows(*batch, out);
    else
      out.push_back({in[i]});
  }
  return out;
}

Status write_leaves(SharedMemory& memory, std::span<const Part> parts) {
  size_t size = aligned(parts.size() * sizeof(Leaf));
  for (const Part& part : parts) size += aligned(part.size_bytes());
  HEADRACE_TRY(memory.grow(size));
  size_t at = aligned(parts.size() * sizeof(Leaf));
  for (size_t i = 0; i < parts.size(); ++i) {
    const View& view = parts[i].view;
    Leaf leaf{static_cast<int32_t>(view.dtype), view.shape.rank(), {}, at, parts[i].rows};
    std::ranges::copy(view.shape.dims(), leaf.dims.begin());
    std::memcpy(memory.data() + i * sizeof leaf, &leaf, sizeof leaf);
    if (parts[i].size_bytes() > 0) std::memcpy(memory.data() + at, view.data, parts[i].size_bytes());
    at += aligned(parts[i].size_bytes());
  }
  return {};
}

// The leaves that the other side wrote. Checked, since user code there may have written anything.
Result<std::vector<Part>> read_leaves(const SharedMemory& memory, uint64_t count) {
  if (count > memory.size() / sizeof(Leaf))
    return internal_error("more leaves than fit in the shared memory");
  std::vector<Part> out;
  for (uint64_t i = 0; i < count; ++i) {
    Leaf leaf;
    std::memcpy(&leaf, memory.data() + i * sizeof leaf, sizeof leaf);
    if (leaf.dtype < 0 || leaf.dtype >= kDTypes || leaf.rank < 0 || leaf.rank > kMaxRank ||
        leaf.at > memory.size())
      return internal_error("a leaf in the shared memory is invalid");
    uint64_t left = (memory.size() - leaf.at) / size_of(static_cast<DType>(leaf.dtype));
    for (int d = 0; d < leaf.rank && leaf.rows < 0; ++d) {
      const int64_t dim = leaf.dims[static_cast<size_t>(d)];
      if (dim < 0 || static_cast<uint64_t>(dim) > left)
        return internal_error("a leaf is outside the shared memory");
      if (dim > 0) left /= static_cast<uint64_t>(dim);
    }
    const Shape shape(std::span<const int64_t>(leaf.dims.data(), static_cast<size_t>(leaf.rank)));
    out.push_back({{static_cast<DType>(leaf.dtype), shape, memory.data() + leaf.at}, leaf.rows});
  }
  return out;
}

// A copy of the batch at `at`; advances `at` past its rows.
Tensor take_rows(std::span<const Part> parts, size_t& at) {
  const Part& batch = parts[at++];
  std::vector<Tensor> rows;
  for (int64_t row = 0; row < batch.rows && at < parts.size(); ++row)
    rows.push_back(parts[at].rows < 0 ? make_tensor(parts[at++].view) : take_rows(parts, at));
  const auto count = static_cast<int64_t>(rows.size());
  return {nullptr, 0, batch.view.dtype, {count}, std::make_shared<const RowList>(std::move(rows))};
}

// The processes that are executing a call.
struct Calls {
  std::mutex mutex;
  std::set<pid_t> processes;  // guarded by mutex
};
Calls& calls() {
  static auto* const made = new Calls;  // threads may outlive main()
  return *made;
}

class CallUnderWay {
 public:
  explicit CallUnderWay(pid_t process) : process_(process) {
    std::lock_guard lock(calls().mutex);
    calls().processes.insert(process_);
  }
  ~CallUnderWay() {
    std::lock_guard lock(calls().mutex);
    calls().processes.erase(process_);
  }
  CallUnderWay(const CallUnderWay&) = delete;
  CallUnderWay& operator=(const CallUnderWay&) = delete;

 private:
  pid_t process_;
};

// A process, with this side of its socket and shared memory.
class Worker {
 public:
  Worker(nb::object process, int socket, int memory)
      : process_(std::move(process)),
        pid_(nb::cast<pid_t>(process_.attr("pid"))),
        socket_(socket),
        memory_(memory) {}
  ~Worker() {  // the GIL is held
    ::close(socket_);
    try {
      in_python([&] { process_.attr("kill")(), process_.attr("wait")(); });
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("ending a process of a map");
    }
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Status call(std::span<const View> in, const std::string& label, CallContext& call, std::vector<View>& out) {
    const std::vector<Part> parts = parts_of(in, call);
    HEADRACE_TRY(write_leaves(memory_, parts));
    Message message{Kind::call, parts.size(), call.key(), 0};
    if (!exchange(message)) return interrupt_ ? given_up(label) : gone(label);
    call.facts().cpu_elsewhere_ns += message.cpu_ns;
    HEADRACE_TRY(memory_.follow());
    if (message.kind == Kind::exception) return raised(message.leaves, label);
    if (message.kind != Kind::answer) return internal_error("an invalid answer from a process of a map");
    HEADRACE_ASSIGN(const std::vector<Part> answer, read_leaves(memory_, message.leaves));
    for (const Part& part : answer) {
      if (part.rows >= 0) return internal_error("an invalid answer from a process of a map");
      out.push_back(part.view);
    }
    return {};
  }
  bool is_gone() const { return is_gone_; }

 private:
  bool exchange(Message& message) {
    const CallUnderWay under_way(pid_);
    if (!send_all(socket_, message) || !receive(message)) return false;
    return message.kind != Kind::ready || receive(message);  // `ready` comes before the first answer
  }
  bool receive(Message& message) {
    listen_for_signals(socket_, interrupt_);
    return !interrupt_ && receive_all(socket_, message);
  }
  // The process is busy with an abandoned call.
  Status given_up(const std::string& label) {
    is_gone_ = true;
    const Gil gil;
    const Status out = foreign(*interrupt_, label);
    interrupt_.reset();
    return out;
  }
  Status gone(const std::string& label) {
    is_gone_ = true;
    const Gil gil;
    try {
      const nb::object how = in_python(
          [&] { return nb::module_::import_("headrace._processes").attr("how_it_ended")(process_); });
      return {Code::internal,
              label + ": the process that ran it ended (" + nb::cast<std::string>(nb::str(how)) + ")"};
    } catch (nb::python_error& error) {
      return foreign(error, label);
    }
  }
  Status raised(uint64_t size, const std::string& label) {
    if (size > memory_.size()) return internal_error("an exception outside the shared memory");
    const Gil gil;
    try {
      const nb::bytes bytes(reinterpret_cast<const char*>(memory_.data()), size);
      in_python([&] { nb::module_::import_("headrace._processes").attr("raise_again")(bytes); });
    } catch (nb::python_error& error) {
      return foreign(error, label);
    }
    return internal_error("a process of a map sent an invalid exception");
  }

  nb::object process_;
  pid_t pid_;
  int socket_;
  SharedMemory memory_;
  bool is_gone_ = false;
  std::optional<nb::python_error> interrupt_;
};

class InProcesses final : public Runner, public std::enable_shared_from_this<InProcesses> {
 public:
  explicit InProcesses(nb::object start) : start_(std::move(start)) {}
  ~InProcesses() override {
    if (::getpid() != owner_) {  // in a forked child: the processes belong to the parent, which ends them
      for (auto& worker : idle_) (void)worker.release();
      (void)start_.release();
      return;
    }
    const Gil gil;
    idle_.clear();
    start_ = nb::object();
  }

  Result<std::unique_ptr<Answer>> call(std::span<const View> in, const std::string& label,
                                       CallContext& call) override {
    HEADRACE_ASSIGN(std::unique_ptr<Worker> worker, idle_or_new(label));
    auto answer = std::make_unique<Lent>(shared_from_this(), std::move(worker));
    HEADRACE_TRY(answer->worker->call(in, label, call, answer->views));
    return std::unique_ptr<Answer>(std::move(answer));
  }

 private:
  // The answer is in the worker's memory, so the worker is free again only when the answer is deleted.
  struct Lent final : Answer {
    Lent(std::shared_ptr<InProcesses> from, std::unique_ptr<Worker> lent)
        : home(std::move(from)), worker(std::move(lent)) {}
    ~Lent() override { home->give_back(std::move(worker)); }
    std::shared_ptr<InProcesses> home;
    std::unique_ptr<Worker> worker;
  };

  Result<std::unique_ptr<Worker>> idle_or_new(const std::string& label) {
    {
      std::lock_guard lock(mutex_);
      if (::getpid() != owner_) {
        for (auto& worker : idle_) (void)worker.release();
        idle_.clear();
        owner_ = ::getpid();
      }
      if (!idle_.empty()) {
        auto out = std::move(idle_.back());
        idle_.pop_back();
        return out;
      }
    }
    const Gil gil;
    try {
      const auto [process, socket, memory] =
          nb::cast<std::tuple<nb::object, int, int>>(in_python([&] { return start_(); }));
      return std::make_unique<Worker>(process, socket, memory);
    } catch (nb::python_error& error) {
      return foreign(error, label);
    }
  }

  void give_back(std::unique_ptr<Worker> worker) {
    if (worker->is_gone()) {
      const Gil gil;
      worker.reset();
      return;
    }
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(worker));
  }

  nb::object start_;
  std::mutex mutex_;
  pid_t owner_ = ::getpid();
  std::vector<std::unique_ptr<Worker>> idle_;  // guarded by mutex_, as is owner_
};

Message exception(const nb::object& raised, SharedMemory& memory, const nb::object& describe) {
  const nb::bytes bytes = nb::cast<nb::bytes>(describe(raised));
  check(memory.grow(bytes.size()));
  std::memcpy(memory.data(), bytes.c_str(), bytes.size());
  return {Kind::exception, bytes.size(), {}, 0};
}

Message answer_of(const Message& message, SharedMemory& memory, Callee& callee, const nb::object& describe) {
  try {
    check(memory.follow());
    const std::vector<Part> parts = unwrap(read_leaves(memory, message.leaves));
    std::vector<View> in;
    std::deque<Tensor> batches;
    std::vector<const Tensor*> ragged;
    for (size_t at = 0; at < parts.size();) {
      const bool is_batch = parts[at].rows >= 0;
      in.push_back(parts[at].view);
      if (is_batch)
        batches.push_back(take_rows(parts, at));
      else
        ++at;
      ragged.push_back(is_batch ? &batches.back() : nullptr);
    }
    Scratch scratch;
    CallContext call(scratch, message.key);
    call.set_ragged_inputs(ragged);
    std::optional<Results> results;
    results.emplace(callee.num_results());
    callee.call(in, call, *results);
    std::vector<Part> answer;
    for (size_t i = 0; i < results->size(); ++i) answer.push_back({results->view(i)});
    check(write_leaves(memory, answer));
    return {Kind::answer, answer.size(), {}, 0};
  } catch (nb::python_error& error) {
    return exception(nb::borrow(error.value()), memory, describe);
  } catch (const std::exception& error) {  // a result that does not fit into a tensor
    return exception(nb::borrow(PyExc_ValueError)(error.what()), memory, describe);
  }
}

// Ends this process when the other side of the socket is gone, even while a function is stuck. Linux's
// parent-death signal does not help: it is sent when the thread that started the process ends, and an
// iteration's threads end long before their processes.
void end_with(int socket) {
  std::thread([socket] {
    pollfd watched{socket, POLLRDHUP, 0};
    while (::poll(&watched, 1, -1) <= 0) {
    }
    ::_exit(0);
  }).detach();
}

}  // namespace

bool has_calls_elsewhere() {
  std::lock_guard lock(calls().mutex);
  return !calls().processes.empty();
}

void end_calls_elsewhere() {
  std::lock_guard lock(calls().mutex);
  for (const pid_t process : calls().processes) ::kill(process, SIGKILL);
}

std::shared_ptr<Runner> in_processes(nb::object start) {
  return std::make_shared<InProcesses>(std::move(start));
}

void serve_calls(int socket, int memory, Callee& callee, const nb::object& describe) {
  end_with(socket);
  SharedMemory shared(memory);
  if (!send_all(socket, {Kind::ready, 0, {}, 0})) return;
  while (true) {
    Message message;
    {
      const NoGil release;
      if (!receive_all(socket, message)) return;
    }
    const uint64_t begin = process_cpu_ns();
    Message answer = answer_of(message, shared, callee, describe);
    answer.cpu_ns = process_cpu_ns() - begin;
    if (!send_all(socket, answer)) return;
  }
}

}  // namespace headrace::python
