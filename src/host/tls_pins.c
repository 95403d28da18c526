/* Checks public-key pins: of a CA's certificates, only some belong to this cluster. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/check.h"
#include "base/limits.h"
#include "host/file.h"
#include "host/tls_inside.h"

#define PIN_SIZE (2 * TLS_PIN_SIZE) /* of its text */
#define BLANKS " \t\r"

static int digit(char letter)
{
    const char *digits = "0123456789abcdef0123456789ABCDEF";
    const char *at = letter ? strchr(digits, letter) : NULL;

    return at ? (int)(at - digits) % 16 : -1;
}

/* False: these are no pin. */
static bool add(struct tls_pins *pins, const char *text, size_t size)
{
    struct tls_pin pin;

    if (size != PIN_SIZE)
        return false;
    for (size_t i = 0; i < TLS_PIN_SIZE; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        pin.hash[i] = (uint8_t)(high << 4 | low);
    }
    vec_push(&pins->list, pin);
    return true;
}

static bool fault(char *why, size_t size, const char *path, const char *text)
{
    (void)snprintf(why, size, "pins \"%.256s\": %s", path, text);
    return false;
}

/* Takes a pin, with any text after a blank, or a comment. */
static const char *take_line(struct tls_pins *pins, char *line)
{
    size_t size;

    line[strcspn(line, "\n#")] = 0;
    line += strspn(line, BLANKS);
    size = strcspn(line, BLANKS);
    if (!size)
        return NULL;
    if (pins->list.count == TLS_PINS_MAX)
        return "there are too many";
    return add(pins, line, size) ? NULL
                                 : "a line does not begin with 64 hexadecimal "
                                   "digits";
}

static const char *take_lines(struct tls_pins *pins, FILE *file)
{
    uint32_t before = pins->list.count;
    char line[TLS_PIN_LINE_MAX + 2]; /* with line end and zero */
    const char *wrong = NULL;
    struct stat about;

    if (fstat(fileno(file), &about) != 0)
        return strerror(errno);
    if (about.st_mode & S_IWOTH)
        return "every user of this machine can write it";
    while (!wrong && fgets(line, sizeof line, file)) {
        if (strlen(line) == sizeof line - 1 && line[sizeof line - 2] != '\n')
            return "a line is too long";
        wrong = take_line(pins, line);
    }
    if (ferror(file))
        return strerror(errno);
    return !wrong && pins->list.count == before ? "the file contains no pin" : wrong;
}

static bool take_file(struct tls_pins *pins, const char *path, char *why,
                      size_t size)
{
    const char *wrong;
    FILE *file = file_open(path, &wrong);

    if (!file)
        return fault(why, size, path, wrong);
    wrong = take_lines(pins, file);
    (void)fclose(file); /* only read */
    return wrong ? fault(why, size, path, wrong) : true;
}

bool tls_pins_read(struct tls_pins *pins, const struct tls_options *options,
                   char *why, size_t size)
{
    *pins = (struct tls_pins){ { 0 } };
    for (uint32_t i = 0; i < options->pin_count; i++) {
        if (add(pins, options->pins[i], strlen(options->pins[i])))
            continue;
        (void)snprintf(why, size,
                       "the pin \"%.80s\" is not 64 hexadecimal digits",
                       options->pins[i]);
        return false;
    }
    return !options->pins_file ||
           take_file(pins, options->pins_file, why, size);
}

void tls_pins_fini(struct tls_pins *pins)
{
    vec_fini(&pins->list);
}

/* With its algorithm: RFC 7469 2.4. */
static struct tls_pin pin_of(X509 *certificate)
{
    struct tls_pin pin;
    unsigned char *key = NULL;
    int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);

    check(size > 0 && EVP_Digest(key, (size_t)size, pin.hash, NULL,
                                 EVP_sha256(), NULL) == 1);
    OPENSSL_free(key);
    return pin;
}

static bool is_pinned(const struct tls_pins *pins, X509 *certificate)
{
    struct tls_pin pin = pin_of(certificate);

    for (uint32_t i = 0; i < pins->list.count; i++)
        if (memcmp(pins->list.items[i].hash, pin.hash, sizeof pin.hash) == 0)
            return true;
    return false;
}

bool tls_pins_accept(const struct tls_pins *pins, STACK_OF(X509) *chain)
{
    bool pinned = !pins->list.count;

    for (int i = 0; chain && !pinned && i < sk_X509_num(chain); i++)
        pinned = is_pinned(pins, sk_X509_value(chain, i));
    return pinned;
}
