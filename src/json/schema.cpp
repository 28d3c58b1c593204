#include <cohort/json.h>
namespace cohort {
std::string_view json_schema() noexcept { return {}; }
}  // namespace cohort
