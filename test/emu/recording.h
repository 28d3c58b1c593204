// A watcher that writes down what it is told, a line an event.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "emu/events.h"

namespace cohort::emu::test {

class Recording : public Events {
 public:
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const std::string& l : lines_) all += l + "\n";
    return all;
  }
  [[nodiscard]] std::vector<std::string> of_kind(std::string_view prefix) const {
    std::vector<std::string> found;
    for (const std::string& l : lines_) {
      if (l.starts_with(prefix)) found.push_back(l);
    }
    return found;
  }
  [[nodiscard]] std::vector<std::string> without(std::string_view prefix) const {
    std::vector<std::string> found;
    for (const std::string& l : lines_) {
      if (!l.starts_with(prefix)) found.push_back(l);
    }
    return found;
  }

  void buffer(uint32_t block, uint64_t bytes, bool) override {
    add("buffer " + std::to_string(block) + " " + std::to_string(bytes));
  }
  void begin_grid(const Grid& g) override {
    add("grid w" + std::to_string(g.first_warp) + " c" + std::to_string(g.first_cta) + " " +
        std::to_string(g.ctas) + "x" + std::to_string(g.warps_per_cta));
  }
  void end_cta(uint32_t cta) override { add("end " + std::to_string(cta)); }
  void access(const LaneAccess& a) override {
    uint32_t lane = 0;
    while ((a.who.lanes >> lane & 1) == 0) ++lane;
    static constexpr const char* kSpaces[] = {"shared", "tensor", "global"};
    static constexpr const char* kKinds[] = {"read",         "write",         "update",   "barrier",
                                             "barrier_init", "barrier_inval", "allocate", "free"};
    std::string line = std::string("access ") + kSpaces[static_cast<int>(a.space)] + " " +
                       kKinds[static_cast<int>(a.kind)] + who(a.who) + lanes(a.who) + " " +
                       std::to_string(a.offset[lane]) + " " + std::to_string(a.bytes);
    if (a.scope != Scope::weak) line += scope(a.scope);
    add(line);
  }
  void access(Who w, const Box& b, Scope) override {
    add("box" + who(w) + " " + std::to_string(b.begin) + " " + std::to_string(b.bytes));
  }
  void access(OpId op, const Box& b) override {
    add("box o" + std::to_string(op.value) + " " + std::to_string(b.begin));
  }
  void access(OpId op, const LaneAccess& a) override {
    add("lanes o" + std::to_string(op.value) + " " + std::to_string(a.bytes));
  }
  void end(OpId op) override { add("end o" + std::to_string(op.value)); }
  OpId begin(Who w, Agent, PipeStep) override {
    add("begin" + who(w));
    return OpId{next_++};
  }
  void drain(Who w, OpId op, Covers) override { add("drain" + who(w) + " o" + number(op.value)); }
  void publish(OpId op, SyncId s, uint32_t) override {
    add("publish o" + number(op.value) + " s" + number(s.value));
  }
  void commit(Who w, uint8_t, SyncId s) override {
    add("commit" + who(w) + " s" + number(s.value));
  }
  void release(Who w, SyncId s, Scope c, Order o) override {
    // The end of a grid is told for every warp; only waits for it are of interest.
    if (o != Order::grid) add("release" + who(w) + " s" + number(s.value) + scope(c) + order(o));
    if (o == Order::grid) hidden_ = s.value;
  }
  void flip(SyncId s, bool keep) override {
    if (s.value != hidden_) add("flip s" + number(s.value) + (keep ? " keep" : ""));
  }
  void acquire(Who w, SyncId s, Scope c, Order o) override {
    add("acquire" + who(w) + " s" + number(s.value) + scope(c) + order(o));
  }
  void fence(Who w, Fence f, Scope c) override {
    add("fence" + who(w) + " " + std::to_string(static_cast<int>(f)) + scope(c));
  }
  void warp_sync(Who w) override { add("warp_sync" + who(w) + lanes(w)); }

 private:
  static std::string number(uint64_t v) { return std::to_string(v); }
  static std::string who(Who w) { return " w" + std::to_string(w.warp.value); }
  static std::string lanes(Who w) {
    char text[16] = {};
    std::snprintf(text, sizeof text, " %08x", w.lanes);
    return text;
  }
  static std::string scope(Scope s) {
    static constexpr const char* kNames[] = {" weak",    " unspelled", " cta",
                                             " cluster", " gpu",       " sys"};
    return kNames[static_cast<int>(s)];
  }
  static std::string order(Order o) {
    static constexpr const char* kNames[] = {" relaxed", " full", " grid"};
    return kNames[static_cast<int>(o)];
  }
  void add(const std::string& line) { lines_.push_back(line); }

  std::vector<std::string> lines_;
  uint64_t next_ = 0;
  uint32_t hidden_ = UINT32_MAX;
};

}  // namespace cohort::emu::test
