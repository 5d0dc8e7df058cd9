#include "headrace/run/report/report_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "headrace/core/text/html.h"
#include "headrace/run/report/page/page.h"
#include "headrace/run/report/report.h"
#include "headrace/run/report/timeline.h"

namespace headrace {
namespace {

// For use inside a <script>: it must not contain "</script>" or "<!--".
std::string json_in_html(const Value& value) {
  std::string out;
  for (const char c : value.dump()) {
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else
      out += c;
  }
  return out;
}

double number_at(const Value& v, std::string_view key) {
  const Value* f = v.find(key);
  if (f && f->real()) return *f->real();
  return f && f->integer() ? static_cast<double>(*f->integer()) : 0;
}

std::string text_of(const Value& v, std::string_view key) {
  const Value* f = v.find(key);
  return f && f->text() ? *f->text() : std::string();
}

// A bar of the given share of the width.
std::string bar(double share) {
  return fmt::format(
      "<div style=\"background:#3b76c4;height:9px;border-radius:2px;width:{:.1f}%;min-width:1px\"></div>",
      100 * std::clamp(share, 0.0, 1.0));
}

}  // namespace

std::string report_page(const Value& report, const Timeline* timeline, std::string_view title) {
  Value data{Value::Object()};
  data.set("report", report);
  if (timeline) data.set("timeline", timeline->value());
  const bool is_whole = report.find("limit") && report.find("operators");
  const std::string plain = is_whole ? report_text(report) : report.dump(1);
  const std::string name = html_escape(title);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n"
      "<link rel=\"icon\" href=\"data:,\">\n<style>\n{}</style>\n</head>\n<body>\n<main id=\"page\">\n"
      "<h1>{}</h1>\n<noscript><pre>{}</pre></noscript>\n</main>\n"
      "<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n{}</script>\n</body>\n</html>\n",
      name, kReportStyle, name, html_escape(plain), json_in_html(data), kReportScript);
}

std::string report_card(const Value& report) {
  const double wall = number_at(report, "wall_s");
  std::string out = fmt::format(
      "<div style=\"max-width:44em\"><p style=\"margin:0 0 4px\"><b style=\"font-size:1.3em\">{:.0f} "
      "samples/s</b>, {:.0f} samples in {:.2f} s; the consumer waited {:.0f} % of the time</p>",
      number_at(report, "samples_per_s"), number_at(report, "samples"), wall,
      wall > 0 ? 100 * number_at(report, "consumer_wait_s") / wall : 0);
  out += "<p style=\"margin:0 0 6px\">limit: " + html_escape(text_of(report, "limit")) + "</p>";
  struct Row {
    std::string name;
    double cpu_s;
  };
  std::vector<Row> rows;
  double all = 0;
  if (const Value* io = report.find("io"); io && number_at(*io, "cpu_s") > 0)
    rows.push_back({"reading", all = number_at(*io, "cpu_s")});
  if (const Value* operators = report.find("operators"); operators && operators->list())
    for (const Value& op : *operators->list()) {
      rows.push_back({text_of(op, "name"), number_at(op, "cpu_s")});
      all += rows.back().cpu_s;
    }
  std::ranges::stable_sort(rows, std::greater(), &Row::cpu_s);
  constexpr size_t kMost = 6;
  if (all > 0) {
    out += "<table style=\"border-collapse:collapse\">";
    for (size_t i = 0; i < std::min(kMost, rows.size()); ++i)
      out += fmt::format(
          "<tr><td style=\"text-align:left\">{}</td><td style=\"text-align:right\">{:.3f} CPU s</td>"
          "<td style=\"width:14em;text-align:left\">{}</td></tr>",
          html_escape(rows[i].name), rows[i].cpu_s, bar(rows[i].cpu_s / all));
    out += "</table>";
  }
  return out + "</div>";
}

}  // namespace headrace
