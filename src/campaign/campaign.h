/* Shared with other rooms: cases that are measured in order, stored and resumed. */
#pragma once
#include <inferometer/measure.h>

G_BEGIN_DECLS

/* --- what is measured ---------------------------------------------------------------------------------------------- */

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
struct IfmItemKind
{
    gboolean (*seal)(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error);
    gboolean (*measure)(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, IfmMeasurement **measurements,
                        GError **error);
    gboolean (*stands)(const IfmCampaignItem *item, IfmCase *const *cases, const IfmMeasurement *found);
    gboolean (*keep)(const IfmCampaignItem *item, const IfmMeasurement *measurement, const IfmMeasurement *found);
};

/** IfmCampaignEnd: what an item came to. Cases and measurements may be taken: set to NULL what you keep. */
struct IfmCampaignEnd
{
    IfmCase **cases;               /* [n] none where it could not be sealed */
    IfmMeasurement **measurements; /* [n] or NULL; of what was found, the last alone is there */
    gsize n;
    IfmMeasurement *previous; /* what the store had and did not stand, of an item with IfmItemKind.keep; may be taken */
    gboolean found;           /* in the store: nothing was measured */
    gboolean committed;       /* FALSE: found, held (hold_absent), or not kept (IfmItemKind.keep) */
    const GError
        *error; /* why there is no measurement, or why the store did not take the one there is; NULL: all is well */
};

/* --- how ----------------------------------------------------------------------------------------------------------- */

/** ifm_campaign_runner: the one that measures now; another one after an item with `renew`. */
IfmRunner *ifm_campaign_runner(IfmCampaign *campaign);

/** ifm_campaign_add: @item: copied. */
void ifm_campaign_add(IfmCampaign *campaign, const IfmCampaignItem *item);

/** ifm_campaign_run: All groups, one after the other. */
gboolean ifm_campaign_run(IfmCampaign *campaign, GError **error);

/** ifm_campaign_progress: how far it is; borrowed. */
const IfmCampaignProgress *ifm_campaign_progress(const IfmCampaign *campaign);

/* --- campaigns ----------------------------------------------------------------------------------------------------- */

/* How a study drives a campaign phase by phase, and an item that several rooms have. */

/** ifm_peak_item: A device's peak; IfmCampaignItem.spec is an IfmPeakCase. One that the store has stands. One that is in
 * doubt when it is measured is measured again, once; what counts is kept, with its doubt (ifm_peak_doubt()). */
extern const IfmItemKind ifm_peak_item;

/**
 * ifm_campaign_note: What a case came to in an earlier session, for what is known of its devices: one that was lost and did
 * not work since must answer a probe before it is measured, and what such a loss left untried gets one later session in
 * which the device answers. Noted before the first item is sealed.
 * @devices: specs of those that an OK measurement shows to work (of a link, none: host memory moved); NULL-terminated
 */
void ifm_campaign_note(IfmCampaign *campaign, const char *const *devices, const IfmMeasurement *last);

/** ifm_campaign_seal: Seals all items of a group, whoever measures them, and finds those of this shard in the store.
 * Optional: ifm_campaign_measure() seals one item after the other. Returns: FALSE with the error that ended it. */
gboolean ifm_campaign_seal(IfmCampaign *campaign, int group, GError **error);

/** ifm_campaign_sealed: the (last) case of the item that was added @index-th, from 0; NULL where there is none. */
const IfmCase *ifm_campaign_sealed(const IfmCampaign *campaign, guint index);

/**
 * ifm_campaign_measure: Measures what of a group is left.
 * Returns: FALSE with IFM_ERROR_CANCELLED ("interrupted: 3 of 18 cases are measured; the same command goes on"),
 * IFM_ERROR_TIMEOUT (the time budget), the store's error, a hook's, or one that says why an item cannot even be tried. What
 * was committed before stays.
 */
gboolean ifm_campaign_measure(IfmCampaign *campaign, int group, GError **error);

/** ifm_campaign_report: Says so, by the progress hook. */
void ifm_campaign_report(IfmCampaign *campaign);

/** ifm_shard_has: Whether the item that was added @index-th, from 0, belongs to a shard: IfmCampaignOptions.n_shards. */
gboolean ifm_shard_has(gsize index, gsize shard, gsize n_shards);

/** ifm_shard_check: Whether it is a part of so many, or 0 of 0: all. FALSE with IFM_ERROR_INVALID. */
gboolean ifm_shard_check(gsize shard, gsize n_shards, GError **error);

/* --- axes ---------------------------------------------------------------------------------------------------------- */

/* Axes and their points, as studies expand them. */

/** IfmPointFunc: one point. @at: [n] the index of its value on each axis. Returns: FALSE with an error, which ends the
 * expansion. */
typedef gboolean (*IfmPointFunc)(const guint *at, void *user, GError **error);

/** ifm_axes_each: Visits every point of axes, the last axis innermost. @lengths: [n] how many values each axis has; an axis
 * without values has no points    @n: 1 or more. Returns: FALSE with the error of @visit. */
gboolean ifm_axes_each(const guint *lengths, gsize n, IfmPointFunc visit, void *user, GError **error);

G_END_DECLS
