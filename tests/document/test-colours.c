#include <math.h>
#include <string.h>

#include "document/document-private.h"
#include "document/svg-private.h"

/* The colours of pages and figures, in both themes: any two series are told apart with any colour vision (CIEDE2000 after
 * Sharma, Wu and Dalal 2005; colour blindness after Machado, Oliveira and Fernandes 2009), and texts can be read on their
 * grounds (WCAG contrast). */

enum
{
    N_SERIES = 6,
    LEAST_DIFFERENCE = 15, /* of two series: some six times what is just seen of patches side by side */
};

static double linear(const char *hex)
{
    char two[3] = { hex[0], hex[1], '\0' };
    const double c = (double)g_ascii_strtoull(two, NULL, 16) / 255;
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double luminance(const char *hex)
{
    return 0.2126 * linear(hex + 1) + 0.7152 * linear(hex + 3) + 0.0722 * linear(hex + 5);
}

static const char *value_of(const char *name, gboolean dark)
{
    for (const IfmColour *colour = ifm_colours(); colour->name != NULL; colour++)
        if (g_str_equal(colour->name, name))
            return dark ? colour->dark : colour->light;
    g_error("no colour %s", name);
}

static double contrast_of(const char *a, const char *b)
{
    return (fmax(luminance(a), luminance(b)) + 0.05) / (fmin(luminance(a), luminance(b)) + 0.05);
}

static void assert_contrast(const char *text, const char *ground, double least)
{
    for (int dark = 0; dark < 2; dark++)
    {
        const double contrast = contrast_of(value_of(text, dark), value_of(ground, dark));
        g_test_message("%s: %s on %s: %.2f", dark ? "dark" : "light", text, ground, contrast);
        if (contrast < least)
            g_error("%s on %s has a contrast of %.2f, dark: %d", text, ground, contrast, dark);
    }
}

static void test_contrast(void)
{
    static const char *const texts[] = { "ink", "muted", "accent", "good", "warn", "bad" };
    static const char *const marks[] = { "c1", "c2", "c3", "c4", "c5", "c6" };
    static const char *const steps[] = { "s0", "s1", "s2", "s3", "s4", "neg2", "neg1", "zero", "pos1", "pos2" };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    {
        assert_contrast(texts[i], "bg", 4.5);
        assert_contrast(texts[i], "panel", 4.5);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
    {
        g_autofree char *on = g_strconcat("t", marks[i] + 1, NULL);
        assert_contrast(marks[i], "bg", 3);
        assert_contrast(on, marks[i], 4.5);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++)
    {
        g_autofree char *on = g_strconcat("t", steps[i], NULL);
        assert_contrast(on, steps[i], 4.5);
    }
}

/* --- differences ------------------------------------------------------------------------------------------------------ */

typedef struct
{
    double l, a, b;
} Lab;

static double f_of(double t)
{
    return t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
}

/* Of linear RGB, under daylight (D65). */
static Lab lab_of(const double rgb[3])
{
    const double x = f_of((0.4124564 * rgb[0] + 0.3575761 * rgb[1] + 0.1804375 * rgb[2]) / 0.95047),
                 y = f_of(0.2126729 * rgb[0] + 0.7151522 * rgb[1] + 0.0721750 * rgb[2]),
                 z = f_of((0.0193339 * rgb[0] + 0.1191920 * rgb[1] + 0.9503041 * rgb[2]) / 1.08883);
    return (Lab){ 116 * y - 16, 500 * (x - y), 200 * (y - z) };
}

static double degrees(double a, double b)
{
    const double angle = atan2(b, a) * 180 / G_PI;
    return a == 0 && b == 0 ? 0 : angle < 0 ? angle + 360 : angle;
}

static double cosine(double angle)
{
    return cos(angle * G_PI / 180);
}

static double ciede2000(Lab p, Lab q)
{
    const double mean_c = (hypot(p.a, p.b) + hypot(q.a, q.b)) / 2, c7 = pow(mean_c, 7), base = pow(25, 7);
    const double g = 0.5 * (1 - sqrt(c7 / (c7 + base)));
    const double a1 = (1 + g) * p.a, a2 = (1 + g) * q.a, c1 = hypot(a1, p.b), c2 = hypot(a2, q.b);
    const double h1 = degrees(a1, p.b), h2 = degrees(a2, q.b);
    const gboolean grey = c1 * c2 == 0;
    double dh = grey ? 0 : h2 - h1, h = grey ? h1 + h2 : (h1 + h2) / 2;
    if (!grey && fabs(dh) > 180)
    {
        dh += dh > 0 ? -360 : 360;
        h += h1 + h2 < 360 ? 180 : -180;
    }
    const double dl = q.l - p.l, dc = c2 - c1, big_dh = 2 * sqrt(c1 * c2) * sin(dh * G_PI / 360);
    const double l = (p.l + q.l) / 2, c = (c1 + c2) / 2, l50 = (l - 50) * (l - 50);
    const double t = 1 - 0.17 * cosine(h - 30) + 0.24 * cosine(2 * h) + 0.32 * cosine(3 * h + 6) - 0.2 * cosine(4 * h - 63);
    const double sl = 1 + 0.015 * l50 / sqrt(20 + l50), sc = 1 + 0.045 * c, sh = 1 + 0.015 * c * t;
    const double turn = 30 * exp(-pow((h - 275) / 25, 2)), rc = 2 * sqrt(pow(c, 7) / (pow(c, 7) + base));
    const double rt = -rc * sin(2 * turn * G_PI / 180);
    return sqrt(pow(dl / sl, 2) + pow(dc / sc, 2) + pow(big_dh / sh, 2) + rt * dc / sc * big_dh / sh);
}

/* Pairs that Sharma, Wu and Dalal publish to check an implementation by: hues on both sides of 0 and 180, greys, blues. */
static void test_published(void)
{
    static const struct
    {
        Lab p, q;
        double difference;
    } pairs[] = {
        { { 50, 2.6772, -79.7751 }, { 50, 0, -82.7485 }, 2.0425 },
        { { 50, 3.1571, -77.2803 }, { 50, 0, -82.7485 }, 2.8615 },
        { { 50, 2.8361, -74.02 }, { 50, 0, -82.7485 }, 3.4412 },
        { { 50, -1.3802, -84.2814 }, { 50, 0, -82.7485 }, 1 },
        { { 50, 0, 0 }, { 50, -1, 2 }, 2.3669 },
        { { 50, 2.49, -0.001 }, { 50, -2.49, 0.0009 }, 7.1792 },
        { { 50, 2.49, -0.001 }, { 50, -2.49, 0.0011 }, 7.2195 },
        { { 50, -0.001, 2.49 }, { 50, 0.0009, -2.49 }, 4.8045 },
        { { 50, -0.001, 2.49 }, { 50, 0.0011, -2.49 }, 4.7461 },
        { { 50, 2.5, 0 }, { 50, 0, -2.5 }, 4.3065 },
        { { 50, 2.5, 0 }, { 73, 25, -18 }, 27.1492 },
        { { 50, 2.5, 0 }, { 61, -5, 29 }, 22.8977 },
        { { 50, 2.5, 0 }, { 56, -27, -3 }, 31.9030 },
        { { 50, 2.5, 0 }, { 58, 24, 15 }, 19.4535 },
        { { 60.2574, -34.0099, 36.2677 }, { 60.4626, -34.1751, 39.4387 }, 1.2644 },
        { { 63.0109, -31.0961, -5.8663 }, { 62.8187, -29.7946, -4.0864 }, 1.2630 },
        { { 35.0831, -44.1164, 3.7933 }, { 35.0232, -40.0716, 1.5901 }, 1.8645 },
        { { 22.7233, 20.0904, -46.6940 }, { 23.0331, 14.9730, -42.5619 }, 2.0373 },
        { { 90.9257, -0.5406, -0.9208 }, { 88.6381, -0.8985, -0.7239 }, 1.5381 },
        { { 2.0776, 0.0795, -1.1350 }, { 0.9033, -0.0636, -0.5514 }, 0.9082 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++)
    {
        g_assert_cmpfloat_with_epsilon(ciede2000(pairs[i].p, pairs[i].q), pairs[i].difference, 5e-5);
        g_assert_cmpfloat_with_epsilon(ciede2000(pairs[i].q, pairs[i].p), pairs[i].difference, 5e-5);
    }
}

/* Vision: what linear RGB looks like to who lacks a kind of cones. */
typedef struct
{
    const char *name;
    double by[3][3];
} Vision;

static const Vision visions[] = {
    { "normal", { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } },
    { "deuteranopia",
      { { 0.367322, 0.860646, -0.227968 }, { 0.280085, 0.672501, 0.047413 }, { -0.011820, 0.042940, 0.968881 } } },
    { "protanopia",
      { { 0.152286, 1.052583, -0.204868 }, { 0.114503, 0.786281, 0.099216 }, { -0.003882, -0.048116, 1.051998 } } },
    { "tritanopia",
      { { 1.255528, -0.076749, -0.178779 }, { -0.078411, 0.930809, 0.147602 }, { 0.004733, 0.691367, 0.303900 } } },
};

static Lab seen_as(const Vision *vision, const char *hex)
{
    const double rgb[] = { linear(hex + 1), linear(hex + 3), linear(hex + 5) };
    double seen[3];
    for (int i = 0; i < 3; i++)
        seen[i] = CLAMP(vision->by[i][0] * rgb[0] + vision->by[i][1] * rgb[1] + vision->by[i][2] * rgb[2], 0, 1);
    return lab_of(seen);
}

/* Prints the table; the least of all is what counts. */
static void test_differences(void)
{
    double least = INFINITY;
    for (int dark = 0; dark < 2; dark++)
    {
        double least_of[G_N_ELEMENTS(visions)] = { INFINITY, INFINITY, INFINITY, INFINITY };
        g_test_message("%-6s normal  deuteranopia  protanopia  tritanopia", dark ? "dark" : "light");
        for (int i = 1; i <= N_SERIES; i++)
            for (int j = i + 1; j <= N_SERIES; j++)
            {
                const char p[] = { 'c', (char)('0' + i), '\0' }, q[] = { 'c', (char)('0' + j), '\0' };
                double found[G_N_ELEMENTS(visions)];
                for (gsize v = 0; v < G_N_ELEMENTS(visions); v++)
                {
                    found[v] = ciede2000(seen_as(&visions[v], value_of(p, dark)), seen_as(&visions[v], value_of(q, dark)));
                    least_of[v] = fmin(least_of[v], found[v]);
                }
                g_test_message("%s-%s  %6.1f  %12.1f  %10.1f  %10.1f", p, q, found[0], found[1], found[2], found[3]);
            }
        g_test_message("least  %6.1f  %12.1f  %10.1f  %10.1f", least_of[0], least_of[1], least_of[2], least_of[3]);
        for (gsize v = 0; v < G_N_ELEMENTS(visions); v++)
            least = fmin(least, least_of[v]);
    }
    g_assert_cmpfloat(least, >=, LEAST_DIFFERENCE);
}

/* What is pale: a fifth of a colour over the ground, with texts in it ("not told apart", figures in doubt). */
static void test_pale(void)
{
    static const char *const texts[] = { "ink", "muted", "bad" };
    for (int dark = 0; dark < 2; dark++)
        for (int i = 1; i <= N_SERIES; i++)
            for (gsize t = 0; t < G_N_ELEMENTS(texts); t++)
            {
                const char name[] = { 'c', (char)('0' + i), '\0' };
                const char *fill = value_of(name, dark), *ground = value_of("bg", dark);
                char mixed[8] = "#";
                for (int c = 0; c < 3; c++)
                {
                    const char above[] = { fill[1 + 2 * c], fill[2 + 2 * c], '\0' },
                               below[] = { ground[1 + 2 * c], ground[2 + 2 * c], '\0' };
                    g_snprintf(mixed + 1 + 2 * c, 3, "%02x",
                               (guint)(0.2 * (double)g_ascii_strtoull(above, NULL, 16) +
                                       0.8 * (double)g_ascii_strtoull(below, NULL, 16) + 0.5));
                }
                const double contrast = contrast_of(value_of(texts[t], dark), mixed);
                if (contrast < (t == 0 ? 7 : 4.5))
                    g_error("%s on pale %s has a contrast of %.2f, dark: %d", texts[t], name, contrast, dark);
            }
}

/* A device has its place among all of the page's, whatever figure it is in; what is no device comes behind those beside it.
 * Of more devices than colours none has one of its own. */
static void test_devices(void)
{
    static const char *const names[] = { "CPU", "GPU", "NPU", "A", "B", "C", "D" };
    static const struct
    {
        const char *figure[4], *name;
        guint n_devices, colour;
    } cases[] = {
        { { "NPU", "CPU" }, "NPU", 3, 2 },
        { { "NPU", "CPU" }, "CPU", 3, 0 },
        { { "kernels", "copies" }, "copies", 3, 1 },
        { { "kernels", "CPU", "copies" }, "copies", 3, 4 },
        { { "GPU", "other" }, "other", 0, 1 },
        { { "", "x" }, NULL, 2, 0 },
        { { "D", "B" }, "D", 7, 0 },
        { { "D", "B" }, "B", 7, 1 },
        { { "B", "A" }, "B", 6, 4 },
    };
    g_autoptr(IfmDocument) page = ifm_document_new("trace", "title");
    IfmBlock *causes = ifm_document_page_figure(page, "causes", IFM_FIGURE_BARS, "causes", "causes");
    ifm_document_series(page, causes, "queue full", NULL)->category = 3; /* one colour, wherever it stands */
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GPtrArray) devices = g_ptr_array_new(), series = g_ptr_array_new();
        for (guint k = 0; k < cases[i].n_devices; k++)
            g_ptr_array_add(devices, (gpointer)names[k]);
        for (const char *const *one = cases[i].figure; *one != NULL; one++)
            g_ptr_array_add(series, (gpointer)*one);
        const IfmSvg svg = { .devices = devices, .figure = &causes->figure };
        g_assert_cmpuint(ifm_svg_colour(&svg, series, cases[i].name), ==, cases[i].colour);
        g_assert_cmpuint(ifm_svg_colour(&svg, series, "queue full"), ==, IFM_SVG_CATEGORY + 2);
    }
    g_assert_cmpuint(ifm_colour_of_device(NULL, "CPU"), ==, G_MAXUINT);
    g_autoptr(IfmDocument) document = ifm_document_new("profile", "title");
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) /* each once, in the order of the first */
    {
        ifm_document_device(document, names[i % 3]);
        ifm_document_device(document, NULL);
    }
    g_assert_cmpuint(document->devices->len, ==, 3);
    g_assert_cmpstr(document->devices->pdata[1], ==, "GPU");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/colours/contrast", test_contrast);
    g_test_add_func("/colours/published", test_published);
    g_test_add_func("/colours/differences", test_differences);
    g_test_add_func("/colours/pale", test_pale);
    g_test_add_func("/colours/devices", test_devices);
    return g_test_run();
}
