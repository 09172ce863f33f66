# make help lists what there is to make.
#
# The plain native build lies in build/; every other one (another compiler, a sanitizer) in
# build/<name>/, so builds never mix. CXXFLAGS and LDFLAGS are left to the user.

CXX      ?= g++
ifeq ($(origin CXX),default)
CXX      := g++
endif
AR       ?= ar
CXXFLAGS ?= $(if $(SIZE),-Os,-O2) -g
PREFIX   ?= /usr/local
# Only the tests whose names match, such as T='kernels*'.
T        ?=
# scalar: a library that has no other kernels.
ISA      ?=
# f16,q8: a library that computes with f32 and these types alone. Models of q4 have q8, too.
WEIGHTS  ?=
# THREADS=0: no threads at all. MMAP=0: files are read, not mapped. FILES=0: no files.
THREADS  ?= 1
MMAP     ?= 1
FILES    ?= 1
# 1: optimized for size.
SIZE     ?=
# The models of make bench: distil 124M 355M 774M 1558M; f32 f16 bf16 q8 q4.
SIZES    ?= 124M
TYPES    ?= f32 f16 q8 q4
# What runs a program of another CPU, such as 'qemu-aarch64 -L /usr/aarch64-linux-gnu'.
EMULATOR ?=

comma   := ,
TRIPLE  := $(patsubst %-g++,%,$(filter %-g++,$(notdir $(CXX))))
# What this build is without.
WITHOUT := $(if $(filter 0,$(THREADS)),threads) $(if $(filter 0,$(MMAP)),mmap) $(if $(filter 0,$(FILES)),files)
VARIANT := $(or $(NAME),$(subst $() ,-,$(strip $(if $(TRIPLE),$(TRIPLE),$(filter-out g++,$(notdir $(CXX)))) \
             $(ISA) $(subst $(comma),-,$(WEIGHTS)) $(patsubst %,no-%,$(WITHOUT)) $(if $(SIZE),size) $(subst $(comma),-,$(SANITIZE)))))
BUILD   := build$(if $(VARIANT),/$(VARIANT))
ifneq ($(TRIPLE),)
AR      := $(TRIPLE)-ar
endif
MACHINE := $(shell $(CXX) -dumpmachine)

# On 32-bit ARM without GCC's notes about its ABI of version 7.
WARN   := -Wall -Wextra -Wshadow -Wpointer-arith $(if $(filter arm%,$(TRIPLE)),-Wno-psabi)
# A multiply and an add fuse where the source says fma and nowhere else.
COMMON := -std=c++17 $(WARN) -ffp-contract=off -fno-fast-math -MMD -MP $(if $(ISA),-DMINIGPT_ISA_$(ISA)) \
          $(if $(WEIGHTS),-DMINIGPT_WEIGHTS=weights::$(subst $(comma),+weights::,$(WEIGHTS))) \
          -D_FILE_OFFSET_BITS=64 $(patsubst %,-DMINIGPT_NO_%,$(WITHOUT)) \
          $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
LIBFLAGS   := $(COMMON) -Isrc -Iinclude -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections
# No errno: then a square root is an instruction, in loops too.
TOOLFLAGS  := $(COMMON) -Iinclude -Itools -fno-math-errno
# Tests take half the time to compile at -O1 and without symbols.
TESTFLAGS  := $(COMMON) -Iinclude -Isrc -Itools -I. -Wno-shadow
# doctest comes with the system; another CPU's compiler is shown it alone.
ifneq ($(TRIPLE),)
TESTFLAGS  += -isystem $(BUILD)/system
$(shell mkdir -p $(BUILD)/system; ln -sfn /usr/include/doctest $(BUILD)/system/doctest)
endif
LINK       := $(if $(filter threads,$(WITHOUT)),,-pthread) -Wl,--gc-sections $(if $(SANITIZE),-fsanitize=$(SANITIZE))
# ARM before version 7 has no 64-bit atomic numbers of its own; the compiler's library has.
LINK       += $(if $(filter arm-linux-gnueabi,$(TRIPLE)),-latomic)
# Measuring needs a clock, which comes with a system that has files, too.
LEFT_OUT := $(if $(filter threads,$(WITHOUT)),src/base/thread_pool.cpp,src/base/thread_pool_none.cpp) \
            $(if $(filter files,$(WITHOUT)),src/base/file.cpp src/base/pages.cpp src/ops/limits.cpp,src/base/file_none.cpp)
LIB_SRC  := $(filter-out $(LEFT_OUT),$(wildcard src/*/*.cpp src/*/*/*.cpp))
TEST_SRC := $(wildcard tests/*.cpp tests/*/*.cpp tests/*/*/*.cpp tests/*/*/*/*.cpp)
PROGRAMS := $(addprefix $(BUILD)/,gpt2 convert train lesson bench)
obj       = $(patsubst %,$(BUILD)/obj/%.o,$(basename $(1)))
tool_obj  = $(call obj,$(filter-out tools/bench/peers/%,$(wildcard tools/$(1)/*.cpp tools/$(1)/*/*.cpp)))
LIB      := $(BUILD)/libminigpt.a
LIB_OBJ  := $(call obj,$(LIB_SRC))
MODEL    := models/shakespeare.mgpt
# What programs share: how all of them speak; what train and lesson train.
SHARED   := $(BUILD)/obj/tools/common.a
NETWORKS := $(BUILD)/obj/tools/networks.a
# Data as it lies in the repository, linked in.
GPT2_DATA    := $(call obj,tools/gpt2/bundled_model.S)
CONVERT_DATA := $(call obj,tools/convert/vocabulary/gpt2_merges.S)
# The tests have the programs' sources, too, without their main.
TESTED   := $(filter-out %/main.o,$(foreach tool,gpt2 convert train lesson,$(call tool_obj,$(tool))))

Q := $(if $(V),,@)
say = $(if $(V),,@echo '  $(1)  $(patsubst $(BUILD)/%,%,$@)')

all: $(LIB) $(PROGRAMS)  ## the library and the programs

$(LIB): $(LIB_OBJ)
$(SHARED): $(call tool_obj,common)
$(NETWORKS): $(call tool_obj,networks)
$(LIB) $(SHARED) $(NETWORKS):
	$(call say,AR )
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/gpt2: $(call tool_obj,gpt2) $(GPT2_DATA) $(SHARED) $(LIB)
$(BUILD)/convert: $(call tool_obj,convert) $(CONVERT_DATA) $(SHARED) $(LIB)
$(BUILD)/train: $(call tool_obj,train) $(NETWORKS) $(SHARED) $(LIB)
$(BUILD)/lesson: $(call tool_obj,lesson) $(GPT2_DATA) $(NETWORKS) $(SHARED) $(LIB)
$(BUILD)/bench: $(call tool_obj,bench) $(SHARED) $(LIB)
$(BUILD)/tests/run: $(call obj,$(TEST_SRC)) $(TESTED) $(GPT2_DATA) $(CONVERT_DATA) $(NETWORKS) $(SHARED) $(LIB)
$(PROGRAMS) $(BUILD)/tests/run:
	$(call say,LD )
	$(Q)mkdir -p $(@D) && $(CXX) $(CXXFLAGS) -o $@ $^ $(LINK) $(LDFLAGS)

# Objects are made again when the compiler or a flag changes.
STAMP := $(BUILD)/obj/flags
$(shell mkdir -p $(BUILD)/obj; echo '$(CXX) $(CXXFLAGS) $(LIBFLAGS) $(TOOLFLAGS)' | cmp -s - $(STAMP) || \
        echo '$(CXX) $(CXXFLAGS) $(LIBFLAGS) $(TOOLFLAGS)' > $(STAMP))

# What single files are compiled with besides. armv7's NEON is no part of its base, nor are dot
# products of aarch64's; the code of these files runs only where the CPU has them.
ARM64  := $(filter aarch64% arm64%,$(MACHINE))
ARMV7  := $(filter arm-linux-%,$(MACHINE))
# The first scheduling moves loads so far up that accumulators of a tile leave their registers.
UNSCHEDULED := $(if $(findstring clang,$(CXX)),-mllvm -enable-misched=false,-fno-schedule-insns)
NEON   := $(if $(ARMV7),-mfpu=neon-vfpv4) $(if $(filter aarch64%,$(ARM64))$(ARMV7),$(UNSCHEDULED))
# Beside faster kernels the scalar ones are there to compare with: a quarter of the code at -Os.
SCALAR := $(if $(ISA),,$(if $(filter x86_64-%,$(MACHINE))$(ARM64)$(ARMV7),$(patsubst -O2,-Os,$(filter -O2,$(CXXFLAGS)))))

$(BUILD)/obj/src/kernels/arm/kernels_neon.o:         FILEFLAGS = $(NEON)
$(BUILD)/obj/src/kernels/arm/kernels_neon_dotprod.o: FILEFLAGS = $(NEON) $(if $(ARM64),-march=armv8.2-a+dotprod)
$(BUILD)/obj/src/kernels/generic/kernels_scalar.o:   FILEFLAGS = $(SCALAR)

$(BUILD)/obj/src/%.o: src/%.cpp $(STAMP)
	$(call say,CXX)
	$(Q)mkdir -p $(@D) && $(CXX) $(LIBFLAGS) $(CXXFLAGS) $(FILEFLAGS) -c -o $@ $<
$(BUILD)/obj/tools/%.o: tools/%.cpp $(STAMP)
	$(call say,CXX)
	$(Q)mkdir -p $(@D) && $(CXX) $(TOOLFLAGS) $(CXXFLAGS) -c -o $@ $<
$(BUILD)/obj/tests/%.o: tests/%.cpp $(STAMP)
	$(call say,CXX)
	$(Q)mkdir -p $(@D) && $(CXX) $(TESTFLAGS) $(CXXFLAGS) -O1 -g0 -c -o $@ $<
$(CONVERT_DATA): models/gpt2-merges.txt
$(BUILD)/obj/tools/%.o: tools/%.S $(MODEL) $(STAMP)
	$(call say,AS )
	$(Q)mkdir -p $(@D) && $(CXX) -c -o $@ $<

# Each public header compiles alone.
HEADERS := $(patsubst include/%.h,$(BUILD)/obj/include/%.o,$(wildcard include/minigpt/*.h))
$(BUILD)/obj/include/%.o: include/%.h $(STAMP)
	$(Q)mkdir -p $(@D) && echo '#include "$*.h"' | $(CXX) $(TOOLFLAGS) $(CXXFLAGS) -c -o $@ -x c++ -

# The program in README.md is compiled as it stands there.
$(BUILD)/tests/example: README.md $(BUILD)/libminigpt.a
	$(call say,CXX)
	$(Q)mkdir -p $(@D) && sed -n '/^```cpp$$/,/^```$$/p' README.md | grep -v '^```' > $@.cpp
	$(Q)$(CXX) $(TOOLFLAGS) $(CXXFLAGS) -o $@ $@.cpp $(BUILD)/libminigpt.a $(LINK) $(LDFLAGS)

test: all $(BUILD)/tests/run $(BUILD)/tests/example $(HEADERS)  ## build and run the tests; T='kernels*' runs some
	MINIGPT_BUILD=$(BUILD) $(if $(EMULATOR),MINIGPT_QUICK=1) $(EMULATOR) $(BUILD)/tests/run $(if $(T),-tc='$(T)')

bench: all  ## speed on models of random weights, and of each op; SIZES='124M 355M' TYPES='f32 q8'
	@MINIGPT_BUILD=$(BUILD) SIZES='$(SIZES)' TYPES='$(TYPES)' sh tools/bench/run.sh

include tools/firmware/firmware.mk

models: $(BUILD)/train  ## train the models in models/ again and compare; SHAKESPEARE=path of its text
	@MINIGPT_BUILD=$(BUILD) sh tools/train/models.sh $(SHAKESPEARE)

install: all  ## into $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include/minigpt
	install -m 755 $(BUILD)/gpt2 $(DESTDIR)$(PREFIX)/bin/gpt2
	install -m 755 $(BUILD)/convert $(DESTDIR)$(PREFIX)/bin/minigpt-convert
	install -m 644 $(BUILD)/libminigpt.a $(DESTDIR)$(PREFIX)/lib
	install -m 644 include/minigpt/*.h $(DESTDIR)$(PREFIX)/include/minigpt

# All but what a script has written.
FORMATTED = $(filter-out src/text/unicode_tables.inc,$(shell git ls-files '*.cpp' '*.h' '*.inc'))
format:  ## rewrite the sources as .clang-format says
	@clang-format -i $(FORMATTED)
check-format:  ## fail if format would change anything
	@clang-format --dry-run -Werror $(FORMATTED)

clean:  ## remove build/
	rm -rf build

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile tools/firmware/firmware.mk | expand -t 16
	@echo "variables: CXX CXXFLAGS LDFLAGS SANITIZE=address,undefined EMULATOR T V=1 DESTDIR PREFIX"
	@echo "           ISA=scalar WEIGHTS=f16,q8 THREADS=0 MMAP=0 FILES=0 SIZE=1"

.PHONY: all test bench models install format check-format clean help
.SECONDARY:
-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
