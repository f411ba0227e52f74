// Package repository holds the tests that the repository runs on itself: that imports point one way, that no program and no
// library pulls in more than the golden lists under testdata/dependencies say, that everything exported is documented, that
// files stay short enough to read, and that nothing of one person's machine gets into them.
//
// It has no code to import. When a test of it fails, the message names the file and the rule; CONTRIBUTING.md gives the
// reasons. After a wanted change of dependencies, "make goldens" rewrites the lists, and the review looks at the difference.
package repository
