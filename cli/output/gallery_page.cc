#include "cli/output/gallery_page.h"

#include <fmt/core.h>

#include <algorithm>

#include "headrace/core/text/base64.h"
#include "headrace/core/text/html.h"

namespace headrace::cli {
namespace {

constexpr std::string_view kHead =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<link rel=\"icon\" href=\"data:,\">\n";

// Columns as wide as the pictures; two columns on a phone.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --back: #ffffff; --ink: #1d2430; --soft: #5c6675; }
@media (prefers-color-scheme: dark) { :root { --back: #14181f; --ink: #e6eaf0; --soft: #9aa6b6; } }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 14px/1.4 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { padding: 24px; }
h1 { font-size: 18px; margin: 0 0 16px; overflow-wrap: anywhere; }
.sheet { display: grid; gap: 18px 14px; grid-template-columns: repeat(auto-fill, minmax(min(var(--edge), 46%), 1fr)); }
figure { margin: 0; text-align: center; }
img { display: block; margin: 0 auto; max-width: 100%; height: auto; }
figcaption { margin-top: 5px; overflow-wrap: anywhere; }
small { display: block; font-size: 12px; color: var(--soft); text-wrap: balance; }
@media (max-width: 560px) { main { padding: 16px; } .sheet { gap: 14px 10px; } }
@media print { figure { break-inside: avoid; } }
)";

constexpr int64_t kLeastColumn = 120;  // in pixels: narrower ones have no room for captions

// Allow line breaks in a long path after its separators.
std::string breakable(std::string_view path) {
  std::string out;
  size_t begin = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '/' && path[i] != '_') continue;
    out += html_escape(path.substr(begin, i + 1 - begin)) + "<wbr>";
    begin = i + 1;
  }
  return out + html_escape(path.substr(begin));
}

}  // namespace

Result<std::string> gallery_page(const std::string& title, const std::vector<Tile>& tiles) {
  int64_t edge = kLeastColumn;
  for (const Tile& tile : tiles) edge = std::max(edge, tile.picture.width);
  const std::string name = html_escape(title);
  std::string out = fmt::format(
      "{}<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n"
      "<div class=\"sheet\" style=\"--edge: {}px\">\n",
      kHead, name, kStyle, name, edge);
  for (const Tile& tile : tiles) {
    HEADRACE_ASSIGN(const std::string png, encode_png(tile.picture));
    const std::string caption = html_escape(tile.caption);
    out += fmt::format(
        "<figure><img src=\"data:image/png;base64,{}\" width=\"{}\" height=\"{}\" alt=\"{}\"><figcaption>{}{}"
        "</figcaption></figure>\n",
        in_base64(png), tile.picture.width, tile.picture.height,
        caption.empty() ? html_escape(tile.place) : caption, caption,
        tile.place.empty() ? std::string() : "<small>" + breakable(tile.place) + "</small>");
  }
  return out + "</div>\n</main>\n</body>\n</html>\n";
}

}  // namespace headrace::cli
