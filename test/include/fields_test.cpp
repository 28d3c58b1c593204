// The list of an op's members that JSON, checks and keys go by, as a user's visitor sees it.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <cohort/cohort.h>

namespace cohort {
namespace {

template <class O>
std::vector<std::string> names_of_fields() {
  std::vector<std::string> names;
  O::fields([&](auto... f) { (names.emplace_back(f.name), ...); });
  return names;
}

TEST(Fields, AreNamedInTheOrderOfTheMembers) {
  EXPECT_EQ(names_of_fields<RowGate>(), (std::vector<std::string>{"by"}));
  EXPECT_EQ(names_of_fields<Bias>(), (std::vector<std::string>{"by", "scaled_by"}));
  EXPECT_EQ(names_of_fields<Binary>(), (std::vector<std::string>{"mode", "by", "swapped"}));
  EXPECT_EQ(std::string(RowGate::name), "row_gate");
}

TEST(Fields, LeadToTheMembers) {
  Builder g("fields");
  RowGate gate{.by = g.row_input("p", 8)};
  const RowVec* by = nullptr;
  RowGate::fields([&](auto f) { by = &(gate.*(f.member)); });
  EXPECT_EQ(by, &gate.by);
}

}  // namespace
}  // namespace cohort
