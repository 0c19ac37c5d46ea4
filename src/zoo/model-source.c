/* A model by what a user calls it: a file or a name of the zoo, with sizes and inputs; the one way in of every verb. */
#include <errno.h>
#include <string.h>

#include <zoo/zoo.h>

/* --- files of its own ---------------------------------------------------------------------------------------------------
 */

/* FOLDER/@below, made where it is not there. (transfer full) NULL with an error */
static char *place(IfmModelSource *source, const IfmModelRequest *request, const char *below, GError **error)
{
    if (request->folder == NULL && !ifm_temporary_make(&source->scratch, error))
        return NULL;
    g_autofree char *path = g_build_filename(request->folder != NULL ? request->folder : source->scratch.path, below, NULL);
    return ifm_file_make_folder(path, error) ? g_steal_pointer(&path) : NULL;
}

static void note(const IfmModelRequest *request, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void note(const IfmModelRequest *request, const char *format, ...)
{
    va_list values;
    if (request->note == NULL)
        return;
    va_start(values, format);
    g_autofree char *message = g_strdup_vprintf(format, values);
    va_end(values);
    request->note(message, request->user);
}

/* Saves a model that is made, or of which another file is made, and opens what lies there: weights are then no longer held.
 */
static IfmModel *save(IfmModelSource *source, IfmModel *model, char *path /* (transfer full) */, GError **error)
{
    g_free(source->path);
    source->path = path;
    return ifm_model_save(model, path, error) ? ifm_model_open(path, error) : NULL;
}

/* The same under FOLDER/models, by its digest: models of one name are many. */
static IfmModel *copy(IfmModelSource *source, const IfmModelRequest *request, IfmModel *model, GError **error)
{
    const char *digest = ifm_model_digest(model, error);
    if (digest == NULL)
        return NULL;
    g_autofree char *below = g_strdup_printf("models/%s-%.8s", ifm_model_name(model), digest);
    g_autofree char *folder = place(source, request, below, error),
                    *name = g_strconcat(ifm_model_name(model), ".onnx", NULL);
    return folder != NULL ? save(source, model, g_build_filename(folder, name, NULL), error) : NULL;
}

/* --- the zoo ------------------------------------------------------------------------------------------------------------
 */

/* "resnet50", "resnet50,batch=8" */
static const IfmZooEntry *find_in_zoo(const char *text)
{
    gsize length = strcspn(text, ",");
    for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; entry++)
        if (strlen(entry->name) == length && memcmp(entry->name, text, length) == 0)
            return entry;
    return NULL;
}

static gboolean is_file(const char *text)
{
    return g_file_test(text, G_FILE_TEST_EXISTS) && !g_file_test(text, G_FILE_TEST_IS_DIR); /* no folder is a model */
}

const IfmZooEntry *ifm_model_source_entry(const char *text)
{
    if (g_str_has_prefix(text, IFM_ZOO_PREFIX))
        return find_in_zoo(text + strlen(IFM_ZOO_PREFIX));
    return is_file(text) ? NULL : find_in_zoo(text);
}

const IfmZooParameter *ifm_zoo_parameter(const IfmZooEntry *entry, const char *name)
{
    for (const IfmZooParameter *at = entry != NULL ? entry->parameters : NULL; at != NULL && at->name != NULL; at++)
        if (g_str_equal(at->name, name))
            return at;
    return NULL;
}

/* "resnet18,form=training,batch=0" of "resnet18": the training form where the entry has one, a free batch where --batch
 * sizes it. (transfer full) NULL with an error */
static char *words_of(const IfmModelRequest *request, const char *name, GError **error)
{
    const IfmZooEntry *entry = find_in_zoo(name);
    const gint64 batch = request->open != NULL ? request->open->batch : 0;
    const gboolean free_batch = batch > 0 && ifm_zoo_parameter(entry, "batch") != NULL,
                   free_there = g_str_has_suffix(name, ",batch=0") || strstr(name, ",batch=0,") != NULL,
                   form = request->training && ifm_zoo_parameter(entry, "form") != NULL && strstr(name, ",form=") == NULL;
    if (!free_batch || free_there || strstr(name, ",batch=") == NULL)
        return g_strconcat(name, form ? ",form=training" : "", free_batch && !free_there ? ",batch=0" : "", NULL);
    ifm_error_misuse(error, "%s and --batch %" G_GINT64_FORMAT ": batch is given twice", request->text, batch);
    return NULL;
}

/* "zoo:matmul,m=512" is built and kept under FOLDER/models, so that a store's record says where its model is. */
static IfmModel *build(IfmModelSource *source, const IfmModelRequest *request, const char *words, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(words, ",", -1);
    if (parts[0] == NULL)
    {
        ifm_error_refuse(error, IFM_ZOO_PREFIX " which model? (see inferometer zoo list)");
        return NULL;
    }
    if (request->is_outline)
        return ifm_zoo_outline(parts[0], (const char *const *)parts + 1, request->seed, error);
    g_autofree char *name =
        request->seed == 1 ? g_strdup_printf("%s.onnx", words) : g_strdup_printf("%s,seed=%u.onnx", words, request->seed);
    g_autofree char *there = request->folder != NULL ? g_build_filename(request->folder, "models", name, NULL) : NULL;
    if (there != NULL && request->written != NULL && g_hash_table_contains(request->written, there))
    {
        source->path = g_steal_pointer(&there);
        return ifm_model_open(source->path, error);
    }
    g_autoptr(IfmModel) model = ifm_zoo_build(parts[0], (const char *const *)parts + 1, request->seed, error);
    g_autofree char *folder = model != NULL ? place(source, request, "models", error) : NULL;
    IfmModel *opened = folder != NULL ? save(source, model, g_build_filename(folder, name, NULL), error) : NULL;
    if (opened != NULL && request->written != NULL)
        g_hash_table_add(request->written, g_strdup(source->path));
    return opened;
}

/* --- files --------------------------------------------------------------------------------------------------------------
 */

/* Neither a file nor in the zoo: what is like a file's name was meant as one, and is missing; else it is a wrong name. */
static void explain_absent(const char *text, GError **error)
{
    if (!g_error_matches(*error, IFM_ERROR, IFM_ERROR_UNAVAILABLE) || strpbrk(text, "./") != NULL)
        return;
    g_autofree char *name = g_strndup(text, strcspn(text, ","));
    g_autoptr(GError) unknown = NULL;
    g_clear_error(error);
    if (*name == '\0')
    {
        ifm_error_refuse(error, "the model's name is empty: expected an ONNX file, or a model of the zoo");
        return;
    }
    ifm_zoo_find(name, &unknown);
    ifm_error_refuse(error, "%s: no such file, nor in the zoo: %s", text, unknown != NULL ? unknown->message : name);
}

/* A copy of a model whose data a link has elsewhere: runtimes refuse such links, too. */
static IfmModel *open_outside(IfmModelSource *source, const IfmModelRequest *request, GError **error)
{
    gboolean is_outside;
    g_autoptr(IfmModel) model = ifm_model_open_outside(request->text, &is_outside, error);
    if (model == NULL || !is_outside)
        return g_steal_pointer(&model);
    IfmModel *opened = copy(source, request, model, error);
    if (opened != NULL)
        note(request, "%s: weights outside of its folder: model and weights are copied to %s", request->text, source->path);
    return opened;
}

static IfmModel *open_file(IfmModelSource *source, const IfmModelRequest *request, GError **error)
{
    GError *trouble = NULL;
    source->path = g_canonicalize_filename(request->text, NULL);
    source->source = g_strdup(request->text);
    IfmModel *model = request->open != NULL && request->open->allow_outside_data ? open_outside(source, request, &trouble)
                                                                                 : ifm_model_open(request->text, &trouble);
    if (model == NULL && !g_file_test(request->text, G_FILE_TEST_EXISTS))
        explain_absent(request->text, &trouble);
    if (trouble != NULL)
        g_propagate_error(error, trouble);
    return model;
}

/* The user's own file stands before the zoo's model of the same name. */
static IfmModel *open_named(IfmModelSource *source, const IfmModelRequest *request, GError **error)
{
    const char *text = request->text;
    const gboolean prefixed = g_str_has_prefix(text, IFM_ZOO_PREFIX);
    if (!prefixed && ifm_model_source_entry(text) == NULL)
    {
        if (find_in_zoo(text) != NULL)
            note(request, "%s: the file of that name, not the zoo's model (" IFM_ZOO_PREFIX "%s)", text, text);
        return open_file(source, request, error);
    }
    g_autofree char *words = words_of(request, prefixed ? text + strlen(IFM_ZOO_PREFIX) : text, error);
    if (words == NULL)
        return NULL;
    source->source = g_strconcat(IFM_ZOO_PREFIX, words, NULL);
    return build(source, request, words, error);
}

/* Engines know operators alone: where the model has functions of its own, they get a copy without. */
static gboolean inline_functions(IfmModelSource *source, const IfmModelRequest *request, GError **error)
{
    g_autoptr(IfmModel) inlined = NULL;
    if (!ifm_model_inline_functions(source->model, &inlined, error))
        return FALSE;
    if (inlined == NULL)
        return TRUE;
    ifm_model_unref(source->model);
    source->model = request->is_run ? copy(source, request, inlined, error) : g_steal_pointer(&inlined);
    return source->model != NULL;
}

/* --- all of it ----------------------------------------------------------------------------------------------------------
 */

static gboolean gives_anything(const IfmModel *model, GError **error)
{
    return ifm_model_n_outputs(model) > 0 ||
           ifm_error_refuse(error, "%s: its graph has no outputs: there is nothing to infer", ifm_model_name(model));
}

static gboolean is_given(const IfmModelFeed *feed, const char *name)
{
    for (guint i = 0; i < feed->given->len; i++)
        if (g_str_equal(g_array_index(feed->given, IfmGivenInput, i).name, name))
            return TRUE;
    return FALSE;
}

/* Whatever the device: inputs are tensors of numbers. Texts and packed numbers are not made up. */
static gboolean can_be_fed(const IfmModel *model, const IfmModelFeed *feed, GError **error)
{
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        if (ifm_dtype_bits(port->dtype) == 0 && port->dtype != IFM_DTYPE_STRING)
            return ifm_error_refuse(error, "%s: input '%s' is no tensor of numbers: nothing can be made up to feed it with",
                                    ifm_model_name(model), port->name);
        if (ifm_dtype_size_bytes(port->dtype) == 0 && !is_given(feed, port->name))
            return ifm_error_refuse(error, "%s: input '%s' takes %s, which are not made up: --input %s=FILE.pb feeds some",
                                    ifm_model_name(model), port->name,
                                    port->dtype == IFM_DTYPE_STRING ? "texts" : "packed numbers", port->name);
    }
    return TRUE;
}

static gboolean feed(IfmModelSource *source, const IfmModelRequest *request, GError **error)
{
    static const IfmModelOptions none = { 0 };
    const IfmModelOptions *options = request->open != NULL ? request->open : &none;
    if (!ifm_model_feed_fill(&source->feed, source->model, options, request->seed, request->note, request->user, error))
        return FALSE;
    if (source->feed.given->len == 0 || !request->is_run)
        return TRUE;
    g_autofree char *folder = place(source, request, "inputs", error);
    source->inputs_path = folder != NULL ? ifm_given_inputs_save(source->feed.given, folder, error) : NULL;
    if (source->inputs_path != NULL && source->feed.samples->len > 0)
        source->samples_path = ifm_given_inputs_save(source->feed.samples, folder, error);
    return source->inputs_path != NULL && (source->samples_path != NULL || source->feed.samples->len == 0);
}

gboolean ifm_model_source_open(const IfmModelRequest *request, IfmModelSource *source, GError **error)
{
    g_auto(IfmModelSource) self = { 0 };
    if (!ifm_model_feed_init(&self.feed, request->open != NULL ? request->open->dims : NULL, error))
        return FALSE;
    self.model = open_named(&self, request, error);
    if (self.model == NULL || !inline_functions(&self, request, error) || !gives_anything(self.model, error) ||
        !feed(&self, request, error) || (request->is_run && !can_be_fed(self.model, &self.feed, error)))
        return FALSE;
    *source = self;
    self = (IfmModelSource){ 0 };
    return TRUE;
}

void ifm_model_source_clear(IfmModelSource *source)
{
    g_clear_pointer(&source->model, ifm_model_unref);
    g_clear_pointer(&source->path, g_free);
    g_clear_pointer(&source->source, g_free);
    g_clear_pointer(&source->inputs_path, g_free);
    g_clear_pointer(&source->samples_path, g_free);
    ifm_model_feed_clear(&source->feed);
    ifm_temporary_clear(&source->scratch);
}
