package roles_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var released = flag.Bool("released", false, "rewrite the digests of the files that the last release writes, at a release")

// onHosts is the line of a changelog entry that names the files whose content changes on
// hosts of an unchanged inventory.
var onHosts = regexp.MustCompile(`(?m)^On hosts: (.+)$`)

// TestUnreleasedFilesAreInChangelog compares the files that install writes with those
// of the last release: with an unchanged inventory a new release changes only files
// that the changelog names.
func TestUnreleasedFilesAreInChangelog(t *testing.T) {
	named := unreleasedFiles(t, filepath.Join("..", "changelog", "unreleased"))
	for name, hosts := range goldenHosts() {
		if _, err := os.Stat(filepath.Join("testdata", "released", name)); err != nil && !*released {
			continue // the sample is younger than the release
		}
		s := newSite(t, name)
		for _, host := range hosts {
			t.Run(name+"/"+host, func(t *testing.T) {
				got := digests(s.files(t, host))
				file := filepath.Join("testdata", "released", name, host+".sha256")
				if *released {
					writeDigests(t, file, got)
				}
				for _, path := range changedFiles(readDigests(t, file), got) {
					if !named[path] {
						t.Errorf("%s is not as in the last release: name it in an entry of changelog/unreleased, in a line \"On hosts: %s\"", path, path)
					}
				}
			})
		}
	}
}

// TestChangedFiles checks that changed, new and removed files count as changed.
func TestChangedFiles(t *testing.T) {
	before := map[string]string{"/etc/a": "1", "/etc/b": "1", "/etc/c": "1"}
	after := map[string]string{"/etc/a": "1", "/etc/b": "2", "/etc/d": "1"}
	if got := changedFiles(before, after); !slices.Equal(got, []string{"/etc/b", "/etc/c", "/etc/d"}) {
		t.Errorf("changed: %v", got)
	}
}

// unreleasedFiles returns the files that entries of the changelog name.
func unreleasedFiles(t *testing.T, dir string) map[string]bool {
	t.Helper()
	entries, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, entry := range entries {
		text, err := os.ReadFile(entry)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range onHosts.FindAllSubmatch(text, -1) {
			for path := range strings.SplitSeq(string(line[1]), ",") {
				named[strings.TrimSpace(path)] = true
			}
		}
	}
	return named
}

// changedFiles lists the paths that only one of the two has, or both with different digests.
func changedFiles(before, after map[string]string) []string {
	var out []string
	for path, digest := range after {
		if before[path] != digest {
			out = append(out, path)
		}
	}
	for path := range before {
		if _, stays := after[path]; !stays {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// digests returns the SHA-256 of each file's content.
func digests(files map[string]string) map[string]string {
	out := map[string]string{}
	for path, content := range files {
		out[path] = fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	}
	return out
}

// readDigests reads a file of lines `DIGEST  PATH`, as sha256sum writes them.
func readDigests(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		digest, path, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("%s: %q is no line of sha256sum", file, line)
		}
		out[path] = digest
	}
	return out
}

// writeDigests writes a file of lines `DIGEST  PATH`, sorted by path.
func writeDigests(t *testing.T, file string, digests map[string]string) {
	t.Helper()
	var lines []string
	for path, digest := range digests {
		lines = append(lines, digest+"  "+path+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}
