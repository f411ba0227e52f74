//go:build linux

package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// makeProgram puts the static program that is launched into dir, and says what
// it is. A C program is the fairer yardstick, for its start costs what the start
// of a small real program costs; where it cannot be built, one that only exits
// makes every ratio look worse than it is for anything real.
func makeProgram(dir string) (path, what string, err error) {
	path, source := filepath.Join(dir, "true"), filepath.Join(dir, "true.c")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o644); err != nil {
		return "", "", err
	}
	if exec.Command("cc", "-O2", "-static", "-o", path, source).Run() == nil {
		return path, "a static C program", nil
	}
	return path, "a program of one system call (no C compiler that links statically was found)", os.WriteFile(path, exitZero(), 0o755)
}

// exitZero returns the smallest static program that exits with status 0, so
// that what is timed is the launch and not a C library's start.
func exitZero() []byte {
	var machine elf.Machine
	var code []byte
	switch runtime.GOARCH {
	case "amd64":
		machine = elf.EM_X86_64
		code = []byte{
			0x31, 0xff, // xor edi, edi
			0xb8, 0x3c, 0x00, 0x00, 0x00, // mov eax, 60 (exit)
			0x0f, 0x05, // syscall
		}
	case "arm64":
		machine = elf.EM_AARCH64
		code = []byte{
			0x00, 0x00, 0x80, 0xd2, // mov x0, #0
			0xa8, 0x0b, 0x80, 0xd2, // mov x8, #93 (exit)
			0x01, 0x00, 0x00, 0xd4, // svc #0
		}
	}
	const base, headers = 0x400000, 64 + 56
	var b bytes.Buffer
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Entry: base + headers, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS64)
	header.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	header.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	size := uint64(headers + len(code))
	segment := elf.Prog64{
		Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X),
		Vaddr: base, Paddr: base, Filesz: size, Memsz: size, Align: 0x1000,
	}
	binary.Write(&b, binary.LittleEndian, &header)
	binary.Write(&b, binary.LittleEndian, &segment)
	b.Write(code)
	return b.Bytes()
}
