# Three Debian packages, made by CPack from the install components. packaging/deb/build.sh configures for it.
set(deb_library "liblooseleaf${PROJECT_VERSION_MAJOR}")
set(deb_packages looseleaf ${deb_library} liblooseleaf-dev)
set(deb_components runtime library dev)
set(deb_version "${PROJECT_VERSION}-1")
set(deb_maintainer "Looseleaf maintainers <maintainers@looseleaf.invalid>")
string(TIMESTAMP deb_date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # that of SOURCE_DATE_EPOCH, if it is set

# What policy wants in each package beside the files themselves.
configure_file("${CMAKE_CURRENT_LIST_DIR}/changelog.in" deb/changelog.Debian @ONLY)
file(CONFIGURE OUTPUT deb/shlibs CONTENT "liblooseleaf ${PROJECT_VERSION_MAJOR} ${deb_library} (= ${deb_version})\n")  # no ABI is promised before 1.0
configure_file(CHANGELOG.md deb/changelog COPYONLY)
execute_process(COMMAND gzip -9nf changelog.Debian changelog
  WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/deb" COMMAND_ERROR_IS_FATAL ANY)
foreach(component package IN ZIP_LISTS deb_components deb_packages)
  install(FILES packaging/deb/copyright "${PROJECT_BINARY_DIR}/deb/changelog.Debian.gz" "${PROJECT_BINARY_DIR}/deb/changelog.gz"
    DESTINATION "share/doc/${package}" COMPONENT ${component})
endforeach()
install(FILES README.md SECURITY.md DESTINATION share/doc/looseleaf COMPONENT runtime)
install(DIRECTORY docs/ DESTINATION share/doc/looseleaf/docs COMPONENT runtime FILES_MATCHING PATTERN "*.md"
  PATTERN proof EXCLUDE PATTERN man EXCLUDE)
install(DIRECTORY schemas DESTINATION share/looseleaf COMPONENT runtime FILES_MATCHING PATTERN "*.schema.json"
  PATTERN debian EXCLUDE PATTERN friendfeed EXCLUDE)  # definitions for the examples
install(DIRECTORY packaging/systemd/ DESTINATION lib/systemd/system COMPONENT runtime)
install(FILES packaging/deb/sysusers.conf DESTINATION lib/sysusers.d RENAME looseleaf.conf COMPONENT runtime)
install(CODE [[
  file(GLOB_RECURSE pages "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/man/*.[1-8]")
  execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)]] COMPONENT runtime)

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL ${deb_components})
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_CONTACT "${deb_maintainer}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/lib")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME looseleaf)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION database)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "${deb_library} (= ${deb_version})")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "default-mysql-server-core | virtual-mysql-server-core")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_LIST_DIR}/postinst")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Schema-free entities and their indexes on sharded MySQL
Looseleaf stores JSON entities on sharded MySQL or MariaDB servers and keeps
their indexes in tables of their own, which are added and filled while the
site runs. An acknowledged entity is never lost, a ready index never misses
one, and a command proves that this is so.
.
This package has the program and units for a cleaner that runs under systemd.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${deb_library})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_LIST_DIR}/triggers;${PROJECT_BINARY_DIR}/deb/shlibs")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Schema-free entities on sharded MySQL - shared library
Looseleaf stores JSON entities on sharded MySQL or MariaDB servers and keeps
their indexes in tables of their own.
.
This package has the library that the program and others are built on.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME liblooseleaf-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${deb_library} (= ${deb_version})")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Schema-free entities on sharded MySQL - development files
Looseleaf stores JSON entities on sharded MySQL or MariaDB servers and keeps
their indexes in tables of their own.
.
This package has the headers of the C++20 library, and what CMake and
pkg-config need to find it.")
include(CPack)
