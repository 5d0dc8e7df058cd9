#include "tests/sources/hdf5_vlen.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "tests/sources/hdf5_pages.h"

namespace headrace::trial {
namespace {

constexpr uint64_t kMaxRow = uint64_t{1} << 31;

struct Column {
  std::string path;
  TensorSpec spec;  // bytes (?) for variable length
  bool is_vlen = false;
};

// What blocks share with their source, and outlives it. `pages` are those that opening the file touched: the
// metadata.
struct Hdf5File {
  SourceFile file;
  std::vector<Column> columns;
  uint64_t num_rows = 0;
  Hdf5Pages pages;
};

Status unavailable(std::string text) { return {Code::unavailable, std::move(text)}; }

Status library_error(const Hdf5Session& session, const std::string& what) {
  return corrupt("hdf5: cannot " + what + ": " + session.reason());
}

// No link on the way may leave the file.
Status check_links(hid_t file, const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    H5L_info_t info;
    if (H5Lget_info(file, prefix.c_str(), &info, H5P_DEFAULT) < 0)
      return invalid("hdf5: no dataset " + prefix);
    if (info.type != H5L_TYPE_HARD) return unavailable("hdf5: refuses the soft or external link " + prefix);
    if (end == std::string::npos) return {};
  }
}

Status check_storage(hid_t dataset, const std::string& path) {
  const Hdf5Handle made(H5Dget_create_plist(dataset), H5Pclose);
  const H5D_layout_t layout = H5Pget_layout(made);
  if (layout == H5D_VIRTUAL || H5Pget_external_count(made) != 0)
    return unavailable("hdf5: refuses storage in other files, dataset " + path);
  const int num_filters = H5Pget_nfilters(made);
  for (int i = 0; i < num_filters; ++i) {
    unsigned flags = 0, config = 0;
    size_t num_values = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(made, static_cast<unsigned>(i), &flags, &num_values, nullptr, 0, nullptr, &config);
    if (filter < H5Z_FILTER_DEFLATE || filter > H5Z_FILTER_SCALEOFFSET)
      return unavailable("hdf5: no filter " + std::to_string(filter) + ", dataset " + path);
  }
  return {};
}

Result<DType> number_type(hid_t type, const std::string& path) {
  const size_t size = H5Tget_size(type);
  const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
  if (H5Tget_class(type) == H5T_INTEGER) {
    switch (size) {
      case 1: return is_signed ? DType::i8 : DType::u8;
      case 2: return is_signed ? DType::i16 : DType::u16;
      case 4: return is_signed ? DType::i32 : DType::u32;
      case 8: return is_signed ? DType::i64 : DType::u64;
    }
  }
  if (H5Tget_class(type) == H5T_FLOAT && size == 4) return DType::f32;
  if (H5Tget_class(type) == H5T_FLOAT && size == 8) return DType::f64;
  return unavailable("hdf5: wants integers, floats or variable-length u8 in dataset " + path);
}

// Of this machine, so the library swaps bytes where the file has the other order.
hid_t memory_type(DType dtype) {
  switch (dtype) {
    case DType::i8: return H5T_NATIVE_INT8;
    case DType::u16: return H5T_NATIVE_UINT16;
    case DType::i16: return H5T_NATIVE_INT16;
    case DType::u32: return H5T_NATIVE_UINT32;
    case DType::i32: return H5T_NATIVE_INT32;
    case DType::u64: return H5T_NATIVE_UINT64;
    case DType::i64: return H5T_NATIVE_INT64;
    case DType::f32: return H5T_NATIVE_FLOAT;
    case DType::f64: return H5T_NATIVE_DOUBLE;
    default: return H5T_NATIVE_UINT8;
  }
}

Result<std::pair<Column, uint64_t>> read_column(const Hdf5Session& session, const std::string& path) {
  HEADRACE_TRY(check_links(session.file(), path));
  const Hdf5Handle dataset(H5Dopen2(session.file(), path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.ok()) return library_error(session, "open dataset " + path);
  HEADRACE_TRY(check_storage(dataset, path));
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  hsize_t dims[H5S_MAX_RANK];
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 1 || rank > kMaxRank) return unavailable("hdf5: wants 1 to 8 dimensions in dataset " + path);
  if (H5Sget_simple_extent_dims(space, dims, nullptr) != rank)
    return library_error(session, "read the shape of " + path);
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  Column column{path, {}, H5Tget_class(type) == H5T_VLEN};
  if (column.is_vlen) {
    const Hdf5Handle item(H5Tget_super(type), H5Tclose);
    HEADRACE_ASSIGN(const DType dtype, number_type(item, path));
    if (dtype != DType::u8 || rank != 1) return unavailable("hdf5: wants rows of u8 in dataset " + path);
    column.spec = {DType::bytes, {kAny}};
    return std::pair(std::move(column), uint64_t{dims[0]});
  }
  HEADRACE_ASSIGN(column.spec.dtype, number_type(type, path));
  std::vector<int64_t> shape;
  uint64_t size = size_of(column.spec.dtype);
  for (int i = 1; i < rank; ++i) {
    if (dims[i] != 0 && size > kMaxRow / dims[i])
      return Status(Code::exhausted, "hdf5: a row is too large, dataset " + path);
    size *= dims[i];
    shape.push_back(static_cast<int64_t>(dims[i]));
  }
  column.spec.shape = Shape(shape);
  return std::pair(std::move(column), uint64_t{dims[0]});
}

// Memory the library takes for variable-length rows: bounded, and given back whatever happens.
struct VlenMemory {
  uint64_t left;
  std::set<void*> taken;
  explicit VlenMemory(uint64_t limit) : left(limit) {}
  ~VlenMemory() {
    for (void* memory : taken) std::free(memory);
  }
  static void* take(size_t size, void* self) {
    auto& memory = *static_cast<VlenMemory*>(self);
    if (size > memory.left) return nullptr;
    memory.left -= size;
    void* made = std::malloc(size);
    memory.taken.insert(made);
    return made;
  }
  static void give_back(void* memory, void* self) {
    static_cast<VlenMemory*>(self)->taken.erase(memory);
    std::free(memory);
  }
};

Result<Tensor> read_row(const Hdf5Session& session, const Column& column, uint64_t row) {
  const Hdf5Handle dataset(H5Dopen2(session.file(), column.path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.ok()) return library_error(session, "open dataset " + column.path);
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = column.spec.shape.rank() + (column.is_vlen ? 0 : 1);
  hsize_t start[H5S_MAX_RANK] = {row}, count[H5S_MAX_RANK] = {1};
  if (H5Sget_simple_extent_ndims(space) != rank)
    return corrupt("hdf5: dataset " + column.path + " changed its shape");
  for (int i = 1; i < rank; ++i) count[i] = static_cast<hsize_t>(column.spec.shape[i - 1]);
  const Hdf5Handle memory(H5Screate_simple(rank, count, nullptr), H5Sclose);
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr) < 0)
    return library_error(session, "select row " + std::to_string(row));
  const std::string what = "read row " + std::to_string(row) + " of " + column.path;
  if (!column.is_vlen) {
    const MutableBufferPtr buffer = HeapBuffer::make(column.spec.size_bytes());
    if (H5Dread(dataset, memory_type(column.spec.dtype), memory, space, H5P_DEFAULT, buffer->mutable_data()) <
        0)
      return library_error(session, what);
    return Tensor{buffer, 0, column.spec.dtype, column.spec.shape, nullptr};
  }
  VlenMemory taken(kMaxRow);
  const Hdf5Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
  H5Pset_vlen_mem_manager(transfer, VlenMemory::take, &taken, VlenMemory::give_back, &taken);
  const Hdf5Handle type(H5Tvlen_create(H5T_NATIVE_UINT8), H5Tclose);
  hvl_t run{0, nullptr};
  if (H5Dread(dataset, type, memory, space, transfer, &run) < 0) return library_error(session, what);
  return make_tensor({DType::bytes, {static_cast<int64_t>(run.len)}, static_cast<const std::byte*>(run.p)});
}

class RowBlock final : public Block {
 public:
  explicit RowBlock(std::vector<Tensor> fields) : fields_(std::move(fields)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row != 0) return internal_error("hdf5: a block has one row, wanted number " + std::to_string(row));
    fields = fields_;
    return {};
  }
  size_t held_bytes() const override {
    size_t held = 0;
    for (const Tensor& field : fields_) held += field.buffer->size();
    return held;
  }

 private:
  std::vector<Tensor> fields_;
};

// Tries until no page is missing. A try that misses pages asks for at least one that was not there, so there
// are at most as many steps as pages.
template <class T> class PagedOpening : public Opening<T> {
 public:
  explicit PagedOpening(Hdf5Pages pages) : pages_(std::move(pages)) {}

  Result<Step<T>> advance(std::span<const BufferPtr> bytes) override {
    pages_.add(asked_, bytes);
    Hdf5Session session(&pages_);
    Result<T> value =
        session.file() < 0 ? Result<T>(library_error(session, "open the file")) : attempt(session);
    asked_ = pages_.extents(session.missing());
    if (!asked_.empty()) return Step<T>(asked_);
    if (!value.ok()) return in_file(value.status());
    return Step<T>(*std::move(value));
  }

 protected:
  virtual Result<T> attempt(const Hdf5Session& session) = 0;
  virtual Status in_file(Status status) const = 0;
  Hdf5Pages pages_;

 private:
  std::vector<Extent> asked_;
};

class RowOpening final : public PagedOpening<BlockPtr> {
 public:
  RowOpening(std::shared_ptr<const Hdf5File> file, uint64_t row)
      : PagedOpening(file->pages), file_(std::move(file)), row_(row) {}

 private:
  Result<BlockPtr> attempt(const Hdf5Session& session) override {
    std::vector<Tensor> fields;
    for (const Column& column : file_->columns) {
      HEADRACE_ASSIGN(Tensor field, read_row(session, column, row_));
      fields.push_back(std::move(field));
    }
    return BlockPtr(std::make_shared<RowBlock>(std::move(fields)));
  }
  Status in_file(Status status) const override {
    return std::move(status).after(" (row " + std::to_string(row_) + " of " + file_->file.path + ")");
  }

  std::shared_ptr<const Hdf5File> file_;
  uint64_t row_;
};

class Hdf5Source final : public Source {
 public:
  explicit Hdf5Source(Hdf5File file) : file_(std::make_shared<Hdf5File>(std::move(file))) {
    std::vector<std::string> names;
    std::vector<TensorSpec> specs;
    for (const Column& column : file_->columns) names.push_back(column.path), specs.push_back(column.spec);
    schema_ = Schema::of(std::move(names), std::move(specs));
  }
  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return file_->num_rows; }
  Place place(uint64_t index) const override { return {index, 0}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    return std::make_unique<RowOpening>(file_, block);
  }
  uint64_t num_files() const override { return 1; }
  std::string file(uint64_t) const override { return file_->file.path; }
  std::string where(uint64_t index) const override {
    return file_->file.path + " at row " + std::to_string(index);
  }
  Value describe() const override {
    return Value::Object{{"format", "hdf5"},
                         {"file", file_->file.path},
                         {"datasets", Value::List(schema_.names.begin(), schema_.names.end())}};
  }
  std::string fingerprint() const override {
    const std::string& path = file_->file.path;
    return hash_text("hdf5 " + std::to_string(size()) + " " + path.substr(path.rfind('/') + 1) + ":" +
                     std::to_string(file_->file.size) + " " + schema_.text());
  }

 private:
  std::shared_ptr<const Hdf5File> file_;
  Schema schema_;
};

class FileOpening final : public PagedOpening<SourcePtr> {
 public:
  FileOpening(SourceFile file, Hdf5Options options)
      : PagedOpening({file.size, options.page, {}}), file_(std::move(file)), options_(std::move(options)) {}

 private:
  Result<SourcePtr> attempt(const Hdf5Session& session) override {
    Hdf5File made{file_, {}, 0, {}};
    for (const std::string& path : options_.datasets) {
      HEADRACE_ASSIGN(auto column, read_column(session, path));
      if (made.columns.empty()) made.num_rows = column.second;
      if (column.second != made.num_rows)
        return corrupt("hdf5: wants " + std::to_string(made.num_rows) + " rows in dataset " + path +
                       ", got " + std::to_string(column.second));
      made.columns.push_back(std::move(column.first));
    }
    made.pages = pages_;
    return SourcePtr(std::make_shared<Hdf5Source>(std::move(made)));
  }
  Status in_file(Status status) const override { return std::move(status).after(" (" + file_.path + ")"); }

  SourceFile file_;
  Hdf5Options options_;
};

}  // namespace

Result<std::unique_ptr<Opening<SourcePtr>>> open_hdf5(SourceFile file, Hdf5Options options) {
  if (options.datasets.empty()) return invalid("hdf5: wants the names of datasets, got none");
  options.page = std::max<uint64_t>(options.page, 512);
  return std::unique_ptr<Opening<SourcePtr>>(
      std::make_unique<FileOpening>(std::move(file), std::move(options)));
}

}  // namespace headrace::trial
