package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const docsDir = "../../docs/reference"

func TestReferenceIsCurrent(t *testing.T) {
	root, err := sourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages() {
		text, err := p.make(env{stdin: strings.NewReader(""), stdout: os.Stdout, stderr: os.Stderr}, root)
		if err != nil {
			t.Errorf("%s: %v", p.file, err)
			continue
		}
		current, err := os.ReadFile(filepath.Join(docsDir, p.file))
		if err != nil {
			t.Error(err)
			continue
		}
		if string(current) != text {
			t.Errorf("docs/reference/%s is not what the code says now: run `make docs`", p.file)
		}
	}
}

func TestDocsCommandWritesEveryPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if out, code := runVerb(t, newDocsCommand, dir); code != exitOK {
		t.Fatalf("exit code %d: %s", code, out)
	}
	for _, p := range pages() {
		if info, err := os.Stat(filepath.Join(dir, p.file)); err != nil || info.Size() < 200 {
			t.Errorf("%s: %v", p.file, err)
		}
	}
}

var (
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```")
)

// TestRelativeLinks follows the relative links of all pages, including links to
// headings.
func TestRelativeLinks(t *testing.T) {
	pages := []string{"../../README.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text := pageText(t, page)
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path, heading, _ := strings.Cut(m[1], "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, m[1])
				continue
			}
			if heading != "" && !hasHeading(pageText(t, target), heading) {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
}

func pageText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var notInAnchors = regexp.MustCompile(`[^a-z0-9 _-]`)

// hasHeading reports whether a page has a heading with an anchor, in the form of GitHub.
func hasHeading(text, anchor string) bool {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		title := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
		if strings.ReplaceAll(notInAnchors.ReplaceAllString(title, ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}
