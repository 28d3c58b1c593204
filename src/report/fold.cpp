#include <algorithm>
#include <map>
#include <tuple>

#include "report/outcome.h"

namespace cohort::report {

namespace {

using emu::Fault;
using emu::FaultCode;

constexpr size_t kMostFindings = 1000;

bool is_stuck(FaultCode code) {
  return code == FaultCode::deadlock || code == FaultCode::livelock ||
         code == FaultCode::divergence;
}

// Which of two accesses came first is the schedule's doing: a pair has no order.
using Key = std::tuple<FaultCode, uint32_t, uint32_t, int>;
Key key_of(const Fault& f) {
  const uint32_t other = f.has_earlier ? f.earlier.pc : UINT32_MAX;
  const int space = f.has_place ? static_cast<int>(f.space) : -1;
  return {f.code, std::min(f.now.pc, other), std::max(f.now.pc, other), space};
}

class Folder {
 public:
  Folder(const Scene& scene, detail::RaceReportRep& rep) : scene_(scene), rep_(rep) {}

  void take(const Outcome& o) {
    std::map<Key, bool> here;
    bool is_stuck_told = false;
    for (const Fault& f : o.faults) {
      // A deadlock has a fault for each warp: the finding says what each waits for.
      if (is_stuck(f.code) && is_stuck_told) continue;
      is_stuck_told |= is_stuck(f.code);
      const Key key = is_stuck(f.code) ? Key{f.code, 0, 0, -1} : key_of(f);
      const auto [at, is_new] = known_.try_emplace(key, rep_.findings.size());
      if (is_new) {
        ++rep_.total;
        if (rep_.findings.size() < kMostFindings) {
          rep_.findings.push_back(finding(f, o));
        } else {
          at->second = SIZE_MAX;
        }
      }
      if (at->second == SIZE_MAX) continue;
      RaceFinding& to = rep_.findings[at->second];
      to.count += f.count;
      if (here.try_emplace(key, true).second) ++to.schedules;
    }
    for (size_t i = 0; i < o.outputs.size(); ++i) {
      RaceOutput& to = rep_.outputs[i];
      if (o.outputs[i].wrong != 0 && to.index < 0) {
        to.index = o.outputs[i].index;
        to.wanted = o.outputs[i].wanted;
        to.got = o.outputs[i].got;
        to.seed = o.seed;
      }
      to.wrong = std::max(to.wrong, o.outputs[i].wrong);
    }
  }

 private:
  RaceAccess access(const emu::Touch& t, bool is_access) {
    const CodePlace p = scene_.code(t.pc);
    RaceAccess a{};
    a.does = is_access ? verb(t.kind) : "executes";
    a.instruction = rep_.keep(p.instruction);
    a.ptx_line = p.ptx_line;
    a.file = rep_.keep(p.file);
    a.line = p.line;
    a.agent = rep_.keep(scene_.agent(t.by));
    a.launch = static_cast<int32_t>(p.launch);
    return a;
  }

  std::string side(const char* title, const RaceAccess& a, uint32_t pc) const {
    const bool is_access = a.does != "executes";
    std::string s = std::string("  ") + title + std::string(a.agent) + " " + std::string(a.does);
    s += is_access ? ": " : " ";
    if (!a.instruction.empty()) s += std::string(a.instruction) + ", ";
    return s + scene_.line(scene_.code(pc)) + "\n";
  }

  std::string detail(const Fault& f, const Outcome& o) const {
    if (is_stuck(f.code)) {
      std::string all;
      for (size_t i = 0; i < o.waiting.size() && i < 64; ++i) {
        all += (i == 0 ? "" : "\n") + scene_.waiting(o.waiting[i]);
      }
      if (o.waiting.size() > 64) {
        all += "\n(" + std::to_string(o.waiting.size() - 64) + " more)";
      }
      return all;
    }
    if (f.wanted == 0 && f.got == 0) return f.note;
    return (f.note.empty() ? "" : f.note + ": ") + "wanted " + std::to_string(f.wanted) + ", got " +
           std::to_string(f.got);
  }

  RaceFinding finding(const Fault& f, const Outcome& o) {
    RaceFinding r{};
    r.code = code_of(f.code);
    r.title = title_of(f.code);
    r.seed = o.seed;
    r.has_earlier = f.has_earlier;
    const bool is_access = f.has_earlier || f.has_place;
    r.now = access(f.now, is_access);
    if (f.has_earlier) r.earlier = access(f.earlier, true);
    r.missing = advice(f.missing);
    r.offset = f.has_place ? static_cast<int64_t>(f.offset) : -1;
    r.bytes = f.has_place ? f.bytes : 0;
    if (f.has_place) r.place = rep_.keep(scene_.place(f.space, f.block, f.offset));
    r.detail = rep_.keep(detail(f, o));
    std::string text;
    if (is_stuck(f.code)) {
      for (size_t at = 0, end = 0; at < r.detail.size(); at = end + 1) {
        end = std::min(r.detail.find('\n', at), r.detail.size());
        text += "  " + std::string(r.detail.substr(at, end - at)) + "\n";
      }
    } else {
      text += side(f.has_earlier ? "now      " : "who      ", r.now, f.now.pc);
      if (f.has_earlier) text += side("earlier  ", r.earlier, f.earlier.pc);
      if (f.has_place) {
        text += "  where    " + std::string(r.place) + ", " + std::to_string(f.bytes) +
                (f.bytes == 1 ? " byte\n" : " bytes\n");
      }
      if (!r.detail.empty()) text += "  detail   " + std::string(r.detail) + "\n";
    }
    if (!r.missing.empty()) text += "  missing  " + std::string(r.missing) + "\n";
    r.text = rep_.keep(std::move(text));
    return r;
  }

  const Scene& scene_;
  detail::RaceReportRep& rep_;
  std::map<Key, size_t> known_;
};

}  // namespace

void fold(const std::vector<Outcome>& outcomes, const Scene& scene, detail::RaceReportRep& rep) {
  Folder folder(scene, rep);
  rep.seed = rep.first_seed;
  bool has_seed = false;
  for (const Outcome& o : outcomes) {
    ++rep.schedules;
    if (o.completed) ++rep.completed;
    rep.thread_instructions += static_cast<int64_t>(o.lane_instructions);
    const bool is_wrong = std::any_of(o.outputs.begin(), o.outputs.end(),
                                      [](const OutputOutcome& x) { return x.wrong != 0; });
    if (!has_seed && (is_wrong || !o.faults.empty() || !o.completed)) {
      has_seed = true;
      rep.seed = o.seed;
    }
    folder.take(o);
  }
}

}  // namespace cohort::report
