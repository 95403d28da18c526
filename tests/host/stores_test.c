/* Tests that the nodes of a cluster have one journal: two processes whose journals are in memory, are
 * other files, or a copy of an earlier time do not join. The same file by two paths is one. */
#define _GNU_SOURCE
#include "process.h"

static const char *journals[2]; /* of the two processes */
static bool is_refused;         /* is that wanted of the second one? */

static struct sherd_system *open_second(uint16_t port)
{
    char seed[32];
    const char *const seeds[] = { seed, NULL };
    const struct sherd_options options = { .port = SHERD_PORT_ANY,
                                           .seed_nodes = seeds,
                                           .lanes = 1,
                                           .journal = journals[1],
                                           .log = keep,
                                           .log_level = SHERD_LOG_ERROR };
    const struct sherd_entity_type type = {
        .name = "T",
        .behavior = { .name = "t", .state_size = 8, .receive = receive, .apply = apply },
    };
    struct sherd_system *system;

    (void)snprintf(seed, sizeof seed, "127.0.0.1:%u", (unsigned)port);
    must(sherd_open(&system, &options) == 0);
    must(sherd_entity_register(system, &type) == 0);
    must(sherd_start(system) == 0);
    return system;
}

static bool names_both_journals(void)
{
    return has_logged("this node's journal is not that of another node") &&
           has_logged(strncmp(journals[1], "sqlite:", 7) ? "memory" : "sqlite ");
}

/* Reads the first node's port from the pipe. */
static void run_second(int pipe)
{
    struct sherd_system *system;
    uint16_t port;

    must(read(pipe, &port, sizeof port) == sizeof port);
    system = open_second(port);
    if (is_refused) {
        must(sherd_wait(system) == SHERD_EJOIN);
        must(names_both_journals());
        must(has_logged("The journals are not the same"));
    } else {
        await_ready(system);
        must(!has_logged("journal"));
        sherd_leave(system);
        must(sherd_wait(system) == 0);
    }
    sherd_close(system);
}

static void run_two_processes(void)
{
    struct sherd_system *system;
    int ends[2], status;
    uint16_t port;
    pid_t second;

    must(pipe(ends) == 0);
    second = fork(); /* before a node is opened */
    if (second == 0) {
        (void)alarm(PATIENCE);
        run_second(ends[0]);
        _exit(0);
    }
    system = open_node(journals[0], true);
    must(sherd_start(system) == 0);
    await_ready(system);
    store_an_event(system);
    port = sherd_port(system);
    must(write(ends[1], &port, sizeof port) == sizeof port);
    must(waitpid(second, &status, 0) == second);
    must(status == 0);
    must(is_refused == has_logged("this node's journal is not that of another node"));
    must(sherd_is_ready(system));
    store_an_event(system); /* its entity is where it was */
    end_node(system);
}

static void expect(const char *first, const char *second, bool refused)
{
    journals[0] = first;
    journals[1] = second;
    is_refused = refused;
    assert_good(run_two_processes);
}

static void journals_in_memory_of_two_processes_are_two(void **state)
{
    (void)state;
    expect("memory", "memory", true);
}

static void journals_of_two_kinds_are_two(void **state)
{
    (void)state;
    make_folder();
    expect(journal_path, "memory", true);
    remove_folder();
}

static void write_events(void)
{
    struct sherd_system *system = open_node(journal_path, true);

    must(sherd_start(system) == 0);
    await_ready(system);
    store_an_event(system);
    end_node(system);
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 20];
    FILE *file = fopen(from, "rb");
    size_t size;

    assert_non_null(file);
    size = fread(bytes, 1, sizeof bytes, file);
    assert_true(feof(file) != 0);
    assert_int_equal(fclose(file), 0);
    file = fopen(to, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void remove_with_side_file(const char *path)
{
    char name[100];

    assert_int_equal(unlink(path), 0);
    (void)snprintf(name, sizeof name, "%s-turn", path);
    (void)unlink(name);
}

/* The backup is older than the journal by some events. */
static void a_restored_backup_beside_the_journal_is_another_one(void **state)
{
    char backup[80], journal[100];
    (void)state;

    make_folder();
    assert_good(write_events);
    (void)snprintf(backup, sizeof backup, "%s/backup.db", folder);
    copy_file(journal_path + strlen("sqlite:"), backup);
    assert_good(write_events);
    (void)snprintf(journal, sizeof journal, "sqlite:%s", backup);
    expect(journal_path, journal, true);
    expect(journal, journal_path, true);
    remove_with_side_file(backup);
    remove_folder();
}

static void open_after_the_restore(void)
{
    const struct sherd_options options = { .port = SHERD_PORT_ANY,
                                           .alone = 1,
                                           .journal = journal_path,
                                           .log = keep };
    struct sherd_system *system;

    must(sherd_open(&system, &options) == SHERD_ESTORE);
    must(has_logged("lost its end: event 2 of"));
}

/* The side file knows what the last event was. */
static void a_restored_backup_in_place_of_the_journal_is_refused(void **state)
{
    char backup[80];
    (void)state;

    make_folder();
    assert_good(write_events);
    (void)snprintf(backup, sizeof backup, "%s/backup.db", folder);
    copy_file(journal_path + strlen("sqlite:"), backup);
    assert_good(write_events);
    copy_file(backup, journal_path + strlen("sqlite:"));
    assert_good(open_after_the_restore);
    remove_with_side_file(backup);
    remove_folder();
}

static void a_file_with_two_paths_is_one_journal(void **state)
{
    char way[80], journal[100];
    (void)state;

    make_folder();
    (void)snprintf(way, sizeof way, "%s/way", folder);
    assert_int_equal(symlink(folder, way), 0);
    (void)snprintf(journal, sizeof journal, "sqlite:%s/way/./j.db", way);
    expect(journal_path, journal, false);
    assert_int_equal(unlink(way), 0);
    remove_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(journals_in_memory_of_two_processes_are_two),
        cmocka_unit_test(journals_of_two_kinds_are_two),
        cmocka_unit_test(a_restored_backup_beside_the_journal_is_another_one),
        cmocka_unit_test(a_restored_backup_in_place_of_the_journal_is_refused),
        cmocka_unit_test(a_file_with_two_paths_is_one_journal),
    };

    return cmocka_run_group_tests_name("stores", tests, NULL, NULL);
}
