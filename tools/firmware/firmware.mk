# The library on a microcontroller: make firmware-test builds the demo for two Cortex-M boards and
# for this desktop, runs the boards under qemu-system-arm and compares what all of them print.

FIRMWARE      := build/firmware
# The type of the bundled model: f32, f16, bf16, q8 or q4.
FIRMWARE_TYPE ?= q8
# Leave out everything that needs an operating system.
BARE          := ISA=scalar THREADS=0 MMAP=0 FILES=0
BOARDS        := mps2-an500 mps3-an547
BOARD_ELF     := $(patsubst %,$(FIRMWARE)/%-$(FIRMWARE_TYPE).elf,$(BOARDS))
CPU_mps2-an500 := -mcpu=cortex-m7 -mfpu=fpv5-d16
# Do not use Armv8.1-M's low-overhead loops: qemu 7.2 stops at them with an invalid state.
CPU_mps3-an547 := -mcpu=cortex-m55+nomve -mfpu=auto -fno-branch-count-reg
board_flags    = -O2 -g -mthumb $(CPU_$(1)) -mfloat-abi=hard -D_GNU_SOURCE
DEMO          := $(BUILD)/demo-$(FIRMWARE_TYPE)
DEMO_CPU      := $(firstword $(subst -, ,$(MACHINE)))
model_for      = $(FIRMWARE)/$(1)/model-$(FIRMWARE_TYPE).o

# build/convert always runs on this machine. It makes the model and the object file for the CPU.
ifneq ($(BUILD),build)
build/convert: $(LIB_SRC) $(wildcard tools/convert/* tools/convert/*/* tools/common/*)
	$(Q)$(MAKE) CXX=g++ SANITIZE= ISA= WEIGHTS= NAME= THREADS=1 MMAP=1 FILES=1 SIZE= $@
endif
$(FIRMWARE)/model-%.mgpt: $(MODEL) build/convert
	$(Q)mkdir -p $(@D) && build/convert $(MODEL) --type $* -o $@ > /dev/null
$(FIRMWARE)/%/model-$(FIRMWARE_TYPE).o: $(FIRMWARE)/model-$(FIRMWARE_TYPE).mgpt
	$(Q)mkdir -p $(@D) && build/convert --emit obj $< --target $* --symbol demo_model -o $@ > /dev/null

# For any build: a desktop, another CPU under EMULATOR.
$(DEMO): $(addprefix tools/firmware/,desktop.cpp demo.cpp demo.h) $(call model_for,$(DEMO_CPU)) \
         $(BUILD)/libminigpt.a
	$(call say,LD )
	$(Q)$(CXX) $(filter-out -MMD -MP,$(TOOLFLAGS)) $(CXXFLAGS) -o $@ $(filter %.cpp %.o %.a,$^) $(LINK) $(LDFLAGS)
demo: $(DEMO)
	@$(EMULATOR) $(DEMO) $(DEMO_ISA)

# This Makefile builds the library for a board.
$(FIRMWARE)/%-$(FIRMWARE_TYPE).elf: tools/firmware/%.ld $(addprefix tools/firmware/,sections.ld board.cpp \
        demo.cpp demo.h firmware.mk) $(call model_for,arm) \
        $(wildcard src/*/*.* src/*/*/*.* include/minigpt/*)
	$(Q)$(MAKE) CXX=arm-none-eabi-g++ NAME=firmware/$* $(BARE) SANITIZE= WEIGHTS= CXXFLAGS='$(call board_flags,$*)' \
	    $(FIRMWARE)/$*/libminigpt.a
	$(call say,LD )
	$(Q)arm-none-eabi-g++ -std=c++17 $(WARN) -ffp-contract=off -Iinclude -fno-exceptions -fno-rtti \
	    -ffunction-sections $(call board_flags,$*) -nostartfiles -T $< \
	    -Wl,--gc-sections,--no-warn-execstack,-Map=$@.map -o $@ $(filter-out src/%,$(filter %.cpp %.o,$^)) $(FIRMWARE)/$*/libminigpt.a

firmware: $(BOARD_ELF)  ## the demo for two Cortex-M boards; FIRMWARE_TYPE=f32|f16|bf16|q8|q4

firmware-test: firmware $(DEMO)  ## run it under qemu-system-arm, compare with this desktop
	@$(EMULATOR) $(DEMO) | tee $(DEMO).out
	@sh tools/firmware/run.sh $(DEMO).out $(BOARD_ELF)

sizes:  ## how large the library is in a program, for some builds of it, into its README
	@sh tools/firmware/sizes.sh

digests:  ## the bundled model's digest and text, for every element type on every target, into its README
	@sh tools/firmware/digests.sh

.PHONY: demo firmware firmware-test sizes digests
