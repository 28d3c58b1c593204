# The library (compiled once, linked static and shared) and the command. Rooms are folders below
# src/; a new file or room needs no edit here.
include_guard(GLOBAL)
include(GNUInstallDirs)

# With COHORT_UNITY the files of a room are compiled as one: parsing headers is most of the time.
# `dev` compiles file by file, and notices a header that a file forgot. Files whose names for the same
# thing are the same in each (infer, map, bound of an op) stay apart.
function(cohort_unity target)
  if(NOT COHORT_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ takes an included source for a header, whose types other files could see.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set(apart ops)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(GET source PARENT_PATH room)
    cmake_path(GET room FILENAME name)
    if(name IN_LIST apart)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name})
  endforeach()
endfunction()

function(cohort_add_library)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/src/cli/")
  set(isa_sources ${sources})
  list(FILTER isa_sources INCLUDE REGEX "/isa_[^/]*\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "/isa_[^/]*\\.cpp$")

  add_library(cohort_objects OBJECT ${sources})
  target_include_directories(cohort_objects PUBLIC ${PROJECT_SOURCE_DIR}/include
                                            PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(cohort_objects PRIVATE cohort_flags Threads::Threads Eigen3::Eigen
                                               nlohmann_json::nlohmann_json)
  target_compile_definitions(cohort_objects PRIVATE COHORT_VERSION="${PROJECT_VERSION}")
  cohort_unity(cohort_objects)

  set(objects $<TARGET_OBJECTS:cohort_objects>)
  if(isa_sources)
    cohort_isa_objects(cohort ${isa_sources})
    list(APPEND objects ${cohort_ISA_OBJECTS})
    set_property(GLOBAL PROPERTY COHORT_ISA_OBJECTS ${cohort_ISA_OBJECTS})
  endif()

  add_library(cohort SHARED ${objects})
  add_library(cohort_static STATIC ${objects})
  set_target_properties(cohort PROPERTIES VERSION ${PROJECT_VERSION}
                                          SOVERSION ${PROJECT_VERSION_MAJOR})
  set_target_properties(cohort_static PROPERTIES OUTPUT_NAME cohort)
  if(NOT COHORT_SANITIZE)
    target_link_options(cohort PRIVATE LINKER:-z,defs)
  endif()
  foreach(library cohort cohort_static)
    add_library(cohort::${library} ALIAS ${library})
    if(isa_sources)
      add_dependencies(${library} cohort_isa)
    endif()
    set_target_properties(${library} PROPERTIES LINKER_LANGUAGE CXX)
    target_include_directories(
      ${library} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(${library} INTERFACE cxx_std_20)
    target_link_libraries(${library} PRIVATE $<BUILD_INTERFACE:cohort_flags>)
  endforeach()
  target_link_libraries(cohort PRIVATE Threads::Threads)
  target_link_libraries(cohort_static PUBLIC Threads::Threads)
endfunction()

# The command links the static library: one file that runs from anywhere.
function(cohort_add_command)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.cpp)
  if(NOT sources)
    return()
  endif()
  # Bundled graphs that samples build.
  list(APPEND sources ${PROJECT_SOURCE_DIR}/samples/05_moe_layer/layer.cpp
       ${PROJECT_SOURCE_DIR}/samples/06_megatron_srelu/graphs.cpp)
  find_package(CLI11 2.1 REQUIRED)
  add_executable(cohort_command ${sources})
  set_target_properties(cohort_command PROPERTIES OUTPUT_NAME cohort COHORT_NO_UBSAN ON)
  target_include_directories(cohort_command PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(cohort_command PRIVATE cohort_flags cohort_static CLI11::CLI11
                                               nlohmann_json::nlohmann_json)
  cohort_unity(cohort_command)
endfunction()
