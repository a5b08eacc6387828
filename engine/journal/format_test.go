package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// TestFormats: journals of all formats are readable and have the same content.
func TestFormats(t *testing.T) {
	for format, name := range []string{"run-0.jsonl", "run-1.jsonl"} {
		r, err := Read(filepath.Join("testdata", name))
		if err != nil || r.Header.Format != format || r.Damaged != nil {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		if r.Header.Run != "r1" || r.Header.PID != 42 || r.Outcome != engine.OutcomeDone || r.Results[engine.StatusChanged] != 1 || r.Elapsed() != 3*time.Second {
			t.Errorf("%s: %+v", name, r)
		}
		if diff := cmp.Diff([]string{"m1"}, r.Hosts); diff != "" {
			t.Error(diff)
		}
	}
}

// TestWrittenFormat: the present writer produces the golden file of the present format.
func TestWrittenFormat(t *testing.T) {
	var events []engine.Event
	var head Header
	golden := filepath.Join("testdata", "run-1.jsonl")
	if err := Scan(golden, func(h *Header, e *engine.Event) error {
		if h != nil {
			head = *h
		} else {
			events = append(events, *e)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	head.Format = 0 // it is the log that knows it
	l, err := Create(dir, head)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		l.Emit(e)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(Path(dir, "r1"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("it is not as in its format: give it another number, and read the old one: %s", diff)
	}
}

// TestNewerFormatIsRefused: no line of a newer deployer is skipped, and List names
// the file beside the other runs.
func TestNewerFormatIsRefused(t *testing.T) {
	dir := t.TempDir()
	golden, err := os.ReadFile(filepath.Join("testdata", "run-1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(strings.Replace(string(golden), `"format":1`, `"format":7`, 1), `"r1"`, `"r9"`, 1)
	for name, text := range map[string]string{"r1": string(golden), "r9": newer} {
		if err := os.WriteFile(Path(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Read(Path(dir, "r9"))
	var format *FormatError
	if !errors.As(err, &format) || format.Format != 7 || !strings.Contains(err.Error(), "r9.jsonl has format 7, and this version of deployer knows formats up to 1") {
		t.Errorf("got %v", err)
	}
	all, err := List(dir)
	if len(all) != 1 || !errors.As(err, &format) {
		t.Errorf("%d runs, %v", len(all), err)
	}
}

// TestUnknownLinesAreReported: a line that is neither a header nor an event is
// reported as damage.
func TestUnknownLinesAreReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r1.jsonl")
	golden, err := os.ReadFile(filepath.Join("testdata", "run-1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(golden, "{\"other\":{}}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Read(path)
	if err != nil || r.Damaged == nil || !strings.Contains(r.Damaged.Error(), "neither a header nor an event") {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestDirectoryIsForTheOwnerOnly: Create removes the access of others from an existing
// directory.
func TestDirectoryIsForTheOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l := create(t, dir, "r1")
	defer l.Close()
	for _, path := range []string{dir, Path(dir, "r1")} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}
