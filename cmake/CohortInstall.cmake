# Installation and the relocatable CMake package `cohort`.
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

install(TARGETS cohort cohort_static EXPORT cohortTargets)
if(TARGET cohort_command)
  install(TARGETS cohort_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/cohort DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cohort)
install(EXPORT cohortTargets NAMESPACE cohort:: DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/cohortConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
configure_package_config_file(cmake/cohortConfig.cmake.in
                              ${CMAKE_CURRENT_BINARY_DIR}/cohortConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cohortConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/cohortConfigVersion.cmake DESTINATION ${package_dir})
install(FILES LICENSE THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
