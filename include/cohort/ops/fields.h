// How an op lists its members, once for JSON, checks, keys and docs.
#pragma once

#include <cohort/graph.h>

/// Lists the fields of an op, in declaration order.
#define COHORT_FIELDS(...)                               \
  template <class V>                                     \
  static constexpr auto fields([[maybe_unused]] V&& v) { \
    return v(__VA_ARGS__);                               \
  }
