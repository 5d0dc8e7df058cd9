// HDF5 files: see README.md in this folder.
#include <algorithm>

#include "headrace/formats/hdf5/rows.h"
#include "headrace/formats/hdf5/structure.h"
#include "headrace/formats/hdf5/table.h"
#include "headrace/formats/meaning/attributes.h"
#include "headrace/formats/records/record_files.h"
#include "headrace/formats/strings/utf8_strings.h"

namespace headrace {
namespace {

using hdf5::RowRange;
using hdf5::Table;

// A block is identified by its first row.
class Hdf5Source final : public Source {
 public:
  Hdf5Source(Table table, Value description, Value left_out)
      : table_(std::make_shared<const Table>(std::move(table))),
        description_(std::move(description)),
        left_out_(std::move(left_out)) {}

  const Schema& schema() const override { return table_->schema; }
  uint64_t size() const override { return table_->first.back(); }
  Place place(uint64_t index) const override {
    const size_t file = file_of(index);
    const uint64_t row = index - table_->first[file], begin = table_->files[file].group_of(row).begin;
    return {table_->first[file] + begin, row - begin};
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    const size_t file = file_of(block);
    return with_changes(
        hdf5::open_rows(table_, file, table_->files[file].group_of(block - table_->first[file])),
        table_->files[file].changes);
  }
  uint64_t num_files() const override { return table_->files.size(); }
  std::string file(uint64_t ordinal) const override { return table_->files[ordinal].file.path; }
  const SourceFile* known_file(uint64_t ordinal) const override { return &table_->files[ordinal].file; }

  SamplePlace where(uint64_t index) const override {
    const size_t file = file_of(index);
    const uint64_t row = index - table_->first[file];
    return {table_->files[file].file.path, ", row " + std::to_string(row) + " of /" + table_->path, row};
  }
  Value describe() const override { return description_; }

  std::string fingerprint() const override {
    std::vector<SourceFile> files;
    std::vector<uint64_t> rows;
    for (const hdf5::TableFile& file : table_->files) files.push_back(file.file), rows.push_back(file.rows);
    return files_fingerprint("hdf5 " + table_->group + " " + schema().stable_text() +
                                 table_->agreed.stable_text + (table_->decoded.empty() ? "" : " decoded"),
                             files, rows);
  }

  Value metadata() const override {
    Value out{Value::Object()};
    out.set("files", table_->files.size());
    out.set("group", "/" + table_->group);
    if (!left_out_.is_null()) out.set("left_out", left_out_);
    const std::vector<std::string>& decoded = table_->decoded;
    if (!decoded.empty()) out.set("decoded", Value::List(decoded.begin(), decoded.end()));
    if (!table_->attributes.is_null()) out.set("attributes", table_->attributes);
    if (!table_->field_attributes.is_null()) out.set("field_attributes", table_->field_attributes);
    table_->agreed.add_to(out);
    return out;
  }

 private:
  size_t file_of(uint64_t index) const {
    if (table_->files.size() == 1) return 0;
    return static_cast<size_t>(std::ranges::upper_bound(table_->first, index) - table_->first.begin() - 1);
  }

  std::shared_ptr<const Table> table_;
  Value description_, left_out_;
};

// Older netCDF is another format: recognised only for its error message.
bool is_netcdf3(std::string_view head) {
  return head.size() >= 4 && head.starts_with("CDF") && (head[3] == 1 || head[3] == 2 || head[3] == 5);
}

// A user block before the file has 512 bytes, or 1024, 2048 and so on.
int recognise(const Probe& probe) {
  const std::string_view text = probe.text();
  if (text.starts_with(hdf5::kSignature)) return 97;
  if (is_netcdf3(text)) return 90;
  for (size_t at = 512; at < text.size(); at *= 2)
    if (text.substr(at).starts_with(hdf5::kSignature)) return 80;
  return 0;
}

std::string without_slashes(std::string group) {
  while (group.starts_with('/')) group.erase(0, 1);
  while (group.ends_with('/')) group.pop_back();
  return group;
}

Result<SourceOpening> open(const OpenRequest& request) {
  if (is_netcdf3(request.path().text()))
    return Status(Code::unavailable,
                  {.expected = "netCDF-4, which is HDF5",
                   .got = "netCDF 3, which is not read",
                   .fix = "`nccopy -k nc4 old.nc new.nc` or xarray's to_netcdf() converts it"});
  hdf5::TableOptions options;
  HEADRACE_ASSIGN(std::string group, request.text("group"));
  options.group = without_slashes(std::move(group));
  HEADRACE_ASSIGN(options.fields, request.strings("fields"));
  HEADRACE_ASSIGN(options.raw, raw_option(request));
  HEADRACE_ASSIGN(options.align_labels, request.flag("align_labels", false));
  RecordOpening out;
  out.kind = hdf5::kIndexKind;
  out.files = request.path().files;
  if (out.files.empty()) return invalid({.expected = "files", .got = "none"});
  out.index = [files = out.files](uint64_t file) { return hdf5::index_hdf5(files[file]); };
  out.finish = [request, options](std::vector<FileIndex> indexes) -> Result<SourcePtr> {
    HEADRACE_ASSIGN(Table table, hdf5::make_table(request.path().files, std::move(indexes), options));
    return SourcePtr(std::make_shared<Hdf5Source>(std::move(table), describe_opening("hdf5", request),
                                                  request.path().left_out));
  };
  return from_records(std::move(out));
}

const FormatRegistration registered({
    .name = "hdf5",
    .doc = "The datasets of one group in HDF5 files: one field per dataset, one sample per row.",
    .fields = "one per dataset, of rows along its first dimension. One-dimensional numeric datasets give "
              "scalars, further dimensions arrays, variable-length sequences arrays of variable length; such "
              "sequences of uint8 are bytes, and text is str. Members of compounds are separate fields, "
              "`obs/day`; enums are their integers.",
    .details =
        {"Scalar datasets, which have no rows, are left out. All files must have the same fields.",
         "In files of netCDF-4, dimensions without a variable are no fields, and values are decoded as "
         "xarray does: `metadata[\"decoded\"]` names the fields, `metadata[\"types\"]` their units, "
         "`metadata[\"attributes\"]` and `metadata[\"field_attributes\"]` have the attributes "
         "that are the same in all files. Times stay numbers of their unit."},
    .options =
        {{"group", "str | None",
          "The group, such as \"train\"; when not given the root, or the only group that has datasets."},
         {"fields", "Sequence[str] | None",
          "Only these datasets, in this order, relative to the group; members of compounds as "
          "\"dataset/member\". All of the group when not given."},
         raw_option_info("a file of netCDF-4"),
         align_labels_option(),
         encoding_option()},
    .raises =
        {{"NotImplementedError",
          "a chosen dataset has an unsupported type or filter, or is in another file."},
         {"ValueError",
          "there are several groups, or datasets of different lengths, or a given name does not exist."},
         {"CorruptSample", "structures of the file are damaged."}},
    .example = "hr.read_hdf5(\"data.h5\", group=\"train\", fields=[\"image\", \"label\"])",
    .recognise = recognise,
    .open = open,
    .takes_files = true,
});

}  // namespace
}  // namespace headrace
