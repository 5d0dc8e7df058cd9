// Who works for a crew, and must not wait for it.
#pragma once

namespace headrace {

class Crew;

// This thread works for `crew` as long as one of these lives: what is called meanwhile, functions of the
// pipeline and signal handlers, is within it.
class Working {
 public:
  explicit Working(const Crew& crew);
  ~Working();
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

  static bool is_for(const Crew& crew);

 private:
  const Crew& crew_;
  const Working* const around_;  // a crew whose function uses another loader
};

}  // namespace headrace
