#include <cohort/status.h>

namespace cohort {

std::string_view version() noexcept { return COHORT_VERSION; }

}  // namespace cohort
