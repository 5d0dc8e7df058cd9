// What somebody meant who wrote a name that there is not. Pure; any thread.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace headrace {

// ", did you mean 'resize'?", or nothing where none of the names is close.
std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace headrace
