/* Tests that all backends answer alike: gives random requests, some repeated, to two of them, and
 * compares results and final contents. */
#define _GNU_SOURCE
#include "backends.h"

#include "base/rng.h"
#include "host/backend_memory.h"
#include "host/backend_sqlite.h"

#define IDS 5
#define SHARDS 3

struct pair {
    const struct backend_ops *ops[2];
    void *stores[2];
    uint64_t last[IDS]; /* roughly what is stored; guesses are near it */
};

static struct fence any_fence(struct rng *rng)
{
    return (struct fence){ rng_below(rng, 3), rng_below(rng, 3) };
}

static struct journal_request *any_append(struct pair *pair, struct rng *rng)
{
    static const char *const events[] = { "a", "b", "ab", "abc", "" };
    struct journal_request *request = journal_request_new(BACKEND_APPEND);
    uint32_t first = (uint32_t)rng_below(rng, IDS);
    uint32_t count = 1 + (uint32_t)rng_below(rng, 3);

    request->again = rng_below(rng, 2) == 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t entity = (first + i) % IDS;
        char id[] = { 'T', '|', (char)('a' + entity), 0 };
        char shard[] = { (char)('s' + entity % SHARDS), 0 };
        uint64_t from = pair->last[entity] + 1 - rng_below(rng, 3);

        append_add(request, shard, any_fence(rng), id,
                   from > 1u << 30 ? 0 : from, events[rng_below(rng, 5)]);
        if (rng_below(rng, 4) == 0 && from <= 1u << 30)
            append_cut(request, from - rng_below(rng, 3) % (from + 1));
    }
    return request;
}

static struct journal_request *any_request(struct pair *pair, struct rng *rng)
{
    char shard[] = { (char)('s' + rng_below(rng, SHARDS)), 0 };
    struct journal_request *request;

    switch (rng_below(rng, 8)) {
    case 0:
        request = journal_request_claim(slice_text("T"), slice_text(shard),
                                      any_fence(rng));
        request->next = rng_below(rng, 4) == 0;
        request->proof.term = rng_below(rng, 9);
        request->proof.value = rng_below(rng, 3);
        return request;
    case 1:
        request = journal_request_take_term(slice_text("T"), rng_below(rng, 9));
        request->proof.term = rng_below(rng, 9);
        request->proof.value = rng_below(rng, 3);
        request->next_proof = rng_below(rng, 3);
        return request;
    default:
        return any_append(pair, rng);
    }
}

/* Two equal requests from one seed. */
static void both(struct pair *pair, struct rng *rng)
{
    struct rng copy = *rng;
    struct journal_request *left = any_request(pair, rng);
    struct journal_request *right = any_request(pair, &copy);

    pair->ops[0]->write(pair->stores[0], &left, 1);
    pair->ops[1]->write(pair->stores[1], &right, 1);
    assert_int_equal(left->result, right->result);
    assert_int_equal(fence_compare(left->fence, right->fence), 0);
    assert_string_equal(left->error, right->error);
    for (uint32_t i = 0; i < left->shards.count; i++) {
        assert_int_equal(left->shards.items[i].result,
                         right->shards.items[i].result);
        assert_int_equal(fence_compare(left->shards.items[i].stored,
                                       right->shards.items[i].stored),
                         0);
    }
    for (uint32_t i = 0; i < left->entities.count; i++)
        assert_int_equal(left->entities.items[i].result,
                         right->entities.items[i].result);
    for (uint32_t i = 0; i < left->records.count; i++) {
        const struct backend_record *record = &left->records.items[i];
        const struct backend_entity *entity =
            &left->entities.items[record->entity];
        uint32_t which = backend_slice(left, entity->id).data[2] - 'a';

        if (entity->result == BACKEND_DONE && record->seq > pair->last[which])
            pair->last[which] = record->seq;
    }
    journal_request_free(left);
    journal_request_free(right);
}

static void all_backends_give_equal_answers(void **state)
{
    char folder[200];
    (void)state;

    folder_make(folder, sizeof folder);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct pair pair = { .ops = { &backend_memory, &backend_sqlite } };
        char path[220];
        struct backend_options options = { .path = path, .cluster = "c" };
        char error[BACKEND_ERROR_MAX];
        struct rng rng;

        rng_init(&rng, seed);
        snprintf(path, sizeof path, "%s/journal%u.db", folder,
                 (unsigned)seed);
        for (int i = 0; i < 2; i++) {
            pair.stores[i] = pair.ops[i]->open(&options, BACKEND_WRITER, error);
            assert_non_null(pair.stores[i]);
        }
        for (int i = 0; i < 120; i++)
            both(&pair, &rng);
        for (char entity = 'a'; entity < 'a' + IDS; entity++) {
            char id[] = { 'T', '|', entity, 0 };
            void *reader = backend_sqlite.open(&options, BACKEND_READER, error);
            char *events = stored_events(&backend_sqlite, reader, id);

            assert_stored(&backend_memory, pair.stores[0], id, events);
            mem_free(events);
            backend_sqlite.close(reader);
        }
        for (int i = 0; i < 2; i++)
            pair.ops[i]->close(pair.stores[i]);
    }
    folder_drop(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_backends_give_equal_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
