# Sources named isa_*.cpp are compiled once per ISA level. An inline function that two levels share
# would be merged by the linker, and a baseline machine might run the AVX-512 copy. So the objects
# of a level are linked into one relocatable object, in which every weak symbol is made local.
# test/policy/isa_test.py proves it.
include_guard(GLOBAL)

set(COHORT_ISA_MARCH_v1 x86-64)
set(COHORT_ISA_MARCH_v3 x86-64-v3)
set(COHORT_ISA_MARCH_v4 x86-64-v4)

find_program(COHORT_NM NAMES nm REQUIRED)
find_program(COHORT_LD NAMES ld.bfd ld REQUIRED)

# Sets ${name}_ISA_OBJECTS in the caller and adds the target ${name}_isa that builds them.
function(cohort_isa_objects name)
  set(objects)
  foreach(isa v1 v3 v4)
    set(target ${name}_isa_${isa})
    add_library(${target} OBJECT ${ARGN})
    # -O3 in every build type: speed is what these files are for.
    # Nobody reads the floating-point exception flags, and with them a loop that selects between two
    # results is not vectorised. Results are the same bits.
    target_compile_options(${target} PRIVATE -march=${COHORT_ISA_MARCH_${isa}} -O3
                                             -fno-trapping-math)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # A unique symbol is merged process-wide even where it is local to an object.
      # It also warns of its own AVX-512 header (GCC bug 105593).
      target_compile_options(${target} PRIVATE -fno-gnu-unique -Wno-maybe-uninitialized)
    endif()
    target_compile_definitions(${target} PRIVATE COHORT_ISA=${isa} Eigen=Eigen_${isa})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include
                                                 ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} PRIVATE cohort_flags Threads::Threads Eigen3::Eigen)
    cohort_unity(${target})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${target}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/localize.sh ${COHORT_LD} ${COHORT_NM}
              ${CMAKE_OBJCOPY} ${object} $<TARGET_OBJECTS:${target}>
      DEPENDS $<TARGET_OBJECTS:${target}> ${PROJECT_SOURCE_DIR}/cmake/localize.sh
      COMMENT "Isolating ${target}" COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  add_custom_target(${name}_isa DEPENDS ${objects})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(${name}_ISA_OBJECTS ${objects} PARENT_SCOPE)
endfunction()
