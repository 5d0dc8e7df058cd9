// Writing data sets: all samples of a plan, or one sample at a time. The GIL is released while the engine
// works or waits.
#include "headrace/run/write.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <mutex>
#include <optional>

#include "headrace/core/byte_size.h"
#include "headrace/formats/dataset/dataset_writer.h"
#include "headrace/graph/node.h"
#include "headrace/io/store.h"
#include "python/src/arrays/tensors.h"
#include "python/src/base/errors.h"
#include "python/src/base/gil.h"
#include "python/src/base/module.h"
#include "python/src/base/text.h"
#include "python/src/base/value.h"
#include "python/src/base/watcher.h"
#include "python/src/loader_options.h"

namespace headrace::python {
namespace {

DatasetOptions dataset_options(const nb::dict& wanted) {
  DatasetOptions out;
  out.format = nb::cast<std::string>(wanted["format"]);
  out.options = to_value(wanted["options"]);
  out.shard_size = nb::cast<uint64_t>(wanted["shard_size"]);
  out.shards = nb::cast<uint64_t>(wanted["shards"]);
  out.overwrite = nb::cast<bool>(wanted["overwrite"]);
  return out;
}

nb::dict written_to_python(const Written& written) {
  nb::dict out;
  out["format"] = written.manifest.format;
  out["samples"] = written.manifest.samples(), out["bytes"] = written.manifest.bytes();
  out["shards"] = written.manifest.shards.size(), out["reused_shards"] = written.reused_shards;
  return out;
}

nb::dict progress_to_python(const WriteProgress& progress) {
  constexpr const char* phases[] = {"writing", "finishing", "verifying"};
  nb::dict out;
  out["phase"] = phases[static_cast<size_t>(progress.phase)];
  out["samples"] = progress.samples, out["bytes"] = progress.bytes;
  out["total"] = progress.total ? nb::object(nb::cast(*progress.total)) : nb::none();
  return out;
}

nb::dict write(const NodeHandle& node, const std::string& path, const nb::dict& wanted,
               const nb::dict& loading, nb::handle progress) {
  WriteOptions options;
  static_cast<DatasetOptions&>(options) = dataset_options(wanted);
  options.loader = loader_options(loading);
  options.drop_broken = nb::cast<bool>(wanted["drop_broken"]);
  options.check_images = nb::cast<bool>(wanted["check_images"]);
  options.verify = nb::cast<bool>(wanted["verify"]);
  Watcher watcher(progress);
  options.progress = [&](const WriteProgress& p) {
    return watcher.watch([&] { return nb::make_tuple(progress_to_python(p)); });
  };
  const Result<WriteReport> made =
      quietly([&] { return write_dataset(node.node, path, options, file_store()); });
  watcher.rethrow();
  const WriteReport report = unwrap(made);
  nb::dict out = written_to_python(report);
  out["broken"] = report.broken, out["warnings"] = report.warnings;
  return out;
}

// A copy: the caller may change its arrays while the sample waits to be written.
Tensor owned(nb::handle leaf) {
  Tensor out = to_tensor(leaf);
  return is_text(out.dtype) ? out : make_tensor(out.view());
}

// For any thread. In a forked child it cannot be used, and leaves the parent's output alone.
class WriterHandle {
  static Status over() { return invalid("the writer is closed").in_op("write"); }

  // Releases the GIL first: the owner of the mutex may need it.
  template <class F> auto guarded(F&& f) {
    if (process_ != ::getpid())
      throw std::runtime_error("write: a writer cannot be used in a forked process");
    const NoGil nogil;
    const std::lock_guard lock(mutex_);
    return f();
  }

 public:
  WriterHandle(const std::string& path, std::vector<std::string> names, const nb::list& specs,
               const std::string& structure, const nb::dict& wanted) {
    WriterRequest request;
    request.schema.names = std::move(names), request.schema.structure = structure;
    for (nb::handle spec : specs) request.schema.specs.push_back(to_spec(spec));
    request.options = dataset_options(wanted);
    writer_ = unwrap(quietly([&] { return DatasetWriter::make(path, std::move(request)); }));
  }
  ~WriterHandle() {
    if (process_ != ::getpid()) {  // its threads do not exist here: ending them would wait forever
      (void)writer_.release();
      return;
    }
    const NoGil nogil;
    writer_.reset();
  }

  void add(const nb::list& leaves) {
    std::vector<Tensor> fields;
    for (nb::handle leaf : leaves) fields.push_back(owned(leaf));
    check(guarded([&]() -> Status {
      if (!writer_) return over();
      if (writer_->is_shard_full()) HEADRACE_TRY(writer_->end_shard(Value()));
      return writer_->add(std::move(fields));
    }));
  }
  nb::dict finish() {
    return written_to_python(unwrap(guarded([&]() -> Result<Written> {
      if (!writer_) return over();
      auto written = writer_->finish();
      if (!written.ok()) (void)writer_->discard();  // a later writer could not continue from here
      writer_.reset();
      return written;
    })));
  }
  void discard() {
    check(guarded([&]() -> Status {
      if (!writer_) return {};
      Status status = writer_->discard();
      writer_.reset();
      return status;
    }));
  }

 private:
  const int process_ = ::getpid();
  std::mutex mutex_;  // guards the writer, which is for one thread
  std::unique_ptr<DatasetWriter> writer_;
};

nb::list writer_table() {
  nb::list out;
  for (const auto& [name, info] : writers()) {
    nb::dict row;
    row["name"] = name, row["doc"] = info.doc, row["ending"] = info.ending;
    row["options"] = options_to_python(info.options);
    out.append(row);
  }
  return out;
}

}  // namespace

void bind_write(nb::module_& m) {
  m.def("write", &write, nb::arg("node"), nb::arg("path"), nb::arg("wanted"), nb::arg("loading"),
        nb::arg("progress").none(), "Write a plan's samples; returns a summary.");
  m.def(
      "parse_byte_size", [](const std::string& text) { return unwrap(parse_byte_size(text)); },
      nb::arg("text"), "The number of bytes of a size such as \"150MB\".");
  m.def("writer_table", &writer_table, "The formats that can be written, as described in the C++ sources.");
  nb::class_<WriterHandle>(m, "Writer", "Writes samples one at a time.")
      .def(nb::init<const std::string&, std::vector<std::string>, const nb::list&, const std::string&,
                    const nb::dict&>(),
           nb::arg("path"), nb::arg("names"), nb::arg("specs"), nb::arg("structure"), nb::arg("wanted"))
      .def("add", &WriterHandle::add, nb::arg("leaves"), "Write the leaves of a sample.")
      .def("finish", &WriterHandle::finish, "Publish the data set; returns a summary.")
      .def("discard", &WriterHandle::discard, "Delete what was written.");
}

}  // namespace headrace::python
