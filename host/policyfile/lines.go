package policyfile

import (
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// lines are the line numbers of keys ("network.mode") and of the elements of
// arrays ("filesystem.read[0]").
type lines map[string]int

// linesOf returns the lines of a text that has been decoded without an error.
func linesOf(text []byte) lines {
	l := lines{}
	var p unstable.Parser
	p.Reset(text)
	table, tables := "", map[string]int{}
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table:
			table = keyOf(e, "")
			l.set(&p, table, e.Key())
		case unstable.ArrayTable:
			name := keyOf(e, "")
			table = name + "[" + strconv.Itoa(tables[name]) + "]"
			tables[name]++
			l.set(&p, table, e.Key())
		case unstable.KeyValue:
			l.keyValue(&p, e, table)
		}
	}
	return l
}

func (l lines) keyValue(p *unstable.Parser, e *unstable.Node, table string) {
	key := keyOf(e, table)
	l.set(p, key, e.Key())
	l.value(p, e.Value(), key)
}

func (l lines) value(p *unstable.Parser, value *unstable.Node, key string) {
	children := value.Children()
	switch value.Kind {
	case unstable.Array:
		for i := 0; children.Next(); i++ {
			element := key + "[" + strconv.Itoa(i) + "]"
			l[element] = l[key]
			if raw := children.Node().Raw; raw.Length > 0 {
				l[element] = p.Shape(raw).Start.Line
			}
			l.value(p, children.Node(), element)
		}
	case unstable.InlineTable:
		for children.Next() {
			l.keyValue(p, children.Node(), key)
		}
	}
}

func (l lines) set(p *unstable.Parser, key string, parts unstable.Iterator) {
	if parts.Next() {
		l[key] = p.Shape(parts.Node().Raw).Start.Line
	}
}

func keyOf(e *unstable.Node, table string) string {
	var parts []string
	if table != "" {
		parts = append(parts, table)
	}
	for it := e.Key(); it.Next(); {
		parts = append(parts, string(it.Node().Data))
	}
	return strings.Join(parts, ".")
}
