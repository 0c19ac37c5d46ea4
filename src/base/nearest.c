#include <base/base.h>
#include <string.h>

/* A longer word is not a typo of any candidate. The bound keeps the table of edit_distance() on the stack. */
#define MAX_LENGTH 64

/* Optimal string alignment distance, letter case ignored. */
static gsize edit_distance(const char *a, gsize n_a, const char *b, gsize n_b)
{
    gsize rows[3][MAX_LENGTH + 1]; /* the current row and the two before it, used in rotation */
    for (gsize j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (gsize i = 1; i <= n_a; i++)
    {
        gsize *current = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        current[0] = i;
        for (gsize j = 1; j <= n_b; j++)
        {
            char x = g_ascii_tolower(a[i - 1]), y = g_ascii_tolower(b[j - 1]);
            current[j] = MIN(MIN(last[j], current[j - 1]) + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == g_ascii_tolower(b[j - 2]) && y == g_ascii_tolower(a[i - 2]))
                current[j] = MIN(current[j], before[j - 2] + 1);
        }
    }
    return rows[n_a % 3][n_b];
}

const char *ifm_nearest(const char *word, const char *const *candidates)
{
    gsize n = strlen(word), best = G_MAXSIZE;
    const char *nearest = NULL;
    if (n == 0 || n > MAX_LENGTH)
        return NULL;
    for (; candidates != NULL && *candidates != NULL; candidates++)
    {
        gsize n_candidate = strlen(*candidates);
        if (n_candidate > MAX_LENGTH)
            continue;
        gsize distance = edit_distance(word, n, *candidates, n_candidate);
        if (n >= 3 && g_ascii_strncasecmp(word, *candidates, n) == 0)
            distance = MIN(distance, 1);
        if (distance < best && distance <= MAX(1, MAX(n, n_candidate) / 3) && distance < MAX(n, n_candidate))
        {
            best = distance;
            nearest = *candidates;
        }
    }
    return nearest;
}

char *ifm_nearest_hint(const char *word, const char *const *candidates)
{
    const char *nearest = ifm_nearest(word, candidates);
    return nearest != NULL ? g_strdup_printf("; did you mean \"%s\"?", nearest) : g_strdup("");
}

int ifm_word_index(const char *const *words, const char *word)
{
    for (int i = 0; words != NULL && words[i] != NULL; i++)
        if (g_strcmp0(words[i], word) == 0)
            return i;
    return -1;
}
