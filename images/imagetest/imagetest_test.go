package imagetest

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"deployer/images"
	"deployer/images/imagefile"
)

// program is a Go program for the container: it needs no library.
const program = `package main

import ("fmt"; "os"; "time")

func main() {
	if len(os.Args) > 1 && os.Args[1] == "sleep" { time.Sleep(time.Hour) }
	if len(os.Args) > 1 && os.Args[1] == "fail" { os.Exit(3) }
	_, err := os.Stat("/etc/shadow")
	fmt.Println("uid", os.Getuid(), os.Getenv("COLOUR"), os.IsNotExist(err))
}
`

// testImage returns the path of an image with the program.
func testImage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "program"), source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	binary, err := os.ReadFile(filepath.Join(dir, "program"))
	if err != nil {
		t.Fatal(err)
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, entry := range []struct {
		header  tar.Header
		content []byte
	}{
		{tar.Header{Typeflag: tar.TypeDir, Name: "usr/", Mode: 0o755}, nil},
		{tar.Header{Typeflag: tar.TypeReg, Name: "usr/program", Mode: 0o755, Size: int64(len(binary))}, binary},
		{tar.Header{Typeflag: tar.TypeSymlink, Name: "link", Linkname: "/usr/program"}, nil},
	} {
		if err := w.WriteHeader(&entry.header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(entry.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "layer.tar")
	if err := os.WriteFile(path, layer.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	img, err := images.Assemble(path, runtime.GOARCH, v1.Config{User: "7:7", Env: []string{"COLOUR=green"}})
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "image.tar")
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(images.WriteImage(file, "registry.example/x:1", img), file.Close()); err != nil {
		t.Fatal(err)
	}
	return archive
}

// TestRun: tests run as the image's user, with only the environment and the files of
// the image.
func TestRun(t *testing.T) {
	if err := runnable(runtime.GOARCH); err != nil {
		t.Skip(err)
	}
	tests := []imagefile.Test{
		{Name: "good", Command: []string{"/link"}, Output: "^uid 7 green true$"},
		{Name: "as root", Command: []string{"/link"}, Output: "^uid 0 ", User: "0"},
		{Name: "exit code", Command: []string{"/link", "fail"}, Exit: 3},
		{Name: "sleeps", Command: []string{"/link", "sleep"}, StillRunning: true},
		{Name: "wrong code", Command: []string{"/link", "fail"}},
		{Name: "wrong output", Command: []string{"/link"}, Output: "red"},
		{Name: "no program", Command: []string{"/none"}},
		{Name: "ended", Command: []string{"/link"}, StillRunning: true},
	}
	want := map[string]string{
		"wrong code": "exit code 3, want 0", "wrong output": "does not match", "no program": "exit code", "ended": "must still run",
	}
	ran := 0
	err := Run(t.Context(), testImage(t), tests, func(r Result) {
		ran++
		message := want[r.Test.Name]
		switch {
		case message == "" && r.Err != nil:
			t.Errorf("%s: %v", r.Test.Name, r.Err)
		case message != "" && (r.Err == nil || !strings.Contains(r.Err.Error(), message)):
			t.Errorf("%s: error is %v, want %q", r.Test.Name, r.Err, message)
		}
	})
	if err != nil || ran != len(tests) {
		t.Errorf("%d tests ran: %v", ran, err)
	}
}

func TestStatement(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "x.tar")
	tests := []imagefile.Test{{Name: "a", Command: []string{"/x"}}}
	digest := "sha256:" + strings.Repeat("ab", 32)
	if _, found, err := Read(archive); found || err != nil {
		t.Errorf("found %v (%v)", found, err)
	}
	green, err := NewStatement("x:1", digest, tests, []string{"a"}, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := green.Write(archive); err != nil {
		t.Fatal(err)
	}
	read, found, err := Read(archive)
	if err != nil || !found || !read.Green(digest) || !read.Current(digest, tests) {
		t.Errorf("read %+v, %v, %v", read, found, err)
	}
	if read.Green("sha256:" + strings.Repeat("cd", 32)) {
		t.Error("green for another digest")
	}
	if read.Current(digest, nil) {
		t.Error("current for other tests")
	}
	for name, test := range map[string]struct{ passed, failed []string }{"failed": {[]string{"a"}, []string{"b"}}, "none": {nil, nil}} {
		red, err := NewStatement("x:1", digest, tests, test.passed, test.failed, time.Now())
		if err != nil || red.Green(digest) {
			t.Errorf("%s: green (%v)", name, err)
		}
	}
	if _, err := Parse([]byte(`{"_type":"x"}`)); !errors.Is(err, ErrOtherStatement) {
		t.Errorf("error of a statement of another type is %v", err)
	}
}
