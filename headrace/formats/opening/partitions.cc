#include "headrace/formats/opening/partitions.h"

#include <algorithm>
#include <map>

#include "headrace/core/text/text.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/shard_names.h"
#include "headrace/formats/splits/constant_fields.h"
#include "headrace/formats/splits/joined_source.h"
#include "headrace/formats/wrapped_source.h"

namespace headrace {
namespace {

// Without the columns that are partitions, which no file has; `left`: those of the partitions that are
// wanted.
Result<Value> options_of_files(const Value& options, std::vector<ConstantField>& left) {
  const Value* columns = options.find("columns");
  if (!columns || !columns->list()) return options;
  const auto is_wanted = [&](const ConstantField& field) {
    return std::ranges::find(*columns->list(), Value(field.name)) != columns->list()->end();
  };
  Value::List of_files;
  for (const Value& column : *columns->list())
    if (std::ranges::none_of(left, [&](const ConstantField& field) { return Value(field.name) == column; }))
      of_files.push_back(column);
  if (of_files.empty())
    return invalid({.expected = "at least one column of the files", .got = columns->dump()})
        .in_option("columns");
  std::erase_if(left, [&](const ConstantField& field) { return !is_wanted(field); });
  Value out = options;
  out.set("columns", std::move(of_files));
  return out;
}

// Whether blocks say which file they are read from; not where rows are in memory.
bool names_its_files(const Source& source) {
  if (source.size() == 0) return true;
  const auto step = source.open(source.place(0).block)->advance({});
  const auto* extents = step.ok() ? std::get_if<std::vector<Extent>>(&*step) : nullptr;
  return extents && !extents->empty();
}

// Partitions opened each by itself, after they were found to agree as one list.
Result<SourcePtr> open_one_by_one(Store& store, const Wanted& wanted, const FormatInfo* named,
                                  const std::vector<std::vector<std::string>>& files,
                                  ConstantFields constants, const IndexingOptions& indexing) {
  std::vector<PartOfJoined> parts;
  for (size_t i = 0; i < files.size(); ++i) {
    auto probed = probe_files(store, wanted.given.paths[0], files[i]);
    if (!probed.ok()) return probed.status().in_op("read");
    HEADRACE_ASSIGN(SourcePtr source, open_looked_at(store, wanted, named, *std::move(probed), indexing));
    ConstantFields own{constants.names, {constants.values[i]}, {}};
    own.description = source->describe();
    if (!own.names.empty()) source = with_constant_fields(std::move(source), std::move(own));
    parts.push_back({in_quotes(parent_of(files[i][0])), std::move(source)});
  }
  auto joined = joined_source(std::move(parts), std::move(constants.description), std::nullopt);
  return joined.ok() ? std::move(joined) : joined.status().before(wanted.given.text() + ": ").in_op("read");
}

}  // namespace

Result<SourcePtr> open_partitions(Store& store, const Wanted& wanted, const FormatInfo* named,
                                  const Probe& folder, std::vector<HivePartition> partitions,
                                  const std::vector<std::string>& copies, const IndexingOptions& indexing) {
  std::vector<ConstantField> fields = partitions[0].values;
  Wanted all = wanted;
  all.path = wanted.given.value();
  HEADRACE_ASSIGN(all.options, options_of_files(wanted.options, fields));
  ConstantFields constants;
  for (const ConstantField& field : fields) constants.names.push_back(field.name);
  std::vector<std::string> files;
  std::vector<std::vector<std::string>> by_partition;
  std::map<std::string, uint32_t, std::less<>> partition_of;  // by path
  for (HivePartition& partition : partitions) {
    for (const std::string& path : paths_of(folder.path, partition.files)) {
      partition_of.emplace(path, static_cast<uint32_t>(constants.values.size()));
      files.push_back(path);
    }
    by_partition.push_back(paths_of(folder.path, partition.files));
    std::vector<Tensor>& values = constants.values.emplace_back();
    for (ConstantField& field : partition.values)
      if (std::ranges::find(constants.names, field.name) != constants.names.end())
        values.push_back(std::move(field.value));
  }
  auto probed = probe_files(store, folder.path, files);
  if (!probed.ok()) return probed.status().in_op("read");
  HEADRACE_ASSIGN(SourcePtr source, open_looked_at(store, all, named, *std::move(probed), indexing));
  for (const std::string& name : hive_keys(partitions[0].files[0]))
    if (source->schema().find(name) >= 0)
      return invalid(in_quotes(name) +
                     " is both a column of the file and a folder; pass the files as a list or a pattern to "
                     "read the column")
          .in_file(files[0])
          .in_op("read");
  for (uint64_t i = 0; i < source->num_files(); ++i) {
    const auto found = partition_of.find(source->file(i));
    if (found == partition_of.end())
      return internal_error("expected " + in_quotes(source->file(i)) + " in a partition, got it in none");
    constants.of_file.push_back(found->second);
  }
  Value metadata = source->metadata();
  metadata.set("partitions", Value::List(constants.names.begin(), constants.names.end()));
  constants.description = source->describe();
  if (const Value* columns = wanted.options.find("columns")) constants.description.set("columns", *columns);
  if (!constants.names.empty() && !names_its_files(*source)) {
    HEADRACE_ASSIGN(source, open_one_by_one(store, all, named, by_partition, std::move(constants), indexing));
  } else if (!constants.names.empty()) {
    source = with_constant_fields(std::move(source), std::move(constants));
  }
  if (!copies.empty()) add_note(metadata, copies_note(copies[0], copies.size()));
  return with_metadata(std::move(source), std::move(metadata));
}

}  // namespace headrace
