# Defines how a core, the library, a unit test and a fuzz target are built.

# Objects depend on the clone's content, not on its place: no path in them starts with the clone's
# path.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)

# Uses ccache if it is installed and no other launcher is set. Paths below the clone's root count as
# relative, so that one cache serves clones at different places.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

# clang links with lld, if it is installed: hundreds of tests take a third of the time.
find_program(LLD ld.lld)
if(LLD AND CMAKE_C_COMPILER_ID MATCHES Clang)
    add_link_options(-fuse-ld=lld)
endif()

set_property(GLOBAL PROPERTY sherd_cores "")
set_property(GLOBAL PROPERTY sherd_core_names "")

# sherd_core(NAME a.c b.c [PROTO x.proto ...]) adds the object library core_NAME. Generated
# protobuf-c code goes to the build tree, into the separate target NAME_proto, whose headers are
# SYSTEM.
function(sherd_core name)
    cmake_parse_arguments(arg "" "" "PROTO" ${ARGN})
    set(generated)
    foreach(proto ${arg_PROTO})
        get_filename_component(stem ${proto} NAME_WE)
        set(out ${CMAKE_BINARY_DIR}/proto/${name})
        file(MAKE_DIRECTORY ${out})
        add_custom_command(
            OUTPUT ${out}/${stem}.pb-c.c ${out}/${stem}.pb-c.h
            COMMAND ${PROTOC_C} --c_out=${out} --proto_path=${CMAKE_CURRENT_SOURCE_DIR} ${proto}
            DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${proto}
            VERBATIM)
        list(APPEND generated ${out}/${stem}.pb-c.c)
    endforeach()
    if(generated)
        add_library(${name}_proto OBJECT ${generated})
        target_include_directories(${name}_proto SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/proto)
        target_link_libraries(${name}_proto PUBLIC PkgConfig::PROTOBUF_C)
        target_compile_options(${name}_proto PRIVATE -w)
        set_property(GLOBAL APPEND PROPERTY sherd_cores ${name}_proto)
    endif()
    add_library(core_${name} OBJECT ${arg_UNPARSED_ARGUMENTS})
    target_include_directories(core_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    if(generated)
        target_include_directories(core_${name} SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/proto)
        target_link_libraries(core_${name} PUBLIC PkgConfig::PROTOBUF_C)
        add_dependencies(core_${name} ${name}_proto)
    endif()
    set_property(GLOBAL APPEND PROPERTY sherd_cores core_${name})
    set_property(GLOBAL APPEND PROPERTY sherd_core_names ${name})
endfunction()

# sherd_library() adds the library from every core declared so far: sherd_inside for tests (every
# symbol is visible), and, in builds without sanitizers, the installed libraries sherd (shared) and
# sherd_archive (static), which export sherd_* only.
function(sherd_library)
    get_property(cores GLOBAL PROPERTY sherd_cores)
    set(objects)
    foreach(core ${cores})
        list(APPEND objects $<TARGET_OBJECTS:${core}>)
    endforeach()
    set(needs PkgConfig::PROTOBUF_C PkgConfig::UV PkgConfig::SQLITE PkgConfig::LMDB PkgConfig::MD PkgConfig::CURL PkgConfig::JANSSON
        PkgConfig::CARES OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB Threads::Threads)
    add_library(sherd_inside STATIC ${objects})
    target_include_directories(sherd_inside PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_include_directories(sherd_inside SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/proto)
    target_link_libraries(sherd_inside PUBLIC ${needs})
    if(SHERD_SANITIZE)
        return()
    endif()

    set(map ${PROJECT_SOURCE_DIR}/tools/cmake/sherd.map)
    add_library(sherd SHARED ${objects})
    target_include_directories(sherd PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(sherd PRIVATE ${needs})
    target_link_options(sherd PRIVATE -Wl,--no-undefined -Xlinker --version-script=${map})
    set_target_properties(sherd PROPERTIES
        LINKER_LANGUAGE C LINK_DEPENDS ${map} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    add_library(sherd::sherd ALIAS sherd)

    sherd_archive(sherd_archive libsherd.a ${objects})
    sherd_install()
endfunction()

# sherd_postgres_library() adds the journal in PostgreSQL: postgres_pure for tests of its parts without a
# server; and, if libpq is installed, postgres_inside for tests, and the installed libraries
# sherd_postgres (shared) and libsherd-postgres.a. These have a copy of some files of base, whose names stay local.
function(sherd_postgres_library)
    add_library(postgres_pure STATIC $<TARGET_OBJECTS:core_postgres>)
    target_link_libraries(postgres_pure PUBLIC sherd_inside)
    if(NOT PQ_FOUND)
        message(STATUS "libpq 14 or later is not installed: libsherd-postgres is not built (Debian: libpq-dev)")
        return()
    endif()
    add_subdirectory(src/pgdriver)
    set(objects $<TARGET_OBJECTS:core_postgres> $<TARGET_OBJECTS:core_pgdriver>)
    add_library(postgres_inside STATIC ${objects})
    target_link_libraries(postgres_inside PUBLIC sherd_inside PkgConfig::PQ)
    sherd_module_library(postgres "bytes;check;hash;map" PkgConfig::PQ OBJECTS ${objects})
    if(SHERD_SANITIZE)
        return()
    endif()
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/postgres/schema/ DESTINATION ${CMAKE_INSTALL_DATADIR}/sherd/postgres
        FILES_MATCHING PATTERN "*.sql")
endfunction()

# sherd_http_library() adds the management by HTTP: mgmt_pure for tests of its parts without sockets;
# and, if libevent is installed, http_inside for tests, and the installed libraries sherd_http (shared)
# and libsherd-http.a.
function(sherd_http_library)
    add_library(mgmt_pure STATIC $<TARGET_OBJECTS:core_mgmt>)
    target_link_libraries(mgmt_pure PUBLIC sherd_inside PkgConfig::JANSSON)
    if(NOT EVENT_FOUND)
        message(STATUS "libevent 2.1.12 or later is not installed: libsherd-http is not built (Debian: libevent-dev)")
        return()
    endif()
    add_subdirectory(src/httpd)
    set(objects $<TARGET_OBJECTS:core_mgmt> $<TARGET_OBJECTS:core_httpd>)
    add_library(http_inside STATIC ${objects})
    target_link_libraries(http_inside PUBLIC sherd_inside PkgConfig::EVENT PkgConfig::JANSSON OpenSSL::SSL OpenSSL::Crypto)
    sherd_module_library(http "bytes;check;gzip;near;url" PkgConfig::EVENT PkgConfig::JANSSON OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB Threads::Threads
        OBJECTS ${objects})
endfunction()

# sherd_module_library(NAME BASE needs... OBJECTS objects...) adds and installs a library of its own on top of
# sherd, shared and as an archive. It has a copy of the files of base in BASE, whose names stay local.
function(sherd_module_library name base)
    cmake_parse_arguments(arg "" "" "OBJECTS" ${ARGN})
    if(SHERD_SANITIZE)
        return()
    endif()
    add_library(${name}_base OBJECT)
    foreach(file ${base})
        target_sources(${name}_base PRIVATE ${PROJECT_SOURCE_DIR}/src/base/${file}.c)
    endforeach()
    target_include_directories(${name}_base PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    set(objects ${arg_OBJECTS} $<TARGET_OBJECTS:${name}_base>)
    set(map ${PROJECT_SOURCE_DIR}/tools/cmake/sherd.map)
    add_library(sherd_${name} SHARED ${objects})
    target_include_directories(sherd_${name} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(sherd_${name} PUBLIC sherd PRIVATE ${arg_UNPARSED_ARGUMENTS})
    target_link_options(sherd_${name} PRIVATE -Wl,--no-undefined -Xlinker --version-script=${map})
    set_target_properties(sherd_${name} PROPERTIES OUTPUT_NAME sherd-${name} EXPORT_NAME ${name}
        LINKER_LANGUAGE C LINK_DEPENDS ${map} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    add_library(sherd::${name} ALIAS sherd_${name})
    sherd_archive(sherd_${name}_archive libsherd-${name}.a ${objects})
    install(TARGETS sherd_${name} EXPORT sherd LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    string(REGEX REPLACE "/$" "" SHERD_PC_UP ${up})
    configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/sherd-${name}.pc.in ${CMAKE_BINARY_DIR}/sherd-${name}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/sherd-${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# sherd_archive(TARGET FILE objects...) adds a static library of one object, linked from all of
# them. Hidden symbols become local in it, so that they cannot clash with symbols of the user.
function(sherd_archive target file)
    set(archive ${CMAKE_BINARY_DIR}/${file})
    add_custom_command(
        OUTPUT ${archive}
        COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${target}.o ${ARGN}
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${target}.o
        COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
        COMMAND ${CMAKE_AR} rcs ${archive} ${target}.o
        DEPENDS ${ARGN}
        COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(${target} ALL DEPENDS ${archive})
    install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# sherd_install() installs headers, libraries, manual pages, documents, the files of pkg-config, and
# those for find_package(sherd). The installed tree may be moved.
function(sherd_install)
    include(CMakePackageConfigHelpers)
    set(package ${CMAKE_INSTALL_LIBDIR}/cmake/sherd)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sherd DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(TARGETS sherd EXPORT sherd LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(FILES ${PROJECT_SOURCE_DIR}/docs/man/sherd.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
    # The documents keep their relative places, because they link to each other.
    foreach(name README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md LICENSE)
        install(FILES ${PROJECT_SOURCE_DIR}/${name} DESTINATION ${CMAKE_INSTALL_DOCDIR})
    endforeach()
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN man EXCLUDE PATTERN plan.md EXCLUDE)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.c")
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/systemd ${PROJECT_SOURCE_DIR}/packaging/docker
        ${PROJECT_SOURCE_DIR}/packaging/kubernetes DESTINATION ${CMAKE_INSTALL_DOCDIR}/packaging)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/prometheus ${PROJECT_SOURCE_DIR}/packaging/grafana
        DESTINATION ${CMAKE_INSTALL_DATADIR}/sherd PATTERN "*-test.yml" EXCLUDE)
    install(EXPORT sherd NAMESPACE sherd:: FILE sherdTargets.cmake DESTINATION ${package})
    configure_package_config_file(
        ${PROJECT_SOURCE_DIR}/tools/cmake/sherdConfig.cmake.in ${CMAKE_BINARY_DIR}/sherdConfig.cmake
        INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
    write_basic_package_version_file(${CMAKE_BINARY_DIR}/sherdConfigVersion.cmake COMPATIBILITY SameMinorVersion)
    install(FILES ${CMAKE_BINARY_DIR}/sherdConfig.cmake ${CMAKE_BINARY_DIR}/sherdConfigVersion.cmake
        DESTINATION ${package})
    file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    string(REGEX REPLACE "/$" "" SHERD_PC_UP ${up})
    foreach(name sherd sherd-sim)
        configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
    endforeach()
    install(FILES ${CMAKE_BINARY_DIR}/sherd.pc ${CMAKE_BINARY_DIR}/sherd-sim.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# sherd_sim(a.c ... ZOO b.c ...) adds the simulator twice: sim_inside on the cores of the library, and
# zoo_inside on its own copy of the cores, which also has b.c. tools/bugs writes this copy to bugs/src
# of the build, with the known bugs of tests/bugs, and their table to bugs/table. It is built with
# SHERD_MARKS, which adds the marks and the checks of limits. Neither copy contains the driver host;
# they share generated code.
#
# gcc can optimise the objects of zoo_inside as one program. A program links them with
# SHERD_ZOO_FAST (-flto=auto), as sherd-sim does, which is a tenth faster then, or with
# SHERD_ZOO_QUICK (-fno-lto), which links quickly. The fast link takes half a minute, so the quick
# gate does without it (SHERD_SIM_LTO=OFF). Without frame pointers sherd-sim is a twentieth faster; perf
# shows its stacks with --call-graph dwarf.
option(SHERD_SIM_LTO "optimise sherd-sim as one program (gcc)" ON)
if(CMAKE_C_COMPILER_ID STREQUAL GNU AND NOT SHERD_SANITIZE)
    set(SHERD_ZOO_COMPILE -fomit-frame-pointer)
    if(SHERD_SIM_LTO)
        list(APPEND SHERD_ZOO_COMPILE -flto -ffat-lto-objects)
        set(SHERD_ZOO_FAST -flto=auto)
        set(SHERD_ZOO_QUICK -fno-lto)
    endif()
endif()

function(sherd_sim)
    cmake_parse_arguments(arg "" "" "ZOO" ${ARGN})
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    get_property(names GLOBAL PROPERTY sherd_core_names)
    list(REMOVE_ITEM names host)
    list(APPEND names postgres) # the simulator runs its store on a model of the server
    set(needs PkgConfig::PROTOBUF_C ZLIB::ZLIB PkgConfig::MD)
    set(objects)
    # tools/bugs leaves files that stay the same, so an edited source or bug rebuilds only what it changes.
    set(bugs ${CMAKE_BINARY_DIR}/bugs)
    set(patterns ${names})
    list(TRANSFORM patterns REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/\\1/*.[ch]")
    file(GLOB_RECURSE originals CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${patterns})
    file(GLOB bug_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/bugs/*.bug)
    set(copies ${originals})
    list(TRANSFORM originals PREPEND ${PROJECT_SOURCE_DIR}/)
    list(TRANSFORM copies PREPEND ${bugs}/)
    set(apply ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tools/bugs apply ${PROJECT_SOURCE_DIR}/src ${bugs})
    add_custom_command(OUTPUT ${bugs}.stamp
        COMMAND ${apply} COMMAND ${CMAKE_COMMAND} -E touch ${bugs}.stamp
        DEPENDS ${PROJECT_SOURCE_DIR}/tools/bugs ${bug_files} ${originals}
        COMMENT "Writing the simulator's copy of the cores, with the known bugs" VERBATIM)
    # ninja prints all outputs of a command that fails, so the first command has only a stamp. The
    # second one writes again what is missing.
    add_custom_command(OUTPUT ${bugs}/table/sim/zoo/zoo_names.h ${bugs}/table/sim/zoo/zoo_rows.h ${copies}
        COMMAND ${apply} DEPENDS ${bugs}.stamp
        COMMENT "Comparing the simulator's copy of the cores" VERBATIM)
    add_custom_target(zoo_sources DEPENDS ${bugs}/table/sim/zoo/zoo_names.h)
    add_library(core_sim OBJECT ${arg_UNPARSED_ARGUMENTS})
    target_include_directories(core_sim PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    foreach(name ${names})
        get_target_property(sources core_${name} SOURCES)
        list(TRANSFORM sources PREPEND ${bugs}/src/${name}/)
        add_library(zoo_${name} OBJECT ${sources})
        target_include_directories(zoo_${name} PRIVATE ${bugs}/src ${bugs}/table ${PROJECT_SOURCE_DIR}/src
            ${PROJECT_SOURCE_DIR}/include)
        target_compile_definitions(zoo_${name} PRIVATE SHERD_MARKS)
        add_dependencies(zoo_${name} zoo_sources)
        target_compile_options(zoo_${name} PRIVATE ${SHERD_ZOO_COMPILE})
        list(APPEND objects $<TARGET_OBJECTS:zoo_${name}>)
        if(TARGET ${name}_proto)
            target_include_directories(zoo_${name} SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/proto)
            target_link_libraries(zoo_${name} PRIVATE PkgConfig::PROTOBUF_C)
            add_dependencies(zoo_${name} ${name}_proto)
            list(APPEND objects $<TARGET_OBJECTS:${name}_proto>)
        endif()
    endforeach()
    add_library(sim_inside STATIC $<TARGET_OBJECTS:core_sim> $<TARGET_OBJECTS:core_postgres>)
    target_link_libraries(sim_inside PUBLIC sherd_inside)
    if(NOT SHERD_SANITIZE)
        get_property(cores GLOBAL PROPERTY sherd_cores)
        list(TRANSFORM cores REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
        sherd_archive(sherd_sim_archive libsherd-sim.a ${cores} $<TARGET_OBJECTS:core_postgres> $<TARGET_OBJECTS:core_sim>)
    endif()
    if(SHERD_ZOO_COMPILE)
        add_library(zoo_sim OBJECT ${arg_UNPARSED_ARGUMENTS})
        target_include_directories(zoo_sim PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
        target_compile_options(zoo_sim PRIVATE ${SHERD_ZOO_COMPILE})
        list(APPEND objects $<TARGET_OBJECTS:zoo_sim>)
    else()
        list(APPEND objects $<TARGET_OBJECTS:core_sim>)
    endif()
    add_library(zoo_inside STATIC ${objects} ${arg_ZOO})
    target_include_directories(zoo_inside PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${bugs}/table)
    target_compile_options(zoo_inside PRIVATE ${SHERD_ZOO_COMPILE})
    target_compile_definitions(zoo_inside INTERFACE SHERD_MARKS)
    add_dependencies(zoo_inside zoo_sources)
    target_link_libraries(zoo_inside PUBLIC ${needs})
endfunction()

# sherd_unit_test(NAME a_test.c ... [ON library]) adds a cmocka program, linked with sherd_inside,
# or with sim_inside or zoo_inside.
function(sherd_unit_test name)
    if(NOT CMOCKA_FOUND)
        return()
    endif()
    cmake_parse_arguments(arg "" "ON" "" ${ARGN})
    if(NOT arg_ON)
        set(arg_ON sherd_inside)
    endif()
    add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
    target_link_libraries(${name} PRIVATE ${arg_ON} PkgConfig::CMOCKA)
    target_link_options(${name} PRIVATE ${SHERD_ZOO_QUICK})
    target_compile_options(${name} PRIVATE -Wno-conversion)
    add_test(NAME ${name} COMMAND ${name})
    # A time-out ends a test that hangs; ./test runs unit tests at low priority, beside others.
    set(time 300)
    if(SHERD_SANITIZE)
        set(time 600)
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${time} LABELS unit)
    if(arg_ON STREQUAL zoo_inside)
        sherd_heavy_test(${name})
    endif()
endfunction()

# sherd_fuzz(NAME target.c CORPUS dir) adds a libFuzzer program in the fuzz preset; in other builds
# the same file with a main that replays the corpus, as a test.
function(sherd_fuzz name source)
    cmake_parse_arguments(arg "" "CORPUS" "" ${ARGN})
    if(SHERD_FUZZ)
        add_executable(${name} ${source})
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        set_property(GLOBAL APPEND PROPERTY sherd_fuzz_names ${name})
        set_property(GLOBAL APPEND PROPERTY sherd_fuzz_lines
            "${name}|$<TARGET_FILE:${name}>|${CMAKE_CURRENT_SOURCE_DIR}/${arg_CORPUS}")
    else()
        add_executable(${name} ${source} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c)
        add_test(NAME ${name} COMMAND ${name} ${CMAKE_CURRENT_SOURCE_DIR}/${arg_CORPUS})
        set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS fuzz)
    endif()
    target_link_libraries(${name} PRIVATE sherd_inside)
endfunction()

# sherd_speed_test(NAME...) marks unit tests that do less in builds with sanitizers (label speed).
# ./test --full runs them in the release build too.
function(sherd_speed_test)
    if(CMOCKA_FOUND AND NOT SHERD_SANITIZE)
        set_property(TEST ${ARGN} APPEND PROPERTY LABELS speed)
    endif()
endfunction()

# sherd_heavy_test(NAME...) marks unit tests that compute for about ten seconds or more with
# sanitizers (label heavy). The quick gate runs them in the release build, ./test --full with
# sanitizers. Tests on zoo_inside count as heavy: with sanitizers, its cores compile for a minute.
function(sherd_heavy_test)
    if(CMOCKA_FOUND)
        set_property(TEST ${ARGN} APPEND PROPERTY LABELS heavy)
        set_property(GLOBAL APPEND PROPERTY sherd_heavy_programs ${ARGN})
    endif()
endfunction()

# sherd_gate() adds the targets `gate` and `quick_gate`, the parts of a build that ./test --full and
# ./test need. `gate` has everything, with two exceptions:
#   - without sanitizers, no programs of unit tests, fuzz targets and tests of the driver, because
#     ./test runs these with sanitizers;
#   - with ThreadSanitizer, only examples and tests of the driver, because everything else has one
#     thread.
# `quick_gate` also has the programs of heavy tests without sanitizers. With sanitizers it has neither
# these nor sherd-sim.
# It is called at the end of the top directory, when all targets are known.
function(sherd_gate)
    get_property(heavy GLOBAL PROPERTY sherd_heavy_programs)
    set(wanted)
    set(folders ${PROJECT_SOURCE_DIR})
    while(folders)
        list(POP_FRONT folders folder)
        get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
        list(APPEND folders ${below})
        get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
        file(RELATIVE_PATH place ${PROJECT_SOURCE_DIR} ${folder})
        foreach(target ${targets})
            get_target_property(type ${target} TYPE)
            if(SHERD_SANITIZE MATCHES thread)
                if(place MATCHES "^(tests/host|examples)$" AND NOT target STREQUAL hello_sim)
                    list(APPEND wanted ${target})
                endif()
            elseif(type MATCHES "EXECUTABLE|SHARED_LIBRARY|STATIC_LIBRARY|MODULE_LIBRARY" OR target MATCHES "^sherd_.*archive$")
                if(SHERD_SANITIZE OR NOT place MATCHES "^tests/(unit|fuzz|host)(/|$)")
                    list(APPEND wanted ${target})
                endif()
            endif()
        endforeach()
    endwhile()
    set(wanted_quick ${wanted})
    if(SHERD_SANITIZE)
        list(REMOVE_ITEM wanted_quick sherd-sim zoo_inside ${heavy})
    else()
        list(APPEND wanted_quick ${heavy})
    endif()
    add_custom_target(gate)
    add_dependencies(gate ${wanted})
    add_custom_target(quick_gate)
    add_dependencies(quick_gate ${wanted_quick})
endfunction()
cmake_language(DEFER CALL sherd_gate)
