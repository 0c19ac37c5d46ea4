#include <base/base.h>
#include <pthread.h>

#define MS G_GINT64_CONSTANT(1000000)

static void test_real(void)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_assert_false(ifm_clock_is_virtual(clock));
    gint64 before = ifm_clock_now_ns(clock);
    ifm_clock_sleep_until_ns(clock, before + 2 * MS);
    g_assert_cmpint(ifm_clock_now_ns(clock), >=, before + 2 * MS);
    IfmCondition *condition = ifm_condition_new(clock);
    ifm_condition_lock(condition);
    g_assert_false(ifm_condition_wait_until(condition, ifm_clock_now_ns(clock) - 1));
    ifm_condition_unlock(condition);
    ifm_condition_free(condition);
}

/* Two sleepers with different periods: virtual time is their schedule exactly, and no real time passes. */
typedef struct
{
    IfmClock *clock;
    gint64 period_ns;
    int n;
    gint64 woke_ns[1000];
} Sleeper;

static void *sleeper_main(void *data)
{
    Sleeper *sleeper = data;
    for (int i = 0; i < sleeper->n; i++)
    {
        ifm_clock_sleep_until_ns(sleeper->clock, (i + 1) * sleeper->period_ns);
        sleeper->woke_ns[i] = ifm_clock_now_ns(sleeper->clock);
    }
    ifm_clock_leave(sleeper->clock);
    return NULL;
}

static void test_virtual_sleep(void)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_virtual(0);
    static Sleeper sleepers[] = { { .period_ns = 3 * MS, .n = 1000 }, { .period_ns = 1000 * MS, .n = 500 } };
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) /* both are registered before either runs */
        ifm_clock_enter(clock);
    for (int i = 0; i < 2; i++)
    {
        sleepers[i].clock = clock;
        g_assert_cmpint(pthread_create(&threads[i], NULL, sleeper_main, &sleepers[i]), ==, 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sleepers[s].n; i++)
            g_assert_cmpint(sleepers[s].woke_ns[i], ==, (i + 1) * sleepers[s].period_ns);
    g_assert_cmpint(ifm_clock_now_ns(clock), ==, 500 * 1000 * MS);
}

/* A producer hands 200 items to a consumer through a condition; each takes virtual time for its part. */
typedef struct
{
    IfmClock *clock;
    IfmCondition *condition;
    int n_items;
    gint64 ended_ns;
} Belt;

static void *consumer_main(void *data)
{
    Belt *belt = data;
    for (int i = 0; i < 200; i++)
    {
        ifm_condition_lock(belt->condition);
        while (belt->n_items == 0)
            g_assert_true(ifm_condition_wait_until(belt->condition, IFM_CLOCK_NEVER));
        belt->n_items--;
        ifm_condition_unlock(belt->condition);
        ifm_clock_sleep_until_ns(belt->clock, ifm_clock_now_ns(belt->clock) + 7 * MS);
    }
    belt->ended_ns = ifm_clock_now_ns(belt->clock);
    ifm_clock_leave(belt->clock);
    return NULL;
}

static void test_virtual_condition(void)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_virtual(0);
    Belt belt = { .clock = clock, .condition = ifm_condition_new(clock) };
    pthread_t consumer;
    ifm_clock_enter(clock);
    ifm_clock_enter(clock);
    g_assert_cmpint(pthread_create(&consumer, NULL, consumer_main, &belt), ==, 0);
    for (int i = 0; i < 200; i++)
    {
        ifm_clock_sleep_until_ns(clock, (i + 1) * 5 * MS);
        ifm_condition_lock(belt.condition);
        belt.n_items++;
        ifm_condition_broadcast(belt.condition);
        ifm_condition_unlock(belt.condition);
    }
    ifm_clock_leave(clock);
    pthread_join(consumer, NULL);
    g_assert_cmpint(belt.ended_ns, ==, (5 + 200 * 7) * MS);
    ifm_condition_free(belt.condition);
}

static void test_virtual_deadline(void)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_virtual(100);
    IfmCondition *condition = ifm_condition_new(clock);
    ifm_clock_enter(clock);
    ifm_condition_lock(condition);
    g_assert_false(ifm_condition_wait_until(condition, 250));
    g_assert_cmpint(ifm_clock_now_ns(clock), ==, 250);
    g_assert_false(ifm_condition_wait_until(condition, 200)); /* the past: at once, and time does not go back */
    g_assert_cmpint(ifm_clock_now_ns(clock), ==, 250);
    ifm_condition_unlock(condition);
    ifm_clock_leave(clock);
    ifm_condition_free(condition);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/clock/real", test_real);
    g_test_add_func("/clock/virtual/sleep", test_virtual_sleep);
    g_test_add_func("/clock/virtual/condition", test_virtual_condition);
    g_test_add_func("/clock/virtual/deadline", test_virtual_deadline);
    return g_test_run();
}
