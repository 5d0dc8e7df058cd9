#include "headrace/formats/opening/probing.h"

#include <algorithm>
#include <set>

#include "headrace/core/text/hex.h"
#include "headrace/core/text/utf8.h"
#include "headrace/formats/endings.h"
#include "headrace/formats/index/unchanged.h"
#include "headrace/formats/opening/archive_folder.h"
#include "headrace/formats/opening/patterns.h"
#include "headrace/formats/opening/remembered_listing.h"
#include "headrace/formats/opening/shard_list.h"
#include "headrace/formats/opening/shards.h"
#include "headrace/formats/shard_names.h"
#include "headrace/formats/writer.h"
#include "headrace/io/look_up.h"

namespace headrace {
namespace {

std::string format_names(bool (*wanted)(const FormatInfo&)) {
  std::string out;
  for (const auto& [name, info] : formats())
    if (wanted(info)) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

// Of the first file that is not empty: parallel writers may leave empty shards.
Status read_head(Store& store, Probe& out) {
  const auto has_bytes = [](const SourceFile& file) { return file.size > 0; };
  const auto first = std::find_if(out.files.begin(), out.files.end(), has_bytes);
  const SourceFile& looked_at = first == out.files.end() ? out.files[0] : *first;
  out.info.size = looked_at.size, out.info.mtime_ns = looked_at.mtime_ns;
  HEADRACE_ASSIGN(const std::unique_ptr<OpenFile> file, store.open(looked_at.path));
  HEADRACE_ASSIGN(const FileInfo info, file->as_opened());
  const MutableBufferPtr head = HeapBuffer::make(std::min(info.size, kProbeBytes));
  if (Status status = read_exactly(*file, 0, {head->mutable_data(), head->size()}); !status.ok())
    return std::move(status).in_file(looked_at.path);
  out.head = head;
  return {};
}

// `names`: files, and folders, each of which is replaced by the shards in it.
Status add_files(Store& store, const std::vector<std::string>& names, Probe& out) {
  for (const std::string& name : names) {
    HEADRACE_ASSIGN(const FileInfo info, store.info(name));
    if (info.is_directory) {
      HEADRACE_ASSIGN(const auto listing, remembered_listing(store, name));
      auto shards = shards_of(*listing);
      if (!shards.ok()) return shards.status().before(in_quotes(name) + ": ");
      HEADRACE_TRY(add_files(store, paths_of(name, shards->names), out));
      continue;
    }
    if (out.files.empty()) out.info = info;
    out.files.push_back(source_file(name, info));
  }
  return {};
}

// Whether a failure says what the data are, and not that they cannot be looked at: then they are of no format
// only if they are something else.
bool is_about_the_data(const Status& failure) {
  return !is_of_the_system(failure) && failure.code() != Code::not_found;
}

// Several archives, each read as a folder; nothing if one of them is not an archive.
Result<std::optional<Probe>> probe_archives(Store& store, const Probe& several) {
  std::vector<std::string> shards;
  for (const SourceFile& file : several.files) {
    HEADRACE_ASSIGN(const Probe one, probe(store, file.path));
    if (!one.inside) return std::optional<Probe>();
    HEADRACE_ASSIGN(const Probe folder, archive_as_folder(store, one));
    HEADRACE_ASSIGN(const Shards inside, shards_of(*folder.listing));
    for (std::string& path : paths_of(folder.path, inside.names)) shards.push_back(std::move(path));
  }
  HEADRACE_ASSIGN(Probe out, probe_files(store, several.path, shards));
  return std::optional(std::move(out));
}

Result<Probe> probe_shards(Store& store, const Probe& folder) {
  HEADRACE_ASSIGN(const Shards shards, shards_of(*folder.listing));
  HEADRACE_ASSIGN(Probe out, probe_files(store, folder.path, paths_of(folder.path, shards.names)));
  out.left_out = shards.left_out;
  return out;
}

// The ways to look at a path: as it is, an archive as the folder that it holds, a folder as its shards,
// several archives as the shards inside them.
class Views {
 public:
  Views(Store& store, Probe first) : store_(store), now_(std::move(first)) {}

  const Probe& now() const { return now_; }
  Probe take() { return std::move(now_); }
  bool are_shards() const { return are_shards_; }  // of a folder, or inside of these

  // False: there is no other way; now() is unchanged, as it is after an error.
  Result<bool> next() {
    if (now_.inside) {
      HEADRACE_ASSIGN(now_, archive_as_folder(store_, now_));
      return true;
    }
    if (now_.listing) {
      HEADRACE_ASSIGN(now_, probe_shards(store_, now_));
      are_shards_ = true;
      return true;
    }
    const bool are_several = are_shards_ || now_.files.size() > 1;
    if (are_unpacked_ || !are_several || !looks_like_archive(now_)) return false;
    HEADRACE_ASSIGN(std::optional<Probe> archives, probe_archives(store_, now_));
    if (!archives) return false;
    now_ = *std::move(archives);
    return are_unpacked_ = true;
  }

 private:
  Store& store_;
  Probe now_;
  bool are_shards_ = false, are_unpacked_ = false;
};

// What was found, for the message that no format recognised it.
std::string seen(const Probe& probe) {
  if (probe.listing) {
    const Names& files = probe.listing->files;
    std::string out = "a folder of " + std::to_string(files.size()) + " files";
    for (size_t i = 0; i < std::min<size_t>(files.size(), 3); ++i)
      out += (i == 0 ? ": " : ", ") + in_quotes(files[i]) + (i == 2 && files.size() > 3 ? ", …" : "");
    Endings endings;
    for (size_t i = 0; i < files.size(); ++i) endings.add(files[i]);
    return files.empty() ? out : out + "; extensions " + endings_text(endings.value());
  }
  std::string out = probe.files.size() > 1
                        ? std::to_string(probe.files.size()) + " files, the first of them " +
                              in_quotes(probe.files[0].path) + ", one"
                        : "a file";
  out += " of " + std::to_string(probe.info.size) + " bytes";
  const std::string_view head = probe.text().substr(0, 8);
  if (!head.empty()) out += " that begins with";
  for (const char c : head) out += " " + hex_of(std::byte(c));
  if (head.starts_with("\x80\x02") || head.starts_with("\x80\x03") || head.starts_with("\x80\x04"))
    out +=
        ", which looks like a pickle; it is not unpickled: save the arrays with numpy.save, or take the "
        "binary "
        "version of CIFAR";
  if (begins_as_utf16(head)) out += ", which looks like UTF-16; convert it with iconv -f UTF-16 -t UTF-8";
  return out;
}

// The format whose writer uses this ending, or whose name is the ending.
const FormatInfo* format_of_ending(const std::string& path) {
  const std::string ending = shard_kind(path);
  if (ending.empty()) return nullptr;
  for (const auto& [name, writer] : writers()) {
    const auto is_it = [&](const auto& other) { return other.first == ending; };
    if (writer.ending == ending || std::ranges::any_of(writer.other_endings, is_it)) return find_format(name);
  }
  return find_format(ending.substr(1));
}

// What files with this extension often are, which only the user can say.
std::string meaning_of_text(const Probe& probe) {
  std::string_view name = probe.files.empty() ? probe.path : probe.files[0].path;
  for (const std::string_view packed : {".gz", ".zst"})
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  return name.ends_with(".txt") && !probe.listing ? "; format=\"text\", or read_text(), reads its lines, and "
                                                    "format=\"file_list\" the images that it lists"
                                                  : "";
}

// If no samples were written, a file may be empty or contain only zeros, so that only its ending tells the
// format.
const FormatInfo* known_by_ending(const Probe& probe) {
  const auto is_zero = [](char c) { return c == 0; };
  const bool is_blank = probe.info.size <= probe.text().size() && std::ranges::all_of(probe.text(), is_zero);
  if (probe.files.empty() || !probe.head || !is_blank) return nullptr;
  return format_of_ending(probe.files[0].path);
}

Status not_recognised(const Probe& probe) {
  if (!probe.not_inside.ok()) return Status(probe.not_inside).in_op("read");
  const FormatInfo* likely = probe.listing ? nullptr : format_of_ending(probe.path);
  const std::string hint = likely
                               ? "; its extension is that of " + std::string(likely->name) + ": format=\"" +
                                     std::string(likely->name) + "\" reports what is wrong with it"
                               : meaning_of_text(probe);
  return invalid({.expected = "data of a known format",
                  .got = in_quotes(probe.path) + ", " + seen(probe) + hint,
                  .fix = "set format= to one of " + known_formats()})
      .in_op("read");
}

}  // namespace

std::string known_formats() {
  return format_names([](const FormatInfo& info) { return info.open != nullptr; });
}

std::string PathArgument::text() const {
  if (!is_list) return in_quotes(paths[0]);
  constexpr size_t kShown = 3;
  std::string out = "[";
  for (size_t i = 0; i < std::min(paths.size(), kShown); ++i)
    out += (i == 0 ? "" : ", ") + in_quotes(paths[i]);
  return out + (paths.size() > kShown ? ", …]" : "]");
}

Result<Probe> probe(Store& store, const std::string& path) {
  Probe out;
  out.path = path;
  HEADRACE_ASSIGN(out.info, store.info(path));
  if (out.info.is_directory) {
    HEADRACE_ASSIGN(out.listing, remembered_listing(store, path));
    return out;
  }
  out.files.push_back(source_file(path, out.info));
  HEADRACE_TRY(read_head(store, out));
  if (!looks_like_archive(out)) return out;
  // A truncated archive has none, and neither has a file that only starts like one.
  auto listing = store.list(path);
  if (listing.ok())
    out.inside = std::make_shared<const Listing>(*std::move(listing));
  else if (listing.status().error_number() != 0)
    return listing.status();
  else
    out.not_inside = listing.status();
  return out;
}

std::vector<std::string> paths_of(const std::string& folder, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) out.push_back(folder + (folder.ends_with('/') ? "" : "/") + name);
  return out;
}

Result<Probe> probe_files(Store& store, std::string path, const std::vector<std::string>& names) {
  Probe out;
  out.path = std::move(path);
  HEADRACE_TRY(add_files(store, names, out));
  HEADRACE_TRY(read_head(store, out));
  return out;
}

Result<Probe> probe(Store& store, const PathArgument& given, uint64_t& twice) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const std::string& path : given.paths) {
    HEADRACE_ASSIGN(const std::vector<std::string> some, expand(store, path));
    for (const std::string& name : some) {
      HEADRACE_ASSIGN(const auto listed, listed_shards(store, name));
      for (const std::string& one : listed ? *listed : std::vector{name})
        if (seen.insert(one).second)
          names.push_back(one);
        else
          ++twice;
    }
  }
  if (names.empty()) return invalid({.expected = "at least one path", .got = "none"});
  if (names.size() == 1) return probe(store, names[0]);
  return probe_files(store, given.text(), names);
}

const FormatInfo* surest(const Probe& probe) {
  const FormatInfo* best = nullptr;
  int score = 0;
  const bool needs_files = probe.files.size() > 1 || !probe.left_out.is_null();
  for (const auto& [name, info] : formats()) {
    if (!info.recognise || (needs_files && !info.takes_files)) continue;
    if (const int s = info.recognise(probe); s > score) best = &info, score = s;
  }
  return best ? best : known_by_ending(probe);
}

Result<const FormatInfo*> recognise(Store& store, Probe& looked) {
  if (const FormatInfo* known = surest(looked)) return known;
  Probe shown = looked;  // for the message: shards of a folder are not what the user gave
  Views views(store, looked);
  while (true) {
    const Result<bool> has_more = views.next();
    if (!has_more.ok() && !is_about_the_data(has_more.status())) return has_more.status().in_op("read");
    if (!has_more.ok() || !*has_more) return not_recognised(shown);
    const bool is_of_folder = views.are_shards();
    if (!is_of_folder) shown = views.now();
    const FormatInfo* known = surest(views.now());
    if (!known) continue;
    if (is_of_folder && !known->takes_files) return not_recognised(shown);
    looked = views.take();
    return known;
  }
}

Status fit(const FormatInfo& info, Store& store, Probe& looked) {
  const auto fits = [&](const Probe& one) { return info.recognise && info.recognise(one) > 0; };
  Views views(store, looked);
  // A format of one path can still be inside an archive.
  while (!fits(views.now()) && (info.takes_files || views.now().inside)) {
    HEADRACE_ASSIGN(const bool has_more, views.next());
    if (!has_more) break;
  }
  looked = views.take();
  if (info.takes_files || looked.files.size() < 2) return {};
  return invalid("reads a single path, got " + std::to_string(looked.files.size()) +
                 " files; formats that read several files: " +
                 format_names([](const FormatInfo& other) { return other.takes_files; }));
}

Status look_beside(const FormatInfo& info, Store& store, Probe& looked) {
  if (!info.beside) return {};
  for (SourceFile& file : looked.files)
    for (std::string& path : info.beside(file.path)) {
      HEADRACE_ASSIGN(const bool is_there, has_file(store, path));
      file.beside.push_back(is_there ? std::move(path) : std::string());
    }
  return {};
}

}  // namespace headrace
