package actionlog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func entry(i int) Entry {
	return Entry{Time: noon.Add(time.Duration(i) * time.Second), Action: "PurgeNode", Object: fmt.Sprintf("Node n%d", i), Why: "it is gone", Result: ResultDone}
}

func add(t *testing.T, l *Log, entries ...Entry) {
	t.Helper()
	for _, e := range entries {
		if err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
}

func last(t *testing.T, l *Log, n int) []Entry {
	t.Helper()
	out, err := l.Last(n)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLast: another process finds what was appended, the newest last, and only root may read it.
func TestLast(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if got := last(t, In(dir), 20); len(got) != 0 {
		t.Errorf("a host without the file has %v", got)
	}
	add(t, In(dir), entry(1), entry(2), entry(3))
	if got := last(t, In(dir), 2); !slices.Equal(got, []Entry{entry(2), entry(3)}) {
		t.Errorf("%+v", got)
	}
	if info, err := os.Stat(filepath.Join(dir, File)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestDamagedLines: lines that a loss of power has damaged are left out, and damage no other.
func TestDamagedLines(t *testing.T) {
	for name, damage := range map[string]string{
		"half a line":     `{"time":"2026-11-28T12:00:02Z","acti`,
		"zeroes":          "\x00\x00\x00\x00",
		"no time":         `{"action":"PurgeNode"}` + "\n",
		"not JSON":        "root was here\n",
		"another kind":    "[1, 2]\n",
		"an empty line":   "\n",
		"a number":        `{"time":"2026-11-28T12:00:02Z","action":7}` + "\n",
		"blanks, no line": "   ",
		"a long line":     strings.Repeat("x", 3*maxLine),
	} {
		t.Run(name, func(t *testing.T) {
			l := In(t.TempDir())
			add(t, l, entry(1))
			path := filepath.Join(l.dir, File)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, append(text, damage...), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := last(t, l, 20); !slices.Equal(got, []Entry{entry(1)}) {
				t.Errorf("before the next action: %+v", got)
			}
			add(t, l, entry(3))
			if got := last(t, l, 20); !slices.Equal(got, []Entry{entry(1), entry(3)}) {
				t.Errorf("after it: %+v", got)
			}
		})
	}
}

// TestBound: the files keep the newest actions and do not grow without end, also with long texts.
func TestBound(t *testing.T) {
	l := In(t.TempDir())
	text := strings.Repeat("ü", 5000)
	path, number := filepath.Join(l.dir, File), 0
	for range 3 {
		var full []byte
		for len(full) < MaxSize-8*maxField {
			e := entry(number)
			e.Why, e.Result, e.Object, e.Action = text, text, text, text
			line, err := e.line()
			if err != nil {
				t.Fatal(err)
			}
			full = append(full, line...)
			number++
		}
		if err := os.WriteFile(path, full, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			e := entry(number)
			e.Why, e.Result, e.Object, e.Action = text, text, text, text
			add(t, l, e)
			number++
		}
	}
	for _, name := range []string{File, FormerFile} {
		if info, err := os.Stat(filepath.Join(l.dir, name)); err != nil || info.Size() > MaxSize || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if files, _ := os.ReadDir(l.dir); len(files) != 2 {
		t.Errorf("%d files", len(files))
	}
	got := last(t, l, 1000)
	for i, e := range got {
		if want := entry(number - len(got) + i).Time; !e.Time.Equal(want) {
			t.Fatalf("entry %d is of %s, want %s", i, e.Time, want)
		}
	}
	if len(got) < MaxSize/(5*maxField) {
		t.Errorf("%d entries are left", len(got))
	}
	if e := got[0]; !utf8.ValidString(e.Why) || len(e.Why) > maxField || !e.Failed() {
		t.Errorf("%d bytes: %q", len(e.Why), e.Why[len(e.Why)-10:])
	}
}
