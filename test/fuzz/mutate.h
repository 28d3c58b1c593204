// Graphs with small mistakes: a valid text, taken apart and put together a little differently.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include <nlohmann/json.hpp>

namespace cohort::test {

/// Changes one to three places of valid graphs; the same seed makes the same texts.
class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}
  /// A damaged copy of `text`; pieces may come from `other`.
  [[nodiscard]] std::string damaged(const std::string& text, const std::string& other);
  [[nodiscard]] size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

 private:
  using Json = nlohmann::ordered_json;
  void change(Json& graph, const Json& other);
  void change_item(Json& list, Json& graph, const Json& other);
  void change_value(const std::string& key, Json& value, const Json& graph, const Json& other);
  void change_bytes(std::string& text);
  [[nodiscard]] Json any_number();
  [[nodiscard]] Json any_value(const Json& graph);
  [[nodiscard]] Json any_reference(const Json& graph);
  [[nodiscard]] const Json* same_key(const std::string& key, const Json& graph);

  std::mt19937_64 random_;
};

}  // namespace cohort::test
