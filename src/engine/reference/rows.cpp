#include "engine/reference/rows.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "numerics/layout.h"

namespace cohort::engine::reference {

namespace {

int64_t entry(const TensorView& v, int64_t i) {
  return v.dtype == DType::i64 ? static_cast<const int64_t*>(v.data)[i]
                               : static_cast<const int32_t*>(v.data)[i];
}

[[noreturn]] void fail(const std::string& name, int64_t group, std::string wanted,
                       std::string got) {
  std::string message = "group " + std::to_string(group) + ": wanted " + wanted + ", got " + got;
  throw base::FindingsError{
      base::make_findings(ErrorKind::mismatch, {.code = "E-GROUPS",
                                                .op = name,
                                                .field = "values",
                                                .wanted = std::move(wanted),
                                                .got = std::move(got),
                                                .message = std::move(message)})};
}

// Rows from `begin` to `end`, whatever 64-bit numbers they are.
int64_t rows_between(const std::string& name, int64_t group, int64_t begin, int64_t end,
                     int64_t rows) {
  if (begin < 0 || begin > rows) {
    fail(name, group, "a begin within 0 .. " + std::to_string(rows), std::to_string(begin));
  }
  if (end < begin || end > rows) {
    fail(name, group, "an end within " + std::to_string(begin) + " .. " + std::to_string(rows),
         std::to_string(end));
  }
  return end - begin;
}

// Begin and number of rows of group g, as the form says.
void read_one(const ir::Value& groups, const TensorView& v, const TensorView* used, int64_t count,
              int64_t rows, const std::string& name, int64_t running, RowGroup& g) {
  const int64_t i = g.group;
  switch (groups.form) {
    case GroupForm::starts:
      g.begin = entry(v, i);
      g.rows = rows_between(name, i, g.begin, i + 1 < count ? entry(v, i + 1) : rows, rows);
      break;
    case GroupForm::ends:
      g.begin = i > 0 ? entry(v, i - 1) : 0;
      g.rows = rows_between(name, i, g.begin, entry(v, i), rows);
      break;
    case GroupForm::boundaries:
      g.begin = entry(v, i);
      g.rows = rows_between(name, i, g.begin, entry(v, i + 1), rows);
      break;
    case GroupForm::counts:
      g.begin = running;
      g.rows = entry(v, i);
      break;
    case GroupForm::slots:
      g.begin = entry(v, i);
      g.rows = entry(*used, i);
      break;
    case GroupForm::whole:
      g.rows = rows;
      break;
  }
}

void want_needs(const std::string& name, const GroupNeeds& needs, const RowGroup& g) {
  if (g.begin % needs.begin != 0) {
    fail(name, g.group,
         "a begin at a multiple of " + std::to_string(needs.begin) +
             ", since column scales of layout global are read by it",
         std::to_string(g.begin));
  }
  if (needs.pairs && (g.begin % 2 != 0 || g.rows % 2 != 0)) {
    fail(name, g.group,
         "an even begin and an even number of rows, since e2m1 of ragged storage are packed in "
         "pairs of tokens",
         "begin " + std::to_string(g.begin) + ", rows " + std::to_string(g.rows));
  }
}

}  // namespace

std::vector<RowGroup> read_groups(const ir::Value& groups, int64_t count, const TensorView& begin,
                                  const TensorView* used, int64_t rows, const std::string& name,
                                  const GroupNeeds& needs) {
  std::vector<RowGroup> all(static_cast<size_t>(count));
  int64_t running = 0;
  int64_t tiles = 0;
  int64_t reached = 0;  // no group may begin before the end of the one before it
  for (int64_t i = 0; i < count; ++i) {
    RowGroup& g = all[static_cast<size_t>(i)];
    g.group = static_cast<int32_t>(i);
    g.before = running;
    g.tiles = tiles;
    read_one(groups, begin, used, count, rows, name, running, g);
    if (g.rows < 0) fail(name, i, "0 or more rows", std::to_string(g.rows));
    if (g.begin < 0 || g.begin > rows || g.rows > rows - g.begin) {
      fail(name, i, "rows within 0 .. " + std::to_string(rows),
           "begin " + std::to_string(g.begin) + ", rows " + std::to_string(g.rows));
    }
    if (g.rows > 0 && g.begin < reached) {
      fail(name, i, "a begin of at least " + std::to_string(reached), std::to_string(g.begin));
    }
    if (g.rows > 0) want_needs(name, needs, g);
    if (g.rows % groups.row_alignment != 0) {
      fail(name, i, "a multiple of " + std::to_string(groups.row_alignment) + " rows",
           std::to_string(g.rows));
    }
    if (g.rows > 0) reached = g.begin + g.rows;
    running += g.rows;
    tiles += base::ceil_div(g.rows, numerics::kAtomRows);
  }
  return all;
}

std::vector<RowRange> unowned_rows(const std::vector<RowGroup>& groups, int64_t rows) {
  std::vector<RowRange> ranges;
  int64_t at = 0;
  for (const RowGroup& g : groups) {
    if (g.rows == 0) continue;
    if (g.begin > at) ranges.push_back({at, g.begin});
    at = std::max(at, g.begin + g.rows);
  }
  if (at < rows) ranges.push_back({at, rows});
  return ranges;
}

}  // namespace cohort::engine::reference
