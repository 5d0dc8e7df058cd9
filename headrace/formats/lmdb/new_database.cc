#include "headrace/formats/lmdb/new_database.h"

#include <lmdb.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "headrace/core/text/text.h"
#include "headrace/io/file_system.h"
#include "headrace/io/new_file.h"
#include "headrace/io/system.h"

namespace headrace {
namespace {

// Pages that one record may take besides those of its value: copies of the pages from the root to its leaf,
// and as many again if all of them split.
constexpr uint64_t kPagesOfTree = 16;
// Of one transaction, which stays in memory until it is committed. LMDB tracks at most 131071.
constexpr uint64_t kTransactionPages = uint64_t{1} << 16;
constexpr uint64_t kTransactionBytes = uint64_t{32} << 20;  // of values
constexpr size_t kProbe = size_t{64} << 10;                 // more than may be free where a write ended early
constexpr uint64_t kCommitPages = 1024;                     // for the pages that a commit itself writes

}  // namespace

// LMDB opens an existing file, and treats an empty one as new.
Result<std::unique_ptr<NewDatabase>> NewDatabase::make(const std::string& path, Layout layout) {
  if (layout == Layout::file) {
    HEADRACE_ASSIGN(const auto file, AppendedFile::make(path));
    HEADRACE_TRY(file->finish());
  } else {
    HEADRACE_TRY(check_path(path));
    if (::mkdir(path.c_str(), 0777) != 0) return system_error("cannot create", path);
  }
  std::unique_ptr<NewDatabase> out(new NewDatabase(path, layout));
  HEADRACE_TRY(out->open(layout));
  return out;
}

NewDatabase::~NewDatabase() {
  if (transaction_) mdb_txn_abort(transaction_);
  if (environment_) mdb_env_close(environment_);
}

Status NewDatabase::check(int failed) const {
  if (failed == 0) return {};
  // For a partial write LMDB reports EIO without the reason; the next write gives it.
  if (failed == EIO) HEADRACE_TRY(append_lasting(file_, std::vector<std::byte>(kProbe)));
  const int of_system = failed > 0 ? failed : 0;  // LMDB's own are negative
  return Status(Code::io, "cannot write " + in_quotes(path_) + ": " + mdb_strerror(failed))
      .refused(of_system, path_);
}

Status NewDatabase::open(Layout layout) {
  HEADRACE_TRY(check(mdb_env_create(&environment_)));
  const unsigned form = layout == Layout::file ? MDB_NOSUBDIR : 0;
  HEADRACE_TRY(check(mdb_env_open(environment_, path_.c_str(), MDB_NOLOCK | MDB_NOSYNC | form, 0666)));
  MDB_stat stat;
  HEADRACE_TRY(check(mdb_env_stat(environment_, &stat)));
  page_size_ = stat.ms_psize;
  return begin(0);
}

// Begins a transaction of at least `pages` pages. The map is first made large enough for them, so the final
// size need not be known and the map is never full, which would lose what was not committed.
Status NewDatabase::begin(uint64_t pages) {
  pages_left_ = std::max(pages, kTransactionPages), waiting_ = 0;
  MDB_envinfo info;
  HEADRACE_TRY(check(mdb_env_info(environment_, &info)));
  const uint64_t wanted = (info.me_last_pgno + 1 + pages_left_ + kCommitPages) * page_size_;
  if (wanted > info.me_mapsize)
    HEADRACE_TRY(check(mdb_env_set_mapsize(environment_, std::max<uint64_t>(wanted, 2 * info.me_mapsize))));
  HEADRACE_TRY(check(mdb_txn_begin(environment_, nullptr, 0, &transaction_)));
  MDB_dbi database = 0;
  HEADRACE_TRY(check(mdb_dbi_open(transaction_, nullptr, 0, &database)));
  return check(mdb_cursor_open(transaction_, database, &cursor_));
}

Status NewDatabase::commit() {
  if (!transaction_) return {Code::io, "cannot write " + in_quotes(path_) + " after an error"};
  mdb_cursor_close(cursor_);
  return check(mdb_txn_commit(std::exchange(transaction_, nullptr)));
}

Result<std::span<std::byte>> NewDatabase::add(std::span<const std::byte> key, uint64_t size) {
  const uint64_t pages = size / page_size_ + 1 + kPagesOfTree;
  if (!transaction_ || pages > pages_left_ || waiting_ >= kTransactionBytes) {
    HEADRACE_TRY(commit());
    HEADRACE_TRY(begin(pages));
  }
  pages_left_ -= pages;
  waiting_ += size;
  MDB_val name{key.size(), const_cast<std::byte*>(key.data())}, value{size, nullptr};
  const bool is_last = std::ranges::lexicographical_compare(last_, key);
  const unsigned place = is_last ? MDB_APPEND : MDB_NOOVERWRITE;
  const int failed = mdb_cursor_put(cursor_, &name, &value, MDB_RESERVE | place);
  if (failed == MDB_KEYEXIST) return invalid({.expected = "each key once", .got = "one again"});
  HEADRACE_TRY(check(failed));
  if (is_last) last_.assign(key.begin(), key.end());
  return std::span(static_cast<std::byte*>(value.mv_data), size);
}

Status NewDatabase::finish() {
  HEADRACE_TRY(commit());
  mdb_env_close(std::exchange(environment_, nullptr));
  return {};
}

}  // namespace headrace
