package policyfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/pinfold/pinfold/core"
)

// MaxSize is the largest policy file in bytes that is read.
const MaxSize = 1 << 20

// Load reads the policy file at path for a workspace. Rules of the policy have
// "path:line" as their origin. The policy is not settled.
//
// The error is an *Error, or says why the file cannot be read.
func Load(path, workspace string) (core.Policy, error) {
	file, err := os.Open(path)
	if err != nil {
		return core.Policy{}, fmt.Errorf("the policy file cannot be read: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return core.Policy{}, fmt.Errorf("the policy file cannot be read: %w", err)
	}
	if info.IsDir() {
		return core.Policy{}, &Error{File: path, Detail: "it is a directory, not a policy file"}
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(&limited{file, MaxSize}); err != nil {
		if errors.Is(err, errTooLong) {
			return core.Policy{}, &Error{File: path, Detail: err.Error()}
		}
		return core.Policy{}, fmt.Errorf("the policy file cannot be read: %w", err)
	}
	return Parse(path, text.Bytes(), workspace)
}

// limited reads a file up to a size, and fails beyond it: a policy that is cut off
// would be another policy.
type limited struct {
	file *os.File
	left int
}

var errTooLong = fmt.Errorf("it is longer than %d bytes, which no policy is", MaxSize)

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.file.Read(p)
	if l.left -= n; l.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// Parse reads a policy from text, the content of the file called name; see [Load].
func Parse(name string, text []byte, workspace string) (core.Policy, error) {
	var d document
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&d); err != nil {
		return core.Policy{}, syntaxError(name, err)
	}
	b := builder{file: name, lines: linesOf(text)}
	p, err := b.build(&d, workspace)
	if err != nil {
		return core.Policy{}, err
	}
	p.Name = name
	return p, nil
}

// syntaxError says of a file that is no TOML, or has keys or types that are not
// known, where and why.
func syntaxError(name string, err error) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		first := unknown.Errors[0]
		line, column := first.Position()
		detail, remedy := unknownKey(first.Key())
		return &Error{File: name, Line: line, Column: column, Detail: detail, Remedy: remedy}
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, column := wrong.Position()
		detail := plainType(strings.TrimPrefix(wrong.Error(), "toml: "))
		if key := strings.Join(wrong.Key(), "."); key != "" && !strings.Contains(detail, key) {
			detail = key + ": " + detail
		}
		return &Error{File: name, Line: line, Column: column, Detail: printableText(detail)}
	}
	return &Error{File: name, Detail: printableText(strings.TrimPrefix(err.Error(), "toml: "))}
}

// wrongType is what the decoder says of a value of another type than the key's. It
// ends in Go's name of the type.
var wrongType = regexp.MustCompile(`^cannot decode TOML (\S+) into (?:.* of type )?(.+)$`)

// plainType says the same to a person who does not know Go.
func plainType(detail string) string {
	match := wrongType.FindStringSubmatch(detail)
	if match == nil {
		return detail
	}
	wanted, ok := map[string]string{
		"string": "a string", "[]string": "an array of strings", "int64": "a whole number", "[]int64": "an array of whole numbers",
		"bool": "true or false", "map[string]string": "a table of strings",
	}[match[2]]
	if !ok {
		wanted = "a table"
	}
	return fmt.Sprintf("this has to be %s, not a value of type %s", wanted, match[1])
}

// unknownKey says what the keys of the table are that has an unknown one.
func unknownKey(key toml.Key) (detail, remedy string) {
	table := strings.Join(key[:max(len(key)-1, 0)], ".")
	detail = fmt.Sprintf("there is no key %q", key[len(key)-1])
	if table != "" {
		detail += " in [" + table + "]"
	}
	known, ok := keys[table]
	if !ok {
		return detail, ""
	}
	if nearest := near(key[len(key)-1], known); nearest != "" {
		return detail, fmt.Sprintf("did you mean %s? there are %s", nearest, strings.Join(known, ", "))
	}
	return detail, "there are " + strings.Join(known, ", ")
}

// near returns the known key that a mistyped one resembles most, or "" if none
// does: at most two letters wrong, missing or too many.
func near(word string, known []string) string {
	best, found := 3, ""
	for _, k := range known {
		if d := distance(word, k); d < best && d < len(k) {
			best, found = d, k
		}
	}
	return found
}

// distance is the number of letters to insert, remove or replace to make one word
// of the other (Levenshtein).
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// printableText returns a message that may quote the file so that it acts on no
// terminal.
func printableText(s string) string {
	quoted := fmt.Sprintf("%q", s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
}

func oneOf(words []string) string {
	quoted := slices.Clone(words)
	for i := range quoted {
		quoted[i] = fmt.Sprintf("%q", quoted[i])
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}
