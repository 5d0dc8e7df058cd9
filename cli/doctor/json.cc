#include "cli/doctor/report.h"
#include "cli/input/left_out.h"
#include "headrace/formats/data_notes.h"

namespace headrace::cli {
namespace {

Value sample_of(const Diagnosis& d, uint64_t position) {
  const Looked& looked = d.look.samples[position];
  Value out;
  set_place(d.look.index(position), d.place(position), out);
  out.set("bytes", static_cast<uint64_t>(looked.bytes));
  if (looked.kind != ImageKind::none) {
    out.set("height", static_cast<int64_t>(looked.height));
    out.set("width", static_cast<int64_t>(looked.width));
  }
  if (looked.label != 0) out.set("label", d.look.labels.text(looked.label));
  return out;
}

Value groups_of(const Diagnosis& d, const std::vector<std::vector<uint64_t>>& groups) {
  Value::List out;
  for (const auto& group : groups) {
    Value::List samples;
    for (const uint64_t position : group) samples.push_back(sample_of(d, position));
    out.emplace_back(std::move(samples));
  }
  return out;
}

Value duplicates_of(const Diagnosis& d) {
  Value out;
  out.set("of", Value::List(d.look.hashed.begin(), d.look.hashed.end()));
  out.set("groups", groups_of(d, d.copies.groups)), out.set("conflicts", groups_of(d, d.copies.conflicts));
  out.set("repeated", d.copies.repeated), out.set("repeated_bytes", d.copies.repeated_bytes);
  return out;
}

Value suspicious_of(const Diagnosis& d) {
  Value out{Value::Object()};
  for (const Suspicion& one : d.suspicions) {
    Value entry;
    Value::List samples;
    for (const uint64_t position : one.samples) samples.push_back(sample_of(d, position));
    entry.set("rule", one.rule), entry.set("why", one.why), entry.set("threshold", one.threshold);
    entry.set("samples", std::move(samples));
    out.set(one.name, std::move(entry));
  }
  return out;
}

Value counts_of(const std::vector<ClassCount>& counts) {
  Value::List out;
  for (const ClassCount& one : counts) {
    Value entry;
    entry.set("label", one.label), entry.set("samples", one.samples);
    out.push_back(std::move(entry));
  }
  return out;
}

Value balance_of(const Diagnosis& d) {
  const Balance& b = d.balance;
  Value out;
  if (!d.labels.has_labels()) return out;
  out.set("field", d.labels.name()), out.set("classes", b.classes), out.set("judged", b.known);
  if (!b.known) return out;
  out.set("largest", counts_of({b.largest}).list()->front());
  out.set("smallest", counts_of({b.smallest}).list()->front());
  out.set("median", b.median), out.set("ratio", b.ratio), out.set("entropy_bits", b.entropy_bits);
  out.set("effective_classes", b.effective_classes), out.set("skewed", b.is_skewed());
  out.set("rare", counts_of(b.rare)), out.set("large", counts_of(b.large));
  out.set("empty", Value::List(b.empty.begin(), b.empty.end()));
  return out;
}

Value slow_of(const Diagnosis& d) {
  const Slow& s = d.slow;
  Value out;
  out.set("median_read_ms", s.median_read_s * 1e3), out.set("median_decode_ms", s.median_decode_s * 1e3);
  out.set("threshold_read_ms", s.read_threshold_s * 1e3);
  out.set("threshold_decode_ms", s.decode_threshold_s * 1e3);
  out.set("shares_blocks", s.shares_blocks), out.set("candidates", s.candidates);
  Value::List samples;
  for (const Slow::One& one : s.samples) {
    Value entry = sample_of(d, one.sample);
    entry.set("read_ms", one.read_s * 1e3), entry.set("decode_ms", one.decode_s * 1e3);
    samples.push_back(std::move(entry));
  }
  out.set("samples", std::move(samples));
  return out;
}

Value rate_of(const ReadRate& rate) {
  Value out;
  out.set("samples_per_s", rate.samples_per_s), out.set("bytes_per_s", rate.bytes_per_s);
  out.set("readers", uint64_t{rate.readers}), out.set("cpu_us", rate.cpu_s * 1e6);
  out.set("from_disk", rate.from_disk);
  return out;
}

Value layouts_of(const std::optional<Layouts>& layouts) {
  Value out;
  if (!layouts) return out;
  out.set("as_they_lie", rate_of(layouts->as_they_lie));
  out.set("one_file_shuffled", rate_of(layouts->one_file_shuffled));
  out.set("one_file_in_order", rate_of(layouts->one_file_in_order));
  return out;
}

Value reading_of(const Reading& r) {
  Value out;
  out.set("samples", r.samples), out.set("bytes", r.bytes), out.set("files", r.files);
  out.set("samples_a_block", r.samples_a_block), out.set("once_each", r.once_each);
  out.set("disk", layouts_of(r.disk)), out.set("memory", layouts_of(r.memory));
  out.set("folder", r.folder), out.set("on_same_disk", r.on_same_disk), out.set("skipped", r.skipped);
  return out;
}

Value containers_of(const Containers& c) {
  Value out;
  Value::List others;
  for (const ContainerCost& one : c.others) {
    Value entry;
    entry.set("format", one.format), entry.set("cpu_us", one.cpu_s * 1e6), entry.set("bytes", one.bytes);
    others.push_back(std::move(entry));
  }
  out.set("samples", c.samples), out.set("as_they_lie_cpu_us", c.as_they_lie_s * 1e6);
  out.set("others", std::move(others));
  return out;
}

Value pixels_of(const PixelCosts& p) {
  Value out;
  if (p.images == 0) return out;
  out.set("images", p.images), out.set("bytes", p.bytes), out.set("pixels", p.pixels);
  out.set("crop_side", p.crop_side), out.set("whole_ms", p.whole * 1e3), out.set("crop_ms", p.crop * 1e3);
  out.set("crop_first_epoch_ms", p.crop_first * 1e3),
      out.set("crop_after_whole_ms", p.crop_after_whole * 1e3);
  out.set("crop_of_pixels_ms", p.crop_of_pixels * 1e3);
  out.set("cached_first_epoch_ms", p.cached_first * 1e3), out.set("cached_ms", p.cached_later * 1e3);
  Value::List points, resized;
  for (const PixelCosts::Points& one : p.points) {
    Value entry;
    entry.set("step", one.step), entry.set("crop_ms", one.crop * 1e3), entry.set("bytes", one.bytes);
    points.push_back(std::move(entry));
  }
  for (const PixelCosts::Resized& one : p.resized) {
    Value entry;
    entry.set("max_side", one.max_side), entry.set("larger", one.larger), entry.set("bytes", one.bytes);
    entry.set("whole_ms", one.whole * 1e3), entry.set("crop_ms", one.crop * 1e3);
    entry.set("crop_first_epoch_ms", one.crop_first * 1e3);
    entry.set("crop_with_points_ms", one.crop_with_points * 1e3);
    resized.push_back(std::move(entry));
  }
  out.set("entropy_points", std::move(points)), out.set("resized", std::move(resized));
  return out;
}

Value measured_of(const std::optional<Measured>& m) {
  Value out, machine;
  if (!m) return out;
  machine.set("cores", m->machine.cores), machine.set("memory", m->machine.memory);
  out.set("machine", std::move(machine));
  out.set("data_bytes", m->data_bytes), out.set("pixel_bytes", m->pixel_bytes);
  out.set("cpu_samples_per_s", m->cpu_rate), out.set("cpu_samples_per_s_later", m->cpu_rate_later);
  out.set("disk_samples_per_s", m->disk_rate);
  out.set("limit", m->limit), out.set("skipped", m->skipped);
  out.set("reading", reading_of(m->reading)), out.set("containers", containers_of(m->containers));
  out.set("pixels", pixels_of(m->pixels));
  Value::List items;
  for (const Advice& one : m->advice) {
    Value entry;
    entry.set("name", one.name), entry.set("text", one.verdict), entry.set("how", one.how);
    entry.set("part", one.part), entry.set("first_epoch", one.first_epoch);
    entry.set("later_epochs", one.later_epochs), entry.set("advised", one.is_advised());
    items.push_back(std::move(entry));
  }
  out.set("items", std::move(items));
  return out;
}

}  // namespace

Value json_of(const Diagnosis& d) {
  const Source& source = d.reader.source();
  const auto format = source.describe().get_text("format");
  Value out;
  out.set("path", d.path), out.set("format", format.ok() ? *format : "unknown");
  out.set("samples", d.look.size), out.set("looked_at", d.look.samples.size());
  out.set("cut_by_memory", d.look.cut_by_memory), out.set("seconds", d.look.seconds);
  out.set("images", d.reader.has_images());
  out.set("hints", Value::List(d.hints.begin(), d.hints.end()));
  out.set("broken", broken_values(d.look.broken)), out.set("reasons", reason_values(d.look.broken));
  const Value metadata = source.metadata();
  if (const Value* left_out = metadata.find("left_out")) out.set("left_out", *left_out);
  if (const Value* unreadable = metadata.find("unreadable")) out.set("unreadable", *unreadable);
  if (Value::List problems = problems_of(source); !problems.empty()) out.set("problems", std::move(problems));
  set_told(source, out);
  out.set("duplicates", duplicates_of(d)), out.set("suspicious", suspicious_of(d));
  out.set("labels", balance_of(d)), out.set("slow", slow_of(d)), out.set("advice", measured_of(d.measured));
  return out;
}

}  // namespace headrace::cli
