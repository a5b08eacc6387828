package stat

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

func TestStat(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/x", "hello", 0o640)
	sys.Mkdir(t, "/etc/empty")
	if err := os.Symlink("x", sys.Path("/etc/l")); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		module *Stat
		want   engine.Output // the keys compared
	}{
		"file": {&Stat{Path: "/etc/x", Checksum: true}, engine.Output{
			"exists": true, "type": "file", "size": int64(5), "mode": "0640",
			"sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
		}},
		"directory":       {&Stat{Path: "/etc"}, engine.Output{"type": "directory", "empty": false}},
		"empty directory": {&Stat{Path: "/etc/empty"}, engine.Output{"type": "directory", "empty": true}},
		"link":            {&Stat{Path: "/etc/l"}, engine.Output{"type": "link", "target": "x"}},
		"followed":        {&Stat{Path: "/etc/l", Follow: true}, engine.Output{"type": "file", "path": "/etc/x"}},
		"missing path":    {&Stat{Path: "/none/at/all"}, engine.Output{"exists": false}},
		"below a file":    {&Stat{Path: "/etc/x/y"}, engine.Output{"exists": false}},
	}
	for name, tt := range tests {
		change := tasktest.Check(t, sys, tt.module)
		if change.Needed {
			t.Errorf("%s: looking changes something", name)
		}
		for key, want := range tt.want {
			if diff := cmp.Diff(want, change.Output[key]); diff != "" {
				t.Errorf("%s: %s: %s", name, key, diff)
			}
		}
	}
	if _, _, err := tasktest.Run(t, sys, &Stat{Path: "x"}); err == nil {
		t.Error("a relative path is accepted")
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/x", "hello", 0o644)
	sys.Write(t, "/etc/binary", "\xff", 0o644)
	change := tasktest.Check(t, sys, &Read{Paths: []string{"/etc/x", "/none"}, MissingOK: true})
	want := engine.Output{"files": map[string]any{"/etc/x": "hello"}, "missing": []string{"/none"}}
	if diff := cmp.Diff(want, change.Output); diff != "" || change.Needed {
		t.Error(diff, change.Needed)
	}
	for want, r := range map[string]*Read{
		"no such file":          {Paths: []string{"/none"}},
		"more than max_bytes 4": {Paths: []string{"/etc/x"}, MaxBytes: 4},
		"is not text":           {Paths: []string{"/etc/binary"}},
		"paths is empty":        {},
		"not absolute":          {Paths: []string{"x"}},
	} {
		if _, _, err := tasktest.Run(t, sys, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestPart(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/x", "0123456789\xff", 0o644)
	for want, m := range map[string]*Part{
		"MDEyMzQ1Njc4Of8=": {Path: "/x"},
		"MjM0":             {Path: "/x", Offset: 2, Bytes: 3},
		"/w==":             {Path: "/x", Offset: 10, Bytes: 100},
		"":                 {Path: "/x", Offset: 11},
	} {
		if got := tasktest.Check(t, sys, m).Output["data"]; got != want {
			t.Errorf("%+v: %v, want %s", m, got, want)
		}
	}
	for want, m := range map[string]*Part{
		"not absolute": {Path: "x"}, "want at most": {Path: "/x", Bytes: PartSize + 1}, "offset -1": {Path: "/x", Offset: -1}, "no such file": {Path: "/none"},
	} {
		if _, err := m.Check(t.Context(), sys); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
