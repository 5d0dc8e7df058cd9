#include "headrace/run/streams/state_form.h"

#include <algorithm>
#include <limits>

#include "headrace/core/text/hex.h"
#include "headrace/core/text/text.h"
#include "headrace/graph/plan/tensor_json.h"
#include "headrace/run/streams/cursor_bytes.h"

namespace headrace {
Status wrong_in_state(std::string_view path, std::string expected, const Value* got) {
  return invalid({.expected = std::move(expected), .got = got ? got->dump() : "nothing: it is missing"})
      .in_option(path)
      .in_op("state");
}

std::string range_text(uint64_t most, uint64_t least) {
  const std::string from = std::to_string(least);
  if (most == kInfinite) return "a whole number of at least " + from;
  return "a whole number from " + from + " to " + std::to_string(most);
}

void StateForm::fail(std::string_view name, std::string_view expected, const Value* got) {
  if (status_.ok()) status_ = wrong_in_state(path_ + std::string(name), std::string(expected), got);
}

void StateForm::refuse(std::string_view name, std::string_view expected) {
  if (!names() && status_.ok()) fail(name, expected, read_->find(name));
}

const Value* StateForm::member(std::string_view name, std::string_view expected) {
  known_.push_back(name);
  const Value* value = status_.ok() ? read_->find(name) : nullptr;
  if (!value) fail(name, expected, nullptr);
  return value;
}

void StateForm::stream(std::string_view verb, int64_t version) {
  if (names()) {
    named_.set("verb", verb);
    named_.set("version", version);
    return;
  }
  known_.insert(known_.end(), {"verb", "version"});
  if (!status_.ok()) return;
  const Value *theirs = read_->find("verb"), *number = read_->find("version");
  if (!theirs || !theirs->text() || *theirs->text() != verb)
    return fail("verb", "\"" + std::string(verb) + "\", as this plan has it", theirs);
  if (!number || !number->integer() || *number->integer() < 1)
    return fail("version", "a number from 1", number);
  if (*number->integer() > version)
    status_ = invalid(path_ + std::string(verb) + ": version " + number->dump() +
                      " of its state is newer than this version of Headrace reads (" +
                      std::to_string(version) + ")")
                  .in_op("state");
}

bool StateForm::is(std::string_view verb, bool is_there) const {
  if (names()) return is_there;
  const Value* theirs = read_->find("verb");
  return theirs && theirs->text() && *theirs->text() == verb;
}

void StateForm::nothing() {
  if (names())
    from_->next();
  else
    to_->push_back(0);
}

uint64_t StateForm::number_of(std::string_view name, std::string_view expected, uint64_t most,
                              int64_t least) {
  if (names()) {
    const uint64_t value = from_->next();
    named_.set(name, value);
    return value;
  }
  const Value* value = member(name, expected);
  const int64_t* number = value ? value->integer() : nullptr;
  const bool fits = number && *number >= least && (*number < 0 || static_cast<uint64_t>(*number) <= most);
  if (value && !fits) fail(name, expected, value);
  const uint64_t out = status_.ok() ? static_cast<uint64_t>(*number) : 0;
  to_->push_back(out);
  return out;
}

uint64_t StateForm::number(std::string_view name, uint64_t most, uint64_t least) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return number_of(name, range_text(most, least), most, static_cast<int64_t>(std::min(least, kMost)));
}

uint64_t StateForm::any_number(std::string_view name) {
  return number_of(name, "a whole number", kInfinite, std::numeric_limits<int64_t>::min());
}

bool StateForm::flag(std::string_view name) {
  if (names()) {
    const bool value = from_->next() != 0;
    named_.set(name, value);
    return value;
  }
  const Value* value = member(name, "true or false");
  if (value && !value->boolean()) fail(name, "true or false", value);
  const bool out = status_.ok() && *value->boolean();
  to_->push_back(out);
  return out;
}

void StateForm::bytes(std::string_view name) {
  if (names()) {
    named_.set(name, hex_of(text_bytes(take_bytes(*from_))));
    return;
  }
  constexpr std::string_view expected = "bytes in hex";
  const Value* value = member(name, expected);
  const auto bytes = value && value->text() ? bytes_of_hex(*value->text()) : std::nullopt;
  if (value && !bytes) fail(name, expected, value);
  put_bytes(bytes.value_or(""), *to_);
}

void StateForm::tensor(std::string_view name) {
  if (names()) {
    const Tensor tensor = take_tensor(*from_);
    if (from_->good()) named_.set(name, tensor_to_value(tensor));
    return;
  }
  constexpr std::string_view expected = "a tensor with dtype, shape and bytes";
  const Value* value = member(name, expected);
  if (!value) return;
  const auto tensor = tensor_from_value(*value);
  if (!tensor.ok()) return fail(name, expected, value);
  put_tensor(*tensor, *to_);
}

size_t StateForm::counted(std::string_view name, size_t count) {
  if (names()) return from_->next();
  const Value* value = member(name, "a list");
  if (value && !value->list()) fail(name, "a list", value);
  count = status_.ok() ? value->list()->size() : 0;
  to_->push_back(count);
  return count;
}

void StateForm::check_length(std::string_view name, size_t count) {
  if (names()) return;
  const Value* value = member(name, "a list");
  const std::string expected = "a list of " + std::to_string(count);
  if (value && (!value->list() || value->list()->size() != count)) fail(name, expected, value);
}

void StateForm::finish() {
  if (names() || !status_.ok() || !read_->object()) return;
  for (const auto& [name, value] : *read_->object())
    if (std::ranges::find(known_, name) == known_.end()) return fail(name, "no such member", &value);
}

StateForm StateForm::enter(std::string_view name, size_t item) const {
  if (names()) return StateForm(*from_);
  const Value* list = read_->find(name);
  const bool is_there = list && list->list() && item < list->list()->size();
  static const Value nothing;
  StateForm out(is_there ? (*list->list())[item] : nothing, *to_);
  out.path_ = path_ + std::string(name) + "[" + std::to_string(item) + "].";
  return out;
}

void StateForm::numbers(std::string_view name, uint64_t most) {
  if (names()) {
    Value::List made;
    for (uint64_t left = from_->next(); left > 0 && from_->good(); --left) made.emplace_back(from_->next());
    named_.set(name, std::move(made));
    return;
  }
  const std::string expected = "a list, each " + range_text(most, 0);
  const Value* value = member(name, expected);
  if (!value) return;
  if (!value->list()) return fail(name, expected, value);
  to_->push_back(value->list()->size());
  for (const Value& item : *value->list()) {
    if (!item.integer() || *item.integer() < 0 || static_cast<uint64_t>(*item.integer()) > most)
      return fail(name, expected, value);
    to_->push_back(static_cast<uint64_t>(*item.integer()));
  }
}

void StateForm::child(std::string_view name, const Stream& stream) {
  if (names()) {
    StateForm below(*from_);
    stream.describe(below);
    named_.set(name, std::move(below.named_));
    return;
  }
  const Value* value = member(name, "the state of the verb below");
  if (!value) return;
  StateForm below(*value, *to_);
  below.path_ = path_ + std::string(name) + ".";
  stream.describe(below);
  below.finish();
  status_ = below.status_;
}

void StateForm::children(std::string_view name, const std::vector<StreamPtr>& streams) {
  size_t next = 0;
  list(name, streams.size(), false, [&](StateForm& one) { streams[next++]->describe(one); });
}

}  // namespace headrace
