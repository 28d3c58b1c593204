#include <cmath>
#include <cstdio>

#include "base/json_string.h"
#include "report/outcome.h"

namespace cohort::report {

namespace {

using base::json_string;

std::string number(double x) {
  if (!std::isfinite(x)) return std::isnan(x) ? "NaN" : x > 0 ? "inf" : "-inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}
std::string json_number(double x) { return std::isfinite(x) ? number(x) : json_string(number(x)); }

const char* profile_name(RaceProfile p) { return p == RaceProfile::strict ? "strict" : "practice"; }

std::string counted(uint64_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

bool is_good(const detail::RaceReportRep& rep) {
  for (const RaceOutput& o : rep.outputs) {
    if (o.wrong != 0) return false;
  }
  return rep.total == 0 && rep.completed == rep.schedules;
}

std::string output_line(const RaceOutput& o) {
  const std::string name(o.buffer);
  if (o.wrong == 0) return "output " + name + ": as expected\n";
  return "output " + name + ": " + std::to_string(o.wrong) + " of " + std::to_string(o.elements) +
         " elements wrong; first with seed " + std::to_string(o.seed) + " element " +
         std::to_string(o.index) + ": wanted " + number(o.wanted) + ", got " + number(o.got) + "\n";
}

std::string text(const detail::RaceReportRep& rep) {
  std::string s;
  for (const RaceFinding& f : rep.findings) {
    s.append(f.code).append(" ").append(f.title).append("\n").append(f.text);
    s += "  seen     in " + std::to_string(f.schedules) + " of " +
         counted(rep.schedules, "schedule");
    if (f.place.empty()) {
      s += ", first with seed ";
    } else {
      s += ", at " + counted(f.count, "place") + ", first with seed ";
    }
    s += std::to_string(f.seed) + "\n";
  }
  const auto more = rep.total - static_cast<int64_t>(rep.findings.size());
  if (more > 0) s += "(" + std::to_string(more) + " more findings)\n";
  // What a schedule that did not end left behind is compared with nothing.
  for (const RaceOutput& o : rep.outputs) {
    if (rep.completed > 0) s += output_line(o);
  }
  s += is_good(rep) ? "clean: " : "not clean: ";
  s += counted(static_cast<uint64_t>(rep.total), "finding") + " in " +
       counted(static_cast<uint64_t>(rep.schedules), "schedule") + " (profile " +
       profile_name(rep.profile) + ", seeds from " + std::to_string(rep.first_seed) + ")";
  if (rep.completed != rep.schedules) {
    s += ", " + std::to_string(rep.schedules - rep.completed) + " did not come to their end";
  }
  return s + "\n";
}

std::string json(const RaceAccess& a) {
  std::string s = "{\"does\":" + json_string(a.does) +
                  ",\"instruction\":" + json_string(a.instruction) +
                  ",\"ptx_line\":" + std::to_string(a.ptx_line);
  s += ",\"file\":" + json_string(a.file) + ",\"line\":" + std::to_string(a.line);
  return s + ",\"agent\":" + json_string(a.agent) + ",\"launch\":" + std::to_string(a.launch) + "}";
}

std::string json(const RaceFinding& f) {
  std::string s = "{\"code\":" + json_string(f.code) + ",\"title\":" + json_string(f.title);
  s += ",\"now\":" + json(f.now);
  s += ",\"earlier\":" + (f.has_earlier ? json(f.earlier) : "null");
  s += ",\"place\":" + (f.place.empty() ? "null" : json_string(f.place));
  s += ",\"offset\":" + (f.offset < 0 ? "null" : std::to_string(f.offset));
  s += ",\"bytes\":" + std::to_string(f.bytes);
  s += ",\"missing\":" + (f.missing.empty() ? "null" : json_string(f.missing));
  s += ",\"detail\":" + (f.detail.empty() ? "null" : json_string(f.detail));
  s += ",\"count\":" + std::to_string(f.count) + ",\"schedules\":" + std::to_string(f.schedules);
  return s + ",\"seed\":" + std::to_string(f.seed) + "}";
}

std::string json(const RaceOutput& o) {
  std::string s = "{\"buffer\":" + json_string(o.buffer);
  s += ",\"elements\":" + std::to_string(o.elements) + ",\"wrong\":" + std::to_string(o.wrong);
  s += ",\"index\":" + (o.index < 0 ? "null" : std::to_string(o.index));
  s += ",\"wanted\":" + (o.index < 0 ? "null" : json_number(o.wanted));
  s += ",\"got\":" + (o.index < 0 ? "null" : json_number(o.got));
  return s + ",\"seed\":" + (o.index < 0 ? "null" : std::to_string(o.seed)) + "}";
}

template <class T>
std::string list(const std::vector<T>& items) {
  std::string s = "[";
  for (const T& x : items) s += (s.size() == 1 ? "\n" : ",\n") + json(x);
  return s + "]";
}

}  // namespace

void write_texts(detail::RaceReportRep& rep) {
  rep.text = text(rep);
  rep.json = std::string("{\"ok\":") + (is_good(rep) ? "true" : "false") + ",\"profile\":\"" +
             profile_name(rep.profile) + "\",\"schedules\":" + std::to_string(rep.schedules) +
             ",\"completed\":" + std::to_string(rep.completed) +
             ",\"first_seed\":" + std::to_string(rep.first_seed) +
             ",\"seed\":" + std::to_string(rep.seed) +
             ",\"thread_instructions\":" + std::to_string(rep.thread_instructions) +
             ",\"total\":" + std::to_string(rep.total) + ",\"findings\":" + list(rep.findings) +
             ",\"outputs\":" + list(rep.outputs) + ",\"printed\":" + json_string(rep.printed) +
             "}\n";
}

}  // namespace cohort::report
