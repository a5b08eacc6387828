package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestChangelog checks the first line of each entry against changelog/README.md, and that an empty
// line and a text follow.
func TestChangelog(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../changelog/*/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	head := regexp.MustCompile(`^(New|Better|Change|Fix|Security|Removed): .*[^.]\n\n\S`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range strings.Split(string(text), "\n---\n") {
			if !head.MatchString(strings.TrimLeft(entry, "\n")) {
				t.Errorf("%s: an entry begins %.60q", file, entry)
			}
		}
	}
}
