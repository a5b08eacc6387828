package undo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// TestSecretsExpire: backups of secret steps are removed more than a week
// after them; other backups stay.
func TestSecretsExpire(t *testing.T) {
	s, root := testStore(t)
	for name, content := range map[string]string{"secret": "old secret", "open": "old file"} {
		agenttest.WriteAged(t, filepath.Join(root, name), content, 0o600, 0)
	}
	if _, err := s.dir.Journal("r1"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		step Step
		path string
	}{{Step{Run: "r1", ID: "s", Secret: true}, "/secret"}, {Step{Run: "r1", ID: "o"}, "/open"}} {
		if err := s.Backup(c.step, c.path); err != nil {
			t.Fatal(err)
		}
		agenttest.WriteAged(t, root+c.path, "new", 0o600, 0)
		if err := s.RecordAfter(t.Context(), c.step, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.dir.Close()
	s.Close()
	kept := func() string {
		var all []string
		paths, err := filepath.Glob(filepath.Join(s.dir.Path, "runs", "r1", "kept", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(data))
		}
		return strings.Join(all, ", ")
	}
	for _, c := range []struct {
		after time.Duration
		want  string
		next  bool // more expire later
	}{{secretsKeptFor - time.Minute, "old secret, old file", true}, {secretsKeptFor + time.Minute, "old file", false}} {
		if err := s.ExpireSecrets(time.Now().Add(c.after)); err != nil {
			t.Fatal(err)
		}
		next, err := s.NextExpiry()
		if err != nil {
			t.Fatal(err)
		}
		if left := time.Until(next); next.IsZero() == c.next || c.next && (left > secretsKeptFor || left < secretsKeptFor-time.Minute) {
			t.Errorf("after %v the next expire at %v", c.after, next)
		}
		if got := kept(); got != c.want {
			t.Errorf("after %v: %q, want %q", c.after, got, c.want)
		}
	}
	past, err := s.changesOfRun("r1", false)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(past.byStep[0].before)
	if err != nil || !strings.Contains(past.byStep[0].before.Lost, "expired after 7 days") || strings.Contains(string(raw), "digest") {
		t.Errorf("got %s, %v", raw, err)
	}
}

// TestWithoutSecrets: secrets in states are removed as well; the absence of a
// resource before a step stays recorded.
func TestWithoutSecrets(t *testing.T) {
	file := &File{Mode: 0o600, Digest: "d"}
	for name, c := range map[string]struct {
		line, want BackupRecord
		all, gone  bool
	}{
		"a file":             {line: BackupRecord{File: file, Data: "1"}, want: BackupRecord{File: file, Data: "1"}},
		"a secret file":      {line: BackupRecord{Secret: true, File: file, Data: "1"}, want: BackupRecord{Secret: true, File: &File{Mode: 0o600}}, gone: true},
		"none before":        {line: BackupRecord{Secret: true}, want: BackupRecord{Secret: true}, all: true},
		"a password":         {line: BackupRecord{State: engine.State{"secret_password": "x", "shell": "sh"}}, want: BackupRecord{State: engine.State{"shell": "sh"}}, gone: true},
		"a secret state":     {line: BackupRecord{Secret: true, State: engine.State{"value": "x"}}, want: BackupRecord{Secret: true, State: engine.State{}}, gone: true},
		"everything":         {line: BackupRecord{State: engine.State{"shell": "sh"}}, want: BackupRecord{State: engine.State{}}, all: true, gone: true},
		"left by a user":     {line: BackupRecord{Left: true, State: engine.State{"secret_password": "x", "shell": "sh"}}, want: BackupRecord{Left: true, State: engine.State{"shell": "sh"}}},
		"left by everything": {line: BackupRecord{Left: true, State: engine.State{"shell": "sh"}}, want: BackupRecord{Left: true, State: engine.State{"shell": "sh"}}, all: true},
	} {
		got, gone := c.line.withoutSecrets(c.all)
		one, _ := json.Marshal(got)
		other, _ := json.Marshal(c.want)
		if string(one) != string(other) || gone != c.gone {
			t.Errorf("%s: %s, %v; want %s, %v", name, one, gone, other, c.gone)
		}
	}
	if !equalStates(engine.State{"secret_password": "x", "shell": "sh"}, engine.State{"shell": "sh"}) || equalStates(engine.State{"shell": "sh"}, engine.State{}) ||
		equalStates(engine.State{"secret_password": "x"}, engine.State{"secret_password": "y"}) {
		t.Error("a secret that was removed counts as a difference, or one that is there does not")
	}
}
