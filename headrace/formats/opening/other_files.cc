#include "headrace/formats/opening/other_files.h"

#include <unordered_set>

#include "headrace/formats/wrapped_source.h"

namespace headrace {

Result<SourcePtr> open_the_others(const FormatInfo& info, OpenRequest request, const RecordOpening& all,
                                  RecordIndexes indexes) {
  const Status refused = refusal(all, indexes.refused[0]);
  if (all.finish_without) {
    std::string note = refused_note(all.files, indexes.refused,
                                    indexes.refused.size() == 1 ? ", and its samples cannot be read"
                                                                : ", and their samples cannot be read");
    HEADRACE_ASSIGN(SourcePtr source,
                    all.finish_without(std::move(indexes.of_files), std::move(indexes.refused)));
    return with_note(std::move(source), std::move(note));
  }
  std::unordered_set<std::string_view> paths;
  for (const RefusedFile& one : indexes.refused) paths.insert(all.files[one.file].path);
  std::vector<FileIndex> of_others;
  for (size_t i = 0; i < all.files.size(); ++i)
    if (!paths.contains(all.files[i].path)) of_others.push_back(std::move(indexes.of_files[i]));
  std::erase_if(request.probes[0].files, [&](const SourceFile& file) { return paths.contains(file.path); });
  const auto others = info.open(request);
  if (!others.ok() || !others->records || others->records->files.size() != of_others.size()) return refused;
  HEADRACE_ASSIGN(SourcePtr good, others->records->finish(std::move(of_others)));
  return with_refused_files(std::move(good), all.files, std::move(indexes.refused));
}

}  // namespace headrace
