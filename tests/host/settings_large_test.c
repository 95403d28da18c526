/* Tests the settings of the stream of large messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "host/settings.h"

#define ARTERY "akka.remote.artery."

static int read_text(struct settings *settings, const char *text, char *error,
                     size_t size)
{
    struct sherd_options options = { .journal = "memory",
                                     .config_text = text };

    error[0] = 0;
    return settings_read(settings, &options, error, size);
}

static void destinations_are_read(void **state)
{
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(read_text(&settings, "", error, sizeof error), 0);
    assert_int_equal(settings.node.large_destination_count, 0);
    assert_int_equal(settings.node.large_frame_size, FRAME_LARGE_SIZE);
    assert_int_equal(settings.node.outbound_large_queue, LINK_LARGE_FRAMES);
    settings_fini(&settings);
    assert_int_equal(
        read_text(&settings,
                  ARTERY "large-message-destinations = [\"/user/*\", \"/a/**\"]",
                  error, sizeof error),
        0);
    assert_int_equal(settings.node.large_destination_count, 2);
    assert_string_equal(settings.node.large_destinations[1], "/a/**");
    settings_fini(&settings);
}

static void invalid_destinations_are_refused(void **state)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        { ARTERY "large-message-destinations = [\"/user/x\", \"user\"]",
          "large-message-destinations has \"user\", which is not a path" },
        { ARTERY "large-message-destinations = [\"/user/a**\"]",
          "which is not a path" },
        { ARTERY "advanced.maximum-large-frame-size = 255 KiB",
          "maximum-large-frame-size must be from 262144 to 16777216 bytes" },
        { ARTERY "advanced.maximum-large-frame-size = 17 MiB",
          "must be from 262144 to 16777216 bytes" },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct settings settings;
        char error[512];

        assert_int_equal(
            read_text(&settings, rows[i].text, error, sizeof error),
            SHERD_ECONFIG);
        if (!strstr(error, rows[i].said))
            fail_msg("%s: %s", rows[i].text, error);
        settings_fini(&settings);
    }
}

static void the_number_of_destinations_is_bounded(void **state)
{
    (void)state;
    for (uint32_t extra = 0; extra < 2; extra++) {
        struct buf text = { 0 };
        struct settings settings;
        char error[512];

        buf_put_text(&text, ARTERY "large-message-destinations = [\"/x\"");
        for (uint32_t i = 1; i < LARGE_DESTINATIONS_MAX + extra; i++)
            buf_put_text(&text, ", \"/x\"");
        buf_put(&text, "]", 2);
        assert_int_equal(read_text(&settings, (const char *)text.data, error,
                                   sizeof error),
                         extra ? SHERD_ECONFIG : 0);
        settings_fini(&settings);
        buf_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(destinations_are_read),
        cmocka_unit_test(invalid_destinations_are_refused),
        cmocka_unit_test(the_number_of_destinations_is_bounded),
    };

    return cmocka_run_group_tests_name("settings_large", tests, NULL, NULL);
}
