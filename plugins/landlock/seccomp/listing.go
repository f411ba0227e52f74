package seccomp

import (
	"fmt"
	"strings"
)

// Listing describes the filter that Compile makes of the same options, for
// people: a title, then one line for each rule with its topic, call and number,
// condition, and answer. Of the rules of one call the first that matches
// decides. The text is stable; it fails as Compile does.
func Listing(o Options) (string, error) {
	o, err := o.resolved()
	if err != nil {
		return "", err
	}
	m := machines[o.Arch]
	var b strings.Builder
	fmt.Fprintf(&b, "# seccomp filter for %s: network %v, unix sockets %v", o.Arch, o.Network, o.Unix)
	if o.Network == NetworkTCP && o.Listen {
		b.WriteString(", listening")
	}
	if o.CloseTruncate {
		b.WriteString(", truncation closed")
	}
	fmt.Fprintf(&b, ", left open: %v\n", o.Leave)

	line := func(topic, call, when string, a answer) {
		fmt.Fprintf(&b, "%-10s  %-23s  %-15s  %s\n", topic, call, answerNames[a], when)
	}
	line("always", "any", "architecture != "+m.auditName, enosys)
	if o.Arch == AMD64 {
		line("always", "any", "number & 0x40000000 != 0 (x32)", enosys)
	}
	line("always", "any", fmt.Sprintf("number > %d, -1 apart (newer than this table)", newestCall), enosys)
	for _, r := range rulesFor(o) {
		number := m.number(callsByName[r.call])
		line(r.topic, fmt.Sprintf("%s(%d)", r.call, number), conditionsText(r.when), r.answer)
	}
	line("otherwise", "any", "always", allow)
	return b.String(), nil
}

func conditionsText(when []condition) string {
	if len(when) == 0 {
		return "always"
	}
	texts := make([]string, len(when))
	for i, c := range when {
		texts[i] = c.String()
	}
	return strings.Join(texts, " and ")
}

// String returns the condition as in "type & SOCK_TYPE_MASK = SOCK_STREAM".
func (c condition) String() string {
	text := c.name
	if c.high {
		text += " >> 32"
	}
	if c.mask.value != 0 {
		text += " & " + c.mask.name
	}
	names := make([]string, len(c.values))
	for i, v := range c.values {
		names[i] = v.name
	}
	switch {
	case len(names) == 1 && c.except:
		return text + " != " + names[0]
	case len(names) == 1:
		return text + " = " + names[0]
	case c.except:
		return text + " not in {" + strings.Join(names, ", ") + "}"
	}
	return text + " in {" + strings.Join(names, ", ") + "}"
}
