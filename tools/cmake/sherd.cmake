# How a core, the library, a unit test and a fuzz target are built.

set_property(GLOBAL PROPERTY sherd_cores "")

# sherd_core(NAME a.c b.c [PROTO x.proto ...]): the object library core_NAME. Generated protobuf-c code goes to the build
# tree, into NAME_proto, a target of its own whose headers are SYSTEM.
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
endfunction()

# The library, shared and static, from every core declared so far.
function(sherd_library)
    get_property(cores GLOBAL PROPERTY sherd_cores)
    set(objects)
    foreach(core ${cores})
        list(APPEND objects $<TARGET_OBJECTS:${core}>)
    endforeach()
    set(needs PkgConfig::PROTOBUF_C PkgConfig::UV PkgConfig::SQLITE PkgConfig::MD ZLIB::ZLIB Threads::Threads)
    add_library(sherd_inside STATIC ${objects}) # for tests: every symbol is visible
    target_include_directories(sherd_inside PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_include_directories(sherd_inside SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/proto)
    target_link_libraries(sherd_inside PUBLIC ${needs})
endfunction()

# sherd_unit_test(NAME a_test.c ...): a cmocka program on the inside of the library.
function(sherd_unit_test name)
    if(NOT CMOCKA_FOUND)
        return()
    endif()
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE sherd_inside PkgConfig::CMOCKA)
    target_compile_options(${name} PRIVATE -Wno-conversion)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS unit)
endfunction()

# sherd_fuzz(NAME target.c CORPUS dir): a libFuzzer program in the fuzz preset; elsewhere the same file with a main that
# replays the corpus, as a unit test.
function(sherd_fuzz name source)
    cmake_parse_arguments(arg "" "CORPUS" "" ${ARGN})
    if(SHERD_FUZZ)
        add_executable(${name} ${source})
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
        add_executable(${name} ${source} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c)
        add_test(NAME ${name} COMMAND ${name} ${CMAKE_CURRENT_SOURCE_DIR}/${arg_CORPUS})
        set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS fuzz)
    endif()
    target_link_libraries(${name} PRIVATE sherd_inside)
endfunction()
