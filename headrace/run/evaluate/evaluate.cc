#include "headrace/run/evaluate/evaluate.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

#include "headrace/core/stop_flag.h"
#include "headrace/ops/call_context.h"

namespace headrace {

uint64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                               std::chrono::nanoseconds(1));
}

std::vector<Operand> operands_of(std::span<const Tensor> fields) {
  std::vector<Operand> out;
  out.reserve(fields.size());
  for (const Tensor& field : fields) out.push_back({field.view(), &field});
  return out;
}

std::shared_ptr<const void> hold_for(std::span<const Program> programs) {
  std::shared_ptr<const void> out;
  for (const Program& program : programs)
    for (const Call& call : program.steps) {
      if (call.op->phase() != Phase::python) return nullptr;
      std::shared_ptr<const void> own = call.op->hold();
      if (!own) return nullptr;  // other threads may run while it waits
      if (!out) out = std::move(own);
    }
  return out;
}

MeasuredWait::MeasuredWait(Evaluator& evaluator, bool has_lock)
    : evaluator_(evaluator),
      has_lock_(has_lock),
      began_(now_ns()),
      cpu_began_(evaluator.part_clock().cpu_ns()) {
  evaluator_.set_called();
  if (has_lock_) evaluator_.begin_with_lock();
}
MeasuredWait::~MeasuredWait() {
  const uint64_t passed = now_ns() - began_, worked = evaluator_.part_clock().cpu_ns() - cpu_began_;
  evaluator_.add_waited(passed - std::min(passed, worked));
  if (has_lock_) evaluator_.end_with_lock(worked);
}

Result<Tensor> Evaluator::allocate(const TensorSpec& spec, Use use) {
  const size_t size = spec.size_bytes();
  auto buffer = pool_->take(std::max<size_t>(size, 1), use);
  if (!buffer) return over_budget(size, *pool_, "sample");
  return Tensor{std::move(buffer), 0, spec.dtype, spec.shape, nullptr};
}

Status Evaluator::run(std::span<const Program> programs, std::span<const Operand> fields, const Identity& who,
                      std::span<const MutView> slots, std::span<Tensor> out) {
  const auto mark = scratch_.mark();
  timed_.next();
  chain_ = programs;
  next_.assign(fields.begin(), fields.end());
  std::vector<Tensor> none;
  Status status;
  for (size_t p = 0; p < programs.size() && status.ok(); ++p) {
    const Program& program = programs[p];
    at_ = p, failed_ = before_ + p;
    values_.resize(static_cast<size_t>(program.num_values()));
    const auto engine_field = [&](int field) -> Operand {
      if (field == kValidField) {
        valid_ = who.id.valid;
        return {{DType::boolean, {}, reinterpret_cast<const std::byte*>(&valid_)}, nullptr};
      }
      shown_ = static_cast<int64_t>(who.shown);
      return {{DType::i64, {}, reinterpret_cast<const std::byte*>(&shown_)}, nullptr};
    };
    for (size_t i = 0; i < program.input_fields.size(); ++i) {
      const int field = program.input_fields[i];
      values_[i] = field >= 0 ? next_[static_cast<size_t>(field)] : engine_field(field);
    }
    const bool last = p + 1 == programs.size();
    status = run_one(program, values_, who, last ? slots : std::span<const MutView>(),
                     last ? out : std::span(none));
    if (!status.ok() || last) break;
    next_.clear();
    for (int v : program.outputs) next_.push_back(values_[static_cast<size_t>(v)]);
  }
  scratch_.reset(mark);
  return status;
}

Status Evaluator::run_or_pass(std::span<const Program> programs, const Schema& schema,
                              std::span<const Operand> fields, const Identity& who,
                              std::span<const MutView> slots, std::span<Tensor> out) {
  if (!programs.empty()) return run(programs, fields, who, slots, out);
  for (size_t leaf = 0; leaf < fields.size(); ++leaf)
    HEADRACE_TRY(deliver(leaf, schema.names[leaf], fields[leaf], slots, out));
  return {};
}

// Copies or shares a value that no step wrote in place.
Status Evaluator::deliver(size_t leaf, const std::string& name, const Operand& value,
                          std::span<const MutView> slots, std::span<Tensor> out) {
  if (leaf < slots.size() && slots[leaf].data) {
    if (!(value.view.shape == slots[leaf].shape) || value.view.dtype != slots[leaf].dtype)
      return invalid({.expected = TensorSpec{slots[leaf].dtype, slots[leaf].shape}.text(),
                      .got = value.view.spec().text()})
          .in_field(name);
    std::memcpy(slots[leaf].data, value.view.data, value.view.size_bytes());
  } else if (value.owner) {
    out[leaf] = *value.owner;
  } else {
    HEADRACE_ASSIGN(out[leaf], allocate(value.view.spec(), Use::ragged));
    if (value.view.size_bytes() > 0)
      std::memcpy(const_cast<Buffer*>(out[leaf].buffer.get())->mutable_data(), value.view.data,
                  value.view.size_bytes());
  }
  return {};
}

Status Evaluator::run_one(const Program& program, std::vector<Operand>& values, const Identity& who,
                          std::span<const MutView> slots, std::span<Tensor> out) {
  placed_.assign(program.outputs.size(), 0);
  for (const Call& call : program.steps) {
    failed_at_ = &call.made_at;
    HEADRACE_TRY(run_call(call, program, values, who, slots, out));
  }
  failed_at_ = nullptr;
  // Leaves that no step wrote in place: fields passed through, values used twice, or slots switched off.
  for (size_t leaf = 0; leaf < out.size() || leaf < slots.size(); ++leaf) {
    if (placed_[leaf]) continue;
    const Operand& value = values[static_cast<size_t>(program.outputs[leaf])];
    HEADRACE_TRY(deliver(leaf, program.schema.names[leaf], value, slots, out));
  }
  return {};
}

// Where a step's output goes: its slot or tensor when it is a leaf, else scratch.
Result<MutView> Evaluator::place(const Program& program, int value, const TensorSpec& spec,
                                 std::span<const MutView> slots, std::span<Tensor> out) {
  if (write_into_slot_)
    for (size_t leaf = 0; leaf < program.outputs.size() && leaf < std::max(slots.size(), out.size());
         ++leaf) {
      if (program.outputs[leaf] != value) continue;
      if (leaf < slots.size() && slots[leaf].data) {
        if (!(slots[leaf].shape == spec.shape)) break;
        placed_[leaf] = 1;
        return slots[leaf];
      }
      HEADRACE_ASSIGN(out[leaf], allocate(spec, Use::ragged));
      placed_[leaf] = 1;
      return MutView{spec.dtype, spec.shape, const_cast<Buffer*>(out[leaf].buffer.get())->mutable_data()};
    }
  auto bytes = scratch_.take(std::max<size_t>(spec.size_bytes(), 1));
  if (bytes.empty()) return over_budget(spec.size_bytes(), *pool_, "sample");
  return MutView{spec.dtype, spec.shape, bytes.data()};
}

Key Evaluator::key_of(const Call& call, const Identity& who) const {
  return call.op->random() ? Key(seed_, call.ordinal, who.id) : Key();
}

// The part of an image that its readers use together. If a reader cannot tell, all of it; that reader reports
// its error itself.
Box Evaluator::part_for(const Call& call, const Shape& image, const Identity& who) const {
  const Box whole{0, 0, image[0], image[1]};
  Box box;
  for (const PartReader& at : call.part_readers) {
    const Call& reader = chain_[at_ + at.program].steps[at.step];
    const auto part = reader.op->reads(image, key_of(reader, who));
    if (!part.ok() || part->empty()) return whole;
    box = box.around(*part);
  }
  return box.within(image[0], image[1]);
}

Status Evaluator::run_call(const Call& call, const Program& program, std::vector<Operand>& values,
                           const Identity& who, std::span<const MutView> slots, std::span<Tensor> out) {
  if (scratch_.is_stopped()) return stopped();
  OpTally& tally = counters_->ops[call.ordinal];
  const bool timed = timed_.is_on();
  const uint64_t begin = timed ? part_clock_.cpu_ns() : 0, elsewhere = part_clock_.elsewhere_ns();
  if (watcher_) watcher_->begin();
  in_.clear();
  bool any_ragged = false;
  for (int v : call.inputs) {
    const Operand& value = values[static_cast<size_t>(v)];
    if (value.owner && value.owner->is_ragged()) {
      if (call.op->phase() != Phase::python)
        return invalid({.expected = "an array",
                        .got = "a batch of " + std::to_string(value.owner->rows->size()) +
                               " rows that is not one array (ragged, bytes or str)",
                        .fix = "map before batch"})
            .in_op(call.op->name());
      any_ragged = true;
    }
    in_.push_back(value.view);
  }
  CallContext context(scratch_, key_of(call, who));
  std::vector<const Tensor*> ragged;
  if (any_ragged) {
    for (int v : call.inputs) {
      const Tensor* owner = values[static_cast<size_t>(v)].owner;
      ragged.push_back(owner && owner->is_ragged() ? owner : nullptr);
    }
    context.set_ragged_inputs(ragged);
  }
  const auto called = [&](Status status) {
    part_clock_.add_elsewhere(std::exchange(context.facts().cpu_elsewhere_ns, 0));
    return status;
  };
  const auto n = static_cast<size_t>(call.outputs);
  const auto spec_of = [&](size_t i) -> const TensorSpec& {
    return program.specs[static_cast<size_t>(call.first_output) + i];
  };
  bool fixed = true;
  for (size_t i = 0; i < n; ++i) fixed = fixed && spec_of(i).is_static();
  shapes_.clear();
  for (size_t i = 0; i < n; ++i) shapes_.push_back(spec_of(i).shape);
  if (!fixed) HEADRACE_TRY(called(call.op->measure(in_, shapes_, context)));
  out_.clear();
  uint64_t bytes = 0;
  for (size_t i = 0; i < n; ++i) {
    const TensorSpec spec{spec_of(i).dtype, shapes_[i]};
    const int value = call.first_output + static_cast<int>(i);
    HEADRACE_ASSIGN(const MutView view, place(program, value, spec, slots, out));
    out_.push_back(view);
    values[static_cast<size_t>(value)] = {view, nullptr};
    bytes += view.size_bytes();
  }
  if (call.part_readers.empty())
    HEADRACE_TRY(called(call.op->run(in_, out_, context)));
  else
    HEADRACE_TRY(called(call.op->run_part(in_, part_for(call, shapes_[0], who), out_, context)));
  if (const std::string_view decoder = context.facts().decoder; !decoder.empty()) tally.decoders.add(decoder);
  const bool counted = call.op->counted();
  if (counted) tally.calls.add(1), tally.bytes.add(bytes);
  for (const uint32_t ordinal : call.absorbed) counters_->ops[ordinal].calls.add(1);
  if (timed && counted) tally.timed_calls.add(1);
  if (timed) {
    const uint64_t ns = part_clock_.cpu_ns() - begin;
    tally.timed_ns.add(ns), timed_.add(ns);
    if (call.op->phase() == Phase::python && !has_lock_)
      in_python_ns_ += timed_.stands_for() * (ns - std::min(ns, part_clock_.elsewhere_ns() - elsewhere));
  }
  if (watcher_) watcher_->end(program, call, out_);
  return {};
}

}  // namespace headrace
