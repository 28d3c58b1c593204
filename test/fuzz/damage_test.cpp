// Damages every field of every op record, one at a time, in a valid graph of that op, and demands a
// finding that names it. What is done to a field follows from its record alone.
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fixtures/every_graph.h"
#include "fuzz/damage.h"

namespace cohort::test {
namespace {

TEST(Damage, EveryOpHasAGraph) {
  std::set<std::string> have;
  for (const Subject& s : subjects()) have.insert(s.op->name);
  for (const ir::OpRecord* op : ir::all_ops()) EXPECT_TRUE(have.contains(op->name)) << op->name;
}

TEST(Damage, AbsentWhenRequired) {
  for (const Subject& s : subjects()) {
    for (const ir::FieldRecord& f : s.op->fields) {
      if (f.must_give) {
        Json g = s.graph;
        s.at(g).erase(f.name);
        expect_refused_once(g, s, f.name, {"E-KEY"});
      }
      if (f.is_required) {
        Json g = s.graph;
        s.at(g)[f.name] = nullptr;
        expect_refused_once(g, s, f.name, {"E-JSON"});
      }
    }
    if (!s.op->is_root) {
      Json g = s.graph;
      s.at(g).erase("in");
      expect_refused_once(g, s, "in", {"E-KEY"});
    }
  }
}

TEST(Damage, AnotherKindOfValue) {
  const std::vector<Json> values{true,
                                 7,
                                 0.5,
                                 Json::array({1}),
                                 "no such",
                                 Json::object({{"value", "no such"}}),
                                 Json::object({{"wrong", "x"}})};
  for (const Subject& s : subjects()) {
    for (const ir::FieldRecord& f : s.op->fields) {
      for (const Json& v : values) {
        const bool fits = (f.kind == Kind::flag && v.is_boolean()) ||
                          (f.kind == Kind::integer && v.is_number_integer()) ||
                          ((f.kind == Kind::real || f.kind == Kind::number) && v.is_number());
        if (fits) continue;
        Json g = s.graph;
        s.at(g)[f.name] = v;
        expect_refused_once(g, s, f.name, {"E-JSON", "E-WORD", "E-REFERENCE"});
      }
    }
  }
}

TEST(Damage, UnknownAndDoubleKeys) {
  for (const Subject& s : subjects()) {
    Json g = s.graph;
    s.at(g)["no_such_key"] = 1;
    expect_refused(g, s, "no_such_key", {"E-KEY"});
    const std::string line = s.at(g).dump();
    for (const ir::FieldRecord& f : s.op->fields) {
      const std::string member =
          "\"" + std::string(f.name) + "\":" + s.graph["nodes"][s.node][f.name].dump();
      std::string text = s.graph.dump();
      const size_t at = text.find(s.graph["nodes"][s.node].dump());
      ASSERT_NE(at, std::string::npos);
      text.insert(at + 1, member + ",");
      const Result<Graph> twice = parse_json(text);
      ASSERT_FALSE(twice) << s.label << "." << f.name;
      EXPECT_EQ(twice.findings()[0].code, "E-KEY");
      EXPECT_EQ(twice.findings()[0].where, s.path(f.name));
    }
  }
}

TEST(Damage, ReferencesToNothing) {
  for (const Subject& s : subjects()) {
    std::vector<std::string> fields;
    for (const ir::FieldRecord& f : s.op->fields) {
      if (f.kind == Kind::value) fields.emplace_back(f.name);
    }
    if (!s.op->is_root) fields.emplace_back("in");
    for (const std::string& f : fields) {
      for (const std::string to : {"nobody", "%999999", "%-1", "%0.nothing", "%", ""}) {
        Json g = s.graph;
        s.at(g)[f] = to;
        expect_refused_once(g, s, f, {"E-REFERENCE"});
      }
      Json g = s.graph;
      s.at(g)[f] = "%" + std::to_string(s.node);
      expect_refused_once(g, s, f, {"E-REFERENCE"});
    }
  }
}

TEST(Damage, EveryOtherRole) {
  for (const Subject& s : subjects()) {
    std::map<std::string, ir::RoleSet> fields;
    for (const ir::FieldRecord& f : s.op->fields) {
      if (f.roles != 0) fields[f.name] = f.roles;
    }
    if (!s.op->is_root) fields["in"] = ir::role_bit(Role::value);
    for (const auto& [field, roles] : fields) {
      for (int r = 0; !name(static_cast<Role>(r)).empty(); ++r) {
        const auto role = static_cast<Role>(r);
        const std::string line = input_line(role);
        if ((roles & ir::role_bit(role)) != 0 || line.empty()) continue;
        Json g = s.graph;
        Json input = Json::parse(line);
        input["name"] = "other";
        for (Json& e : input["shape"]) e = e.is_string() ? Json(64) : e;
        g["inputs"].push_back(input);
        const int at = s.op->field_index(field);
        const bool is_number =
            at >= 0 && s.op->fields[static_cast<size_t>(at)].kind == Kind::number;
        s.at(g)[field] = is_number ? Json::object({{"value", "other"}}) : Json("other");
        expect_refused_once(g, s, field, {"E-ROLE"});
      }
    }
  }
}

// Out of range, and no number at all.
TEST(Damage, AttributesOutOfRange) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const Subject& s : subjects()) {
    for (const ir::FieldRecord& f : s.op->fields) {
      std::vector<Json> values;
      if (f.kind == Kind::real) values = {"nan", "NaN", 1e300};
      if (f.kind == Kind::choice) values = {"no such word", "", 0};
      if (f.kind == Kind::integer) values = {0.5, "1"};
      if (f.ranged) {
        const double below =
            f.kind == Kind::integer ? f.minimum - 1 : std::nextafter(f.minimum, -inf);
        const double above =
            f.kind == Kind::integer ? f.maximum + 1 : std::nextafter(f.maximum, inf);
        const auto text = [&](double x) {
          if (f.kind == Kind::integer) return Json(static_cast<int64_t>(x));
          if (std::isinf(x)) return Json(x < 0 ? "-inf" : "inf");
          // A float next to a float.
          return f.kind == Kind::real ? Json(std::nextafter(static_cast<float>(x),
                                                            x < f.minimum ? -INFINITY : INFINITY))
                                      : Json(x);
        };
        // What is no float any more is "-inf" below.
        const bool has_below =
            f.kind != Kind::real || f.minimum > std::numeric_limits<float>::lowest();
        if (std::isfinite(f.minimum) && has_below) values.push_back(text(below));
        // What is no float any more is 1e300 above.
        const bool is_float = f.kind != Kind::real || f.maximum < std::numeric_limits<float>::max();
        if (std::isfinite(f.maximum) && is_float) values.push_back(text(above));
        if (f.kind == Kind::number) values.emplace_back("nan");
        if (std::isfinite(f.maximum) && f.kind != Kind::integer) values.emplace_back("inf");
        if (std::isfinite(f.minimum) && f.kind != Kind::integer) values.emplace_back("-inf");
      }
      for (const Json& v : values) {
        Json g = s.graph;
        s.at(g)[f.name] = v;
        // A number in place of an input: nobody uses that any more.
        if (f.kind == Kind::number) drop_unused(g);
        expect_refused_once(g, s, f.name, {"E-ATTRIBUTE", "E-JSON", "E-WORD"});
      }
    }
  }
}

// Handles of another builder, in every field at once: a finding each.
TEST(Damage, ForeignHandles) {
  for (const ir::OpRecord* op : ir::all_ops()) {
    Builder other("other");
    const RowVec foreign = other.row_input("foreign", 8);
    Builder g("own");
    detail::State* own = detail::Access::state(g.row_input("own", 8));
    detail::Recorder r(own, op->is_root ? nullptr : &foreign, op->name, Where::here());
    std::multiset<std::string> wanted;
    if (!op->is_root) wanted.insert("in");
    for (const ir::FieldRecord& f : op->fields) {
      if (f.kind == Kind::value) {
        r.put(static_cast<const Handle&>(foreign));
        wanted.insert(f.name);
      } else {
        r.put_none();
      }
    }
    r.commit();
    std::multiset<std::string> got;
    const Findings findings = std::move(g).finish().findings();
    for (const Finding& f : findings) {
      if (f.code != "E-HANDLE") continue;
      EXPECT_EQ(f.op, op->name);
      EXPECT_NE(f.message.find("'other'"), std::string_view::npos) << f.message;
      got.insert(std::string(f.field));
    }
    EXPECT_EQ(got, wanted) << op->name;
  }
}

}  // namespace
}  // namespace cohort::test
