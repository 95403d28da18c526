/* Tests that the entity of hello.c forgets no person under faults.   hello_sim [SEEDS] */
int hello_main(int argc, char **argv);
#define main hello_main /* hello.c is tested unchanged */
#include "hello.c"
#undef main

#include <sherd/sim.h>
#include <stdlib.h>

static int greet(struct sherd_sim *sim, uint32_t node, const char *name)
{
    struct sherd_sim_answer answer;
    struct sherd_bytes body = { name, strlen(name) };

    if (sherd_sim_entity_ask(sim, node, "HelloWorld", "world", GREET, body,
                             5000, &answer) || answer.reason)
        return -1; /* no answer: the entity may or may not have stored the name */
    return *(const int *)answer.body.data;
}

static int greeted_stay_known(struct sherd_sim *sim, void *arg)
{
    char name[NAME_MAX];
    int known = 0;

    (void)arg;
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "Person %d", i);
        int count = greet(sim, (uint32_t)i % 3, name);

        if (count >= 0 && count <= known)
            return fprintf(stderr, "%s: %d known, %d before\n", name, count, known);
        if (count > known)
            known = count;
        sherd_sim_run(sim, 2000);
    }
    if (sherd_sim_heal(sim, 120000))
        return fprintf(stderr, "the cluster did not heal\n");
    int count = greet(sim, 0, "Person 0");
    if (count < known)
        return fprintf(stderr, "%d known after it healed, %d before\n", count, known);
    return 0;
}

int main(int argc, char **argv)
{
    const struct sherd_entity_type hello = {
        .name = "HelloWorld",
        .behavior = { .name = "hello", .state_size = sizeof(struct hello),
                      .receive = hello_receive, .apply = hello_apply } };
    const struct sherd_sim_options options = { .types = &hello,
                                               .type_count = 1,
                                               .faults = SHERD_SIM_ALL };
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    int status = usage_status(seeds ? argc : 3, argv, 2, "hello_sim [SEEDS]");

    return status >= 0 ? status :
        sherd_sim_seeds(&options, 1, seeds, greeted_stay_known, NULL) != 0;
}
