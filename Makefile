# For OpenBench and others who expect `make EXE=name EVALFILE=network`; everybody else needs only cargo.
#
#     make                          ./tesla, with the shipped network, on the CPU
#     make EXE=a EVALFILE=net.safetensors
#     make SHOW_HIDDEN=1            tunables among the UCI options, for SPSA
#     make GPU=1                    with the GPU stack, as `cargo build --release` has it

EXE         ?= tesla
EVALFILE    ?=
GPU         ?= 0
SHOW_HIDDEN ?= 0

ifeq ($(GPU),1)
    FEATURES :=
else
    FEATURES := --no-default-features --features net
endif

ifeq ($(OS),Windows_NT)
    SUFFIX := .exe
else
    SUFFIX :=
endif

# OpenBench's worker gives the compiler that it found as CC=cargo. Build scripts look there for a
# compiler of C.
ifeq ($(notdir $(CC)),cargo)
    unexport CC
endif

export EVALFILE
export TESLA_SHOW_HIDDEN := $(SHOW_HIDDEN)

CARGO_TARGET_DIR ?= target
BUILT := $(CARGO_TARGET_DIR)/release/tesla$(SUFFIX)

.PHONY: all clean
all:
	cargo build --release --package tesla-engine $(FEATURES)
	cp $(BUILT) $(patsubst %$(SUFFIX),%,$(EXE))$(SUFFIX)

clean:
	cargo clean
