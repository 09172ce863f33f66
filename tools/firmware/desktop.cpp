// The demo on a desktop, for comparison: what it prints, a board has to print. Usage: demo [ISA]
#include <cstdio>

#include "demo.h"
#include "minigpt/compute.h"

extern "C" const unsigned char demo_model[];
extern "C" const size_t demo_model_bytes;

void minigpt::print(const char* text) {
    fputs(text, stdout);
}

int main(int argc, char** argv) {
    alignas(64) static unsigned char memory[1 << 20];
    size_t needed;
    minigpt::Place place = {demo_model, demo_model_bytes, memory, sizeof memory,
                            argc > 1 ? argv[1] : minigpt::bit_exact_isa()};
    return minigpt::run_demo(place, &needed) ? 0 : 1;
}
