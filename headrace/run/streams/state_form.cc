#include "headrace/run/streams/state_form.h"

#include <algorithm>

#include "headrace/core/dtype.h"
#include "headrace/run/streams/cursor_bytes.h"

namespace headrace {
namespace {

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

// The bytes of hex digits; false where they are none.
bool bytes_of(std::string_view hex, std::string& out) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (hex.size() % 2 != 0) return false;
  for (size_t i = 0; i < hex.size(); i += 2) {
    if (digit(hex[i]) < 0 || digit(hex[i + 1]) < 0) return false;
    out += static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1]));
  }
  return true;
}

}  // namespace

void StateForm::fail(std::string_view name, std::string_view expected, const Value* got) {
  if (status_.ok())
    status_ = invalid("state: " + path_ + std::string(name) + " must be " + std::string(expected) + ", got " +
                      (got ? got->dump() : "nothing"));
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
    status_ = invalid("state: " + path_ + std::string(verb) + ": version " + number->dump() +
                      " of its state is newer than this version of Headrace reads (" +
                      std::to_string(version) + ")");
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

uint64_t StateForm::number(std::string_view name) {
  if (names()) {
    const uint64_t value = from_->next();
    named_.set(name, value);
    return value;
  }
  const Value* value = member(name, "a whole number");
  if (value && !value->integer()) fail(name, "a whole number", value);
  const uint64_t out = status_.ok() ? static_cast<uint64_t>(*value->integer()) : 0;
  to_->push_back(out);
  return out;
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
    named_.set(name, hex_of(take_bytes(*from_)));
    return;
  }
  const Value* value = member(name, "bytes in hex");
  std::string out;
  if (value && (!value->text() || !bytes_of(*value->text(), out))) fail(name, "bytes in hex", value);
  put_bytes(out, *to_);
}

void StateForm::tensor(std::string_view name) {
  constexpr std::string_view expected = "a tensor with dtype, shape and bytes";
  if (names()) {
    const Tensor tensor = take_tensor(*from_);
    if (!from_->good()) return;
    const auto bytes = tensor.view().bytes();
    Value out{Value::Object()};
    out.set("dtype", short_name(tensor.dtype));
    out.set("shape", Value::List(tensor.shape.dims().begin(), tensor.shape.dims().end()));
    out.set("bytes", hex_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    named_.set(name, std::move(out));
    return;
  }
  const Value* value = member(name, expected);
  if (!value) return;
  const Value *dtype = value->find("dtype"), *shape = value->find("shape"), *hex = value->find("bytes");
  std::string bytes;
  const auto type = dtype && dtype->text() ? parse_dtype(*dtype->text()) : Result<DType>(invalid(""));
  if (!type.ok() || !shape || !shape->list() || shape->list()->size() > kMaxRank || !hex || !hex->text() ||
      !bytes_of(*hex->text(), bytes))
    return fail(name, expected, value);
  to_->insert(to_->end(), {static_cast<uint64_t>(*type), shape->list()->size()});
  for (const Value& dimension : *shape->list()) {
    if (!dimension.integer()) return fail(name, expected, value);
    to_->push_back(static_cast<uint64_t>(*dimension.integer()));
  }
  put_bytes(bytes, *to_);  // take_tensor() checks that they fit
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
    if (std::ranges::find(known_, name) == known_.end())
      status_ = invalid("state: " + path_ + name + " is no member of this state");
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

void StateForm::numbers(std::string_view name) {
  if (names()) {
    Value::List made;
    for (uint64_t left = from_->next(); left > 0 && from_->good(); --left) made.emplace_back(from_->next());
    named_.set(name, std::move(made));
    return;
  }
  const Value* value = member(name, "a list of whole numbers");
  if (!value) return;
  if (!value->list()) return fail(name, "a list of whole numbers", value);
  to_->push_back(value->list()->size());
  for (const Value& item : *value->list()) {
    if (!item.integer()) return fail(name, "a list of whole numbers", value);
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
