#include "headrace/formats/index/sidecar.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "headrace/core/value.h"
#include "headrace/formats/opening/remembered_listing.h"
#include "headrace/io/testing/cache_in.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

BufferPtr buffer_of(std::span<const std::byte> bytes) {
  MutableBufferPtr out = HeapBuffer::make(bytes.size());
  if (!bytes.empty()) std::memcpy(out->mutable_data(), bytes.data(), bytes.size());
  return out;
}

std::string text_of(const Sidecar& sidecar, std::string_view name) {
  const auto bytes = sidecar.find(name);
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "(none)";
}

TEST(Sidecar, ReadsBackWhatWasWritten) {
  const std::string offsets(1000, '\7'), empty;
  const Sidecar written{
      hash_text("source"), {{"offsets", bytes_of(offsets)}, {"nothing", bytes_of(empty)}}, nullptr};
  const auto bytes = serialise_sidecar(written);
  ASSERT_TRUE(bytes.ok());
  const auto read = parse_sidecar(buffer_of(*bytes));
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->fingerprint, hash_text("source"));
  EXPECT_EQ(text_of(*read, "offsets"), offsets);
  EXPECT_EQ(text_of(*read, "nothing"), "");
  EXPECT_EQ(text_of(*read, "other"), "(none)");
}

TEST(Sidecar, AnyChangedOrMissingByteIsNoticed) {
  const std::string data = "some bytes of an index";
  const auto bytes = *serialise_sidecar({hash_text("s"), {{"a", bytes_of(data)}}, nullptr});
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(parse_sidecar(buffer_of(std::span(bytes).first(length))).ok()) << length;
  const size_t table_end = 56 + 56;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i >= table_end && i < 128) continue;  // padding before the section
    auto damaged = bytes;
    damaged[i] ^= std::byte{0x40};
    EXPECT_FALSE(parse_sidecar(buffer_of(damaged)).ok()) << i;
  }
}

TEST(Sidecar, RefusesWhatItCannotHold) {
  EXPECT_FALSE(serialise_sidecar({std::string(33, 'f'), {}, nullptr}).ok());
  EXPECT_FALSE(serialise_sidecar({"", {{"", {}}}, nullptr}).ok());
  EXPECT_FALSE(serialise_sidecar({"", {{std::string(33, 'n'), {}}}, nullptr}).ok());
  EXPECT_FALSE(serialise_sidecar({"", std::vector<Section>(65, {"n", {}}), nullptr}).ok());
}

TEST(SidecarFile, StaleOrDamagedIsAsGoodAsAbsent) {
  TemporaryFolder folder;
  const CacheIn cache(folder / "cache");
  EXPECT_FALSE(load_sidecar("key"));
  const std::string data = "data";
  ASSERT_TRUE(store_sidecar("key", {"of v1", {{"a", bytes_of(data)}}, nullptr}).ok());
  EXPECT_EQ(text_of(load_sidecar("key").value(), "a"), "data");
  EXPECT_TRUE(load_sidecar("key", "of v1"));
  EXPECT_FALSE(load_sidecar("key", "of v2"));
  EXPECT_FALSE(load_sidecar("another key"));
  struct stat s;
  ASSERT_EQ(::stat((folder / "cache/headrace").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0700u);
  std::filesystem::resize_file(SidecarPlace("key").path(), 60);
  EXPECT_FALSE(load_sidecar("key"));
}

TEST(SidecarFile, AnEmptyLastSectionIsRead) {
  TemporaryFolder folder;
  const CacheIn cache(folder / "cache");
  const std::string records(100, '\7');
  const auto section = [](std::string name, const std::string& text) {
    return MadeSection{std::move(name),
                       [&text](const MadeSection::Write& write) { return write(bytes_of(text)); }};
  };
  const std::string none;
  const MadeSection sections[] = {section("records", records), section("extra", none)};
  ASSERT_TRUE(store_made_sidecar("made", sections).ok());
  const auto read = load_sidecar("made");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(text_of(*read, "records"), records);
  EXPECT_EQ(text_of(*read, "extra"), "");
}

TEST(SidecarFile, AFolderOthersMayWriteToIsNotUsed) {
  TemporaryFolder folder;
  const CacheIn cache(folder.path());
  std::filesystem::create_directory(folder / "headrace");
  ::chmod((folder / "headrace").c_str(), 0777);
  EXPECT_EQ(store_sidecar("key", {"f", {}, nullptr}).code(), Code::io);
  EXPECT_FALSE(load_sidecar("key"));
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "", 0);
  EXPECT_FALSE(SidecarPlace("key").path().starts_with("relative"));
}

TEST(SidecarFile, AnIndexBesideTheDataIsUsedIfTheDataMayBeWrittenByTheSame) {
  TemporaryFolder folder;
  const auto place = SidecarPlace::beside(folder.path(), "x");
  ASSERT_TRUE(store_sidecar(place, {"f", {}, nullptr}).ok());
  const std::string aside = folder / ".headrace", file = place.path();
  const auto is_read = [&](mode_t of_data, mode_t of_aside, mode_t of_file) {
    ::chmod(folder.path().c_str(), of_data), ::chmod(aside.c_str(), of_aside), ::chmod(file.c_str(), of_file);
    const bool is = load_sidecar(place).has_value();
    EXPECT_EQ(is, open_sidecar(place) != nullptr);
    return is;
  };
  EXPECT_TRUE(is_read(0755, 0755, 0644));
  EXPECT_TRUE(is_read(0775, 0775, 0664));  // a group that may also replace the data
  EXPECT_TRUE(is_read(0777, 0777, 0666));
  EXPECT_FALSE(is_read(0755, 0777, 0644));
  EXPECT_FALSE(is_read(0755, 0755, 0666));
  EXPECT_FALSE(is_read(0755, 0775, 0644));
  EXPECT_FALSE(is_read(01777, 0777, 0644));  // as in /tmp: others may not replace the data there
  if (::geteuid() != 0) return;
  constexpr uid_t kAnother = 12345;
  ASSERT_EQ(::chown(file.c_str(), kAnother, ::getegid()), 0);
  EXPECT_FALSE(is_read(0755, 0755, 0644));
  ASSERT_EQ(::chown(folder.path().c_str(), kAnother, ::getegid()), 0);  // whose the data are
  EXPECT_TRUE(is_read(0755, 0755, 0644));
}

TEST(SidecarLock, OneWaitsWhileTheHolderGoesOn) {
  TemporaryFolder folder;
  const CacheIn cache(folder / "cache");
  const SidecarPlace place("a list");
  auto held = std::make_optional(*SidecarLock::take(place, nullptr));
  EXPECT_EQ(SidecarLock::try_take(place).status().code(), Code::unavailable);
  const std::chrono::milliseconds patience(20);
  EXPECT_EQ(SidecarLock::take(place, nullptr, patience).status().code(), Code::unavailable);
  std::jthread holder([&held](const std::stop_token&) {
    for (int i = 0; i < 50; ++i) held->goes_on(), std::this_thread::sleep_for(std::chrono::milliseconds(5));
    held.reset();
  });
  EXPECT_TRUE(SidecarLock::take(place, nullptr, std::chrono::seconds(2)).ok());
}

TEST(SidecarFile, ManyMayStoreAtOnceAndReadersSeeWholeOnes) {
  TemporaryFolder folder;
  const CacheIn cache(folder.path());
  const std::string first(100'000, 'a'), second(50'000, 'b');
  ASSERT_TRUE(store_sidecar("key", {"f", {{"s", bytes_of(first)}}, nullptr}).ok());
  const auto write = [&](const std::string& text) {
    for (int i = 0; i < 20; ++i)
      EXPECT_TRUE(store_sidecar("key", {"f", {{"s", bytes_of(text)}}, nullptr}).ok());
  };
  std::thread a(write, first), b(write, second);
  for (int i = 0; i < 50; ++i) {
    const auto seen = load_sidecar("key");
    EXPECT_TRUE(seen && (text_of(*seen, "s") == first || text_of(*seen, "s") == second));
  }
  a.join(), b.join();
  const auto left = std::distance(std::filesystem::directory_iterator(folder / "headrace"), {});
  EXPECT_EQ(left, 1);
}

// A store of directories whose times are set by the test.
class ClockedStore final : public Store {
 public:
  Result<std::unique_ptr<OpenFile>> open(const std::string&) override { return invalid("not for this test"); }
  Result<FileInfo> info(const std::string& path) override {
    ++infos;
    return FileInfo{0, 0, path.ends_with("/sub") ? changed : 1, true};
  }
  Result<Listing> list(const std::string&) override {
    ++lists;
    Listing out;
    out.directories.add(""), out.directories.add("sub");
    out.changed_ns = {1, changed};
    for (size_t i = 0; i < kWorthRemembering; ++i) out.files.add("sub/" + std::to_string(i) + ".jpg");
    return out;
  }
  bool persistent() const override { return lasting; }

  int64_t changed = 2;
  int lists = 0, infos = 0;
  bool lasting = true;
};

TEST(RememberedListing, WalksAgainOnlyWhenADirectoryChanged) {
  TemporaryFolder folder;
  const CacheIn cache(folder / "cache");
  ClockedStore store;
  const auto first = remembered_listing(store, folder.path());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(store.lists, 1);
  const auto second = remembered_listing(store, folder.path() + "/.");
  EXPECT_EQ(store.lists, 1);
  EXPECT_EQ(store.infos, 2);
  EXPECT_EQ((*second)->files, (*first)->files);
  store.changed = 3;
  EXPECT_TRUE(remembered_listing(store, folder.path()).ok());
  EXPECT_EQ(store.lists, 2);
}

TEST(RememberedListing, ADirectoryThatJustChangedIsNotTrusted) {
  TemporaryFolder folder;
  const CacheIn cache(folder / "cache");
  ClockedStore store;
  store.changed = file_store()->info(folder.path())->changed_ns;
  EXPECT_TRUE(remembered_listing(store, folder.path()).ok());
  EXPECT_TRUE(remembered_listing(store, folder.path()).ok());
  EXPECT_EQ(store.lists, 2);
}

TEST(RememberedListing, NothingIsKeptForAStoreThatDoesNotLast) {
  TemporaryFolder folder;
  const CacheIn cache(folder / "cache");
  ClockedStore store;
  store.lasting = false;
  EXPECT_TRUE(remembered_listing(store, folder.path()).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "cache"));
}

}  // namespace
}  // namespace headrace
