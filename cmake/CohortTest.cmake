# Helpers that register tests and benchmarks.
include_guard(GLOBAL)

# Settings that tests and benchmarks share: internal headers, the static library, where data is.
function(cohort_internal_settings target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src
                                               ${PROJECT_SOURCE_DIR}/test)
  target_link_libraries(${target} PRIVATE cohort_flags cohort_static Eigen3::Eigen
                                          nlohmann_json::nlohmann_json)
  target_compile_definitions(${target} PRIVATE
                             COHORT_TEST_DATA="${PROJECT_SOURCE_DIR}/test/data"
                             COHORT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endfunction()

# The same, and where the command is.
function(cohort_test_settings target)
  cohort_internal_settings(${target})
  if(TARGET cohort_command)
    add_dependencies(${target} cohort_command)
    target_compile_definitions(${target} PRIVATE COHORT_COMMAND="$<TARGET_FILE:cohort_command>")
  endif()
endfunction()

# Headers that nearly every test includes, compiled once for all of them. Not in `dev`, which would
# not notice a header that a test forgot.
function(cohort_precompile target)
  if(NOT COHORT_PRECOMPILE)
    return()
  endif()
  get_property(donor GLOBAL PROPERTY COHORT_PRECOMPILED)
  if(donor)
    target_precompile_headers(${target} REUSE_FROM ${donor})
  else()
    target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <nlohmann/json.hpp>
                              <cohort/cohort.h> <cohort/json.h> <map> <string> <vector>)
    set_property(GLOBAL PROPERTY COHORT_PRECOMPILED ${target})
  endif()
endfunction()

function(cohort_add_room_test room)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/${room}/*.cpp)
  if(NOT sources)
    return()
  endif()
  set(target test_${room})
  add_executable(${target} ${sources})
  set_target_properties(${target} PROPERTIES COHORT_NO_UBSAN ON)
  cohort_test_settings(${target})
  target_link_libraries(${target} PRIVATE GTest::gtest GTest::gtest_main)
  cohort_precompile(${target})
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST TEST_PREFIX ${room}.
                       DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${room} TIMEOUT 300)
endfunction()

# test/device: built where nvcc is found, run where a GPU is, skipped elsewhere. Kernels are compiled
# by nvcc into objects, as the project itself needs no CUDA.
function(cohort_add_device_test)
  find_program(COHORT_NVCC nvcc PATHS /usr/local/cuda/bin)
  if(NOT COHORT_NVCC)
    message(STATUS "no nvcc: tests that need a GPU are not built")
    return()
  endif()
  cmake_path(GET COHORT_NVCC PARENT_PATH bin)
  find_library(COHORT_CUDART cudart_static PATHS ${bin}/../lib64 ${bin}/../targets/x86_64-linux/lib)
  file(GLOB kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/device/*.cu)
  cohort_add_room_test(device)
  foreach(kernel ${kernels})
    cmake_path(GET kernel STEM name)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.cu.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${COHORT_NVCC} -std=c++20 -O1 -gencode arch=compute_90a,code=sm_90a
              -I${PROJECT_SOURCE_DIR}/test -c ${kernel} -o ${object}
      DEPENDS ${kernel} ${PROJECT_SOURCE_DIR}/test/device/${name}.h
      COMMENT "nvcc ${name}.cu" VERBATIM)
    target_sources(test_device PRIVATE ${object})
  endforeach()
  target_link_libraries(test_device PRIVATE ${COHORT_CUDART} ${CMAKE_DL_LIBS} rt)
endfunction()

# test/libfuzzer/x_fuzzer.cpp -> fuzz_x. Needs clang's libFuzzer and a library that is instrumented
# for it (preset asan-ubsan). A run that ends is a test; a longer one: docs/known_gaps.md.
function(cohort_add_fuzzers)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/libfuzzer/*_fuzzer.cpp)
  foreach(source ${sources})
    cmake_path(GET source STEM name)
    string(REGEX REPLACE "_fuzzer$" "" name ${name})
    add_executable(fuzz_${name} ${source})
    cohort_test_settings(fuzz_${name})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME libfuzzer.${name} COMMAND fuzz_${name} -runs=20000 -seed=1 -timeout=20
                                            ${PROJECT_BINARY_DIR}/corpus/${name}
                                            ${PROJECT_SOURCE_DIR}/test/data/fuzz/${name})
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/corpus/${name})
    set_tests_properties(libfuzzer.${name} PROPERTIES LABELS libfuzzer TIMEOUT 600)
  endforeach()
endfunction()

function(cohort_add_benchmarks)
  find_package(benchmark REQUIRED)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/benchmark/*.cpp)
  foreach(source ${sources})
    cmake_path(GET source STEM name)
    string(REGEX REPLACE "_benchmark$" "" name ${name})
    add_executable(benchmark_${name} ${source})
    cohort_internal_settings(benchmark_${name})
    target_link_libraries(benchmark_${name} PRIVATE benchmark::benchmark_main)
  endforeach()
  # That they run and that the table can be made; figures are for cmake/benchmarks.py alone.
  add_test(NAME benchmark.smoke
           COMMAND ${COHORT_PYTHON} -B ${PROJECT_SOURCE_DIR}/cmake/benchmarks.py --quick
                   --build ${PROJECT_BINARY_DIR})
  set_tests_properties(benchmark.smoke PROPERTIES LABELS benchmark TIMEOUT 900 RUN_SERIAL ON)
endfunction()
