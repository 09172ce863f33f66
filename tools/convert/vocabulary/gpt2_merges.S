// GPT-2's merges, models/gpt2-merges.txt, whole: the vocabulary of a checkpoint that lies without
// one. Assembled from the top of the repo.
#if defined(__APPLE__)
#define SYMBOL(name) _##name
    .const_data
#else
#define SYMBOL(name) name
    .section .rodata
#endif
    .globl SYMBOL(minigpt_gpt2_merges)
SYMBOL(minigpt_gpt2_merges):
    .incbin "models/gpt2-merges.txt"
    .globl SYMBOL(minigpt_gpt2_merges_end)
SYMBOL(minigpt_gpt2_merges_end):
    .byte 0

#if !defined(__APPLE__)
    .section .note.GNU-stack, "", %progbits
#endif
