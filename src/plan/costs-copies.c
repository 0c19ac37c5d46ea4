/*
 * Copies to and from devices with memory of their own: what a pipeline copies, and when. The rules are those of the
 * executor. The thread of a block first hands their parts to the devices that work in host memory. It then copies in and
 * starts the other devices one by one. When all devices are done, it copies the outputs back one by one.
 */
#include <math.h>

#include "plan-private.h"

void costs_cross(const CostDevice *of, const IfmCostCrossing *crossing, double nodes, double edges, double whole_nodes,
                 double whole_edges, CostPart *part)
{
    double out = crossing->out_per_node * nodes + crossing->out_per_edge * edges;
    part->in_bytes = crossing->in_per_node * nodes + crossing->in_per_edge * edges +
                     crossing->whole_per_node * whole_nodes + crossing->whole_per_edge * whole_edges;
    part->in_ns = crossing->n_in * of->in.fixed_ns + part->in_bytes * of->in.ns_per_byte;
    part->out_ns = crossing->n_out * of->out.fixed_ns + out * of->out.ns_per_byte;
}

void costs_copies_at(const IfmCosts *costs, int device, int first, int last, double nodes, double edges, double whole_nodes,
                     double whole_edges, CostPart *part)
{
    const CostDevice *of = costs->devices[device];
    const IfmCostCrossing *crossing = costs->crossings[of->is.form == IFM_PLAN_STATIC][first - 1][last - 1];
    part->copies = of->copies;
    part->in_ns = part->out_ns = 0;
    if (of->copies && crossing != NULL)
        costs_cross(of, crossing, nodes, edges, whole_nodes, whole_edges, part);
}

/* The tensors of a static model have the model's size, whatever the share. Those it needs whole have room for the largest
 * graph. */
void costs_copies(const IfmCosts *costs, int device, int first, int last, int n_devices, double share, double nodes,
                  double edges, CostPart *part)
{
    const CostDevice *of = costs->devices[device];
    IfmPlanSize size;
    part->copies = of->copies;
    part->in_ns = part->out_ns = 0;
    if (!of->copies)
        return;
    if (of->is.form != IFM_PLAN_STATIC)
        costs_copies_at(costs, device, first, last, share * nodes, share * edges, nodes, edges, part);
    else if (costs_static_size(costs, device, first, last, share * nodes, share * edges, &size))
    {
        double whole = n_devices == 1 ? (double)size.nodes : fmax(nodes, (double)size.nodes);
        costs_copies_at(costs, device, first, last, (double)size.nodes, (double)size.edges, whole, (double)size.edges,
                        part);
    }
}

double costs_span_ns(const CostPart *parts, int n)
{
    double handed = 0, longest = 0, out = 0;
    for (int i = 0; i < n; i++)
    {
        if (parts[i].copies)
            handed += parts[i].in_ns;
        longest = fmax(longest, parts[i].ns + (parts[i].copies ? handed : 0));
        out += parts[i].out_ns;
    }
    return longest + out;
}

double costs_copied_ns(const CostPart *parts, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += parts[i].in_ns + parts[i].out_ns;
    return sum;
}
