#include "headrace/formats/zarr/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstring>
#include <optional>
#include <set>

#include "headrace/core/little_endian.h"
#include "headrace/core/saturate.h"
#include "headrace/core/text/base64.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/meaning/attributes.h"

namespace headrace::zarr {
namespace {

constexpr uint64_t kPart = 16 << 10;                  // rows of about this many bytes are read at once
constexpr uint64_t kMostBlock = uint64_t{256} << 20;  // bytes of a block of more than one row
constexpr uint64_t kMostCells = 1 << 16;              // per array and block,
constexpr uint64_t kMostCellsOfRow = 1 << 18;         // and per row over all arrays
constexpr size_t kMostFields = 10'000;
constexpr uint64_t kKeptRow = 16, kMostKept = uint64_t{64} << 20;  // bytes; per row, of all fields
constexpr size_t kMostKeptFiles = 4096;
constexpr uint64_t kMostRows = uint64_t{1} << 62;
constexpr int kSureStore = 90;

std::string_view parent_path(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}
std::string_view child_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

template <class List> std::string listed_names(const List& names) {
  constexpr size_t kShown = 8;
  std::string out;
  size_t i = 0;
  for (const auto& name : names) {
    if (i == kShown) return out + ", …";
    out += (i++ == 0 ? "" : ", ") + std::string(name.empty() ? "/" : name);
  }
  return out.empty() ? "none" : out;
}

std::string joined_path(std::string_view folder, std::string_view name) {
  if (folder.empty() || name.empty()) return std::string(folder.empty() ? name : folder);
  return std::string(folder).append("/").append(name);
}

// The arrays below a folder, which are adjacent: a folder of many stores visits each array once.
std::span<const Array> arrays_below(std::span<const Array> arrays, std::string_view folder) {
  if (folder.empty()) return arrays;
  const std::string begin = std::string(folder) + '/', end = std::string(folder) + char('/' + 1);
  const auto path = [](const Array& array) { return std::string_view(array.path); };
  const auto first = std::ranges::lower_bound(arrays, std::string_view(begin), {}, path);
  const auto last = std::ranges::lower_bound(arrays, std::string_view(end), {}, path);
  return {first, last};
}

// The rest of a path below the folder; nullopt for other paths.
std::optional<std::string_view> path_below(std::string_view folder, std::string_view path) {
  if (folder.empty()) return path;
  if (path.size() <= folder.size() || !path.starts_with(folder) || path[folder.size()] != '/')
    return std::nullopt;
  return path.substr(folder.size() + 1);
}

// Selects the fields among the arrays of one store of a hierarchy.
class ChoosingArrays {
 public:
  ChoosingArrays(const Hierarchy& hierarchy, std::string store)
      : hierarchy_(hierarchy), store_(std::move(store)) {}

  Result<Part> run(std::string group, std::vector<std::string> names) && {
    if (const Array* only = hierarchy_.find(store_)) {
      constexpr std::string_view kOnly = "array";
      if (!group.empty()) return invalid("is an array, and has no group '" + group + "'");
      if (!names.empty() && (names.size() > 1 || names[0] != kOnly))
        return invalid("is a single array, 'array', got other names in fields=[…]");
      HEADRACE_TRY(add(*only, kOnly));
    } else {
      if (group.empty() && names.empty()) names = written_fields();
      if (group.empty() && names.empty()) {
        HEADRACE_ASSIGN(group, only_group());
      }
      out_.group = std::move(group);
      if (names.empty()) HEADRACE_TRY(all());
      for (const std::string& name : names) HEADRACE_TRY(one(name));
    }
    out_.path = store_;
    out_.rows = out_.fields[0].array.rows();
    return std::move(out_);
  }

 private:
  std::set<std::string, std::less<>> groups() const {
    std::set<std::string, std::less<>> out;
    for (const Array& array : arrays_below(hierarchy_.arrays, store_))
      if (const auto path = path_below(store_, array.path); path && array.has_rows())
        out.emplace(parent_path(*path));
    return out;
  }

  Result<std::string> only_group() const {
    const auto all = groups();
    if (all.empty()) return invalid("has no arrays with rows");
    if (all.contains("")) return std::string();
    if (all.size() == 1) return *all.begin();
    return invalid("has arrays in several groups (" + listed_names(all) + "); select one with group=");
  }

  // The fields stored by our writer, if all of them still exist.
  std::vector<std::string> written_fields() const {
    const auto at = hierarchy_.attributes.find(store_);
    const Value* about = at == hierarchy_.attributes.end() ? nullptr : at->second.find("headrace");
    const Value* fields = about ? about->find("fields") : nullptr;
    std::vector<std::string> out;
    if (!fields || !fields->list()) return {};
    for (const Value& field : *fields->list()) {
      if (!field.text() || !hierarchy_.find(joined_path(store_, *field.text()))) return {};
      out.push_back(*field.text());
    }
    return out;
  }

  std::string group_path() const { return joined_path(store_, out_.group); }

  Status all() {
    const std::string group = group_path();
    for (const Array& array : arrays_below(hierarchy_.arrays, group))
      if (parent_path(array.path) == group && array.has_rows() && !array.path.empty())
        HEADRACE_TRY(add(array, child_name(array.path)));
    if (!out_.fields.empty()) return {};
    return invalid("has no arrays in group '" + out_.group +
                   "'; groups with arrays: " + listed_names(groups()));
  }

  Status one(const std::string& name) {
    if (const Array* array = hierarchy_.find(joined_path(group_path(), name))) return add(*array, name);
    std::vector<std::string_view> names;
    const std::string group = group_path();
    for (const Array& other : arrays_below(hierarchy_.arrays, group))
      if (parent_path(other.path) == group && other.has_rows()) names.push_back(child_name(other.path));
    return invalid("has no array '" + name + "' in group '" + out_.group + "'; it has " +
                   listed_names(names));
  }

  Status add(const Array& array, std::string_view name) {
    std::vector<Field>& fields = out_.fields;
    const std::string quoted = "'" + std::string(name) + "'";
    if (!array.refusal.ok())
      return Status(array.refusal).before(quoted + ": ").after("; select the fields to read with fields=[…]");
    if (array.shape.empty())
      return invalid("expected an array with rows, but " + quoted + " is a single value");
    if (!names_.emplace(name).second)
      return invalid({.expected = "each field once", .got = quoted + " twice"});
    cells_ = saturating_add(cells_, array.cells_across());
    if (cells_ > kMostCellsOfRow)
      return {Code::exhausted, Mismatch{.expected = "rows of at most 262,144 chunks",
                                        .got = "more",
                                        .fix = "select arrays with fields=[…]"}};
    if (fields.size() == kMostFields)
      return {Code::exhausted, Mismatch{.expected = "at most 10,000 arrays as fields",
                                        .got = "more",
                                        .fix = "select those to read with fields=[…]"}};
    if (!fields.empty() && array.rows() != fields[0].array.rows())
      return invalid({.expected = "arrays of the same length",
                      .got = "'" + fields[0].name + "' of " + std::to_string(fields[0].array.rows()) +
                             " rows and " + quoted + " of " + std::to_string(array.rows()) + " rows",
                      .fix = "select those that belong together with fields=[…]"});
    Field& made = fields.emplace_back();
    made.name = name, made.array = array;
    return {};
  }

  const Hierarchy& hierarchy_;
  std::string store_;
  std::set<std::string, std::less<>> names_;  // of the fields
  uint64_t cells_ = 0;                        // chunks per row
  Part out_;
};

// The stores in a folder that is not a store itself; {""} if the folder is one store.
std::vector<std::string> stores_of(const Hierarchy& hierarchy, const Names& files) {
  std::vector<std::string> out;
  if (looks_like_store(files) > kSureStore) return {""};
  for (const Array& array : hierarchy.arrays) {
    const std::string_view top = std::string_view(array.path).substr(0, array.path.find('/'));
    if (!top.ends_with(".zarr")) return {""};
    if (out.empty() || out.back() != top) out.emplace_back(top);
  }
  return out.empty() ? std::vector<std::string>{""} : out;
}

// A chunk that is not in the listing has the fill value, so the listing of an array must be whole, whatever
// else is left out.
Status check_listed(const Listing& listing, const Array& array) {
  for (const Listing::Problem& one : listing.unread)
    if (array.path.empty() || one.path == array.path || one.path.starts_with(array.path + "/"))
      return Status(Code::io, one.reason +
                                  "; chunks that cannot be listed would be read as fill values, so that the "
                                  "array " +
                                  in_quotes("/" + array.path) + " is not read")
          .in_file(one.path);
  return {};
}

bool is_plain_field(const Field& field) {
  const Array& array = field.array;
  return !array.element.is_text() && array.cells_are_rows() && array.cell_chain().is_plain(array.element);
}

// Memory to keep all rows of an array, whose chunks are decoded whole; nullopt if it is not worth keeping.
std::optional<uint64_t> bytes_to_keep(const Field& field) {
  const Array& array = field.array;
  if (array.element.is_text() || array.row_bytes() == 0 || array.row_bytes() > kKeptRow) return std::nullopt;
  const uint64_t cells = saturating_mul(count_along(array.rows(), array.cell()[0]), array.cells_across());
  if (cells > kMostCells || field.chunks.size() > kMostKeptFiles) return std::nullopt;
  return saturating_mul(cells, array.cell_bytes());
}

// Selects small rows such as labels to be kept, a field in all parts at once, the smallest first, up to the
// limit.
void choose_kept(std::vector<Part>& parts) {
  std::vector<std::pair<uint64_t, size_t>> sizes;
  for (size_t i = 0; i < parts[0].fields.size(); ++i) {
    uint64_t bytes = 0;
    for (const Part& part : parts) bytes = saturating_add(bytes, bytes_to_keep(part.fields[i]).value_or(0));
    sizes.emplace_back(bytes, i);
  }
  std::ranges::sort(sizes);
  uint64_t left = kMostKept;
  for (const auto& [bytes, i] : sizes) {
    if (bytes > left) return;
    left -= bytes;
    for (Part& part : parts) part.fields[i].is_to_keep = bytes_to_keep(part.fields[i]).has_value();
  }
}

// A block has the rows of a chunk, since a chunk is decoded whole: of the largest one, but at most those of
// a chunk of strings, whose size is not known in advance.
uint64_t rows_of_block(const std::vector<Field>& fields) {
  uint64_t packed_rows = 0, largest = 0, text_rows = 0, row_bytes = 1, cells = 1;
  for (const Field& field : fields) {
    if (field.is_to_keep) continue;
    const Array& array = field.array;
    row_bytes = saturating_add(row_bytes, array.row_bytes());
    cells = std::max(cells, array.cells_across());
    if (array.element.is_text() && array.element.form == Form::runs)
      text_rows = text_rows == 0 ? array.cell()[0] : std::min(text_rows, array.cell()[0]);
    else if (!is_plain_field(field) && array.cell_bytes() >= largest)
      largest = array.cell_bytes(), packed_rows = array.cell()[0];
  }
  uint64_t out = packed_rows;
  if (text_rows != 0) out = out == 0 ? text_rows : std::min(out, text_rows);
  if (out == 0) out = std::max<uint64_t>(kPart / row_bytes, 1);
  out = std::min(out, std::max<uint64_t>(kMostBlock / row_bytes, 1));
  return std::clamp<uint64_t>(out, 1, std::max<uint64_t>(kMostCells / cells, 1));
}

std::string fingerprint_of(const Table& table, const Hierarchy& hierarchy) {
  std::string text = "zarr " + table.parts[0].group + " " + table.schema.stable_text() + " " +
                     std::to_string(table.rows) + " " + hierarchy.texts_hash;
  std::string chunks;
  for (const Part& part : table.parts) {
    if (table.parts.size() > 1) text += " " + part.path;
    for (const Field& field : part.fields) {
      text += " " + field.name + " " + std::to_string(field.chunks.size());
      for (const StoredChunk& chunk : field.chunks)
        chunks.append(reinterpret_cast<const char*>(&chunk.number), sizeof chunk.number);
    }
  }
  text += table.agreed.stable_text + (table.decoded.empty() ? "" : " decoded");
  return hash_text(text + " " + hash_text(chunks));
}

constexpr std::string_view kAxes = "_ARRAY_DIMENSIONS";  // xarray's, in version 2

const Value& attributes_at(const Hierarchy& hierarchy, std::string_view path) {
  static const Value none;
  const auto at = hierarchy.attributes.find(path);
  return at == hierarchy.attributes.end() ? none : at->second;
}

// The number in the bytes of a fill value.
AttributeNumber number_of_fill(const Array& array) {
  std::array<std::byte, 8> bytes{};
  std::memcpy(bytes.data(), array.fill.data(), std::min(bytes.size(), array.fill.size()));
  return visit_dtype(array.element.dtype, [&]<class T>() -> AttributeNumber {
    if constexpr (std::floating_point<T>)
      return static_cast<double>(load<T>(bytes.data()));
    else if constexpr (std::signed_integral<T>)
      return static_cast<int64_t>(load<T>(bytes.data()));
    else if constexpr (std::unsigned_integral<T> && !std::same_as<T, bool>)
      return static_cast<uint64_t>(load<T>(bytes.data()));
    else
      return uint64_t{0};
  });
}

// Of an array, with the _FillValue as xarray finds it: in version 3 the bytes of a float64 as base64, in
// version 2 the fill value of the array. There a plain 0, which is Zarr's default, says nothing unless values
// are packed.
std::vector<Attribute> attributes_of(const Array& array, const Value& json, bool is_of_xarray) {
  constexpr std::string_view kFillValue = "_FillValue";
  std::vector<Attribute> out;
  if (json.object())
    for (const auto& [name, value] : *json.object())
      if (auto attribute = attribute_of(name, value)) out.push_back(*std::move(attribute));
  const bool is_number = !array.element.is_text();
  for (Attribute& one : out)
    if (one.name == kFillValue && one.texts.size() == 1 && is_float(array.element.dtype))
      if (const auto bytes = from_base64(one.texts[0]); bytes && bytes->size() == sizeof(double))
        one = {one.name, DType::f64, {load<double>(std::as_bytes(std::span(*bytes)))}};
  const bool is_zero = array.fill.find_first_not_of('\0') == std::string::npos;
  if (is_of_xarray && is_number && array.version == 2 && array.has_fill && !find_attribute(out, kFillValue) &&
      (!is_zero || is_packed(out)))
    out.push_back({std::string(kFillValue), array.element.dtype, {number_of_fill(array)}});
  return out;
}

// What the numbers of the arrays mean, in all stores of a folder.
class Meaning {
 public:
  Meaning(Table* out, const Hierarchy& hierarchy, const TableOptions& options)
      : out_(out), hierarchy_(hierarchy), options_(options), agree_("field", options.align_labels) {}

  Status add(Part& part) {
    const Value& of_group = attributes_at(hierarchy_, joined_path(part.path, part.group));
    const Value* ours = of_group.find("headrace");
    const Value* about = ours ? ours->find("about") : nullptr;
    if (about && about->object() && about->object()->size() > kMostAttributes) about = nullptr;
    FileFields meant{part.path, {}, std::vector<std::string>(part.fields.size()), about ? *about : Value()};
    std::vector<std::string> names;
    std::vector<TensorSpec> specs;
    Value of_fields;
    FieldChanges changes;
    for (size_t i = 0; i < part.fields.size(); ++i) {
      names.push_back(part.fields[i].name), specs.push_back(part.fields[i].array.spec());
      changes.names.push_back(names[i]);
      changes.changes.push_back(decode(part.fields[i], specs[i], meant.types[i], of_fields));
    }
    if (changes.any()) part.changes = std::make_shared<const FieldChanges>(std::move(changes));
    meant.schema = Schema::of(std::move(names), std::move(specs));
    if (out_->parts.size() == 1) {
      out_->attributes = of_group, out_->field_attributes = std::move(of_fields);
    } else {
      keep_same(of_group, out_->attributes);
      keep_same_of_fields(of_fields, out_->field_attributes);
    }
    return agree_.add(std::move(meant));
  }

  Status finish() {
    HEADRACE_ASSIGN(out_->agreed, agree_.finish());
    out_->schema = agree_.schema();
    if (!packed_.empty())
      out_->agreed.notes.push_back("the attributes of " + packed_ +
                                   " have a scale_factor or an add_offset, which is not applied, because the "
                                   "arrays do not name their axes as xarray does; raw=False applies them, "
                                   "raw=True keeps the stored numbers");
    for (size_t i = 0; i < out_->parts.size(); ++i)
      out_->parts[i].changes = one_after_other(out_->parts[i].changes, agree_.changes(i));
    return {};
  }

 private:
  // Changes the dtype of a field that is decoded; `type` becomes its unit.
  FieldChange decode(const Field& field, TensorSpec& spec, std::string& type, Value& of_fields) {
    const Value& all = attributes_at(hierarchy_, field.array.path);
    const Value json = all.object() && all.object()->size() <= kMostAttributes ? all : Value();
    const bool is_of_xarray = field.array.version == 3 ? field.array.has_names : json.find(kAxes) != nullptr;
    const bool is_asked = options_.raw.has_value();
    const bool decodes = is_asked ? !*options_.raw : is_of_xarray;
    const std::vector<Attribute> attributes = attributes_of(field.array, json, is_of_xarray);
    auto decoding =
        decodes && !field.array.element.is_text() ? decoding_of(spec.dtype, attributes) : std::nullopt;
    if (decodes) type = unit_text(attributes);
    if (is_asked && !decodes) type = packing_text(attributes);
    if (!is_asked && !decodes && is_packed(attributes) && out_->parts.size() == 1)
      packed_ += (packed_.empty() ? "'" : ", '") + field.name + "'";
    Value shown;
    if (is_of_xarray && json.object())
      for (const auto& [name, value] : *json.object())
        if (name != kAxes && !(decoding && is_of_decoding(name))) shown.set(name, value);
    if (!shown.is_null()) of_fields.set(field.name, std::move(shown));
    if (!decoding) return nullptr;
    spec.dtype = decoding->dtype;
    if (out_->parts.size() == 1) out_->decoded.push_back(field.name);
    return std::move(decoding->change);
  }

  Table* out_;
  const Hierarchy& hierarchy_;
  const TableOptions& options_;
  FilesAgree agree_;
  std::string packed_;
};

}  // namespace

const StoredChunk* Field::find(uint64_t number, size_t* place) const {
  // Usually all chunks exist, and the i-th has number i.
  if (number < chunks.size() && chunks[number].number == number) return &chunks[*place = number];
  const auto it = std::ranges::lower_bound(chunks, number, {}, &StoredChunk::number);
  if (it == chunks.end() || it->number != number) return nullptr;
  *place = static_cast<size_t>(it - chunks.begin());
  return &*it;
}

std::vector<StoredChunk> find_chunks(const Names& files, const Array& array) {
  const std::string prefix = (array.path.empty() ? "" : array.path + "/") +
                             (array.has_prefix ? std::string("c") + array.separator : "");
  size_t begin = 0, end = files.size();
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    if (files[middle] < prefix)
      begin = middle + 1;
    else
      end = middle;
  }
  std::vector<StoredChunk> out;
  for (size_t file = begin; file < files.size() && files[file].starts_with(prefix); ++file) {
    const std::string_view key = files[file].substr(prefix.size());
    const char *at = key.data(), *const stop = key.data() + key.size();
    uint64_t number = 0;
    size_t axis = 0;
    for (; axis < array.shape.size(); ++axis) {
      uint64_t coordinate = 0;
      const uint64_t count = count_along(array.shape[axis], array.chunk[axis]);
      const auto [after, error] = std::from_chars(at, stop, coordinate);
      const bool has_zero_before = at != stop && *at == '0' && after - at > 1;
      if (error != std::errc() || has_zero_before || coordinate >= count) break;
      number = number * count + coordinate;
      at = after;
      if (axis + 1 == array.shape.size()) continue;
      if (at == stop || *at != array.separator) break;
      ++at;
    }
    if (axis == array.shape.size() && at == stop) out.push_back({number, file});
  }
  std::ranges::sort(out, {}, &StoredChunk::number);
  return out;
}

const Part& Table::part_of_row(uint64_t row) const {
  if (parts.size() == 1) return parts[0];
  return std::ranges::upper_bound(parts, row, {}, &Part::first_row)[-1];
}

const Part& Table::part_of_block(uint64_t block) const {
  if (parts.size() == 1) return parts[0];
  return std::ranges::upper_bound(parts, block, {}, &Part::first_block)[-1];
}

Result<Table> make_table(const Hierarchy& hierarchy, const TableOptions& options, std::string root,
                         std::shared_ptr<const Listing> listing) {
  Table out;
  out.root = std::move(root), out.listing = std::move(listing);
  Meaning meaning(&out, hierarchy, options);
  for (const std::string& store : stores_of(hierarchy, out.listing->files)) {
    auto chosen = ChoosingArrays(hierarchy, store).run(options.group, options.names);
    if (!chosen.ok())
      return store.empty() ? chosen.status() : chosen.status().before(in_quotes(store) + ": ");
    Part& part = out.parts.emplace_back(*std::move(chosen));
    for (Field& field : part.fields) {
      HEADRACE_TRY(check_listed(*out.listing, field.array));
      field.chunks = find_chunks(out.listing->files, field.array);
    }
    HEADRACE_TRY(meaning.add(part).before(store.empty() ? "" : in_quotes(store) + ": "));
    out.rows = saturating_add(out.rows, part.rows);
    if (out.rows > kMostRows)
      return Status(Code::exhausted, {.expected = "at most 2^62 rows", .got = "more"});
  }
  HEADRACE_TRY(meaning.finish());
  choose_kept(out.parts);
  uint64_t rows = 0, blocks = 0;
  for (Part& part : out.parts) {
    part.rows_each = rows_of_block(part.fields);
    part.first_row = rows, part.first_block = blocks;
    rows += part.rows;
    blocks += count_along(part.rows, part.rows_each);
  }
  out.fingerprint = fingerprint_of(out, hierarchy);
  return out;
}

}  // namespace headrace::zarr
