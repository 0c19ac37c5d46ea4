#!/usr/bin/env python3
"""encodings.py KIND FOLDER FILE: the encodings of a TUDataset, computed by nobody else's code from its files, against ours in FILE.

FILE holds, in the machine's byte order: int64 nodes, graphs, dimension; double eigenvalues [graphs x dimension]; float Laplacian
[nodes x dimension]; float random walk [nodes x dimension]. KIND: numpy (dense: eigh, matrix powers) or scipy (sparse: csgraph's
Laplacian, eigsh; sparse powers). Vectors are compared up to sign; those of repeated eigenvalues by the projection onto their space.
Prints what it compared; exit status 1 and a line where something differs."""
import pathlib
import sys

import numpy

EQUAL = 1e-6  # eigenvalues nearer to each other than this are compared as one space


def read_ours(path):
    data = pathlib.Path(path).read_bytes()
    nodes, graphs, dim = numpy.frombuffer(data, numpy.int64, 3)
    values = numpy.frombuffer(data, numpy.float64, graphs * dim, 24).reshape(graphs, dim)
    start = 24 + 8 * graphs * dim
    vectors = numpy.frombuffer(data, numpy.float32, nodes * dim, start).reshape(nodes, dim).astype(float)
    walks = numpy.frombuffer(data, numpy.float32, nodes * dim, start + 4 * nodes * dim).reshape(nodes, dim).astype(float)
    return values, vectors, walks


def read_graphs(folder):
    """One adjacency matrix a graph, dense, and its first node."""
    name = next(pathlib.Path(folder).glob("*_A.txt")).name[:-len("_A.txt")]
    edges = numpy.loadtxt(f"{folder}/{name}_A.txt", delimiter=",", dtype=int) - 1
    of = numpy.loadtxt(f"{folder}/{name}_graph_indicator.txt", dtype=int) - 1
    for graph in range(of[-1] + 1):
        first, n = numpy.searchsorted(of, graph), int((of == graph).sum())
        mine = edges[of[edges[:, 0]] == graph] - first
        matrix = numpy.zeros((n, n))
        matrix[mine[:, 0], mine[:, 1]] = 1
        yield first, matrix


def solve_numpy(matrix, dim):
    degrees = matrix.sum(1)
    values, vectors = numpy.linalg.eigh(numpy.eye(len(matrix)) - matrix / numpy.sqrt(numpy.outer(degrees, degrees)))
    step, power, walks = matrix / degrees[:, None], numpy.eye(len(matrix)), []
    for _ in range(dim):
        power = power @ step
        walks.append(power.diagonal())
    return values, vectors, numpy.stack(walks, 1)


def solve_scipy(matrix, dim):
    from scipy.sparse import csgraph, csr_matrix, diags
    from scipy.sparse.linalg import eigsh
    sparse = csr_matrix(matrix)
    values, vectors = eigsh(csgraph.laplacian(sparse, normed=True), k=dim + 4, which="SA", v0=numpy.linspace(1, 2, len(matrix)))
    order = numpy.argsort(values)
    step = power = diags(1 / matrix.sum(1)) @ sparse
    walks = [power.diagonal()]
    for _ in range(dim - 1):
        power = power @ step
        walks.append(power.diagonal())
    return values[order], vectors[:, order], numpy.stack(walks, 1)


def compare(graph, values, vectors, ours_values, ours):
    """The largest difference of a space, and how many spaces of more than one vector there were."""
    dim, worst, repeated, begin = ours.shape[1], 0.0, 0, 0
    if abs(values[1:dim + 1] - ours_values).max() > 1e-9:
        raise SystemExit(f"graph {graph}: eigenvalues {ours_values}, not {values[1:dim + 1]}")
    while begin < dim:
        end = begin + 1
        while end < dim and values[end + 1] - values[begin + 1] < EQUAL:
            end += 1
        if end == dim and values[end + 1] - values[end] < EQUAL:
            break  # more of that space than was asked for
        mine, theirs = ours[:, begin:end], vectors[:, begin + 1:end + 1]
        if end == begin + 1:
            worst = max(worst, min(abs(mine - theirs).max(), abs(mine + theirs).max()))
        else:
            repeated += 1
            worst = max(worst, abs(mine @ mine.T - theirs @ theirs.T).max())
        begin = end
    return worst, repeated


def main():
    kind, folder, path = sys.argv[1:]
    all_values, all_vectors, all_walks = read_ours(path)
    solve = {"numpy": solve_numpy, "scipy": solve_scipy}[kind]
    worst, worst_walk, repeated, nodes = 0.0, 0.0, 0, 0
    for graph, (first, matrix) in enumerate(read_graphs(folder)):
        n, dim = len(matrix), all_values.shape[1]
        values, vectors, walks = solve(matrix, dim)
        off, spaces = compare(graph, values, vectors, all_values[graph], all_vectors[first:first + n])
        worst, repeated, nodes = max(worst, off), repeated + spaces, nodes + n
        worst_walk = max(worst_walk, abs(walks - all_walks[first:first + n]).max())
    print(f"{kind}: {graph + 1} graphs, {nodes} nodes, {repeated} repeated eigenvalues; largest differences: "
          f"vectors {worst:.1e}, random walk {worst_walk:.1e}")
    if worst > 1e-6 or worst_walk > 1e-7 or nodes != len(all_vectors):
        raise SystemExit(f"{kind}: differs by more than floats do")


if __name__ == "__main__":
    main()
