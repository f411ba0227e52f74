package repository

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// wellKnown are the methods of fmt.Stringer, error and what the errors package looks for.
var wellKnown = []string{"String", "Error", "Unwrap"}

// undocumented returns the position and name of everything in a file that other packages can use and that has no comment.
// Within a group (const, var) one comment on the group is enough, as is one at the end of a line. Methods of an interface need
// one each, for an interface is a contract, unless it has a single method, which the type's comment describes. Methods whose
// meaning the standard library fixes need none, and struct fields are left to judgement.
func undocumented(file *ast.File) map[token.Pos]string {
	bare := map[token.Pos]string{}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			receiver := receiverName(decl)
			if receiver != "" && (!ast.IsExported(receiver) || slices.Contains(wellKnown, decl.Name.Name)) {
				continue
			}
			if decl.Name.IsExported() && decl.Doc == nil {
				bare[decl.Pos()] = strings.TrimPrefix(receiver+"."+decl.Name.Name, ".")
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				undocumentedSpec(decl, spec, bare)
			}
		}
	}
	return bare
}

func undocumentedSpec(decl *ast.GenDecl, spec ast.Spec, bare map[token.Pos]string) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		if decl.Doc != nil || spec.Doc != nil || spec.Comment != nil {
			return
		}
		for _, name := range spec.Names {
			if name.IsExported() {
				bare[name.Pos()] = name.Name
			}
		}
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		if spec.Doc == nil && spec.Comment == nil && (decl.Doc == nil || decl.Lparen.IsValid()) {
			bare[spec.Pos()] = spec.Name.Name
		}
		if contract, ok := spec.Type.(*ast.InterfaceType); ok && len(contract.Methods.List) > 1 {
			for _, method := range contract.Methods.List {
				if method.Doc == nil && method.Comment == nil && len(method.Names) > 0 {
					bare[method.Pos()] = spec.Name.Name + "." + method.Names[0].Name
				}
			}
		}
	}
}

// receiverName returns the type that a method belongs to, "" for a function.
func receiverName(decl *ast.FuncDecl) string {
	if decl.Recv == nil || len(decl.Recv.List) == 0 {
		return ""
	}
	for expr := decl.Recv.List[0].Type; ; {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

func TestEverythingExportedIsDocumented(t *testing.T) {
	for _, file := range sources(t) {
		if file.test || file.generated() || file.File.Name.Name == "main" {
			continue
		}
		for pos, name := range undocumented(file.File) {
			t.Errorf("%s: %s is exported and has no doc comment", file.Position(pos), name)
		}
	}
}

func TestEveryPackageIsDocumented(t *testing.T) {
	comments := map[string]int{}
	for _, file := range sources(t) {
		count := 0
		if file.Doc != nil && !file.test {
			count = 1
			// go doc prints a comment under any first word; the convention is what makes an index of packages readable.
			want := "Package " + file.File.Name.Name + " "
			if file.File.Name.Name != "main" && !strings.HasPrefix(file.Doc.Text(), want) {
				t.Errorf("%s: the package comment should start with %q", file.name, want)
			}
		}
		comments[file.pkg] += count
	}
	for pkg, count := range comments {
		if count != 1 {
			t.Errorf("%s: %d files have a package comment, want one", pkg, count)
		}
	}
}

func TestUndocumentedIsFound(t *testing.T) {
	const text = `package sample
type Bare struct{ Field int }
// Said is said.
type Said interface {
	// Good is good.
	Good()
	Bad()
}
func (b *Bare) Method() {}
func (b *Bare) String() string
// One has one method.
type One interface { Method() }
func (h hidden) Method() {}
func (g *Generic[K, V]) Method() {}
func Function() {}
func function() {}
// A group.
const ( One = 1; Two = 2 )
const ( Three = 3 // said
	Four = 4 )
type ( Five int )
`
	file, err := parser.ParseFile(token.NewFileSet(), "sample.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range undocumented(file) {
		got = append(got, name)
	}
	slices.Sort(got)
	want := []string{"Bare", "Bare.Method", "Five", "Four", "Function", "Generic.Method", "Said.Bad"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
