"""PyTorch at the shapes of `bench ops --gemm`: lines of "m n k GFLOP/s". Argument: threads."""
import sys
import time

import torch

torch.set_num_threads(int(sys.argv[1]))
for n, k in ((2304, 768), (768, 768), (3072, 768), (768, 3072)):
    for m in (1, 6, 64, 512):
        a, b, c = torch.rand(m, k), torch.rand(k, n), torch.empty(m, n)
        torch.mm(a, b, out=c)
        times, begin, taken = 0, time.perf_counter(), 0.0
        while taken < 0.05:
            torch.mm(a, b, out=c)
            times += 1
            taken = time.perf_counter() - begin
        print(m, n, k, "%.2f" % (2 * m * n * k * times / taken / 1e9))
