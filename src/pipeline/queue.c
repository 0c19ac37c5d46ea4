/*
 * Bounded queues between blocks. The consumer's mail guards what lies in its queue, the producer's how much room is left:
 * so a block waits on one condition, whatever it waits for, and no lock is held while another is taken.
 */
#include "pipeline-private.h"

Flight *ifm_queue_take(Block *block)
{
    Flight *flight = block->queue[block->queue_first];
    block->queue_first = (block->queue_first + 1) % block->line->queue_depth;
    block->queue_n--;
    return flight;
}

void ifm_queue_put(Block *to, Flight *flight)
{
    ifm_condition_lock(to->mail);
    g_assert(to->queue_n < to->line->queue_depth);
    to->queue[(to->queue_first + to->queue_n) % to->line->queue_depth] = flight;
    to->queue_n++;
    ifm_condition_broadcast(to->mail);
    ifm_condition_unlock(to->mail);
}

void ifm_queue_give_room(Block *to)
{
    ifm_condition_lock(to->mail);
    to->room++;
    ifm_condition_broadcast(to->mail);
    ifm_condition_unlock(to->mail);
}

static void order(Block *block, gboolean *what)
{
    ifm_condition_lock(block->mail);
    *what = TRUE;
    ifm_condition_broadcast(block->mail);
    ifm_condition_unlock(block->mail);
}

void ifm_block_end_input(Block *block)
{
    order(block, &block->ended);
}

void ifm_block_stop(Block *block)
{
    order(block, &block->stopping);
}
