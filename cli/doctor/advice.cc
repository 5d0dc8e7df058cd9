#include "cli/doctor/advice.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/look/encoded_again.h"
#include "cli/output/terminal.h"
#include "headrace/core/text/closest.h"
#include "headrace/formats/writer.h"
#include "headrace/run/measure/machine.h"
#include "headrace/run/read/fetch.h"

namespace headrace::cli {
namespace {

constexpr double kWorth = Advice::kWorth;
// Times the side of a crop: most crops would upscale smaller images.
constexpr double kLeastSide = 1.5;

// Quoted for a shell if needed.
std::string for_shell(const std::string& path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+,:@%=";
  if (path.find_first_not_of(kPlain) == std::string::npos) return path;
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A name for new data: the last part of a path, without wildcards and extension.
std::string new_name(std::string path, const std::string& what) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  path = path.substr(path.rfind('/') + 1);
  path = path.substr(0, path.find_first_of("*?{[."));
  while (!path.empty() && std::string_view("-_ ").find(path.back()) != std::string_view::npos)
    path.pop_back();
  return for_shell((path.empty() ? "data" : path) + what);
}

std::string ending_of(const std::string& format) {
  const WriterInfo* writer = find_writer(format);
  return writer ? writer->ending : "." + format;
}

class Adviser {
 public:
  Adviser(Measured& measured, const InputArguments& input, const SampleReader& reader, bool any_broken)
      : m_(measured), input_(input), reader_(reader), any_broken_(any_broken) {}

  // Samples that are broken only because of nulls.
  void nulls(const Look& look) {
    uint64_t count = 0;
    std::vector<std::string> columns;  // the first of each sample
    for (const Broken& one : look.broken) {
      if (one.facts.option != "nulls" || one.facts.got != "null") continue;
      ++count;
      const std::string& name = one.facts.field;
      if (std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
    }
    if (count == 0) return;
    const std::vector<std::string_view> names(columns.begin(), columns.end());
    Advice out{.name = "nulls", .verdict = {}, .how = {}, .mends = true};
    out.verdict = fmt::format(
        "nulls in {} {} break {} of {}: nulls= reads them as zeros or empty values (zero) or as NaN (nan, "
        "for floats); columns= can leave a column out",
        columns.size() == 1 ? "column" : "columns", first_names(names), count_text(count),
        plural(look.samples.size(), "sample"));
    InputArguments with = input_;
    std::erase_if(with.options, [](const std::string& option) { return option.starts_with("nulls="); });
    // A column that is not float may have a null after the first one of a sample.
    const std::vector<TensorSpec>& specs = reader_.source().schema().specs;
    const bool are_floats = std::ranges::all_of(specs, [](const auto& spec) { return is_float(spec.dtype); });
    with.options.push_back(are_floats ? "nulls=nan" : "nulls=zero");
    out.how = Adviser(m_, with, reader_, any_broken_).command("doctor", "");
    m_.advice.push_back(std::move(out));
  }

  void advise() {
    set_limit();
    one_file();
    order_on_disk();
    if (!m_.skipped.empty()) return;
    container();
    if (m_.pixels.images == 0) return;
    order_of_operations();
    entropy_points();
    resizing();
    caching();
  }

 private:
  double cores() const { return static_cast<double>(m_.machine.cores); }
  double read_cpu() const { return m_.containers.as_they_lie_s; }
  // CPU seconds per sample in the first epoch, and in later ones with the entropy points found in the first.
  struct Cpu {
    double first = 0, later = 0;
  };
  Cpu cpu() const { return {read_cpu() + m_.pixels.crop_first, read_cpu() + m_.pixels.crop_later()}; }
  bool fits() const { return m_.data_bytes < static_cast<double>(m_.machine.memory); }

  // Samples per second with reading and computing in parallel; `disk` 0: not known.
  double rate(double cpu_s, double disk) const {
    const double computed = cores() / std::max(1e-9, cpu_s);
    return disk > 0 ? std::min(computed, disk) : computed;
  }

  void set_limit() {
    m_.cpu_rate = cpu().first > 0 ? cores() / cpu().first : 0;
    m_.cpu_rate_later = cpu().later > 0 ? cores() / cpu().later : 0;
    m_.disk_rate = m_.reading.disk ? m_.reading.disk->as_they_lie.samples_per_s : 0;
    if (m_.cpu_rate > 0 && m_.disk_rate > 0) m_.limit = m_.cpu_rate < m_.disk_rate ? "cpu" : "disk";
  }

  // `disk_then`: samples per second with the change; 0: unchanged.
  Advice& add(std::string name, double part, Cpu then, double disk_then = 0) {
    const double disk = disk_then > 0 ? disk_then : m_.disk_rate;
    const double first = rate(then.first, disk) / rate(cpu().first, m_.disk_rate);
    const double later = rate(then.later, fits() ? 0 : disk) / rate(cpu().later, fits() ? 0 : m_.disk_rate);
    Advice& out = m_.advice.emplace_back();
    out.name = std::move(name), out.part = part, out.first_epoch = first, out.later_epochs = later;
    return out;
  }

  // The overall gain, appended to a verdict.
  std::string whole(const Advice& advice) const {
    const double first = advice.first_epoch, later = advice.later_epochs;
    if (!advice.is_worth_it())
      return m_.limit == "cpu" ? "; no faster overall, since the CPU is the limit" : "";
    if (later < kWorth)
      return fmt::format("; overall {:.1f}x faster in the first epoch, no faster in later ones", first);
    if (first < kWorth) return fmt::format("; overall {:.1f}x faster from the second epoch on", later);
    if (std::abs(first / later - 1) < 0.1) return fmt::format("; overall {:.1f}x faster", later);
    return fmt::format("; overall {:.1f}x faster in the first epoch, {:.1f}x in later ones", first, later);
  }

  const Layouts* layouts() const {
    return m_.reading.disk ? &*m_.reading.disk : m_.reading.memory ? &*m_.reading.memory : nullptr;
  }
  std::string from() const {
    return fmt::format("measured on {}, {}", plural(m_.reading.samples, "sample"),
                       m_.reading.disk ? "from the disk" : "from memory");
  }

  // For data in many files.
  void one_file() {
    const Layouts* read = layouts();
    if (!read || m_.reading.files * 2 < m_.reading.samples) return;
    const double shuffled = read->one_file_shuffled.samples_per_s / read->as_they_lie.samples_per_s;
    const double in_order = read->one_file_in_order.samples_per_s / read->as_they_lie.samples_per_s;
    Advice& out =
        add("one_file", shuffled, cpu(), m_.reading.disk ? read->one_file_shuffled.samples_per_s : 0);
    if (std::max(shuffled, in_order) < kWorth) {
      out.verdict =
          fmt::format("one large file: no gain: {:.2f}x in random order, {:.2f}x in order ({}); keep as is",
                      shuffled, in_order, from());
      return;
    }
    out.verdict =
        fmt::format("one large file would read {:.1f}x faster in random order, {:.1f}x in order ({}){}",
                    shuffled, in_order, from(), whole(out));
    if (out.is_worth_it()) out.how = convert("", best_container());
  }

  // For data in few files.
  void order_on_disk() {
    const Layouts* read = layouts();
    if (!read || m_.reading.files * 2 >= m_.reading.samples) return;
    if (m_.reading.samples_a_block > 1.5 && !m_.reading.once_each) return blocks(*read);
    const double in_order = read->one_file_in_order.samples_per_s / read->as_they_lie.samples_per_s;
    Advice& out =
        add("order_on_disk", in_order, cpu(), m_.reading.disk ? read->one_file_in_order.samples_per_s : 0);
    if (in_order < kWorth) {
      out.verdict = fmt::format("reading in order: no gain: {:.2f}x ({}); shuffle freely", in_order, from());
      return;
    }
    out.verdict = fmt::format("reading in order is {:.1f}x faster than in random order ({}){}", in_order,
                              from(), whole(out));
    if (out.is_worth_it()) out.how = convert("-shuffled", best_container(), " --shuffle 1");
  }

  // With shuffle(blocks=) each block is read once, in random order.
  void blocks(const Layouts& read) {
    const double samples = m_.reading.samples_a_block;
    const double saved = read_cpu() * (1 - 1 / samples);  // most of it went into unpacking other samples
    Advice& out = add("shuffle_blocks", samples, {cpu().first - saved, cpu().later - saved},
                      m_.reading.disk ? samples * read.as_they_lie.samples_per_s : 0);
    out.verdict = fmt::format(
        "each sample read in random order unpacks a block of about {:.0f}, and not all blocks fit in memory "
        "({} for {}); shuffle(blocks=) reads each block once{}",
        samples, size_text(static_cast<double>(Fetcher::most_kept(default_memory_budget(), true))),
        size_text(m_.data_bytes), whole(out));
    if (out.is_worth_it()) out.how = "data.shuffle(seed=1, blocks=16)";
  }

  std::string best_container() const {
    const auto& others = m_.containers.others;
    const auto arrow = std::ranges::find(others, "arrow", &ContainerCost::format);
    if (others.empty()) return "arrow";
    // Arrow stores any fields, and the class names: another format must be clearly faster.
    const bool much =
        arrow == others.end() || others[0].cpu_s + m_.pixels.crop < 0.9 * (arrow->cpu_s + m_.pixels.crop);
    return much ? others[0].format : "arrow";
  }

  void container() {
    const auto& others = m_.containers.others;
    if (others.empty()) return;
    const std::string best = best_container();
    const auto found = std::ranges::find(others, best, &ContainerCost::format);
    const double part = m_.containers.as_they_lie_s / found->cpu_s;
    const double saved = m_.containers.as_they_lie_s - found->cpu_s;
    Advice& out = add("container", part, {cpu().first - saved, cpu().later - saved});
    std::string list;
    for (const ContainerCost& one : others)
      list += fmt::format("{}{} {:.1f}", list.empty() ? "" : ", ", one.format, one.cpu_s * 1e6);
    out.verdict = fmt::format(
        "reading a sample takes {:.1f} µs of CPU as stored; in other formats: {} µs{}",
        m_.containers.as_they_lie_s * 1e6, list,
        out.is_worth_it() ? whole(out) : fmt::format("; no gain overall: {:.2f}x", out.later_epochs));
    if (out.is_worth_it()) out.how = convert("", best);
  }

  void order_of_operations() {
    const PixelCosts& p = m_.pixels;
    const double part = p.crop_after_whole / p.crop;
    Advice& out = m_.advice.emplace_back();
    out.name = "order", out.part = part;
    if (part < kWorth) {
      out.verdict = fmt::format("order: no gain from cropping directly after decode_image: {:.2f}x", part);
      return;
    }
    out.verdict = fmt::format(
        "random_resized_crop directly after decode_image takes {:.2f} ms of CPU; with a step between them "
        "that needs all pixels (a Python function, a cache), {:.2f} ms: {:.1f}x",
        p.crop * 1e3, p.crop_after_whole * 1e3, part);
    out.how = fmt::format("ops.random_resized_crop(ops.decode_image({}), size={})", encoded(), p.crop_side);
  }

  void entropy_points() {
    const PixelCosts& p = m_.pixels;
    if (p.points.empty()) return;
    const auto best = std::ranges::min_element(p.points, {}, &PixelCosts::Points::crop);
    Advice& out =
        add("entropy_points", p.crop / best->crop, {read_cpu() + best->crop, read_cpu() + best->crop});
    std::string list;
    for (const PixelCosts::Points& one : p.points)
      list += fmt::format("{}{:.2f} ms{} ({:.1f} % of the data)", list.empty() ? "" : ", ", one.crop * 1e3,
                          one.step > 0 ? fmt::format(" with --step {}", one.step) : "",
                          100 * one.bytes / p.bytes);
    if (out.part < kWorth) {
      out.verdict = fmt::format("entropy points: no gain: {:.2f}x", out.part);
      return;
    }
    out.verdict = fmt::format("with entropy points a crop takes {} instead of {:.2f} ms{}", list,
                              p.crop * 1e3, whole(out));
    if (out.is_worth_it())
      out.how = command("index", "") + (best->step > 0 ? fmt::format(" --step {}", best->step) : "");
  }

  void resizing() {
    const PixelCosts& p = m_.pixels;
    for (const PixelCosts::Resized& one : p.resized) {
      const double bytes = one.bytes / p.bytes;
      Advice& out = add(fmt::format("max_side_{}", one.max_side), p.crop / one.crop,
                        {read_cpu() + one.crop_first, read_cpu() + one.crop_with_points},
                        m_.disk_rate / std::max(0.01, bytes));
      out.verdict = fmt::format(
          "images shrunk to at most {} pixels (with loss): {:.0f} % of the bytes, {:.2f} ms per crop instead "
          "of {:.2f}{}",
          one.max_side, 100 * bytes, one.crop * 1e3, p.crop * 1e3, whole(out));
      const std::vector<std::string> sized = sized_fields(reader_.source().schema(), reader_.image_field());
      if (!sized.empty()) {
        const std::vector<std::string_view> names(sized.begin(), sized.end());
        out.verdict += fmt::format("; not advised, since {} would no longer fit", first_names(names));
        continue;
      }
      if (static_cast<double>(one.max_side) >= kLeastSide * static_cast<double>(p.crop_side) &&
          out.is_worth_it())
        out.how = convert(fmt::format("-{}", one.max_side), best_container(),
                          fmt::format(" --max-side {}", one.max_side));
    }
  }

  // "At most": all pixels then come from memory, whose bandwidth the cores share, but crops were timed alone.
  std::string gain_of_cache(const Advice& advice) const {
    std::string out =
        fmt::format("; overall at most {:.1f}x faster from the second epoch on", advice.later_epochs);
    if (advice.first_epoch * kWorth < 1)
      out += fmt::format(", {:.1f}x slower in the first, which fills the cache", 1 / advice.first_epoch);
    return out;
  }

  void caching() {
    const PixelCosts& p = m_.pixels;
    // What was measured from a cache, and read_cpu(), include the engine's own work and batching.
    const Cpu computed{read_cpu() + std::max(p.crop_after_whole, p.cached_first),
                       p.cached_later > 0 ? p.cached_later : read_cpu() + p.crop_of_pixels};
    Advice& out = add("cache", p.crop_later() / p.crop_of_pixels, computed);
    const double room = static_cast<double>(m_.machine.memory) / 2;  // the most that cache() uses
    const std::string size = fmt::format("all pixels take {}", size_text(m_.pixel_bytes));
    if (m_.pixel_bytes > room) {
      out.part = out.first_epoch = out.later_epochs = 1;
      out.verdict = fmt::format("cache() after decode_image: {}, a cache may use {}; does not fit", size,
                                size_text(room));
      return;
    }
    out.verdict = fmt::format("cache() after decode_image: {}, a crop of them {:.2f} ms instead of {:.2f}{}",
                              size, p.crop_of_pixels * 1e3, p.crop_later() * 1e3,
                              out.is_worth_it() ? gain_of_cache(out) : "; no gain");
    if (out.is_worth_it())
      out.how =
          fmt::format("data.map(lambda s: {{**s, {}: ops.decode_image({})}}).cache()", field(), encoded());
  }

  // A command that reads the data with the same options. `prefix`: of the option names, "source-" or "".
  std::string command(const std::string& name, const std::string& prefix) const {
    std::string out = "headrace " + name;
    if (!input_.format.empty()) out += " --" + prefix + "format " + for_shell(input_.format);
    for (const std::string& option : input_.options) out += " --" + prefix + "option " + for_shell(option);
    return out + " " + for_shell(input_.path);
  }
  // `what`: appended to the name of the new data, before the extension.
  std::string convert(const std::string& what, const std::string& format,
                      const std::string& options = "") const {
    std::string to = new_name(input_.path, what + ending_of(format));
    const std::string& from = input_.path;
    if (to == for_shell(from.substr(from.rfind('/') + 1)))  // never the same name, wherever it is run
      to = new_name(from, what + "-converted" + ending_of(format));
    return command("convert", "source-") + " " + to + options + (any_broken_ ? " --drop-broken" : "");
  }

  // The image field, and its value in a sample `s`, in Python. For Examples, the name depends on how the user
  // parses them.
  std::string field() const {
    const int at = reader_.image_field();
    return Value(at < 0 ? "image" : reader_.source().schema().names[static_cast<size_t>(at)]).dump();
  }
  std::string encoded() const { return reader_.image_field() < 0 ? "encoded" : "s[" + field() + "]"; }

  Measured& m_;
  const InputArguments& input_;
  const SampleReader& reader_;
  const bool any_broken_;  // they would end a conversion
};

// Why ways to compute the samples cannot be compared; "" if they can.
std::string too_little_to_compute(const Measured& measured, size_t samples) {
  const double one = measured.containers.as_they_lie_s + measured.pixels.crop;
  const double all = one * static_cast<double>(samples);
  if (one == 0 || all >= kLeastCpu) return "";
  return fmt::format("{} take {:.2g} ms of CPU in total: too little to measure", plural(samples, "sample"),
                     all * 1e3);
}

}  // namespace

Measured measure(const SourcePtr& source, const SampleReader& reader, const Look& look,
                 const InputArguments& input) {
  Measured out;
  out.machine = {usable_cores(), usable_memory_bytes()};
  const double scale =
      static_cast<double>(look.size) / static_cast<double>(std::max<size_t>(1, look.samples.size()));
  out.data_bytes = look.num_bytes * scale, out.pixel_bytes = look.num_pixels * 3 * scale;
  Adviser adviser(out, input, reader, !look.broken.empty());
  adviser.nulls(look);
  if (look.read.count() == 0) {
    out.skipped = out.reading.skipped = look.size == 0 ? "there are no samples" : "no sample can be read";
    return out;
  }
  out.reading = measure_reading(*source, look);
  out.containers = measure_containers(source, look);
  if (look.decode.count() > 0) out.pixels = measure_pixels(reader, look);
  out.skipped = too_little_to_compute(out, look.samples.size());
  adviser.advise();
  return out;
}

}  // namespace headrace::cli
