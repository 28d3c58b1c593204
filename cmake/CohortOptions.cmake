# Flags that every target of the project shares, as the interface target cohort_flags.
include_guard(GLOBAL)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(cohort_flags INTERFACE)
# A fused multiply-add rounds once where the definition of an op rounds twice: results would depend
# on the ISA level and on the compiler's mood.
target_compile_options(cohort_flags INTERFACE -ffp-contract=off)
target_compile_options(cohort_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Part of clang's -Wconversion, not of g++'s: every index into a container would need a cast.
  target_compile_options(cohort_flags INTERFACE -Wno-sign-conversion)
else()
  # Aggregates with default members are given by designators; what is left out is left out on
  # purpose. clang agrees and stays silent.
  target_compile_options(cohort_flags INTERFACE -Wno-missing-field-initializers)
  # g++ 12 sees overlapping copies in std::string's operator+ (GCC bug 105651).
  target_compile_options(cohort_flags INTERFACE -Wno-restrict)
endif()
if(COHORT_WERROR)
  target_compile_options(cohort_flags INTERFACE -Werror)
endif()

if(COHORT_SANITIZE)
  string(REPLACE "," ";" kinds "${COHORT_SANITIZE}")
  foreach(kind ${kinds})
    # UBSan doubles the time to compile a test or the command, and watches what the library does all
    # the same.
    if(kind STREQUAL "undefined")
      set(kind_flag $<$<NOT:$<BOOL:$<TARGET_PROPERTY:COHORT_NO_UBSAN>>>:-fsanitize=undefined>)
    else()
      set(kind_flag -fsanitize=${kind})
    endif()
    target_compile_options(cohort_flags INTERFACE ${kind_flag})
  endforeach()
  target_compile_options(cohort_flags INTERFACE -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(cohort_flags INTERFACE -fsanitize=${COHORT_SANITIZE})
  # g++ 12 sees uninitialised values and bad bounds in the code that instrumentation adds.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(cohort_flags INTERFACE -Wno-maybe-uninitialized -Wno-array-bounds
                                                  -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endif()
