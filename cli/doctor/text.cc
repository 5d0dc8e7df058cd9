#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "cli/doctor/report.h"
#include "cli/input/left_out.h"
#include "cli/output/as_typed.h"
#include "cli/output/say.h"
#include "cli/output/terminal.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/images/image_files.h"

namespace headrace::cli {
namespace {

constexpr size_t kShown = 10;  // samples, groups or classes of each kind
constexpr size_t kShownOfGroup = 3;
constexpr size_t kWidth = 96;   // columns; file names may be longer
constexpr size_t kIndent = 14;  // of everything but section names

// Whether a word must stay with the one before it: a unit with its number, the next three digits of a number.
bool belongs(std::string_view before, std::string_view word) {
  constexpr std::array<std::string_view, 11> kUnits{"%",  "B",  "kB", "MB", "GB", "TB",
                                                    "PB", "ms", "µs", "s",  "x"};
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (before.empty() || !is_digit(before.back())) return false;
  if (is_digit(word[0])) return true;
  while (std::string_view(".,;:)").find(word.back()) != std::string_view::npos && word.size() > 1)
    word.remove_suffix(1);
  return std::ranges::find(kUnits, word) != kUnits.end();
}

// Print `text` wrapped, the first line after `head`.
void wrap(std::string_view head, std::string_view text, size_t indent = kIndent) {
  std::string line = fmt::format("{:<{}}", head, indent);
  bool empty = true;  // except for the indentation
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    for (size_t next = end; next < text.size(); end = next) {
      next = std::min(text.find(' ', end + 1), text.size());
      if (!belongs(text.substr(0, end), text.substr(end + 1, next - end - 1))) break;
    }
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!empty && line.size() + 1 + word.size() > kWidth) {
      say("{}\n", line);
      line = std::string(indent, ' '), empty = true;
    }
    line += (empty ? "" : " ") + std::string(word), empty = false;
  }
  say("{}\n", line);
}

void more(size_t all) {
  if (all > kShown)
    say("{:{}}… and {} more: --json lists all of them\n", "", kIndent + 2, count_text(all - kShown));
}

class Text {
 public:
  explicit Text(const Diagnosis& d) : d_(d), classes_(class_names(d.reader.source())) {}

  void print() {
    head();
    broken();
    duplicates();
    suspicious();
    labels();
    slow();
    if (d_.measured) advice(*d_.measured);
  }

 private:
  bool all() const { return d_.look.samples.size() == d_.look.size; }
  std::string looked() const { return plural(d_.look.samples.size(), "sample"); }
  bool images() const { return d_.reader.has_images(); }

  void head() const {
    const auto format = d_.reader.source().describe().get_text("format");
    say("{}: {} of {}\n", d_.path, plural(d_.look.size, "sample"), format.ok() ? *format : "data");
    std::string text =
        all() ? "all of them" : fmt::format("{} of them, evenly spread", count_text(d_.look.samples.size()));
    text += fmt::format("{} in {:.1f} s", images() ? ", read and decoded" : ", read", d_.look.seconds);
    if (d_.look.cut_by_memory)
      text += fmt::format("; more would take more than a quarter of the memory ({} B per sample)",
                          kBytesPerSample);
    else if (!all())
      text += "; what follows is about these";
    wrap("looked at", text);
    for (const std::string& hint : d_.hints) wrap("hint", hint);
  }

  void broken() const {
    const auto& broken = d_.look.broken;
    const Source& source = d_.reader.source();
    const std::string left_out = left_out_text(source);
    wrap("broken", broken.empty() ? "none" : fmt::format("{} of {}", count_text(broken.size()), looked()));
    const std::vector<std::string> lines = broken_lines(broken, source, 1);
    for (size_t i = 0; i < std::min(lines.size(), kShown); ++i) say("{:{}}{}\n", "", kIndent + 2, lines[i]);
    more(lines.size());
    for (const std::string& note : described_notes(source)) wrap("", as_typed(note));
    for (const std::string& note : notes_in(source.metadata())) wrap("", as_typed(note));
    if (!left_out.empty()) wrap("", "left out because of their names: " + left_out);
    const Value::List problems = problems_of(source);
    if (problems.empty()) return;
    wrap("", "left out: " + problems_text(problems));
    for (size_t i = 0; i < std::min(problems.size(), kShown); ++i)
      say("{:{}}{}: {}\n", "", kIndent + 2, join_path(d_.path, *problems[i].get_text("path")),
          *problems[i].get_text("reason"));
    more(problems.size());
  }

  std::string label(uint64_t position) const {
    const uint64_t hash = d_.look.samples[position].label;
    return hash == 0 ? "" : fmt::format("  ({})", class_of(d_.look.labels.text(hash)));
  }
  // "cat", if classes have names.
  std::string class_of(const std::string& label) const {
    const bool is_number =
        !label.empty() && label.size() < 10 && label.find_first_not_of("0123456789") == std::string::npos;
    const size_t at = is_number ? std::stoul(label) : classes_.size();
    return at < classes_.size() ? classes_[at] : label;
  }

  void groups(std::string_view what, const std::vector<std::vector<uint64_t>>& groups) const {
    if (groups.empty()) return;
    wrap("", what);
    for (size_t i = 0; i < std::min(groups.size(), kShown); ++i) {
      const size_t shown = groups[i].size() <= kShownOfGroup + 1 ? groups[i].size() : kShownOfGroup;
      for (size_t j = 0; j < shown; ++j)
        say("{:{}}{} {}{}\n", "", kIndent + 2, j == 0 ? " " : "=", d_.place(groups[i][j]).text(),
            label(groups[i][j]));
      if (groups[i].size() > shown)
        say("{:{}}= … {} more\n", "", kIndent + 2, count_text(groups[i].size() - shown));
    }
    more(groups.size());
  }

  void duplicates() const {
    const Copies& copies = d_.copies;
    std::string of;
    for (const std::string& name : d_.look.hashed) of += (of.empty() ? "" : ", ") + name;
    if (copies.repeated == 0) return wrap("duplicates", "none");
    wrap("duplicates",
         fmt::format("{} ({}: {})",
                     copies.repeated == 1 ? "1 sample is an exact copy of another"
                                          : plural(copies.repeated, "sample") + " are exact copies of others",
                     of, size_text(copies.repeated_bytes)));
    groups(fmt::format("{} under different labels: at most one of the labels is right",
                       plural(copies.conflicts.size(), images() ? "image" : "sample")),
           copies.conflicts);
    groups(fmt::format("{} more than once: {} double in training, and a copy in the test set makes the "
                       "test worthless",
                       plural(copies.groups.size(), images() ? "image" : "sample"),
                       copies.groups.size() == 1 ? "it counts" : "they count"),
           copies.groups);
  }

  std::string figures(const Looked& sample) const {
    const std::string bytes = size_text(static_cast<double>(sample.bytes));
    return sample.kind == ImageKind::none ? bytes
                                          : fmt::format("{} x {}, {}", sample.height, sample.width, bytes);
  }

  void suspicious() const {
    size_t kinds = 0, samples = 0;
    for (const Suspicion& one : d_.suspicions) kinds += !one.samples.empty(), samples += one.samples.size();
    if (samples == 0)
      return wrap("suspicious", images() ? "none" : "none; there are no images, so only sizes are judged");
    std::string verdict = plural(samples, "finding");
    if (kinds > 1) verdict += fmt::format(" of {} kinds", kinds);
    wrap("suspicious", verdict + (images() ? "" : "; there are no images, so only sizes are judged"));
    for (const Suspicion& one : d_.suspicions) {
      if (one.samples.empty()) continue;
      wrap("  " + one.name, fmt::format("{}: {}: {}", count_text(one.samples.size()), one.rule, one.why));
      for (size_t i = 0; i < std::min(one.samples.size(), kShown); ++i)
        say("{:{}}{}  ({})\n", "", kIndent + 2, d_.place(one.samples[i]).text(),
            figures(d_.look.samples[one.samples[i]]));
      more(one.samples.size());
    }
  }

  void classes(std::string_view what, const std::vector<ClassCount>& counts) const {
    if (counts.empty()) return;
    std::string list;
    for (size_t i = 0; i < std::min(counts.size(), kShown); ++i)
      list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", class_of(counts[i].label),
                          count_text(counts[i].samples));
    wrap("", fmt::format("{}: {}{}", what, list, counts.size() > kShown ? ", …" : ""));
  }

  void labels() const {
    const Balance& b = d_.balance;
    if (!d_.labels.has_labels()) return wrap("labels", "none: no field is a label");
    if (b.classes == 0) return wrap("labels", "none in field " + d_.labels.name());
    if (!b.known)
      return wrap("labels",
                  fmt::format("not judged: {} different values of {} in {} are too many for classes",
                              count_text(b.classes), d_.labels.name(), looked()));
    const std::string sizes = fmt::format(
        "{} of {}{}", b.classes == 1 ? "1 class" : count_text(b.classes) + " classes",
        b.ratio == 1 ? plural(b.largest.samples, "sample") + (b.classes == 1 ? "" : " each")
                     : fmt::format("{} to {} samples, median {:g}", count_text(b.smallest.samples),
                                   count_text(b.largest.samples), b.median),
        b.ratio == 1 ? "" : fmt::format("; same entropy as {:.1f} of equal size", b.effective_classes));
    const std::string skew = b.is_skewed()
                                 ? fmt::format("skewed: {} has {:.0f} times the samples of {}; ",
                                               class_of(b.largest.label), b.ratio, class_of(b.smallest.label))
                                 : "balanced: ";
    wrap("labels", skew + sizes);
    classes("less than a tenth of the median; hardly learnt unless sampled more often", b.rare);
    classes("more than ten times the median; a model that always predicts it scores well", b.large);
    if (!b.empty.empty()) {
      std::vector<ClassCount> none;
      for (const std::string& label : b.empty) none.push_back({label, 0});
      classes("named classes without samples", none);
    }
  }

  void slow() const {
    if (d_.look.read.count() == 0) return wrap("slow", "not judged: no sample can be read");
    const Slow& s = d_.slow;
    std::string usual = fmt::format("median {:.2f} ms to read", s.median_read_s * 1e3);
    if (images()) usual += fmt::format(", {:.2f} ms of CPU to decode", s.median_decode_s * 1e3);
    if (s.shares_blocks) usual += "; samples are read in blocks, so only decoding is judged";
    if (s.samples.empty()) return wrap("slow", "none (" + usual + ")");
    wrap("slow", fmt::format("{}: more than {:g} times the median, each measured again ({})",
                             plural(s.samples.size(), "sample"), Slow::kFar, usual));
    for (size_t i = 0; i < std::min(s.samples.size(), kShown); ++i) {
      const Slow::One& one = s.samples[i];
      say("{:{}}{}  ({:.1f} ms to read, {:.1f} ms to decode; {})\n", "", kIndent + 2,
          d_.place(one.sample).text(), one.read_s * 1e3, one.decode_s * 1e3,
          figures(d_.look.samples[one.sample]));
    }
    more(s.samples.size());
  }

  void rates(std::string_view from, const std::optional<Layouts>& layouts) const {
    if (!layouts) return;
    const auto rate = [](const ReadRate& r) {
      return fmt::format("{}/s ({})", size_text(r.bytes_per_s), r.readers);
    };
    say("{:{}}{:<16}{:>16}{:>22}{:>20}\n", "", kIndent, from, rate(layouts->as_they_lie),
        rate(layouts->one_file_shuffled), rate(layouts->one_file_in_order));
  }

  void figures_of(const Measured& m) const {
    const bool fits = m.data_bytes < static_cast<double>(m.machine.memory);
    wrap("  machine",
         fmt::format("{}, {} of memory; the data takes {}{} and {}", plural(m.machine.cores, "core"),
                     size_text(static_cast<double>(m.machine.memory)), all() ? "" : "about ",
                     size_text(m.data_bytes),
                     fits ? "fits: from the second epoch on nothing is read from the disk"
                          : "does not fit: each epoch reads from the disk"));
    reading(m);
    if (m.limit != "unknown")
      wrap("  limit", fmt::format("{}: the cores can do {:.0f} samples/s, the disk {:.0f}",
                                  m.limit == "cpu" ? "the CPU" : "the disk, while data comes from it",
                                  m.cpu_rate, m.disk_rate));
    if (m.pixels.images > 0)
      wrap(
          "  decoding",
          fmt::format(
              "{:.2f} ms of CPU per image, {:.2f} ms per random crop to {} pixels; reading {:.2f} ms: "
              "{:.0f} % of the work is decoding (measured on {})",
              m.pixels.whole * 1e3, m.pixels.crop * 1e3, m.pixels.crop_side, m.containers.as_they_lie_s * 1e3,
              100 * m.pixels.crop / (m.pixels.crop + m.containers.as_they_lie_s),
              plural(m.pixels.images, "image")));
    if (!m.skipped.empty()) wrap("  computing", "no advice: " + m.skipped);
  }

  void advice(const Measured& m) const {
    const auto gains = std::ranges::count_if(m.advice, [](const Advice& a) { return a.is_advised(); });
    if (m.is_too_little() && gains == 0) return wrap("advice", "none: " + m.skipped);
    wrap("advice", gains > 0 ? fmt::format("{} worth a try on this machine",
                                           plural(static_cast<uint64_t>(gains), "change"))
                             : "keep as is: nothing that was measured is worth a change");
    if (m.is_too_little())
      wrap("  measured", "nothing: " + m.skipped);
    else
      figures_of(m);
    if (!m.advice.empty()) wrap("  marks", "* worth a try; - measured for comparison, not advised");
    for (const Advice& one : m.advice) {
      wrap(one.is_advised() ? "  *" : "  -", one.verdict, 4);
      if (!one.how.empty()) say("        {}\n", one.how);
    }
  }

  void reading(const Measured& m) const {
    const Reading& r = m.reading;
    if (!r.disk && !r.memory) return wrap("  reading", "not measured: " + r.skipped);
    wrap("  reading",
         fmt::format("{}, {}; in brackets, the fastest number of concurrent reads{}",
                     plural(r.samples, "sample"), size_text(static_cast<double>(r.bytes)),
                     r.on_same_disk ? "" : "; the one file was on another disk, in " + r.folder));
    say("{:{}}{:<16}{:>16}{:>22}{:>20}\n", "", kIndent, "", "as stored", "one file, shuffled", "in order");
    rates("from the disk", r.disk);
    rates("from memory", r.memory);
    if (!r.disk) wrap("", "not from the disk: " + r.skipped);
  }

  const Diagnosis& d_;
  std::vector<std::string> classes_;
};

}  // namespace

void print_text(const Diagnosis& diagnosis) { Text(diagnosis).print(); }

}  // namespace headrace::cli
