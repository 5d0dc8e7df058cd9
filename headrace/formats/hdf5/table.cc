#include "headrace/formats/hdf5/table.h"

#include <algorithm>

#include "headrace/core/saturate.h"
#include "headrace/core/text/text.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/hdf5/choose.h"
#include "headrace/formats/hdf5/structures/global_heap.h"
#include "headrace/formats/records/record_files.h"

namespace headrace::hdf5 {
namespace {

constexpr uint64_t kPart = 16 << 10;         // rows of about this many bytes are read at once
constexpr uint64_t kMostTogether = 4 << 20;  // including the values that rows refer to
constexpr uint64_t kRunBytes = 1024;         // so that random reads do not cost much for adjacent rows
constexpr uint64_t kMostBlockRows = 256;     // for rows with empty or very small values

// References of rows, if they are in memory.
struct References {
  const std::byte* first = nullptr;
  uint64_t stride = 0, item_bytes = 1;
  int address_bytes = 8;

  Reference at(uint64_t row) const { return read_reference(first + row * stride, address_bytes); }
  uint64_t bytes(uint64_t row) const { return saturating_mul(at(row).count, item_bytes); }
};

std::vector<References> references_of(const TableFile& file) {
  std::vector<References> out;
  for (const FieldAt& field : file.fields) {
    const Dataset& dataset = file.dataset(field.dataset);
    const Leaf& leaf = file.leaf(field);
    const auto rows = resident_rows(dataset);
    if (!leaf.is_vlen() || !rows) continue;
    out.push_back(
        {rows->data() + leaf.offset, dataset.row_bytes(), leaf.item_bytes(), file.contents.address_bytes});
  }
  return out;
}

// First rows of runs whose values are small and contiguous in one collection of the heap, so that one read
// returns all of them.
std::vector<uint64_t> runs(const std::vector<References>& all, uint64_t rows) {
  std::vector<uint64_t> starts;
  Reference before;
  uint64_t run = kRunBytes;
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t bytes = 0;
    for (const References& references : all) bytes = saturating_add(bytes, references.bytes(row));
    const Reference to = all[0].at(row);
    const bool follows = to.count == 0 || (to.address == before.address && to.index == before.index + 1);
    run = saturating_add(run, bytes);
    if (!follows || run >= kRunBytes || row - starts.back() >= kMostBlockRows) {
      starts.push_back(row);
      run = bytes;
    }
    if (to.count > 0) before = to;
  }
  return starts.size() == rows ? std::vector<uint64_t>() : starts;
}

// Whether chunks are decompressed whole, and again for every group.
bool is_unpacked(const Dataset& dataset) {
  return !resident_rows(dataset) && dataset.storage == Storage::chunked &&
         (!dataset.filters.empty() || !holds_whole_rows(dataset));
}

void group_rows(TableFile& file) {
  const std::vector<References> references = references_of(file);
  const Dataset* chunked = nullptr;
  uint64_t fixed_bytes = 1;
  for (size_t i = 0; i < file.datasets.size(); ++i) {
    const Dataset& dataset = file.dataset(i);
    fixed_bytes += dataset.row_bytes();
    if (is_unpacked(dataset) && (!chunked || dataset.chunk_bytes() > chunked->chunk_bytes()))
      chunked = &dataset;
  }
  if (chunked) {
    uint64_t bytes = 0;
    const uint64_t looked_at = std::min<uint64_t>(file.rows, 1024);
    for (const References& some : references)
      for (uint64_t row = 0; row < looked_at; ++row) bytes = saturating_add(bytes, some.bytes(row));
    const uint64_t each = saturating_add(fixed_bytes, bytes / std::max<uint64_t>(looked_at, 1));
    file.rows_each = std::clamp<uint64_t>(kMostTogether / each, 1, chunked->chunk[0]);
    return;
  }
  if (references.empty())
    file.rows_each = std::max<uint64_t>(kPart / fixed_bytes, 1);
  else
    file.starts = runs(references, file.rows);
}

// The fields stored by our writer, if all of them still exist.
std::vector<std::string> written_fields(const Contents& contents, const Value& about) {
  std::vector<std::string> out;
  const Value* fields = about.object() ? about.find("fields") : nullptr;
  if (!fields || !fields->list()) return {};
  for (const Value& field : *fields->list()) {
    if (!field.text() || !contents.find(*field.text())) return {};
    out.push_back(*field.text());
  }
  return out;
}

// Attributes that are HDF5's or netCDF's own.
bool is_hidden(std::string_view name) {
  constexpr std::string_view names[] = {"CLASS",          "NAME",          "DIMENSION_LIST",
                                        "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates",
                                        "_NCProperties",  "_nc3_strict",   kAboutName};
  return std::ranges::find(names, name) != std::end(names);
}

Value shown_attributes(std::span<const Attribute> attributes, bool is_decoded) {
  Value out;
  for (const Attribute& one : attributes)
    if (!is_hidden(one.name) && !(is_decoded && is_of_decoding(one.name))) out.set(one.name, value_of(one));
  return out;
}

class Making {
 public:
  Making(Table* out, const TableOptions& options)
      : out_(out), options_(options), agree_("field", options.align_labels) {}

  Status add(const SourceFile& file, const FileIndex& index) {
    HEADRACE_ASSIGN(Contents contents, unpack(index.extra, file.size));
    const auto about = Value::parse(contents.about);
    std::string group = options_.group;
    std::vector<std::string> fields = options_.fields;
    if (group.empty() && fields.empty() && about.ok()) fields = written_fields(contents, *about);
    if (group.empty() && fields.empty()) {
      HEADRACE_ASSIGN(group, find_group(contents));
    }
    HEADRACE_ASSIGN(std::vector<Chosen> chosen, choose(contents, group, fields));
    if (out_->files.empty()) out_->group = group, out_->path = chosen[0].path;
    const Value* of_source = about.ok() && about->object() ? about->find("about") : nullptr;
    FileFields meant{
        file.path, {}, std::vector<std::string>(chosen.size()), of_source ? *of_source : Value()};
    HEADRACE_ASSIGN(FieldChangesPtr decoding, decode(contents, file.path, chosen, meant.types));
    meant.schema = schema_of(chosen);
    HEADRACE_TRY(agree_.add(std::move(meant)));
    TableFile made{file, std::move(contents)};
    for (const Chosen& one : chosen) {
      auto at = std::ranges::find(made.datasets, one.dataset);
      if (at == made.datasets.end()) at = made.datasets.insert(at, one.dataset);
      made.fields.push_back({static_cast<size_t>(at - made.datasets.begin()), one.leaf});
    }
    for (size_t i = 0; i < made.contents.datasets.size(); ++i)
      if (std::ranges::find(made.datasets, i) == made.datasets.end()) made.contents.datasets[i] = {};
    made.rows = made.dataset(0).rows();
    made.changes = std::move(decoding);
    group_rows(made);
    out_->first.push_back(out_->first.back() + made.rows);
    out_->files.push_back(std::move(made));
    return {};
  }

  Status finish() {
    HEADRACE_ASSIGN(out_->agreed, agree_.finish());
    for (std::string& note : notes_) out_->agreed.notes.push_back(std::move(note));
    for (size_t i = 0; i < out_->files.size(); ++i)
      out_->files[i].changes = one_after_other(out_->files[i].changes, agree_.changes(i));
    out_->schema = agree_.schema();
    return {};
  }

 private:
  // Changes the dtypes of fields that are decoded; `types` becomes their units.
  Result<FieldChangesPtr> decode(const Contents& contents, const std::string& path,
                                 std::vector<Chosen>& chosen, std::vector<std::string>& types) {
    const bool is_asked = options_.raw.has_value();
    const bool decodes = is_asked ? !*options_.raw : contents.is_netcdf;
    const bool is_first = out_->files.empty();
    Value of_fields;
    FieldChanges out;
    std::string packed;
    for (size_t i = 0; i < chosen.size(); ++i) {
      const Dataset& dataset = contents.datasets[chosen[i].dataset];
      const Leaf& leaf = dataset.leaves[chosen[i].leaf];
      out.names.push_back(chosen[i].name);
      out.changes.emplace_back();
      types[i] = leaf.members;
      if (!leaf.name.empty()) continue;  // attributes are those of the whole compound
      if (decodes && !dataset.attributes_refusal.ok())
        return Status(dataset.attributes_refusal)
            .before("the attributes of '" + chosen[i].name + "' cannot be read: ")
            .after("; raw=True reads values as they are stored");
      auto decoding =
          decodes && leaf.form == Form::number ? decoding_of(leaf.dtype, dataset.attributes) : std::nullopt;
      if (decodes && types[i].empty()) types[i] = unit_text(dataset.attributes);
      if (is_asked && !decodes && types[i].empty()) types[i] = packing_text(dataset.attributes);
      if (!is_asked && !decodes && is_packed(dataset.attributes))
        packed += (packed.empty() ? "'" : ", '") + chosen[i].name + "'";
      if (Value shown = shown_attributes(dataset.attributes, decoding.has_value());
          contents.is_netcdf && !shown.is_null())
        of_fields.set(chosen[i].name, std::move(shown));
      if (!decoding) continue;
      chosen[i].spec.dtype = decoding->dtype;
      out.changes[i] = std::move(decoding->change);
      if (std::ranges::find(out_->decoded, chosen[i].name) == out_->decoded.end())
        out_->decoded.push_back(chosen[i].name);
    }
    describe(is_first, contents.is_netcdf ? shown_attributes(contents.attributes, false) : Value(),
             of_fields);
    if (!packed.empty() && notes_.empty())
      notes_.push_back(
          "'" + path + "': the attributes of " + packed +
          " have a scale_factor or an add_offset, which is not applied, because the file does not "
          "say that it is one of netCDF; raw=False applies them, raw=True keeps the stored numbers");
    return out.any() ? std::make_shared<const FieldChanges>(std::move(out)) : FieldChangesPtr();
  }

  // Of the attributes of all files those that are the same in all.
  void describe(bool is_first, const Value& of_root, const Value& of_fields) {
    if (is_first) out_->attributes = of_root, out_->field_attributes = of_fields;
    keep_same(of_root, out_->attributes);
    keep_same_of_fields(of_fields, out_->field_attributes);
  }

  Table* out_;
  const TableOptions& options_;
  FilesAgree agree_;
  std::vector<std::string> notes_;
};

}  // namespace

RowRange TableFile::group_of(uint64_t row) const {
  if (starts.empty()) {
    const uint64_t begin = row / rows_each * rows_each;
    return {begin, std::min(begin + rows_each, rows)};
  }
  const auto after = std::ranges::upper_bound(starts, row);
  return {after[-1], after == starts.end() ? rows : *after};
}

std::optional<std::span<const std::byte>> resident_rows(const Dataset& dataset) {
  if (!dataset.kept.empty()) return std::as_bytes(std::span(dataset.kept));
  if (dataset.storage == Storage::compact) return std::as_bytes(std::span(dataset.compact));
  return std::nullopt;
}

Result<Table> make_table(const std::vector<SourceFile>& files, std::vector<FileIndex> indexes,
                         const TableOptions& options) {
  Table out;
  out.first = {0};
  Making making(&out, options);
  for (size_t i = 0; i < files.size(); ++i) {
    Status status = making.add(files[i], indexes[i]);
    indexes[i] = {};
    if (!status.ok()) return std::move(status).in_file(files[i].path);
  }
  HEADRACE_TRY(making.finish());
  return out;
}

}  // namespace headrace::hdf5
