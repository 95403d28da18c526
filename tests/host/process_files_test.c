/* Tests the journal of a node whose process changes its folder, root or user, or limits the size of
 * files. Each test runs in processes of its own. */
#define _GNU_SOURCE
#include "process.h"

#include <sys/resource.h>

static void limit_file_sizes(rlim_t size)
{
    struct rlimit limit;

    must(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = size;
    must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void open_with_small_files(void)
{
    const struct sherd_options options = { .port = SHERD_PORT_ANY,
                                           .alone = 1,
                                           .journal = journal_path,
                                           .log = keep };
    struct sherd_system *system;

    limit_file_sizes(1000);
    must(sherd_open(&system, &options) == SHERD_ESTORE);
    must(has_logged("j.db-turn: File too large"));
    limit_file_sizes(100000);
    must(sherd_open(&system, &options) == 0);
    sherd_close(system);
}

static void write_with_small_files(void)
{
    struct sherd_system *system = open_node(journal_path, true);
    uint64_t before;

    must(sherd_start(system) == 0);
    await_ready(system);
    store_an_event(system);
    before = events_of(system);
    limit_file_sizes(1000);
    tell(system);
    for (int i = 0; i < 30; i++)
        doze();
    must(events_of(system) == before);
    limit_file_sizes(RLIM_INFINITY); /* the commit is repeated */
    while (events_of(system) == before) /* ended by SIGALRM */
        doze();
    end_node(system);
}

/* SIGXFSZ ends a process by default. */
static void a_limit_of_file_sizes_is_an_error_of_the_journal(void **state)
{
    (void)state;
    make_folder();
    assert_good(open_with_small_files);
    assert_good(write_with_small_files);
    remove_folder();
}

/* ---- folders ---- */

static void change_the_folder(void)
{
    struct sherd_system *system;

    must(chdir(folder) == 0);
    system = open_node("sqlite:j.db", true);
    must(chdir("/") == 0);
    must(sherd_start(system) == 0);
    await_ready(system);
    store_an_event(system);
    for (int i = 0; i < 150; i++) /* the files are looked at each second */
        doze();
    store_an_event(system);
    must(!has_logged("journal"));
    end_node(system);
}

static void a_relative_path_is_kept_when_the_folder_changes(void **state)
{
    (void)state;
    make_folder();
    assert_good(change_the_folder);
    remove_folder();
}

static void move_the_folder(void)
{
    struct sherd_system *system = open_node(journal_path, true);
    char moved[sizeof folder + 8];

    snprintf(moved, sizeof moved, "%s.old", folder);
    must(sherd_start(system) == 0);
    await_ready(system);
    store_an_event(system);
    must(rename(folder, moved) == 0 && mkdir(folder, 0700) == 0);
    for (int i = 0; i < 300 && sherd_is_ready(system); i++)
        doze();
    must(!sherd_is_ready(system));
    must(has_logged("deleted"));
    end_node(system);
    must(rmdir(folder) == 0 && rename(moved, folder) == 0);
}

/* The next start would not find the journal under its name. */
static void a_journal_whose_folder_is_moved_stores_nothing_more(void **state)
{
    (void)state;
    make_folder();
    assert_good(move_the_folder);
    remove_folder();
}

static void open_in_two_folders(void)
{
    struct sherd_system *first, *second;

    must(chdir(folder) == 0);
    first = open_node("sqlite:j.db", true);
    must(mkdir("other", 0700) == 0 && chdir("other") == 0);
    second = open_node("sqlite:j.db", true);
    must(access("j.db", F_OK) == 0);
    sherd_close(first);
    sherd_close(second);
    must(unlink("j.db") == 0 && unlink("j.db-turn") == 0);
    must(chdir("..") == 0 && rmdir("other") == 0);
}

static void equal_paths_in_two_folders_are_two_journals(void **state)
{
    (void)state;
    make_folder();
    assert_good(open_in_two_folders);
    remove_folder();
}

static void change_the_root(void)
{
    struct sherd_system *system = open_node(journal_path, true);

    must(chroot("/proc") == 0 && chdir("/") == 0);
    must(sherd_start(system) == 0);
    await_ready(system);
    store_an_event(system);
    for (int i = 0; i < 150; i++)
        doze();
    store_an_event(system);
    must(!has_logged("journal"));
    end_node(system);
}

static void a_journal_outside_a_new_root_stays_open(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* only root changes the root */
    make_folder();
    assert_good(change_the_root);
    remove_folder();
}

static void lose_the_right_to_look(void)
{
    struct sherd_system *system = open_node(journal_path, true);

    must(setuid(65534) == 0);
    must(sherd_start(system) == 0);
    must(waits_for_log("was made inaccessible under this node"));
    must(!has_logged("was deleted"));
    sherd_halt(system);
    must(sherd_wait(system) == 0);
    sherd_close(system);
}

static void a_journal_without_rights_is_not_called_deleted(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* only root changes the user */
    make_folder();
    assert_good(lose_the_right_to_look);
    remove_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_of_file_sizes_is_an_error_of_the_journal),
        cmocka_unit_test(a_relative_path_is_kept_when_the_folder_changes),
        cmocka_unit_test(a_journal_whose_folder_is_moved_stores_nothing_more),
        cmocka_unit_test(equal_paths_in_two_folders_are_two_journals),
        cmocka_unit_test(a_journal_outside_a_new_root_stays_open),
        cmocka_unit_test(a_journal_without_rights_is_not_called_deleted),
    };

    return cmocka_run_group_tests_name("process files", tests, NULL, NULL);
}
