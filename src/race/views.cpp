#include "race/views.h"

#include <algorithm>
#include <utility>

namespace cohort::race {

void Knower::join(const Knower& other, AgentId agent, uint32_t all) {
  for (int v = 0; v < kCarried; ++v) {
    add_own(view[v], static_cast<View>(v), agent, lanes, all);
    other.add_own(view[v], static_cast<View>(v), agent, other.lanes, all);
    own[v] = std::min(own[v], other.own[v]);
  }
  for (int v = 0; v < kViews; ++v) view[v].join(other.view[v]);
  if (!other.relaxed && !relaxed) return;
  const Relaxed none;
  const Relaxed& theirs = other.relaxed ? *other.relaxed : none;
  Relaxed& mine = open();
  for (int reach = 0; reach < 3; ++reach) {
    for (int v = 0; v < kCarried; ++v) {
      Clock& fenced = mine.fenced[reach][v];
      fenced.join(theirs.fenced[reach][v]);
      fenced.raise(agent, mine.own[reach][v], lanes & all, all);
      fenced.raise(agent, theirs.own[reach][v], other.lanes & all, all);
      mine.own[reach][v] = std::min(mine.own[reach][v], theirs.own[reach][v]);
      mine.pending[reach][v].join(theirs.pending[reach][v]);
    }
  }
}

bool Knower::knows_the_same(const Knower& other) const {
  // What awaits a fence is compared by being there at all: a rare case stays apart.
  return !relaxed && !other.relaxed && own == other.own && view == other.view;
}

size_t Warp::index_of(uint32_t lanes) const {
  if (groups.size() == 1) return 0;
  const uint32_t first = lanes & (~lanes + 1);
  const auto it = std::find_if(groups.begin(), groups.end(),
                               [&](const Knower& k) { return (k.lanes & first) != 0; });
  return it == groups.end() ? 0 : static_cast<size_t>(it - groups.begin());
}

void Warp::split(uint32_t lanes) {
  lanes &= all;
  for (size_t i = 0, n = groups.size(); i < n; ++i) {
    const uint32_t inside = groups[i].lanes & lanes;
    if (inside == 0 || inside == groups[i].lanes) continue;
    Knower part(groups[i]);
    part.lanes = inside;
    groups[i].lanes &= ~lanes;
    groups.push_back(std::move(part));
  }
}

void Warp::merge(uint32_t lanes) {
  split(lanes);
  size_t into = groups.size();
  for (size_t i = 0; i < groups.size();) {
    if ((groups[i].lanes & lanes) == 0) {
      ++i;
    } else if (into == groups.size()) {
      into = i++;
    } else {
      groups[into].join(groups[i], agent, all);
      groups[into].lanes |= groups[i].lanes;
      if (i + 1 != groups.size()) groups[i] = std::move(groups.back());
      groups.pop_back();
      if (into == groups.size()) into = i;
    }
  }
}

void Warp::merge_equal() {
  for (size_t i = 0; i + 1 < groups.size(); ++i) {
    for (size_t j = i + 1; j < groups.size();) {
      if (groups[i].knows_the_same(groups[j])) {
        groups[i].lanes |= groups[j].lanes;
        if (j + 1 != groups.size()) groups[j] = std::move(groups.back());
        groups.pop_back();
      } else {
        ++j;
      }
    }
  }
}

Bucket& Buckets::at(uint32_t cta, int reach) {
  constexpr size_t kMost = 24;
  for (size_t i = 0; i < used_; ++i) {
    if (buckets_[i].cta == cta && buckets_[i].reach == reach) return buckets_[i];
  }
  // Many CTAs meet at one word: those further on count as near to all.
  if (used_ >= kMost && cta != kNear) return at(kNear, reach);
  if (used_ == buckets_.size()) buckets_.emplace_back();
  Bucket& b = buckets_[used_++];
  b.cta = cta;
  b.reach = reach;
  return b;
}

void Buckets::clear() {
  for (size_t i = 0; i < used_; ++i) {
    for (Clock& c : buckets_[i].view) c.clear();
  }
  used_ = 0;
}

void Buckets::join(const Buckets& other) {
  for (const Bucket& b : other) {
    Bucket& mine = at(b.cta, b.reach);
    for (int v = 0; v < kCarried; ++v) mine.view[v].join(b.view[v]);
  }
}

uint64_t Buckets::bytes() const {
  uint64_t n = buckets_.capacity() * sizeof(Bucket);
  for (const Bucket& b : buckets_) {
    for (const Clock& c : b.view) n += c.bytes();
  }
  return n;
}

}  // namespace cohort::race
