package image

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestTagIsStable(t *testing.T) {
	a, err := Tag()
	if err != nil {
		t.Fatal(err)
	}
	b, _ := Tag()
	if a != b {
		t.Errorf("two tags of one recipe: %s, %s", a, b)
	}
	if tag, ok := strings.CutPrefix(a, Repository+":"); !ok || len(tag) != 16 {
		t.Errorf("tag %s", a)
	}
	if more, _ := Tag("python3"); more == a {
		t.Errorf("an image with more packages has the tag of a bare host's, %s", more)
	}
}

func TestHostsBringNoContainerRuntime(t *testing.T) {
	for _, p := range []string{"runc", "containerd", "python3", "python3-minimal"} {
		if slices.Contains(packages(), p) {
			t.Errorf("%s is on the host image; a bare host has none", p)
		}
	}
}

func TestUnpackWritesTheHookAndItsFiles(t *testing.T) {
	hook, err := unpack(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{hook, strings.TrimSuffix(hook, "customize") + "lab-init"} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode()&0o111 == 0 {
			t.Errorf("%s is not executable", path)
		}
	}
}

type store struct {
	has      bool
	err      error
	imported int
}

func (s *store) HasImage(context.Context, string) (bool, error) { return s.has, s.err }
func (s *store) ImportImage(context.Context, string, string, []string) error {
	s.imported++
	return nil
}

func TestEnsureTakesTheImageThatIsThere(t *testing.T) {
	s := &store{has: true}
	ref, err := Ensure(context.Background(), s, t.TempDir(), nil, func(line string) { t.Errorf("built: %s", line) })
	if err != nil || !strings.HasPrefix(ref, Repository+":") || s.imported != 0 {
		t.Errorf("got %q, %v, %d imports", ref, err, s.imported)
	}
}

func TestEnsureDoesNotBuildWhenTheStoreFails(t *testing.T) {
	broken := errors.New("the store is broken")
	s := &store{err: broken}
	if _, err := Ensure(context.Background(), s, t.TempDir(), nil, func(string) {}); !errors.Is(err, broken) || s.imported != 0 {
		t.Errorf("got %v and %d imports", err, s.imported)
	}
}

func TestLineWriterHandsOnWholeLinesAndKeepsTheLast(t *testing.T) {
	var got []string
	w := &lineWriter{each: func(l string) { got = append(got, l) }}
	for _, part := range []string{"I: sta", "rting\n", "10%\r20%\r100%\n\n", strings.Repeat("x\n", keep-1), "E: no space", " left\n"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got[0] != "I: starting" || got[1] != "100%" || got[len(got)-1] != "E: no space left" {
		t.Errorf("lines %q", got)
	}
	if last := strings.Split(w.last(), "\n"); len(last) != keep || last[keep-1] != "E: no space left" {
		t.Errorf("kept %q", last)
	}
}
