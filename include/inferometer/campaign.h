#pragma once
#include <inferometer/measure.h>

IFM_BEGIN_DECLS

/*
 * A campaign: an ordered list of cases, each found in the store or measured and committed before the next. Whoever measures
 * more than a trial does it with one: nothing else writes measurements. Equals:
 *
 *     for item in items of the group, in order:
 *         case  = seal(item)                                   its key says what the store may have of it
 *         found = item.resume ? store.last(case.key) : none
 *         if found stands:  after(item, found); continue
 *         before(item); measurement = measure(item, case)
 *         store.commit(case, measurement); after(item, measurement)
 *
 * A kill at any moment loses the case in hand and nothing else: the same campaign over the same store goes on.
 */

typedef struct IfmCampaign IfmCampaign;
typedef struct IfmCampaignItem IfmCampaignItem;

/* --- what is measured ------------------------------------------------------------------------------------------------- */

/** IFM_CAMPAIGN_MAX_RECORDS: of one item. */
#define IFM_CAMPAIGN_MAX_RECORDS 96

/**
 * IfmItemKind: of an item that is more than one case of an IfmCaseKind: a comparison of two cases, a figure that is
 * computed in this process, a choice between two measurements.
 * seal: fills @cases with as many records as the item has (transfer full). It is looked up by the key of the last. NULL:
 * what its records are is known only once it is measured; nothing is looked up measure: fills as many @measurements, and
 * without seal the @cases (transfer full); all are committed together or none. stands: (optional) whether what the store
 * has of the last case ends the item. NULL: the campaign's rule keep: (optional) whether the new @measurement is committed.
 * @found: (optional) what the store had and did not stand
 */
typedef struct
{
    gboolean (*seal)(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error);
    gboolean (*measure)(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, IfmMeasurement **measurements,
                        GError **error);
    gboolean (*stands)(const IfmCampaignItem *item, IfmCase *const *cases, const IfmMeasurement *found);
    gboolean (*keep)(const IfmCampaignItem *item, const IfmMeasurement *measurement, const IfmMeasurement *found);
} IfmItemKind;

/** IfmCampaignItem: one entry of the list. What it points to is borrowed and must outlive the campaign. */
struct IfmCampaignItem
{
    const char *title; /* what messages and progress call it */
    void *tag;         /* the caller's own */
    int group;         /* groups are measured in ascending order; group_done follows each */
    /* items of one pace are expected to take equally long; those of pace 0 are over at once, and are no estimate for others
     */
    int pace;
    /* canonical specs of the devices it takes, NULL-terminated; the first is the one that is interleaved; or NULL */
    const char *const *devices;
    const IfmCaseKind *kind; /* with @spec; NULL: @own says how */
    const void *spec;
    const IfmItemKind *own;
    gboolean resume;    /* what the store has may stand for it; else only what this campaign measured in an earlier group */
    gboolean seal_last; /* sealed after the others of its group: it needs devices that those try by themselves */
    gboolean seal_runs; /* sealing it runs something: progress is reported meanwhile, too */
    gboolean renew;     /* measured in workers of its own: memory that an earlier item left allocated is not used again */
};

/** IfmCampaignEnd: what an item came to. Cases and measurements may be taken: set to NULL what you keep. */
typedef struct
{
    IfmCase **cases;               /* [n] none where it could not be sealed */
    IfmMeasurement **measurements; /* [n] or NULL; of what was found, the last alone is there */
    gsize n;
    IfmMeasurement *previous; /* what the store had and did not stand, of an item with IfmItemKind.keep; may be taken */
    gboolean found;           /* in the store: nothing was measured */
    gboolean committed;       /* FALSE: found, held (hold_absent), or not kept (IfmItemKind.keep) */
    const GError
        *error; /* why there is no measurement, or why the store did not take the one there is; NULL: all is well */
} IfmCampaignEnd;

/** IfmCampaignProgress: how far it is. */
typedef struct
{
    gsize n_cases;                                    /* wanted, and of this shard */
    gsize n_done;                                     /* ended: @n_resumed + @n_measured */
    gsize n_resumed, n_measured, n_failed, n_skipped; /* failed and skipped are among the others */
    const IfmCampaignItem *now;                       /* in hand; NULL between two */
    const char *step;                                 /* what the runner says of it; NULL before it does */
    gsize n;                                          /* its runs so far */
    double median_ns, ci_ratio;
    double cases_per_s; /* of those measured now; NaN at first */
    gint64 left_ns;     /* by what items of each pace took so far; -1 where it cannot be said */
} IfmCampaignProgress;

/* --- how ----------------------------------------------------------------------------------------------------------------
 */

typedef enum
{
    IFM_CAMPAIGN_AS_GIVEN,
    /* within a group the first items of all devices, then their second ones, and so on: what drifts meanwhile reaches each
     * device alike. The items of one device stay in the order given. */
    IFM_CAMPAIGN_INTERLEAVED,
} IfmCampaignOrder;

typedef struct
{
    IfmLimits limits;        /* of each case */
    const gint *interrupted; /* (atomic) (optional) non-zero: end now */
    gboolean retry;          /* also measure again what failed, and what a loss left untried twice */
    gsize attempts;          /* at a case that fails, each committed; 0: one */
    gint64 time_budget_ns;   /* of the whole campaign: no case begins after it; 0: none */
    IfmCampaignOrder order;
    /* this process's share of the list: of each n_shards items in a row, as they were added, wanted or not, each shard has
     * one, and from row to row the next: neighbours that differ in their device alone do not all go the same way. Item i
     * (from 0) belongs to shard (i + i / @n_shards) mod @n_shards + 1. It is the position that counts and not the key:
     * machines of a cluster have other keys for the same list. All shards seal the whole list; their stores merge by key. 0
     * of 0: everything */
    gsize shard, n_shards;
    gboolean resume_asked; /* ifm_campaign_ask(): what the store has may stand for it */
    gboolean keep_partial; /* a case that was cut short is committed, too (it never stands); else it is not */
    /* records of devices that are not there wait until an item of their group was tried; where none was they are not
     * committed: it was the question that was wrong */
    gboolean hold_absent;
    const gint64
        *sessions_unix_ms; /* [n_sessions] when earlier sessions began, ascending; read when the campaign is made */
    gsize n_sessions;

    /* All hooks are optional, and get @user. A hook that returns FALSE with an error ends the campaign with it. */
    /* wanted: asked before an item is sealed and again before it is measured: what came before may decide. */
    gboolean (*wanted)(const IfmCampaignItem *item, void *user);
    /* fill: completes the item's kind and spec, before it is sealed, and again before it is measured where other items
     * were sealed in between. drop: frees what fill made. */
    gboolean (*fill)(IfmCampaignItem *item, void *user, GError **error);
    void (*drop)(IfmCampaignItem *item, void *user);
    /* before: it is sealed (@sealed: NULL where its kind seals nothing), the store has nothing that stands, and it is
     * measured next. */
    gboolean (*before)(const IfmCampaignItem *item, const IfmCase *sealed, void *user, GError **error);
    /* after: it has ended, or could not be sealed or measured (@end->error). FALSE without @error set: that one ends the
     * campaign, as it does without this hook. An interruption ends it in any case. */
    gboolean (*after)(const IfmCampaignItem *item, IfmCampaignEnd *end, void *user, GError **error);
    /* group_done: all items of a group have ended; not called where none of them was sealed. */
    gboolean (*group_done)(int group, void *user, GError **error);
    /* progress: at most about 5 times a second, and at the end of each case (@ended: what it came to, else NULL). */
    void (*progress)(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *user);
    void *user;
} IfmCampaignOptions;

/** ifm_campaign_new: @options: copied; what it points to must outlive the campaign. It is used and freed on the thread that
 * made it, as its runner is. */
IfmCampaign *ifm_campaign_new(IfmStore *store, const IfmCampaignOptions *options);
void ifm_campaign_free(IfmCampaign *campaign);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmCampaign, ifm_campaign_free)
/** ifm_campaign_runner: the one that measures now; another one after an item with `renew`. */
IfmRunner *ifm_campaign_runner(IfmCampaign *campaign);
/** ifm_campaign_add: @item: copied. */
void ifm_campaign_add(IfmCampaign *campaign, const IfmCampaignItem *item);

/** ifm_campaign_run: All groups, one after the other. */
gboolean ifm_campaign_run(IfmCampaign *campaign, GError **error);

/**
 * ifm_campaign_ask: One case more, now, for whoever decides by what came before what to measure next: found in the store
 * (IfmCampaignOptions.resume_asked), or measured and committed; a case that is asked for again is measured again. Of the
 * hooks it calls progress alone. An item's own functions may ask, too. It is an IfmMeasureFunction.
 * @title: what progress calls it    @campaign: an IfmCampaign *
 * Returns: (transfer full) what it came to, which may be a failure; NULL where it could not be sealed or tried, with
 * IFM_ERROR_CANCELLED or IFM_ERROR_TIMEOUT as of ifm_campaign_run(), or where the store does not take it.
 */
IfmMeasurement *ifm_campaign_ask(const char *title, const IfmCaseKind *kind, const void *spec, void *campaign,
                                 GError **error);

/** ifm_campaign_progress: how far it is; borrowed. */
const IfmCampaignProgress *ifm_campaign_progress(const IfmCampaign *campaign);

/** ifm_shard_parse: "I/N": 1 <= I <= N. FALSE with IFM_ERROR_INVALID. */
gboolean ifm_shard_parse(const char *text, gsize *shard, gsize *n_shards, GError **error);

IFM_END_DECLS
