package build

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fileEntry(name string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: 1, Uname: "root"}
}

func written(t *testing.T, tr tree) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := tr.write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func namesIn(t *testing.T, content []byte) []string {
	t.Helper()
	var names []string
	for archive := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if !header.ModTime.IsZero() && header.ModTime.Unix() != 0 {
			t.Errorf("%s has a date: %s", header.Name, header.ModTime)
		}
	}
}

// TestTree: packages are unpacked into one merged /usr, parents first, hard links
// after their targets, without documents but with licences; the order of the packages
// has no effect.
func TestTree(t *testing.T) {
	headers := []*tar.Header{
		fileEntry("./bin/tool"), fileEntry("./usr/share/man/man1/tool.1"),
		fileEntry("./usr/share/doc/tool/copyright"), fileEntry("./usr/share/doc/tool/changelog.gz"),
		{Typeflag: tar.TypeLink, Name: "./bin/alias", Linkname: "./bin/tool"},
		{Typeflag: tar.TypeSymlink, Name: "./usr/bin/soft", Linkname: "tool"},
	}
	build := func(order []int) []byte {
		tr := tree{}
		for _, i := range order {
			header := *headers[i]
			if err := tr.add(&header, strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		}
		return written(t, tr)
	}
	first, second := build([]int{0, 1, 2, 3, 4, 5}), build([]int{5, 4, 3, 2, 1, 0})
	if !bytes.Equal(first, second) {
		t.Error("the order of packages shows in the layer")
	}
	want := []string{
		"usr/", "usr/bin/", "usr/bin/soft", "usr/bin/tool",
		"usr/share/", "usr/share/doc/", "usr/share/doc/tool/", "usr/share/doc/tool/copyright", "usr/bin/alias",
	}
	if diff := cmp.Diff(want, namesIn(t, first)); diff != "" {
		t.Error(diff)
	}
	device := &tar.Header{Typeflag: tar.TypeChar, Name: "./dev/null"}
	if err := (tree{}).add(device, strings.NewReader("")); err == nil {
		t.Error("a device was accepted")
	}
}

// The test program needs no library, so the check runs on a shell, which needs libc
// everywhere.
func TestMissingLibraries(t *testing.T) {
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	tr := tree{}
	tr.file("bin/sh", 0o755, shell)
	err = tr.missingLibraries()
	if err == nil || !strings.Contains(err.Error(), "bin/sh needs libc") {
		t.Fatalf("error is %v", err)
	}
	for line := range strings.SplitSeq(strings.TrimPrefix(err.Error(), "the image lacks shared libraries: "), "; ") {
		_, library, _ := strings.Cut(line, " needs ")
		tr.file("lib/"+library, 0o644, []byte("stands for it"))
	}
	if err := tr.missingLibraries(); err != nil {
		t.Error(err)
	}
}
