# make help lists the targets.
#
# The plain native build is in build/. Every other build (another compiler, a sanitizer) is in
# build/<name>/, so builds never mix. CXXFLAGS and LDFLAGS are left to the user.

CXX      ?= g++
ifeq ($(origin CXX),default)
CXX      := g++
endif
AR       ?= ar
CXXFLAGS ?= $(if $(SIZE),-Os,-O2) -g
PREFIX   ?= /usr/local
# Run only the tests whose names match, such as T='kernels*'.
T        ?=
# scalar: build only the scalar kernels.
ISA      ?=
# f16,q8: support only f32 and these types. q4 models need q8, too.
WEIGHTS  ?=
# THREADS=0: no threads at all. MMAP=0: files are read, not mapped. FILES=0: no files.
THREADS  ?= 1
MMAP     ?= 1
FILES    ?= 1
# 1: optimized for size.
SIZE     ?=
# 1: a warning is an error.
WERROR   ?=
# The models of make bench: distil 124M 355M 774M 1558M; f32 f16 bf16 q8 q4.
SIZES    ?= 124M
TYPES    ?= f32 f16 q8 q4
# The command that runs programs for another CPU, such as 'qemu-aarch64 -L /usr/aarch64-linux-gnu'.
EMULATOR ?=

comma   := ,
TRIPLE  := $(patsubst %-g++,%,$(filter %-g++,$(notdir $(CXX))))
# The features that this build leaves out.
WITHOUT := $(if $(filter 0,$(THREADS)),threads) $(if $(filter 0,$(MMAP)),mmap) $(if $(filter 0,$(FILES)),files)
# The library's objects are in BUILD. Tests and programs do not depend on ISA and WEIGHTS, so their
# objects are in OBJ: builds that differ only in these share them.
COMPILER := $(if $(TRIPLE),$(TRIPLE),$(filter-out g++,$(notdir $(CXX))))
HOW      := $(patsubst %,no-%,$(WITHOUT)) $(if $(SIZE),size) $(subst $(comma),-,$(SANITIZE))
folder    = build$(patsubst %,/%,$(subst $() ,-,$(strip $(1))))
BUILD    := $(call folder,$(or $(NAME),$(COMPILER) $(ISA) $(subst $(comma),-,$(WEIGHTS)) $(HOW)))
OBJ      := $(call folder,$(or $(NAME),$(COMPILER) $(HOW)))/obj
ifneq ($(TRIPLE),)
AR      := $(TRIPLE)-ar
endif
MACHINE := $(shell $(CXX) -dumpmachine)

# On 32-bit ARM, -Wno-psabi turns off GCC's notes about its ABI of version 7.
WARN   := -Wall -Wextra -Wshadow -Wpointer-arith $(if $(filter arm%,$(TRIPLE)),-Wno-psabi) $(if $(WERROR),-Werror)
# A multiply and an add are fused only where the source says fma. CXXFLAGS come later;
# strict_math.h refuses flags that change floating point.
COMMON := -std=c++17 $(WARN) -ffp-contract=off -include src/base/strict_math.h -MMD -MP \
          -D_FILE_OFFSET_BITS=64 $(patsubst %,-DMINIGPT_NO_%,$(WITHOUT)) \
          $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
LIBFLAGS   := $(COMMON) $(if $(ISA),-DMINIGPT_ISA_$(ISA)) \
              $(if $(WEIGHTS),-DMINIGPT_WEIGHTS=weights::$(subst $(comma),+weights::,$(WEIGHTS))) -Isrc -Iinclude -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections
# Without errno a square root is one instruction, in loops, too.
TOOLFLAGS  := $(COMMON) -Iinclude -Itools -fno-math-errno
TESTFLAGS  := $(COMMON) -Iinclude -Isrc -Itools -I. -Wno-shadow
# With -O1 and without symbols, tests compile in half the time.
TESTLAST   := -O1 -g0
# doctest is a system header. A compiler for another CPU gets only this one of the system's headers.
ifneq ($(TRIPLE),)
TESTFLAGS  += -isystem $(OBJ)/system
$(shell mkdir -p $(OBJ)/system; ln -sfn /usr/include/doctest $(OBJ)/system/doctest)
endif
LINK       := $(if $(filter threads,$(WITHOUT)),,-pthread) -Wl,--gc-sections $(if $(SANITIZE),-fsanitize=$(SANITIZE))
# ARM before version 7 has no 64-bit atomics; the compiler's library has them.
LINK       += $(if $(filter arm-linux-gnueabi,$(TRIPLE)),-latomic)
# Measuring needs a clock, and only systems with files have one.
LEFT_OUT := $(if $(filter threads,$(WITHOUT)),src/base/thread_pool.cpp,src/base/thread_pool_none.cpp) \
            $(if $(filter files,$(WITHOUT)),src/base/file.cpp src/base/pages.cpp src/ops/machine_limits.cpp,src/base/file_none.cpp)
LIB_SRC  := $(filter-out $(LEFT_OUT),$(wildcard src/*/*.cpp src/*/*/*.cpp))
LIB_OBJ  := $(patsubst %.cpp,$(BUILD)/obj/%.o,$(LIB_SRC))
LIB      := $(BUILD)/libminigpt.a
MODEL    := models/shakespeare.mgpt
obj       = $(patsubst %,$(OBJ)/%.o,$(basename $(1)))
sources   = $(wildcard $(foreach folder,$(1),$(addprefix $(folder)/,*.cpp */*.cpp */*/*.cpp)))
tool_obj  = $(call obj,$(call sources,tools/$(1)))
# Programs read files.
PROGRAMS := $(if $(filter files,$(WITHOUT)),,gpt2 convert train lesson bench)
# Code that programs share: common/ for all of them, networks/ for train and lesson.
SHARED   := $(OBJ)/tools/common.a
NETWORKS := $(OBJ)/tools/networks.a
# Data files of the repository, linked in unchanged.
GPT2_DATA    := $(call obj,tools/gpt2/bundled_model.S)
CONVERT_DATA := $(call obj,tools/convert/vocabulary/gpt2_merges.S)
# The tests are linked with the programs' sources, too, except their main.
TESTED   := $(filter-out %/main.o,$(foreach tool,gpt2 convert train lesson,$(call tool_obj,$(tool))))
LIB_TESTS  := $(call obj,$(wildcard tests/*.cpp) $(call sources,tests/base tests/kernels tests/ops tests/model tests/text))
TOOL_TESTS := $(call obj,$(call sources,tests/tools))

Q := $(if $(V),,@)
say = $(if $(V),,@echo '  $(1)  $(patsubst $(BUILD)/%,%,$@)')

all: $(LIB) $(addprefix $(BUILD)/,$(PROGRAMS))  ## the library and the programs; without files the library alone

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
$(BUILD)/bench: $(call obj,$(wildcard tools/bench/*.cpp)) $(SHARED) $(LIB)
$(BUILD)/tests/library: $(LIB_TESTS) $(LIB)
$(BUILD)/tests/run: $(LIB_TESTS) $(TOOL_TESTS) $(TESTED) $(GPT2_DATA) $(CONVERT_DATA) $(NETWORKS) $(SHARED) $(LIB)
$(addprefix $(BUILD)/,gpt2 convert train lesson bench tests/library tests/run):
	$(call say,LD )
	$(Q)mkdir -p $(@D) && $(CXX) $(CXXFLAGS) -o $@ $^ $(LINK) $(LDFLAGS)

# These files change when the compiler or a flag changes. Then objects, which depend on them, are
# rebuilt.
LIB_STAMP := $(BUILD)/obj/library-flags
OBJ_STAMP := $(OBJ)/program-flags
stamp      = $(shell mkdir -p $(dir $(1)); echo '$(2)' | cmp -s - $(1) || echo '$(2)' > $(1))
$(call stamp,$(LIB_STAMP),$(CXX) $(CXXFLAGS) $(LIBFLAGS))
$(call stamp,$(OBJ_STAMP),$(CXX) $(CXXFLAGS) $(TOOLFLAGS) $(TESTFLAGS))

# Extra flags for single files. NEON is not part of armv7's base, nor dot products of aarch64's. The
# code of these files runs only on CPUs that have them.
ARM64  := $(filter aarch64% arm64%,$(MACHINE))
ARMV7  := $(filter arm-linux-%,$(MACHINE))
# The compiler's first scheduling moves loads so early that a tile's accumulators no longer fit the
# registers.
UNSCHEDULED := $(if $(findstring clang,$(CXX)),-mllvm -enable-misched=false,-fno-schedule-insns)
NEON   := $(if $(ARMV7),-mfpu=neon-vfpv4) $(if $(filter aarch64%,$(ARM64))$(ARMV7),$(UNSCHEDULED))
# If there are faster kernels, the scalar ones serve only for comparison; -Os makes them four times
# smaller.
SCALAR := $(if $(ISA),,$(if $(filter x86_64-%,$(MACHINE))$(ARM64)$(ARMV7),$(patsubst -O2,-Os,$(filter -O2,$(CXXFLAGS)))))

$(BUILD)/obj/src/kernels/arm/kernels_neon.o:         FILEFLAGS = $(NEON)
$(BUILD)/obj/src/kernels/arm/kernels_neon_dotprod.o: FILEFLAGS = $(NEON) $(if $(ARM64),-march=armv8.2-a+dotprod)
$(BUILD)/obj/src/kernels/generic/kernels_scalar.o:   FILEFLAGS = $(SCALAR)

$(BUILD)/obj/src/%.o: src/%.cpp $(LIB_STAMP)
	$(call say,CXX)
	$(Q)mkdir -p $(@D) && $(CXX) $(LIBFLAGS) $(CXXFLAGS) $(FILEFLAGS) -c -o $@ $<
$(OBJ)/tools/%.o: tools/%.cpp $(OBJ_STAMP)
	$(call say,CXX)
	$(Q)mkdir -p $(@D) && $(CXX) $(TOOLFLAGS) $(CXXFLAGS) -c -o $@ $<
$(OBJ)/tests/%.o: tests/%.cpp $(OBJ_STAMP)
	$(call say,CXX)
	$(Q)mkdir -p $(@D) && $(CXX) $(TESTFLAGS) $(CXXFLAGS) $(TESTLAST) -c -o $@ $<
$(CONVERT_DATA): models/gpt2-merges.txt
$(OBJ)/tools/%.o: tools/%.S $(MODEL) $(OBJ_STAMP)
	$(call say,AS )
	$(Q)mkdir -p $(@D) && $(CXX) -c -o $@ $<

# Programs with strict warnings can use the library: each public header must compile alone, and the
# program in README.md unchanged.
STRICT  := -Wconversion -Wsign-conversion -Werror
HEADERS := $(patsubst include/%.h,$(OBJ)/include/%.o,$(wildcard include/minigpt/*.h))
$(OBJ)/include/%.o: include/%.h $(OBJ_STAMP)
	$(Q)mkdir -p $(@D) && echo '#include "$*.h"' | $(CXX) $(TOOLFLAGS) $(CXXFLAGS) $(STRICT) -c -o $@ -x c++ -
$(BUILD)/tests/example: README.md $(LIB) $(OBJ_STAMP)
	$(call say,CXX)
	$(Q)mkdir -p $(@D) && sed -n '/^```cpp$$/,/^```$$/p' README.md | grep -v '^```' > $@.cpp
	$(Q)$(CXX) $(TOOLFLAGS) $(CXXFLAGS) $(STRICT) -o $@ $@.cpp $(LIB) $(LINK) $(LDFLAGS)

RUN_TESTS = MINIGPT_BUILD=$(BUILD) MINIGPT_ISA=$(ISA) MINIGPT_WEIGHTS=$(WEIGHTS) $(if $(EMULATOR),MINIGPT_QUICK=1) \
            $(EMULATOR) $(BUILD)/tests/$(1) $(if $(T),-tc='$(T)')
test: all $(BUILD)/tests/run $(BUILD)/tests/example $(HEADERS)  ## build and run the tests; T='kernels*' runs some
	$(call RUN_TESTS,run)
test-library: $(BUILD)/tests/library $(BUILD)/tests/example $(HEADERS)  ## those of the library alone
	$(call RUN_TESTS,library)

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

# All sources, except the generated one.
FORMATTED = $(filter-out src/text/unicode_tables.inc,$(shell git ls-files '*.cpp' '*.h' '*.inc'))
format:  ## rewrite the sources as .clang-format says
	@clang-format -i $(FORMATTED)
check-format:  ## fail if format would change anything
	@clang-format --dry-run -Werror $(FORMATTED)
# Sources for other CPUs are left out: they need their compilers.
TIDIED = $(filter-out src/kernels/arm/%,$(filter src/%.cpp tools/common/%.cpp,$(shell git ls-files)))
lint:  ## shellcheck, and clang-tidy with the checks of .clang-tidy
	@shellcheck .ci/run $(shell git ls-files '*.sh')
	@echo $(TIDIED) | xargs -n1 | xargs -P$$(nproc) -I{} clang-tidy --quiet {} -- -std=c++17 -Isrc -Iinclude -Itools

clean:  ## remove build/
	rm -rf build

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile tools/firmware/firmware.mk | expand -t 16
	@echo "variables: CXX CXXFLAGS LDFLAGS SANITIZE=address,undefined EMULATOR T V=1 DESTDIR PREFIX"
	@echo "           ISA=scalar WEIGHTS=f16,q8 THREADS=0 MMAP=0 FILES=0 SIZE=1 WERROR=1"

.PHONY: all test test-library bench models install format check-format lint clean help
.SECONDARY:
-include $(shell find $(BUILD)/obj $(OBJ) -name '*.d' 2>/dev/null)
