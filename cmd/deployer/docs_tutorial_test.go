package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/spf13/cobra"

	"deployer/engine/compile"
	"deployer/engine/lang"
)

var (
	plainBlock    = regexp.MustCompile("(?ms)^```(?:sh [^\n]*)?\n(.*?)^```$")
	tutorialFiles = regexp.MustCompile("(?ms)^```yaml greeting.yaml\n(.*?)^```$")
	quotes        = regexp.MustCompile(`'[^']*'|"[^"]*"`)
)

// TestCommandsOfPages looks up each deployer command of the pages, with its flags. The
// lab runs those of the tutorial and the runbooks.
func TestCommandsOfPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/guides/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "../../docs/tutorial.md", "../../README.md") {
		for _, block := range plainBlock.FindAllStringSubmatch(pageText(t, page), -1) {
			for line := range strings.Lines(block[1]) {
				if rest, ok := strings.CutPrefix(line, "deployer "); ok {
					found++
					checkCommand(t, page, rest)
				}
			}
		}
	}
	if found < 60 {
		t.Errorf("%d commands found: the pages or the pattern have changed", found)
	}
}

// checkCommand fails for a command or flag that does not exist. The line may have a
// comment, further commands and redirections.
func checkCommand(t *testing.T, page, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, "; ")
	line = quotes.ReplaceAllString(line, "quoted")
	line, _, _ = strings.Cut(line, " | ")
	line, _, _ = strings.Cut(line, " > ")
	words := strings.Fields(line)
	root := newRoot(env{stdin: strings.NewReader(""), stdout: os.Stdout, stderr: os.Stderr})
	cmd, rest, err := root.Find(words)
	if err != nil || cmd == root {
		t.Errorf("%s: there is no command %q: %v", page, line, err)
		return
	}
	if err := flagsOf(cmd, rest); err != nil {
		t.Errorf("%s: %q: %v", page, line, err)
	}
}

// flagsOf parses the flags of a command line.
func flagsOf(cmd *cobra.Command, words []string) error {
	cmd.InitDefaultHelpFlag()
	return cmd.ParseFlags(words)
}

// TestTutorialPlaybook compiles the playbook of the tutorial.
func TestTutorialPlaybook(t *testing.T) {
	t.Parallel()
	m := tutorialFiles.FindStringSubmatch(pageText(t, "../../docs/tutorial.md"))
	if m == nil {
		t.Fatal("the tutorial has no playbook")
	}
	c := compile.Compiler{Registry: kinds()}
	if _, err := c.Compile(lang.Tree{Name: "tutorial", FS: fstest.MapFS{"greeting.yaml": {Data: []byte(m[1])}}}, "greeting.yaml"); err != nil {
		t.Error(err)
	}
}
