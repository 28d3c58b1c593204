#include "memory/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

extern "C" {
void* __real_malloc(size_t bytes);
void* __real_calloc(size_t count, size_t bytes);
void* __real_realloc(void* p, size_t bytes);
void* __real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void** p, size_t alignment, size_t bytes);
}

namespace cohort::test {

namespace {

std::atomic<int64_t> fail_at{0};  // 0: none
std::atomic<bool> fail_later{false};
std::atomic<int64_t> seen{0};
std::atomic<int64_t> failures{0};

bool fails() {
  const int64_t at = fail_at.load(std::memory_order_relaxed);
  if (at == 0) return false;
  const int64_t n = seen.fetch_add(1, std::memory_order_relaxed) + 1;
  if (n != at && !(n > at && fail_later.load(std::memory_order_relaxed))) return false;
  failures.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void* aligned(size_t bytes, size_t alignment) {
  const size_t whole = (bytes + alignment - 1) / alignment * alignment;
  return fails() ? nullptr : __real_aligned_alloc(alignment, whole > 0 ? whole : alignment);
}

}  // namespace

void fail_allocations(int64_t n, bool and_all_later) {
  seen = 0;
  failures = 0;
  fail_later = and_all_later;
  fail_at = n;
}

int64_t stop_failing() {
  fail_at = 0;
  return failures;
}

int64_t allocations_seen() { return seen; }

}  // namespace cohort::test

using cohort::test::fails;

extern "C" {
void* __wrap_malloc(size_t bytes) { return fails() ? nullptr : __real_malloc(bytes); }
void* __wrap_calloc(size_t count, size_t bytes) {
  return fails() ? nullptr : __real_calloc(count, bytes);
}
void* __wrap_realloc(void* p, size_t bytes) { return fails() ? nullptr : __real_realloc(p, bytes); }
void* __wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return fails() ? nullptr : __real_aligned_alloc(alignment, bytes);
}
int __wrap_posix_memalign(void** p, size_t alignment, size_t bytes) {
  return fails() ? ENOMEM : __real_posix_memalign(p, alignment, bytes);
}
}

// All forms: a sanitizer brings its own of those that are not here, and they do not mix.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return fails() ? nullptr : __real_malloc(bytes > 0 ? bytes : 1);
}
void* operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return cohort::test::aligned(bytes, static_cast<size_t>(alignment));
}
void* operator new(size_t bytes) {
  void* p = operator new(bytes, std::nothrow);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  void* p = operator new(bytes, alignment, std::nothrow);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t& n) noexcept {
  return operator new(bytes, n);
}
void* operator new[](size_t bytes, std::align_val_t a) { return operator new(bytes, a); }
void* operator new[](size_t bytes, std::align_val_t a, const std::nothrow_t& n) noexcept {
  return operator new(bytes, a, n);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
