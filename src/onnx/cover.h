/* Shared with other rooms: which nodes of a model each node of its optimised graph computes. */
#pragma once
#include <onnx/fused-kernel.h>
#include <onnx/onnx.h>

G_BEGIN_DECLS

/* AnchorHow: how it is known which tensor of the model a tensor of the optimised graph is. */
typedef enum
{
    ANCHOR_NAME,     /* it kept its name */
    ANCHOR_BLOCKED,  /* its node has a layout of its own, and is named for the tensor */
    ANCHOR_NODE,     /* its node kept the name and the operator of one of the model's */
    ANCHOR_EXTENDED, /* its node has the name of one of the graph before layouts were chosen */
    ANCHOR_LAYOUT,   /* the same values in another layout */
    ANCHOR_OPEN,     /* the graph leaves it open */
} AnchorHow;

/* Anchor: @tensor: of the model, borrowed; NULL of ANCHOR_OPEN */
typedef struct
{
    const char *tensor;
    AnchorHow how;
} Anchor;

/* CoverGroup: nodes of the optimised graph, and those of the model that they compute together; gsize, ascending. */
typedef struct
{
    GArray *nodes, *covers;
    IfmKernelCoverage coverage;
} CoverGroup;

/* Cover: @anchors: tensor of the optimised graph -> Anchor*    @uncovered: gsize, nodes of the model */
typedef struct
{
    GHashTable *anchors;
    GPtrArray *groups;
    GArray *uncovered;
    gsize n_folded, n_twice;
} Cover;

/* cover_new: @model: as it was given to the runtime; the more of its names are its nodes' alone, the more is known
 * @analysis: of it    @optimised: what the runtime made of it
 * @extended, @of_extended: (optional) the graph before layouts were chosen, and its cover. The graphs must outlive it. */
Cover *cover_new(const IfmModel *model, const IfmAnalysis *analysis, const IfmModel *optimised, const IfmModel *extended,
                 const Cover *of_extended);
void cover_free(Cover *cover);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Cover, cover_free)

G_END_DECLS
