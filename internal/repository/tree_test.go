package repository

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// module is the project's module path.
const module = "github.com/pinfold/pinfold"

// root is the repository, seen from the directory in which go test runs this package.
const root = "../.."

// files returns the slash-separated path of every file of the repository that somebody wrote or committed. What the build
// leaves behind (bin, dist, profiles; see .gitignore) and git's own data are left out.
func files(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			if name == ".git" || name == "bin" || name == "dist" {
				return filepath.SkipDir
			}
			return nil
		}
		switch path.Ext(name) {
		case ".test", ".out", ".prof":
			return nil
		}
		if entry.Type().IsRegular() && name != ".git" {
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// source is one Go file of the module.
type source struct {
	name string // slash-separated, relative to the root
	pkg  string // directory of name, "." for the root
	test bool
	text []byte
	*ast.File
	*token.FileSet
}

// generated tells whether the file says that a program wrote it.
func (s source) generated() bool { return ast.IsGenerated(s.File) }

// sources parses every Go file of the module for all platforms at once, which "go list" can't. Directories that the go command
// ignores are left out, and tools/, which is a module of its own.
func sources(t *testing.T) []source {
	t.Helper()
	var found []source
	for _, name := range files(t) {
		if path.Ext(name) != ".go" || ignored(name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, source{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), text, file, set})
	}
	if len(found) == 0 {
		t.Fatalf("no Go file under %s", root)
	}
	return found
}

// ignored tells whether the go command passes over a file because of a directory it is in.
func ignored(name string) bool {
	elements := strings.Split(name, "/")
	if elements[0] == "tools" || elements[0] == "vendor" {
		return true
	}
	for _, element := range elements[:len(elements)-1] {
		if element == "testdata" || strings.HasPrefix(element, ".") || strings.HasPrefix(element, "_") {
			return true
		}
	}
	return false
}

// within tells whether an import path is prefix or lies under it.
func within(importPath, prefix string) bool {
	return importPath == prefix || strings.HasPrefix(importPath, prefix+"/")
}
