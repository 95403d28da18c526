/* Runs Akka's cases of counters, sets and maps as scripts: what nodes change, merge and send. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/check.h"
#include "world.h"

/* A script has steps. Values have capital letters, deltas small ones; a digit is a node.
 *   A=      a new value          A=B     a copy of B
 *   A.      forgets its delta    A>d     moves its delta to d
 *   A<B     merges B into A      A<d     applies d to A       d<e     joins e to d
 *   A?x,y   has these elements, this number, or these entries: k=x,y;l=z
 *   A*B     equals B             A1?7    node 1's share is 7  Ak?x    key k has this value
 *   d#2     has two changes
 * Changes by node 1 of a counter, set or map:
 *   A1+x    adds                 A1-x    removes              A1!     clears
 *   A1k:x,y puts a value at k    A1k/x   may not put          A1k~    removes k
 *   A1k+x   adds to k's value    A1k-x   removes from it      A1k!x   clears it, then adds
 *   A1k>x>y replaces x by y at k */
struct type {
    enum dd_kind kind;
    enum dd_kind inside; /* of a map's values */
    bool with_deltas;
};

struct script {
    struct type type;
    const char *text;
};

struct run {
    const struct type *type;
    struct dd_value *values[128];
    struct dd_writer writer; /* all nodes draw their versions from one process, as in Akka's tests */
    int64_t now;
};

#define ELEMENTS 4
#define TOKEN 64

static bool is_map(const struct type *type)
{
    return type->inside != DD_DELETED;
}

static struct dd_value *new_value(const struct type *type)
{
    return type->kind == DD_MULTIMAP ? dd_multimap_new(type->with_deltas)
                                     : dd_new(type->kind);
}

static struct dd_value *value_of(const struct run *run, char letter)
{
    struct dd_value *value = run->values[(int)letter];

    if (!value)
        fail_msg("%c is missing", letter);
    return value;
}

static void keep(struct run *run, char letter, struct dd_value *value)
{
    dd_free(run->values[(int)letter]);
    run->values[(int)letter] = value;
}

/* ---- the text of a value ---- */

static void put_number(struct buf *text, struct dd_natural size, bool negative)
{
    char digits[32];

    (void)snprintf(digits, sizeof digits, "%s%llu", negative ? "-" : "",
                   (unsigned long long)size.low);
    buf_put_text(text, digits);
}

static void show(struct buf *text, const struct dd_value *value)
{
    struct dd_element element;
    const struct dd_value *inside;
    struct dd_integer integer;
    uint32_t at = 0;
    size_t start = text->size;

    switch (dd_kind_of(value)) {
    case DD_FLAG:
        buf_put_text(text, dd_flag(value) ? "on" : "off");
        break;
    case DD_GCOUNTER:
        put_number(text, dd_gcounter_get(value), false);
        break;
    case DD_PNCOUNTER:
        integer = dd_pncounter_get(value);
        put_number(text, integer.size, integer.negative);
        break;
    case DD_REGISTER:
        buf_put_slice(text, dd_register_get(value).bytes);
        break;
    case DD_GSET:
    case DD_ORSET:
        while (dd_set_next(value, &at, &element)) {
            if (text->size > start)
                buf_put_text(text, ",");
            buf_put_slice(text, element.text);
        }
        break;
    default:
        while (dd_map_next(value, &at, &element, &inside)) {
            if (text->size > start)
                buf_put_text(text, ";");
            buf_put_slice(text, element.text);
            buf_put_text(text, "=");
            show(text, inside);
        }
    }
}

static void assert_shows(const struct dd_value *value, const char *expected)
{
    struct buf text = { 0 };

    if (value)
        show(&text, value);
    buf_put_u8(&text, 0);
    assert_string_equal((const char *)text.data, expected);
    buf_fini(&text);
}

static void assert_share(const struct dd_value *value, char node,
                         const char *expected)
{
    struct node_id by = node_of(node);
    struct dd_value *share = dd_counted_by(value, &by);

    assert_shows(share, expected);
    dd_free(share);
}

/* ---- changes ---- */

/* "x,y" */
static uint32_t elements_of(char *text, struct dd_element *elements)
{
    uint32_t count = 0;

    for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
        assert_true(count < ELEMENTS);
        elements[count++] = dd_text(part);
    }
    return count;
}

/* verb: + or - */
static void change(struct run *run, struct dd_value *value, char verb,
                   const char *text)
{
    struct dd_element element = dd_text(text);
    int64_t amount = strtoll(text, NULL, 10);

    switch (dd_kind_of(value)) {
    case DD_FLAG:
        dd_flag_switch_on(value);
        break;
    case DD_GCOUNTER:
        dd_gcounter_add(value, &run->writer.node, (uint64_t)amount);
        break;
    case DD_PNCOUNTER:
        dd_pncounter_add(value, &run->writer.node,
                         verb == '+' ? amount : -amount);
        break;
    case DD_GSET:
        dd_gset_add(value, &element);
        break;
    default:
        if (verb == '+')
            dd_orset_add(value, &run->writer, &element);
        else if (verb == '-')
            dd_orset_remove(value, &run->writer, &element);
        else
            dd_orset_clear(value);
    }
}

static struct dd_value *inner_with(struct run *run,
                                   const struct dd_element *elements,
                                   uint32_t count)
{
    struct dd_value *value = dd_new(run->type->inside);

    for (uint32_t i = 0; i < count; i++) {
        char text[TOKEN];

        (void)snprintf(text, sizeof text, "%.*s", (int)elements[i].text.size,
                       (const char *)elements[i].text.data);
        change(run, value, '+', text);
    }
    return value;
}

static void update_inside(struct run *run, struct dd_value *map,
                          const struct dd_element *key, char verb,
                          const char *text)
{
    const struct dd_value *old = dd_map_get(map, key);
    struct dd_value *value =
        old ? dd_copy(old) : dd_new(run->type->inside);

    if (verb == '!') {
        change(run, value, '!', "");
        verb = '+';
    }
    change(run, value, verb, text);
    dd_ormap_update(map, &run->writer, key, value);
}

static void put(struct run *run, struct dd_value *map,
                const struct dd_element *key, char *text, bool is_refused)
{
    struct dd_element elements[ELEMENTS];
    uint32_t count = elements_of(text, elements);

    if (run->type->kind == DD_LWWMAP)
        dd_lwwmap_put(map, &run->writer, key, state_of(text), run->now++,
                      DD_CLOCK_LAST);
    else if (run->type->kind == DD_MULTIMAP)
        dd_multimap_put(map, &run->writer, key, elements, count);
    else
        assert_int_equal(dd_ormap_put(map, &run->writer, key,
                                      inner_with(run, elements, count)),
                         !is_refused);
}

static void change_key(struct run *run, struct dd_value *map, char *step)
{
    char name[2] = { step[0], 0 };
    char *text = step + 2;
    struct dd_element key = dd_text(name), element = dd_text(text);
    struct dd_element pair[2];

    if (step[1] == '~') {
        dd_map_remove(map, &run->writer, &key);
    } else if (step[1] == ':' || step[1] == '/') {
        put(run, map, &key, text, step[1] == '/');
    } else if (step[1] == '>') {
        text[strcspn(text, ">")] = ',';
        assert_int_equal(elements_of(text, pair), 2);
        dd_multimap_replace(map, &run->writer, &key, &pair[0], &pair[1]);
    } else if (run->type->kind == DD_PNCOUNTERMAP) {
        dd_countermap_add(map, &run->writer, &key,
                          strtoll(step + 1, NULL, 10));
    } else if (run->type->kind == DD_ORMAP) {
        update_inside(run, map, &key, step[1], text);
    } else if (step[1] == '+') {
        dd_multimap_add(map, &run->writer, &key, &element);
    } else {
        dd_multimap_remove(map, &run->writer, &key, &element);
    }
}

/* ---- steps ---- */

static void by_node(struct run *run, struct dd_value *value, char *step)
{
    char node = (char)('a' + step[0] - '1');

    run->writer.node = node_of(node);
    if (step[1] == '?')
        assert_share(value, node, step + 2);
    else if (is_map(run->type))
        change_key(run, value, step + 1);
    else
        change(run, value, step[1], step + 2);
}

static void take_step(struct run *run, char *step)
{
    struct dd_value *value;
    struct dd_element key;

    if (step[1] == '=') {
        keep(run, step[0], step[2] ? dd_copy(value_of(run, step[2]))
                                   : new_value(run->type));
        return;
    }
    value = value_of(run, step[0]);
    switch (step[1]) {
    case '.':
        dd_reset_delta(value);
        break;
    case '>':
        keep(run, step[2], dd_take_delta(value));
        break;
    case '<':
        if (step[0] >= 'a' || step[2] < 'a')
            assert_true(dd_merge(value, value_of(run, step[2])) <= DD_CHANGED);
        else
            assert_true(dd_merge_delta(value, value_of(run, step[2])) <=
                        DD_CHANGED);
        break;
    case '?':
        assert_shows(value, step + 2);
        break;
    case '*':
        assert_true(dd_equal(value, value_of(run, step[2])));
        break;
    case '#':
        assert_int_equal(dd_delta_size(value), step[2] - '0');
        break;
    default:
        if (step[1] >= 'a') {
            char name[2] = { step[1], 0 };

            key = dd_text(name);
            assert_shows(dd_map_get(value, &key), step + 3);
        } else {
            by_node(run, value, step + 1);
        }
    }
}

static void a_script_holds(void **state)
{
    const struct script *script = *state;
    struct run run = { .type = &script->type, .now = 1 };
    char step[TOKEN];

    for (const char *at = script->text; *at;) {
        size_t size = strcspn(at, " ");

        assert_true(size < sizeof step);
        (void)snprintf(step, sizeof step, "%.*s", (int)size, at);
        take_step(&run, step);
        at += size + strspn(at + size, " ");
    }
    for (int i = 0; i < 128; i++)
        dd_free(run.values[i]);
}

#define SCRIPT(name, type, ...)                                                \
    { #name, a_script_holds, NULL, NULL, &(struct script){ type, __VA_ARGS__ } }
#define PLAIN(kind) { kind, DD_DELETED, false }
#define GCOUNTER PLAIN(DD_GCOUNTER)
#define PNCOUNTER PLAIN(DD_PNCOUNTER)
#define GSET PLAIN(DD_GSET)
#define ORSET PLAIN(DD_ORSET)
#define ORMAP(kind) { DD_ORMAP, kind, false }
#define LWWMAP { DD_LWWMAP, DD_REGISTER, false }
#define COUNTERMAP { DD_PNCOUNTERMAP, DD_PNCOUNTER, false }
#define MULTIMAP { DD_MULTIMAP, DD_ORSET, false }

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT(each_node_counts_by_one_DD014, GCOUNTER,
               "A= A1+1 B=A B1+1 C=B C2+1 C2+1 C. D=C D2+1 D1?2 D2?3 N= A>a "
               "a1?1 N<a N*A B>b b1?2 A<b A*B D>d d2?3 C<d C*D"),
        SCRIPT(each_node_counts_by_more_DD015, GCOUNTER,
               "A= A1+3 A1+4 A2+2 A2+7 A2+1 A1?7 A2?10"),
        SCRIPT(a_counter_sums_its_shares_DD016, GCOUNTER,
               "A= A1+3 A1+4 A2+2 A2+7 A2+1 A?17"),
        SCRIPT(the_larger_shares_of_one_side_stay_DD017, GCOUNTER,
               "A= A1+7 A2+10 B= B1+4 B2+6 C=A C<B C1?7 C2?10 C?17 D=B D<A "
               "D*C"),
        SCRIPT(the_larger_share_of_each_node_stays_DD018, GCOUNTER,
               "A= A1+4 A2+10 A?14 B= B1+7 B2+6 B?13 C=A C<B C1?7 C2?10 C?17 "
               "D=B D<A D*C"),
        SCRIPT(shares_of_different_nodes_are_added_DD019, GCOUNTER,
               "A= A1+7 B= B2+6 C=A C<B C?13 D=B D<A D?13"),
        SCRIPT(elements_are_added_DD022, GSET,
               "A= A1+1 A1+2 A1+4 A1+3 A?1,2,3,4 A>a a?1,2,3,4"),
        SCRIPT(different_sets_are_united_DD023, GSET,
               "A= A1+1 A1+2 B= B1+3 B1+4 C=A C<B C?1,2,3,4 D=B D<A "
               "D?1,2,3,4"),
        SCRIPT(overlapping_sets_are_united_DD025, GSET,
               "A= A1+1 A1+2 A1+3 B= B1+2 B1+3 B1+4 C=A C<B C?1,2,3,4 D=B "
               "D<A D?1,2,3,4"),
        SCRIPT(four_elements_are_added_DD089, ORSET,
               "A= A1+1 A1+2 A1+4 A1+3 A?1,2,3,4"),
        SCRIPT(removed_elements_do_not_come_back_DD090, ORSET,
               "A= A1+1 A1+2 B=A B1-2 B1-1 B? C=A C<B C? D=B D<A D?"),
        SCRIPT(a_removed_element_is_added_DD091, ORSET,
               "A= A1-1 A1+1 A?1 A1-1 A? A1+1 A?1"),
        SCRIPT(an_element_comes_and_goes_DD092, ORSET,
               "A= A1+1 A1+2 A1-1 A?2 A1+1 A1+2 A?1,2 A1-1 A1+2 A1-1 A?2"),
        SCRIPT(different_elements_merge_DD093, ORSET,
               "A= A1+1 A1+2 A?1,2 B= B2+3 B2+4 B2-3 B?4 C=A C<B C?1,2,4 D=B "
               "D<A D?1,2,4"),
        SCRIPT(an_element_of_both_stays_where_it_was_not_removed_DD094, ORSET,
               "A= A1+1 A1+2 A1+3 A1-1 A1-3 A?2 B= B2+1 B2+2 B2+3 B2+4 B2-3 "
               "B?1,2,4 C=A C<B C?1,2,4 D=B D<A D?1,2,4"),
        SCRIPT(another_node_removes_what_it_has_seen_DD096, ORSET,
               "A= A1+1 A1+2 B=A B2-2 C=A C<B C?1 D=B D<A D?1 E=A E1+3 F=E "
               "F<B F?1,3 G=B G<E G?1,3"),
        SCRIPT(a_delta_adds_beside_another_node_DD098, ORSET,
               "A= A1+a B=A B1+b C=A C2+c D=C D<B D?a,b,c B>b C<b C?a,b,c"),
        SCRIPT(a_delta_removes_what_its_writer_saw_DD100, ORSET,
               "A= A1+a A1+b A. B=A B1-b B>b C=A C<B C*B D=A D<b D*B D?a E=A "
               "E2+c E. F=E F<B F?a,c E<b E*F F2+b G=F G<b G*F G?a,b,c"),
        SCRIPT(a_delta_clears_what_its_writer_saw_DD101, ORSET,
               "A= A1+a A1+b A. B=A B1! B>b C=B C1+c C>c D=A D<B D*B E=A E<b "
               "E*B E<c E?c E*C F=A F2+d G=F G<B G?d F<b F*G G2+b H=G H<b "
               "H*G H?b,d"),
        SCRIPT(joined_deltas_add_and_remove_DD102, ORSET,
               "A= A1-e A. B=A B1+b B>b C=B C1+a C>c D=C D1-b D>d b<c b<d "
               "b#2 E=A E<b E?a F=A F2+z F<b F?a,z"),
        SCRIPT(a_removal_elsewhere_leaves_the_others_DD110, ORSET,
               "A= A1+x B= B2+y C=A C<B A1-x A<C A?y"),
        SCRIPT(entries_are_put_DD027, LWWMAP,
               "A= A1a:1 A2b:2 A?a=1;b=2"),
        SCRIPT(entries_of_two_registers_merge_DD028, LWWMAP,
               "A= A1a:1 A1b:2 B= B2c:3 C=A C<B C?a=1;b=2;c=3 D=B D<A "
               "D?a=1;b=2;c=3"),
        SCRIPT(an_entry_is_put_again_DD039, ORMAP(DD_GSET),
               "A= A1a:A A1b:B A?a=A;b=B A1a:C A?a=C;b=B"),
        SCRIPT(an_entry_of_a_delta_is_put_again_DD040, ORMAP(DD_GSET),
               "A= A1a:A A1b:B A>a B= B<a B?a=A;b=B B1a:C B?a=C;b=B"),
        SCRIPT(an_entry_is_removed_DD041, ORMAP(DD_GSET),
               "A= A1a:A A1b:B A1a~ A?b=B"),
        SCRIPT(a_delta_removes_an_entry_DD042, ORMAP(DD_GSET),
               "A= A1a:A A1b:B A>a A1a~ A>b B= B<a B?a=A;b=B B<b B?b=B"),
        SCRIPT(a_removed_entry_is_put_DD043, ORMAP(DD_GSET),
               "A= A1a:A A1b:B A1a~ A?b=B A1a:C A?a=C;b=B"),
        SCRIPT(entries_of_two_maps_merge_DD044, ORMAP(DD_GSET),
               "A= A1a:A A1b:B B= B2c:C C=A C<B C?a=A;b=B;c=C D=B D<A "
               "D?a=A;b=B;c=C"),
        SCRIPT(a_merge_brings_back_the_elements_of_a_put_DD046, ORMAP(DD_GSET),
               "A= A1a:A A1b:B B= B2c:C A<B C=A C1b~ C1b:B2 A<C "
               "A?a=A;b=B,B2;c=C"),
        SCRIPT(both_remove_and_one_updates_DD050, ORMAP(DD_ORSET),
               "A= A1a:A A1b:B B= B2c:C A<B C=A C1b~ D=A D2b~ D2b+B2 D>d E=C "
               "E<D E?a=A;b=B2;c=C C<d C?a=A;b=B2;c=C"),
        SCRIPT(one_removes_and_one_updates_DD051, ORMAP(DD_ORSET),
               "A= A1a:A A1b:B B= B2c:C A<B C=A C1b~ D=A D1b+B2 D>d E=C E<D "
               "E?a=A;b=B,B2;c=C C<d C?a=A;b=B,B2;c=C"),
        SCRIPT(one_removes_and_one_puts_DD052, ORMAP(DD_GSET),
               "A= A1a:A A1b:B B= B2c:C A<B C=A C1b~ D=A D2b:B2 D>d E=C E<D "
               "E?a=A;b=B2;c=C C<d C?a=A;b=B2;c=C"),
        SCRIPT(two_remove_and_one_puts_twice_DD055, ORMAP(DD_GSET),
               "A= A1a:A A1b:B A2b:B B= B2c:C A<B C=A C1b~ C2b~ C>c D=A "
               "D2b:B2 D2b:B3 D>d E=C E<D E?a=A;b=B3;c=C A<c A<d "
               "A?a=A;b=B3;c=C"),
        SCRIPT(one_removes_then_puts_and_updates_DD057, ORMAP(DD_GSET),
               "A= A2a:A A2b:B B=A B2b~ C=B C. C2b:B2 C2b+B3 C>c D=B D<C "
               "D?a=A;b=B2,B3 B<c B?a=A;b=B2,B3"),
        SCRIPT(a_delta_updates_a_grow_only_set_DD061, ORMAP(DD_GSET),
               "A= A1a:A A>a A1a+B A>b B= B<a B<b B?a=A,B"),
        SCRIPT(a_delta_updates_a_set_DD062, ORMAP(DD_ORSET),
               "A= A1a:A A>a A1a+B A>b B= B<a B<b B?a=A,B"),
        SCRIPT(a_delta_of_two_updates_has_both_DD063, ORMAP(DD_GSET),
               "A= A1a:A A>a A1a+B A1a+C A>b B= B<a B<b B?a=A,B,C"),
        SCRIPT(deltas_of_two_nodes_update_a_counter_DD064, ORMAP(DD_GCOUNTER),
               "A= A1a: A>a A1a+10 A>b A2a+10 A>c B= B<a B<b B<c B?a=20"),
        SCRIPT(deltas_count_up_and_down_DD065, ORMAP(DD_PNCOUNTER),
               "A= A1a: A>a A1a+10 A>b A2a-10 A>c B= B<a B<b B<c B?a=0"),
        SCRIPT(a_delta_switches_a_flag_on_DD066, ORMAP(DD_FLAG),
               "A= A1a: A?a=off A>a A1a+ A>b B= B<a B<b B?a=on"),
        SCRIPT(a_set_may_not_be_put_again_DD067, ORMAP(DD_ORSET),
               "A= A1a:A A1a/B A?a=A"),
        SCRIPT(a_set_is_cleared_within_an_update_DD068, ORMAP(DD_ORSET),
               "A= A1a:A A1b:B1,B2,B3 B= B2c:C A<B C=A C1b!B4 D=A D<C "
               "D?a=A;b=B4;c=C E=A E2b+B5 F=C F<E F?a=A;b=B4,B5;c=C"),
        SCRIPT(both_put_what_was_removed_DD070, ORMAP(DD_ORSET),
               "A= A1a:A A1b:B1,B2,B3 B= B2c:C A<B C=A C1b~ A<C A?a=A;c=C "
               "D=A D1b:B4 E=A E2c+C2 E2b:B5 E<D E?a=A;b=B4,B5;c=C,C2"),
        SCRIPT(bindings_are_added_DD072, MULTIMAP,
               "A= A1a+A A1b+B A?a=A;b=B A1a+C A?a=A,C;b=B"),
        SCRIPT(the_last_binding_takes_its_key_along_DD073, MULTIMAP,
               "A= A1a+A A1b+B A1a-A A?b=B"),
        SCRIPT(a_binding_is_replaced_DD074, MULTIMAP,
               "A= A1a+A A1a>A>B A?a=B"),
        SCRIPT(a_concurrent_removal_is_lost_DD075, MULTIMAP,
               "A= A1a+A B=A B1a-A C=A C2a+B D=B D<C D?a=A,B C<B C?a=A,B"),
        SCRIPT(bindings_of_two_maps_merge_DD076, MULTIMAP,
               "A= A1a+A A1b+B B= B2c+C C=A C<B C?a=A;b=B;c=C D=B D<A "
               "D?a=A;b=B;c=C"),
        SCRIPT(overlapping_bindings_merge_DD077, MULTIMAP,
               "A= A1a+A1 A1b+B1 A1a-A1 A1d+D1 B= B2c+C2 B2a+A2 B2b+B2 "
               "B2b-B2 B2d+D2 C=A C<B C?a=A2;b=B1;c=C2;d=D1,D2 D=B D<A "
               "D?a=A2;b=B1;c=C2;d=D1,D2 A>a B>b A<b "
               "A?a=A2;b=B1;c=C2;d=D1,D2 B<a B?a=A2;b=B1;c=C2;d=D1,D2"),
        SCRIPT(another_nodes_removal_leaves_a_binding_DD078, MULTIMAP,
               "A= A1b+B1 B= B2b+B2 B2b~ C=A C<B C?b=B1 D=B D<A D?b=B1 A>a "
               "B>b A<b A?b=B1 B<a B?b=B1"),
        SCRIPT(a_key_is_put_with_fewer_bindings_DD080, MULTIMAP,
               "A= A1a+A1 A1a+A2 A1b+B1 Aa?A1,A2 A1a:A2 A?a=A2;b=B1"),
        SCRIPT(a_missing_key_has_no_bindings_DD081, MULTIMAP,
               "A= A1a+A Aa?A Ab?"),
        SCRIPT(a_key_goes_with_its_bindings_DD082, MULTIMAP,
               "A= A1a+A1 A1a+A2 A1b+B1 A1a~ A?b=B1"),
        SCRIPT(joined_deltas_are_like_states_DD086, MULTIMAP,
               "A= A1a:A A1b:B A. B=A B2b:B2 B2b+B3 B>b C=A C<B "
               "C?a=A;b=B2,B3 C=A C<b C?a=A;b=B2,B3 B=A B2b:B2 B2b:B3 B>b "
               "C=A C<B C?a=A;b=B3 C=A C<b C?a=A;b=B3 B=A B2b:B2 B2b+B3 "
               "B2b+B4 B>b C=A C<B C?a=A;b=B2,B3,B4 C=A C<b C?a=A;b=B2,B3,B4 "
               "B=A B2d:D B2b+B3 B2b:B4 B>b C=A C<B C?a=A;b=B4;d=D C=A C<b "
               "C?a=A;b=B4;d=D B=A B2b+B3 B2b+B4 B>b C=A C<B C?a=A;b=B,B3,B4 "
               "C=A C<b C?a=A;b=B,B3,B4 A= A1a:A A1b:B,B1 A1b~ B= B2b+B2 "
               "B2b+B3 B>b C=A C<B C?a=A;b=B2,B3 C=A C<b C?a=A;b=B2,B3"),
        SCRIPT(own_entries_are_counted_DD115, COUNTERMAP,
               "A= A1a+2 A1b+1 A1b+2 A1a-1 A?a=1;b=3"),
        SCRIPT(entries_are_counted_by_two_nodes_DD116, COUNTERMAP,
               "A= A1a+2 A1b+3 A2a-1 A?a=1;b=3"),
        SCRIPT(counted_entries_merge_DD117, COUNTERMAP,
               "A= A1a+1 A1b+3 A1c+2 B= B2c+5 C=A C<B C?a=1;b=3;c=7 D=B D<A "
               "D?a=1;b=3;c=7"),
        SCRIPT(counted_entries_have_deltas_DD119, COUNTERMAP,
               "A= A1a+1 A1b+3 A1c+2 B= B2c+5 M=A M<B A>a B>b C= C<a C<b "
               "C?a=1;b=3;c=7 D= D<b D<a D?a=1;b=3;c=7 E=M E1b~ E>e F=M F<e "
               "F?a=1;c=7 G=M G2b+10 G>g E<g E?a=1;b=13;c=7"),
        SCRIPT(each_node_counts_up_by_one_DD121, PNCOUNTER,
               "A= A1+1 B=A B1+1 C=B C2+1 C2+1 C. D=C D2+1 D1?2 D2?3 D?5 A>a "
               "a?1 B>b b?2 b1?2 D>d d?3 d2?3"),
        SCRIPT(each_node_counts_down_by_one_DD122, PNCOUNTER,
               "A= A1-1 B=A B1-1 C=B C2-1 C2-1 C. D=C D2-1 D1?-2 D2?-3 D?-5 "
               "A>a a?-1 B>b b?-2 b1?-2 D>d d?-3 d2?-3"),
        SCRIPT(each_node_counts_up_by_more_DD123_DD124, PNCOUNTER,
               "A= A1+3 A1+4 A2+2 A2+7 A2+1 A1?7 A2?10 A?17"),
        SCRIPT(each_node_counts_down_by_more_DD125, PNCOUNTER,
               "A= A1-3 A1-4 A2-2 A2-7 A2-1 A1?-7 A2?-10 A?-17"),
        SCRIPT(ups_and_downs_are_kept_apart_DD126_DD127, PNCOUNTER,
               "A= A1+3 A1-2 A2+5 A2-2 A2+1 A?5 B= B1+3 B2+6 B?9 C= C1-2 "
               "C2-2 C?-4 B<C B*A"),
        SCRIPT(the_larger_ups_and_downs_stay_DD128, PNCOUNTER,
               "A= A1+3 A1-2 A2+5 A2-2 A2+1 A?5 B= B1+2 B1-3 B2+3 B2-2 B2+1 "
               "B?1 C=A C<B C?4 D=B D<A D?4 D*C"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
