package main

import (
	doccomment "go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// languagePage returns the comment of package playbook, the reference of the language,
// as Markdown.
func languagePage(root string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "engine", "playbook", "doc.go"), nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		return "", err
	}
	text := strings.NewReplacer("[Program]", "program", "[Reserved]", "cluster, host, hosts, groups, facts, run, item, result and failure").Replace(file.Doc.Text())
	text = strings.Replace(text, "Package playbook turns", "deployer turns", 1)
	printer := doccomment.Printer{HeadingLevel: 2, HeadingID: func(*doccomment.Heading) string { return "" }}
	return generated("Playbooks", "the comment of package playbook") + "\n" +
		strings.NewReplacer("\\_", "_", "\\`", "`").Replace(string(printer.Markdown(new(doccomment.Parser).Parse(text)))) +
		"\nWhat modules there are: [tasks](tasks.md). What they see: [variables](variables.md).\n", nil
}
