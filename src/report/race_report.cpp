// The face of a report.
#include <cohort/emulate.h>

#include <utility>

#include "report/rep.h"

namespace cohort {

RaceReport::RaceReport(const RaceReport& other) noexcept : rep_(other.rep_) {
  rep_->references.fetch_add(1, std::memory_order_relaxed);
}
RaceReport& RaceReport::operator=(const RaceReport& other) noexcept {
  RaceReport copy(other);
  std::swap(rep_, copy.rep_);
  return *this;
}
RaceReport::~RaceReport() {
  if (rep_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete rep_;
}

bool RaceReport::good() const noexcept {
  for (const RaceOutput& o : rep_->outputs) {
    if (o.wrong != 0) return false;
  }
  return rep_->total == 0 && rep_->completed == rep_->schedules;
}
int32_t RaceReport::size() const noexcept { return static_cast<int32_t>(rep_->findings.size()); }
int64_t RaceReport::total() const noexcept { return rep_->total; }
const RaceFinding& RaceReport::operator[](int32_t i) const noexcept {
  return rep_->findings[static_cast<size_t>(i)];
}
int32_t RaceReport::output_count() const noexcept {
  return static_cast<int32_t>(rep_->outputs.size());
}
const RaceOutput& RaceReport::output(int32_t i) const noexcept {
  return rep_->outputs[static_cast<size_t>(i)];
}
int32_t RaceReport::buffer_count() const noexcept {
  return static_cast<int32_t>(rep_->buffers.size());
}
const BufferView& RaceReport::buffer(int32_t i) const noexcept {
  return rep_->buffers[static_cast<size_t>(i)];
}
int32_t RaceReport::schedules() const noexcept { return rep_->schedules; }
int32_t RaceReport::completed() const noexcept { return rep_->completed; }
int64_t RaceReport::thread_instructions() const noexcept { return rep_->thread_instructions; }
uint64_t RaceReport::seed() const noexcept { return rep_->seed; }
std::string_view RaceReport::printed() const noexcept { return rep_->printed; }
std::string_view RaceReport::text() const noexcept { return rep_->text; }
std::string_view RaceReport::json() const noexcept { return rep_->json; }

}  // namespace cohort
