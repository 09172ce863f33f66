// The model that gpt2 runs when no -m names one: models/shakespeare.mgpt, whole. Weights are read
// in place, hence the alignment. Assembled from the top of the repo.
#if defined(__APPLE__)
#define SYMBOL(name) _##name
    .const_data
#else
#define SYMBOL(name) name
    .section .rodata
#endif
    .balign 64
    .globl SYMBOL(minigpt_bundled_model)
SYMBOL(minigpt_bundled_model):
    .incbin "models/shakespeare.mgpt"
    .globl SYMBOL(minigpt_bundled_model_end)
SYMBOL(minigpt_bundled_model_end):
    .byte 0

#if !defined(__APPLE__)
    .section .note.GNU-stack, "", %progbits
#endif
