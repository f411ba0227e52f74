package seccomp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Programs of one call each, made by hand so that the test needs no compiler:
// an ELF header, one segment, and code that makes the call and exits with the
// errno, or 0.

const imageBase = 0x400000

// elf64 is a static executable of this code.
func elf64(code []byte) []byte {
	const headers = 64 + 56
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	le := func(v any) { binary.Write(&b, binary.LittleEndian, v) }
	le([]uint16{2, 62}) // ET_EXEC, EM_X86_64
	le(uint32(1))
	le([]uint64{imageBase + headers, 64, 0}) // entry, program headers, sections
	le(uint32(0))
	le([]uint16{64, 56, 1, 0, 0, 0})
	le([]uint32{1, 5}) // PT_LOAD, read and execute
	size := uint64(headers + len(code))
	le([]uint64{0, imageBase, imageBase, size, size, 4096})
	b.Write(code)
	return b.Bytes()
}

// elf32 is a static i386 executable of this code.
func elf32(code []byte) []byte {
	const headers = 52 + 32
	var b bytes.Buffer
	b.WriteString("\x7fELF\x01\x01\x01" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	le := func(v any) { binary.Write(&b, binary.LittleEndian, v) }
	le([]uint16{2, 3}) // ET_EXEC, EM_386
	le([]uint32{1, imageBase + headers, 52, 0, 0})
	le([]uint16{52, 32, 1, 0, 0, 0})
	size := uint32(headers + len(code))
	le([]uint32{1, 0, imageBase, imageBase, size, size, 5, 4096})
	b.Write(code)
	return b.Bytes()
}

func movEAX(v uint32) []byte { return binary.LittleEndian.AppendUint32([]byte{0xb8}, v) }

var (
	int80     = []byte{0xcd, 0x80}
	syscall64 = []byte{0x0f, 0x05}
	// If eax is negative, its opposite is the status, else 0:
	// mov edi,eax; neg edi; test eax,eax; js +2; xor edi,edi;
	// mov eax,SYS_exit_group; syscall
	exitWithErrno = []byte{0x89, 0xc7, 0xf7, 0xdf, 0x85, 0xc0, 0x78, 0x02, 0x31, 0xff, 0xb8, 231, 0, 0, 0, 0x0f, 0x05}
)

// programOf makes a call with up to three small arguments and exits.
func programOf(number uint32, instruction []byte, a, b, c uint32) []byte {
	var code []byte
	arg := func(opcodes []byte, v uint32) {
		for _, op := range opcodes { // mov r32, imm32
			code = binary.LittleEndian.AppendUint32(append(code, op), v)
		}
	}
	arg([]byte{0xbb, 0xbf}, a) // ebx for int 0x80, edi for syscall
	arg([]byte{0xb9, 0xbe}, b) // ecx, esi
	arg([]byte{0xba}, c)       // edx both
	code = append(code, movEAX(number)...)
	code = append(code, instruction...)
	return elf64(append(code, exitWithErrno...))
}

func init() {
	tasks["run"] = func(paths []string) results {
		r := make(results)
		for _, path := range paths {
			err := exec.Command(path).Run()
			var exit *exec.ExitError
			switch {
			case errors.As(err, &exit) && exit.Exited():
				r[filepath.Base(path)] = result(syscall.Errno(exit.ExitCode()))
			case errors.As(err, &exit):
				r[filepath.Base(path)] = exit.String()
			default:
				r[filepath.Base(path)] = result(err)
			}
		}
		return r
	}
}

// Numbers of i386, from arch/x86/entry/syscalls/syscall_32.tbl.
const (
	i386Getpid = 20
	i386Ptrace = 26
	i386Socket = 359
)

// TestForeignCalls: calls by int 0x80 and with the x32 bit don't pass, in a
// 64-bit program and, for the former, in a 32-bit one.
func TestForeignCalls(t *testing.T) {
	dir := t.TempDir()
	// mov ebx,42; mov eax,1 (exit); int 0x80; ud2
	exit42 := append(append([]byte{0xbb, 42, 0, 0, 0}, movEAX(1)...), 0xcd, 0x80, 0x0f, 0x0b)
	var paths []string
	for name, image := range map[string][]byte{
		"getpid":       programOf(unix.SYS_GETPID, syscall64, 0, 0, 0),
		"socket":       programOf(unix.SYS_SOCKET, syscall64, unix.AF_INET, unix.SOCK_DGRAM, 0),
		"int80 getpid": programOf(i386Getpid, int80, 0, 0, 0),
		"int80 socket": programOf(i386Socket, int80, unix.AF_INET, unix.SOCK_DGRAM, 0),
		"int80 unix":   programOf(i386Socket, int80, unix.AF_UNIX, unix.SOCK_STREAM, 0),
		"int80 ptrace": programOf(i386Ptrace, int80, unix.PTRACE_PEEKDATA, 1<<30, 0),
		"x32 getpid":   programOf(1<<30|unix.SYS_GETPID, syscall64, 0, 0, 0),
		"x32 socket":   programOf(1<<30|unix.SYS_SOCKET, syscall64, unix.AF_INET, unix.SOCK_DGRAM, 0),
		"x32 ptrace":   programOf(1<<30|521, syscall64, unix.PTRACE_PEEKDATA, 1<<30, 0),
		"newer call":   programOf(newestCall+1, syscall64, 0, 0, 0),
		"32-bit exit":  elf32(exit42),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, image, 0o700); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	control, confined := bothWays(t, Options{}, "run", paths...)
	want := results{"getpid": "ok", "socket": "EACCES"}
	for name, got := range confined {
		t.Run(name, func(t *testing.T) {
			t.Logf("without the filter %s", control[name])
			expect := want[name]
			if name == "32-bit exit" {
				// Even exit(2) fails, and the program runs on into a trap.
				if !strings.HasPrefix(got, "signal: illegal instruction") {
					t.Errorf("the program ended with %s", got)
				}
				return
			}
			if expect == "" {
				expect = "ENOSYS"
			}
			if got != expect {
				t.Errorf("%s, want %s", got, expect)
			}
			if got == control[name] && expect != "ok" {
				t.Skipf("proves nothing here: %s without the filter, too", got)
			}
		})
	}
}
