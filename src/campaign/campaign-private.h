#pragma once
#include <campaign/campaign.h>

/* What the files of this room share. */

typedef enum
{
    ENTRY_TODO,
    ENTRY_DONE,     /* found or measured */
    ENTRY_GIVEN_UP, /* it could not be sealed, or not be measured */
} EntryState;

/* CampaignEntry: an item and what is known of it. */
typedef struct
{
    IfmCampaignItem item;
    guint index; /* as it was added */
    guint round; /* how many of its device come before it, where devices take turns */
    IfmCase *cases[IFM_CAMPAIGN_MAX_RECORDS];
    gsize n;                /* 0: not sealed */
    gboolean asked;         /* by ifm_campaign_ask() */
    IfmMeasurement *answer; /* what such a one came to, until it is taken; NULL */
    IfmMeasurement *found;  /* what the store had and did not stand, where the item's kind chooses between two */
    IfmCase *held_case;     /* with @held: of an absent device, which waits until one of its group was tried; NULL */
    IfmMeasurement *held;
    gboolean was_looked_up, was_tried; /* was_tried: the store has a record of it */
    EntryState state;
} CampaignEntry;

/* What items of one pace took in this session. */
typedef struct
{
    gint64 spent_us;
    gsize n;
} Pace;

typedef struct CampaignPast CampaignPast;

struct IfmCampaign
{
    IfmStore *store;
    IfmCampaignOptions options;
    IfmRunner *runner;
    GPtrArray *entries; /* CampaignEntry*, as they were added */
    CampaignPast *past;
    GHashTable *measured;  /* key -> GINT_TO_POINTER(group + 1) of what was measured here */
    GHashTable *asked;     /* keys that ifm_campaign_ask() was asked for */
    GHashTable *any_tried; /* groups of which a device was tried */
    gboolean began;
    gint64 began_us, case_began_us;
    IfmCampaignProgress progress;
    char *step;     /* what progress.step points to: the runner's own words are gone once its call returns */
    GArray *paces;  /* Pace, by IfmCampaignItem.pace */
    gint64 left_ns; /* after the last case */
};

/* --- campaign.c --- */
void campaign_begin(IfmCampaign *campaign);
/* campaign_is_mine: whether it is of this shard and wanted. */
/* campaign_can_seal: whether its records are known before it is measured. */
gboolean campaign_can_seal(const CampaignEntry *entry);
gboolean campaign_is_mine(const IfmCampaign *campaign, const CampaignEntry *entry);
/* campaign_seal_entry: Seals it. FALSE ends the campaign: a failure that is the item's alone gives it up. */
gboolean campaign_seal_entry(IfmCampaign *campaign, CampaignEntry *entry, GError **error);
/* campaign_look_up: Whether the store has what stands for it; then it is done. FALSE with an error. */
gboolean campaign_look_up(IfmCampaign *campaign, CampaignEntry *entry, GError **error);
/* campaign_end_of: what the hook gets of a entry. @measurements: [n] or NULL */
IfmCampaignEnd campaign_end_of(CampaignEntry *entry, IfmMeasurement **measurements, const GError *error);
/* campaign_end: Reports the outcome; what the hook left is freed. FALSE ends the campaign. */
gboolean campaign_end(IfmCampaign *campaign, CampaignEntry *entry, IfmCampaignEnd *end, GError **error);
/* campaign_report: The same of an end that is final whatever the hook says of it. */
void campaign_report(IfmCampaign *campaign, CampaignEntry *entry, IfmCampaignEnd *end);
/* campaign_count_records: how many cases there are, now that they are. */
void campaign_count_records(CampaignEntry *entry);
/* campaign_renew: workers made anew. */
void campaign_renew(IfmCampaign *campaign);
void campaign_drop(IfmCampaign *campaign, CampaignEntry *entry);

/* --- campaign-past.c --- */
CampaignPast *campaign_past_new(const gint64 *sessions_unix_ms, gsize n);
void campaign_past_free(CampaignPast *past);
void campaign_past_note(CampaignPast *past, const char *const *devices, const IfmMeasurement *last);
/* campaign_past_report_losses: of each device that was lost and did not work since: it must answer before it is measured.
 */
void campaign_past_report_losses(const CampaignPast *past, IfmRunner *runner);
/* campaign_past_stands: whether a record ends its case: what was measured, with as many runs as @sealed promises; what
 * failed; and what was skipped since a device was lost, if that device was lost in a later session again. @retry: only what
 * was measured. */
gboolean campaign_past_stands(const CampaignPast *past, const char *const *devices, const IfmCase *sealed,
                              const IfmMeasurement *last, gboolean retry);

/* --- campaign-progress.c --- */
/* campaign_progress_count: how many cases there are, now that more is known of which are wanted. */
void campaign_progress_count(IfmCampaign *campaign);
void campaign_progress_begin(IfmCampaign *campaign, const CampaignEntry *entry);
/* campaign_progress_end: @ended: what it came to. @news: it was not in the store before. */
void campaign_progress_end(IfmCampaign *campaign, const CampaignEntry *entry, const IfmMeasurement *ended, gboolean news);
void campaign_progress_found(IfmCampaign *campaign, const IfmMeasurement *found);
void campaign_progress_report(IfmCampaign *campaign, const IfmMeasurement *ended);

/* ifm_campaign_hear: What an item that measures by itself (IfmItemKind) says of its runs; a runner says it unasked. */
void ifm_campaign_hear(const IfmProgress *now, void *campaign);
