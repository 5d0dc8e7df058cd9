#include "headrace/formats/hdf5/choose.h"

#include <algorithm>
#include <set>

namespace headrace::hdf5 {
namespace {

std::string_view parent(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view child(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Whether it is a field if none are named: no scalar, and no dimension without values.
bool may_be_field(const Contents& contents, const Name& name) {
  if (!name.refusal.ok()) return true;
  const Dataset& dataset = contents.datasets[name.dataset];
  return !dataset.refusal.ok() || (dataset.has_rows() && !dataset.is_dimension());
}

template <class List> std::string listed(const List& names) {
  constexpr size_t kShown = 8;
  std::string out;
  size_t i = 0;
  for (const auto& name : names) {
    if (i == kShown) return out + ", …";
    out += (i++ == 0 ? "" : ", ") + std::string(name.empty() ? "/" : name);
  }
  return out.empty() ? "none" : out;
}

std::set<std::string, std::less<>> groups_of(const Contents& contents) {
  std::set<std::string, std::less<>> out;
  for (const Name& name : contents.names)
    if (may_be_field(contents, name)) out.emplace(parent(name.path));
  return out;
}

// The root itself has no name, and there are no other fields to select.
Status refused(std::string_view field, const Status& why) {
  if (field.empty()) return Status(why).before("'/': ");
  return Status(why)
      .before("'" + std::string(field) + "': ")
      .after("; select the fields to read with fields=[…]");
}

Result<TensorSpec> spec_of(const Dataset& dataset, const Leaf& leaf) {
  HEADRACE_TRY(leaf.refusal);
  const bool is_single = dataset.row_elements() == 1;
  if (leaf.is_vlen() && !is_single)
    return Status(Code::unavailable, "cannot read several variable-length values per row");
  if (leaf.is_vlen() || (leaf.form == Form::text && is_single)) {
    std::vector<int64_t> dims{kAny};
    dims.insert(dims.end(), leaf.item.begin(), leaf.item.end());
    if (dims.size() > static_cast<size_t>(kMaxRank))
      return Status(Code::unavailable, "cannot read values of more than 8 dimensions");
    return TensorSpec{leaf.dtype, Shape(dims)};
  }
  std::vector<int64_t> dims;
  for (size_t i = 1; i < dataset.dims.size(); ++i) dims.push_back(static_cast<int64_t>(dataset.dims[i]));
  dims.insert(dims.end(), leaf.item.begin(), leaf.item.end());
  if (leaf.form == Form::text) dims.push_back(static_cast<int64_t>(leaf.bytes));
  if (dims.size() > static_cast<size_t>(kMaxRank))
    return Status(Code::unavailable, "cannot read values of more than 8 dimensions");
  return TensorSpec{leaf.form == Form::text ? DType::u8 : leaf.dtype, Shape(dims)};
}

class Choosing {
 public:
  Choosing(const Contents& contents, std::string group) : contents_(contents), group_(std::move(group)) {}

  Status all() {
    for (const Name& name : contents_.names)
      if (parent(name.path) == group_ && may_be_field(contents_, name))
        HEADRACE_TRY(add(name, child(name.path), {}));
    if (!out_.empty()) return {};
    return invalid("has no datasets in group '" + group_ +
                   "'; groups with datasets: " + listed(groups_of(contents_)));
  }

  // The dataset of this name, or members of a compound dataset.
  Status one(const std::string& field) {
    for (size_t end = field.size(); end != std::string::npos && end > 0; end = field.rfind('/', end - 1)) {
      const std::string dataset = field.substr(0, end);
      const Name* name = contents_.find(group_.empty() ? dataset : group_ + "/" + dataset);
      const std::string_view member =
          end == field.size() ? std::string_view() : std::string_view(field).substr(end + 1);
      const size_t before = out_.size();
      if (name) HEADRACE_TRY(add(*name, dataset, member));
      if (out_.size() > before) return {};
    }
    std::vector<std::string_view> names;
    for (const Name& name : contents_.names)
      if (parent(name.path) == group_ && may_be_field(contents_, name)) names.push_back(child(name.path));
    return invalid("has no dataset '" + field + "' in group '" + group_ + "'; it has " + listed(names));
  }

  Result<std::vector<Chosen>> finish() && {
    const auto rows = [&](const Chosen& chosen) { return contents_.datasets[chosen.dataset].rows(); };
    for (const Chosen& chosen : out_) {
      if (rows(chosen) != rows(out_[0]))
        return invalid({.expected = "datasets of the same length",
                        .got = "'" + out_[0].name + "' of " + std::to_string(rows(out_[0])) + " rows and '" +
                               chosen.name + "' of " + std::to_string(rows(chosen)) + " rows",
                        .fix = "select those that belong together with fields=[…]"});
      const auto same = [&](const Chosen& other) { return other.name == chosen.name; };
      if (std::ranges::count_if(out_, same) > 1)
        return invalid({.expected = "each field once", .got = "'" + chosen.name + "' twice"});
    }
    return std::move(out_);
  }

 private:
  Status add(const Name& name, std::string_view field, std::string_view member) {
    if (!name.refusal.ok()) return refused(field, name.refusal);
    const Dataset& dataset = contents_.datasets[name.dataset];
    if (!dataset.refusal.ok()) return refused(field, dataset.refusal);
    if (!dataset.has_rows())
      return invalid("expected a dataset with rows, but '" + std::string(field) + "' is a single value");
    for (size_t i = 0; i < dataset.leaves.size(); ++i) {
      const Leaf& leaf = dataset.leaves[i];
      const bool is_below = leaf.name.size() > member.size() && leaf.name.starts_with(member) &&
                            leaf.name[member.size()] == '/';
      if (!member.empty() && leaf.name != member && !is_below) continue;
      std::string full = std::string(field) + (leaf.name.empty() ? "" : "/" + leaf.name);
      auto spec = spec_of(dataset, leaf);
      if (!spec.ok()) return refused(full, spec.status());
      out_.push_back({std::move(full), name.path, static_cast<size_t>(name.dataset), i, *std::move(spec)});
    }
    return {};
  }

  const Contents& contents_;
  std::string group_;
  std::vector<Chosen> out_;
};

}  // namespace

Result<std::string> find_group(const Contents& contents) {
  const auto groups = groups_of(contents);
  if (groups.empty()) return invalid("has no datasets");
  if (groups.contains("")) return std::string();
  if (groups.size() == 1) return *groups.begin();
  return invalid("has datasets in several groups (" + listed(groups) + "); select one with group=");
}

Result<std::vector<Chosen>> choose(const Contents& contents, const std::string& group,
                                   const std::vector<std::string>& fields) {
  Choosing choosing(contents, group);
  if (fields.empty()) HEADRACE_TRY(choosing.all());
  for (const std::string& field : fields) HEADRACE_TRY(choosing.one(field));
  return std::move(choosing).finish();
}

}  // namespace headrace::hdf5
