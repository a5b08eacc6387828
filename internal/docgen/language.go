package docgen

import (
	"errors"
	doccomment "go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

const languageIntroduction = "deployer compiles plays, roles and tasks into a program: one list of operations that every host goes through. " +
	"Whatever is wrong without a connection to a host is reported before any host is contacted, all of it at once, each error with file, line and column."

// Playbooks returns the sections of the comment of package compile, which are the
// reference of the language, as Markdown. The first paragraph is for people who read
// the code; languageIntroduction replaces it.
func Playbooks(root string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "engine", "compile", "doc.go"), nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		return "", err
	}
	_, sections, found := strings.Cut(file.Doc.Text(), "\n# Plays\n")
	if !found {
		return "", errors.New("the comment of package compile has no section Plays")
	}
	sections = strings.Replace(sections, "[lang.Reserved]", "cluster, host, hosts, groups, facts, run, item, result and failure", 1)
	text := languageIntroduction + "\n\n# Plays\n" + sections
	printer := doccomment.Printer{HeadingLevel: 2, HeadingID: func(*doccomment.Heading) string { return "" }}
	return generated("Playbooks", "the comment of package compile") + "\n" +
		strings.NewReplacer("\\_", "_", "\\`", "`").Replace(string(printer.Markdown(new(doccomment.Parser).Parse(text)))) +
		"\nSee also: [tasks](tasks.md), the modules; [variables](variables.md).\n", nil
}
