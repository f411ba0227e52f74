package policyfile

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pinfold/pinfold/core"
)

func (b *builder) limits(d *document, p *core.Policy) error {
	l := &d.Limits
	for _, number := range []struct {
		key   string
		value *int64
		to    *uint64
	}{{"limits.processes", l.Processes, &p.Limits.Processes}, {"limits.open_files", l.OpenFiles, &p.Limits.OpenFiles}} {
		if number.value == nil {
			continue
		}
		if *number.value <= 0 {
			return b.wrong(number.key, "leave the key out for no limit", "a limit is at least 1, not %d", *number.value)
		}
		*number.to = uint64(*number.value)
	}
	for _, size := range []struct {
		key   string
		value any
		to    *uint64
	}{{"limits.memory", l.Memory, &p.Limits.Memory}, {"limits.file_size", l.FileSize, &p.Limits.FileSize}} {
		if size.value == nil {
			continue
		}
		n, err := parseSize(size.value)
		if err != nil {
			return b.wrong(size.key, `a size is a number of bytes, or a string like "2GiB" or "500MB"`, "%v", err)
		}
		*size.to = n
	}
	if l.CoreDumps != nil {
		p.Limits.NoCore = !*l.CoreDumps
	}
	return nil
}

var units = []struct {
	name  string
	bytes uint64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// parseSize returns the number of bytes that a size means, at least 1.
func parseSize(value any) (uint64, error) {
	switch value := value.(type) {
	case int64:
		if value <= 0 {
			return 0, fmt.Errorf("a size is at least 1 byte, not %d", value)
		}
		return uint64(value), nil
	case string:
		return parseSizeText(value)
	}
	return 0, fmt.Errorf("%v is no size", value)
}

func parseSizeText(text string) (uint64, error) {
	digits, unit := text, uint64(1)
	for _, u := range units {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			digits, unit = strings.TrimRight(number, " "), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case err != nil || digits[0] == '+':
		return 0, fmt.Errorf("%q is no size", text)
	case n == 0:
		return 0, fmt.Errorf("a size is at least 1 byte, not %q", text)
	case n > math.MaxInt64/unit:
		return 0, fmt.Errorf("%q is more than a machine can have", text)
	}
	return n * unit, nil
}
