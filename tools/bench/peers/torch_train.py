"""nanoGPT's CPU recipe in PyTorch, eager: seconds an iteration, and the validation loss if asked.

usage: torch_train.py TEXT THREADS ITERATIONS [--loss]
"""
import math
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

N_LAYER, N_HEAD, N_EMBD, N_CTX, N_BATCH, N_ITERS = 4, 4, 128, 64, 12, 2000


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(N_EMBD), nn.LayerNorm(N_EMBD)
        self.c_attn, self.attn_proj = nn.Linear(N_EMBD, 3 * N_EMBD), nn.Linear(N_EMBD, N_EMBD)
        self.c_fc, self.mlp_proj = nn.Linear(N_EMBD, 4 * N_EMBD), nn.Linear(4 * N_EMBD, N_EMBD)
        self.register_buffer("mask", torch.tril(torch.ones(N_CTX, N_CTX)) == 0)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, N_HEAD, c // N_HEAD).transpose(1, 2)
                   for y in self.c_attn(self.ln_1(x)).split(c, dim=2))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(c // N_HEAD)
        probs = F.softmax(scores.masked_fill(self.mask[:t, :t], float("-inf")), dim=-1)
        x = x + self.attn_proj((probs @ v).transpose(1, 2).reshape(b, t, c))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, n_vocab):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(n_vocab, N_EMBD), nn.Embedding(N_CTX, N_EMBD)
        self.blocks = nn.ModuleList(Block() for _ in range(N_LAYER))
        self.ln_f = nn.LayerNorm(N_EMBD)
        for name, p in self.named_parameters():
            if p.dim() >= 2:
                nn.init.normal_(p, std=0.02 / (math.sqrt(2 * N_LAYER) if "proj" in name else 1))
            elif "bias" in name:
                nn.init.zeros_(p)

    def forward(self, ids, targets):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.ln_f(x) @ self.wte.weight.t()
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    torch.set_num_threads(int(sys.argv[2]))
    n_iters = int(sys.argv[3])
    torch.manual_seed(1)
    kinds = sorted(set(text))
    ids = torch.tensor([kinds.index(c) for c in text])
    train, val = ids[:int(0.9 * len(ids))], ids[int(0.9 * len(ids)):]
    model = Model(len(kinds))
    params = list(model.parameters())
    optimizer = torch.optim.AdamW(
        [{"params": [p for p in params if p.dim() >= 2], "weight_decay": 0.1},
         {"params": [p for p in params if p.dim() < 2], "weight_decay": 0}],
        lr=1e-3, betas=(0.9, 0.99))
    begin = time.time()
    for i in range(n_iters):
        share = max(0, i - 100) / (N_ITERS - 100)
        rate = 1e-3 * (i + 1) / 101 if i < 100 else 1e-4 + 9e-4 * 0.5 * (1 + math.cos(math.pi * share))
        for group in optimizer.param_groups:
            group["lr"] = rate
        starts = torch.randint(len(train) - N_CTX, (N_BATCH,))
        x = torch.stack([train[s:s + N_CTX] for s in starts])
        y = torch.stack([train[s + 1:s + 1 + N_CTX] for s in starts])
        loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
    print("%.1f tokens/s" % (n_iters * N_BATCH * N_CTX / (time.time() - begin)))
    if "--loss" in sys.argv:
        n = (len(val) - 1) // N_CTX
        with torch.no_grad():
            losses = [model(val[i * N_CTX:(i + 1) * N_CTX][None],
                            val[i * N_CTX + 1:(i + 1) * N_CTX + 1][None]).item() for i in range(n)]
        print("held back %.4f" % (sum(losses) / n))


main()
