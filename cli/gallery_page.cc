#include "cli/gallery_page.h"

#include <fmt/core.h>

#include "headrace/core/html.h"

namespace headrace::cli {
namespace {

constexpr std::string_view kHead =
    "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
    "content=\"width=device-width\">\n"
    "<style>body{font:14px/1.4 system-ui,sans-serif;margin:2em;background:#fff;color:#222}"
    "main{display:grid;grid-template-columns:repeat(auto-fill,minmax(224px,1fr));gap:12px}"
    "figure{margin:0;text-align:center}figcaption{margin-top:4px;overflow-wrap:anywhere}img{max-width:100%}</"
    "style>\n";

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace

Result<std::string> gallery_page(const std::string& title, const std::vector<Tile>& tiles) {
  std::string out(kHead);
  out += fmt::format("<title>{0}</title>\n<h1>{0}</h1>\n<main>\n", html_escape(title));
  for (const Tile& tile : tiles) {
    HEADRACE_ASSIGN(const std::string png, encode_png(tile.picture));
    const std::string caption = html_escape(tile.caption);
    out += fmt::format(
        "<figure><img src=\"data:image/png;base64,{}\" alt=\"{}\"><figcaption>{}</figcaption></figure>\n",
        base64(png), caption, caption);
  }
  return out + "</main>\n</html>\n";
}

}  // namespace headrace::cli
