// Counts what a program allocates. For one source of a program: it defines malloc and its kin, or,
// where a sanitizer owns those, hooks into its allocator.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

#include "fixtures/sanitized.h"

namespace cohort::test {

/// Allocations of this thread so far.
inline thread_local int64_t allocations = 0;

}  // namespace cohort::test

#ifdef COHORT_SANITIZED

// Of sanitizer/allocator_interface.h, which Debian's g++ 12 has not.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*,
                                                                           size_t),
                                                         void (*on_free)(const volatile void*));

namespace cohort::test {
inline const int kHooked = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t) { ++allocations; }, [](const volatile void*) {});
}  // namespace cohort::test

#else

// glibc lets a program replace malloc and names its own beneath; operator new calls malloc, and
// free needs no replacement. Hidden symbols of a program replace nothing in libstdc++.
#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* p, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) noexcept {
  ++cohort::test::allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) noexcept {
  ++cohort::test::allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* p, size_t bytes) noexcept {
  ++cohort::test::allocations;
  return __libc_realloc(p, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  ++cohort::test::allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** p, size_t alignment, size_t bytes) noexcept {
  ++cohort::test::allocations;
  *p = __libc_memalign(alignment, bytes);
  return *p == nullptr ? 12 : 0;  // ENOMEM
}
}
#pragma GCC visibility pop

#endif
