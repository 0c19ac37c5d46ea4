/* Exact numbers from decimal text: microseconds with a fraction to whole nanoseconds. */
#include "read-private.h"

#define DIGITS_MAX 36 /* 128 bits hold these, a sign and one digit more */
#define EXPONENT_MAX 100000

__extension__ typedef unsigned __int128 Wide;

typedef struct
{
    Wide digits;
    gint64 exponent; /* value = digits x 10^exponent */
    gboolean negative;
} Decimal;

static gboolean is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

static const char *scan_digits(const char *at, const char *end, gboolean is_fraction, int *n, Decimal *self)
{
    for (; is_digit(at, end); at++)
    {
        if (*n < DIGITS_MAX)
        {
            self->digits = self->digits * 10 + (Wide)(*at - '0');
            *n += self->digits != 0;
            self->exponent -= is_fraction;
        }
        else /* too small to matter, or too large to fit anyway */
            self->exponent += !is_fraction;
    }
    return at;
}

static gboolean scan(const char *at, const char *end, Decimal *self)
{
    int n = 0;
    self->negative = at < end && *at == '-';
    at += self->negative;
    if (!is_digit(at, end))
        return FALSE;
    at = scan_digits(at, end, FALSE, &n, self);
    if (at < end && *at == '.')
    {
        if (!is_digit(at + 1, end))
            return FALSE;
        at = scan_digits(at + 1, end, TRUE, &n, self);
    }
    if (at < end && (*at == 'e' || *at == 'E'))
    {
        gint64 exponent = 0;
        gboolean negative = ++at < end && *at == '-';
        at += at < end && (*at == '-' || *at == '+');
        if (!is_digit(at, end))
            return FALSE;
        for (; is_digit(at, end); at++)
            exponent = MIN(exponent * 10 + (*at - '0'), EXPONENT_MAX);
        self->exponent += negative ? -exponent : exponent;
    }
    return at == end;
}

gboolean ifm_decimal_parse(const char *text, gsize length, int scale, gint64 *value)
{
    Decimal decimal = { 0 };
    if (!scan(text, text + length, &decimal))
        return FALSE;
    const Wide max = (Wide)G_MAXINT64 + decimal.negative;
    Wide digits = decimal.digits;
    gint64 exponent = decimal.exponent + scale;
    for (; exponent > 0 && digits > 0; exponent--)
    {
        if (digits > max)
            return FALSE;
        digits *= 10;
    }
    if (exponent < -DIGITS_MAX - 1) /* below one half, whatever the digits */
        digits = 0;
    else if (exponent < 0)
    {
        Wide divisor = 1;
        for (; exponent < 0; exponent++)
            divisor *= 10;
        Wide rest = digits % divisor;
        digits = digits / divisor + (rest >= divisor - rest);
    }
    if (digits > max)
        return FALSE;
    guint64 magnitude = (guint64)digits;
    *value = (gint64)(decimal.negative ? -magnitude : magnitude);
    return TRUE;
}
