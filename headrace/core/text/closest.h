// Suggestions for a misspelt name. Pure; any thread.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

// ", did you mean 'resize'?", or nothing where none of the names is close.
std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> names);

// "id, name, …": the first of them, for a message.
std::string first_names(std::span<const std::string_view> names);

// The names of these things, for the functions above.
template <class Things, class Name>
std::vector<std::string_view> names_of_all(const Things& things, Name name) {
  std::vector<std::string_view> out;
  for (const auto& thing : things) out.push_back(std::invoke(name, thing));
  return out;
}

}  // namespace headrace
