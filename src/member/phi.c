/* Implements the detector's statistics, and the few real functions that it needs. */
#include "member/phi.h"

#include <math.h> /* INFINITY only: no function of libm is called */

#include "base/timers.h"

#define INTERVAL_MAX                                                           \
    (UINT32_C(1) << 24) /* ms: 4 h; squares of 1,000 of them stay below 2^58 */
#define LN2 0.693147180559945309417
#define LN10 2.302585092994045684018

/* 2^power, power from -1022 to 1023. */
static double power_of_two(int power)
{
    uint64_t bits = (uint64_t)(power + 1023) << 52;
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* e^x by Taylor around zero, after removing powers of two; relative error below 1e-14. */
static double exponential(double x)
{
    double term = 1;
    double sum = 1;
    double rest;
    int power;

    if (x < -700)
        return 0;
    if (x > 700)
        return INFINITY;
    power = (int)(x / LN2 + (x < 0 ? -0.5 : 0.5));
    rest = x - power * LN2;
    for (int i = 1; i < 18; i++) {
        term = term * rest / i;
        sum += term;
    }
    return sum * power_of_two(power);
}

/* The natural logarithm of a normal positive number: 2 atanh((m - 1)/(m + 1)) + power * ln 2. */
static double logarithm(double x)
{
    uint64_t bits;
    double ratio;
    double square;
    double factor;
    double sum = 0;
    int power;

    memcpy(&bits, &x, sizeof bits);
    power = (int)(bits >> 52) - 1023;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | (UINT64_C(1023) << 52);
    memcpy(&x, &bits, sizeof x);
    ratio = (x - 1) / (x + 1);
    square = ratio * ratio;
    factor = ratio;
    for (int i = 1; i < 40; i += 2) {
        sum += factor / i;
        factor *= square;
    }
    return 2 * sum + power * LN2;
}

/* By Newton, from above the root. */
static double square_root(double x)
{
    double root = x > 1 ? x : 1;

    if (!(x > 0))
        return 0;
    for (int i = 0; i < 100; i++) {
        double better = (root + x / root) / 2;

        if (!(better < root))
            break;
        root = better;
    }
    return root;
}

static double minus_log10(double x)
{
    double value;

    if (!(x >= 2.2250738585072014e-308)) /* zero, or not normal */
        return INFINITY;
    value = -logarithm(x) / LN10;
    return value > 0 ? value : 0;
}

double phi_of(double elapsed, double mean, double deviation)
{
    double y = (elapsed - mean) / deviation;
    double e = exponential(-y * (1.5976 + 0.070566 * y * y));

    if (elapsed > mean)
        return minus_log10(e / (1 + e));
    return minus_log10(1 - 1 / (1 + e));
}

void phi_fini(struct phi *phi)
{
    vec_fini(&phi->samples);
    *phi = (struct phi){ 0 };
}

static void add(struct phi *phi, uint32_t samples_max, uint64_t interval)
{
    uint32_t sample =
        interval < INTERVAL_MAX ? (uint32_t)interval : INTERVAL_MAX;

    if (phi->samples.count >= samples_max) {
        uint64_t oldest = phi->samples.items[phi->oldest];

        phi->sum -= oldest;
        phi->square_sum -= oldest * oldest;
        phi->samples.items[phi->oldest] = sample;
        phi->oldest = (phi->oldest + 1) % phi->samples.count;
    } else {
        vec_push(&phi->samples, sample);
    }
    phi->sum += sample;
    phi->square_sum += (uint64_t)sample * sample;
}

void phi_heartbeat(struct phi *phi, const struct phi_settings *settings,
                   uint64_t now)
{
    uint64_t now_ms = now / MS;

    if (!phi->is_monitoring) {
        uint32_t quarter = settings->interval_ms / 4;

        add(phi, settings->samples_max, settings->interval_ms - quarter);
        add(phi, settings->samples_max, settings->interval_ms + quarter);
    } else if (phi_is_available(phi, settings, now)) {
        add(phi, settings->samples_max, now_ms - phi->last_ms);
    }
    phi->is_monitoring = true;
    phi->last_ms = now_ms;
}

void phi_unheard(struct phi *phi, uint64_t length, uint64_t now)
{
    uint64_t last_ms = phi->last_ms + length / MS;

    phi->last_ms = last_ms < now / MS ? last_ms : now / MS;
}

double phi_mean(const struct phi *phi)
{
    return phi->samples.count ? (double)phi->sum / phi->samples.count : 0;
}

double phi_variance(const struct phi *phi)
{
    double mean = phi_mean(phi);

    return phi->samples.count
               ? (double)phi->square_sum / phi->samples.count - mean * mean
               : 0;
}

double phi_value(const struct phi *phi, const struct phi_settings *settings,
                 uint64_t now)
{
    double deviation;

    if (!phi->is_monitoring)
        return 0;
    deviation = square_root(phi_variance(phi));
    if (deviation < settings->deviation_ms)
        deviation = settings->deviation_ms;
    return phi_of((double)(now / MS - phi->last_ms),
                  phi_mean(phi) + settings->pause_ms, deviation);
}

bool phi_is_available(const struct phi *phi,
                      const struct phi_settings *settings, uint64_t now)
{
    return phi_value(phi, settings, now) < settings->threshold;
}
