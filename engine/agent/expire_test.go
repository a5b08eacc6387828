package agent

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/agent/statedir"
	"deployer/engine/agent/undo"
)

// withSecret returns a state directory whose only run has a backup of a secret, written some time
// ago.
func withSecret(t *testing.T, age time.Duration) (dir string) {
	t.Helper()
	root := t.TempDir()
	dir = filepath.Join(root, "state")
	secret := filepath.Join(root, "secret")
	if err := os.WriteFile(secret, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	state := statedir.Open(dir)
	backups := undo.Open(state, engine.Registry{}, "/")
	if _, err := state.Journal("r1"); err != nil {
		t.Fatal(err)
	}
	if err := backups.Backup(undo.Step{Run: "r1", ID: "s", Secret: true}, secret); err != nil {
		t.Fatal(err)
	}
	backups.Close()
	state.Close()
	when := time.Now().Add(-age)
	files, err := filepath.Glob(filepath.Join(dir, "runs", "r1", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// hasSecret reports whether the backup is there.
func hasSecret(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "runs", "r1", "kept", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(text), "hunter2")
	})
}

const day = 24 * time.Hour

// TestSecretsExpireAtEveryContact: a session that runs nothing removes what is older than a week, and
// asks for another time while there is more.
func TestSecretsExpireAtEveryContact(t *testing.T) {
	for name, c := range map[string]struct {
		age  time.Duration
		gone bool
	}{"six days": {6 * day, false}, "eight days": {8 * day, true}} {
		t.Run(name, func(t *testing.T) {
			dir := withSecret(t, c.age)
			var at time.Time
			state := statedir.Open(dir)
			backups := undo.Open(state, engine.Registry{}, "/")
			if err := errors.Join(expireSecrets(state, backups), wake(state, backups, func(t time.Time) error { at = t; return nil })); err != nil {
				t.Fatal(err)
			}
			backups.Close()
			state.Close()
			if hasSecret(t, dir) == c.gone {
				t.Errorf("the secret is gone: %t, want %t", !c.gone, c.gone)
			}
			if left := time.Until(at); c.gone != at.IsZero() || !c.gone && (left < day-time.Hour || left > day+time.Hour) {
				t.Errorf("the host wakes at %v", at)
			}
		})
	}
}

// TestExpireProgram: the command of the timer removes expired secrets without a controller; a host
// without a run gets no state directory.
func TestExpireProgram(t *testing.T) {
	dir := withSecret(t, 8*day)
	if code := Main([]string{"expire", "--state-dir", dir}, nil, os.Stderr, os.Stderr, engine.Registry{}); code != 0 || hasSecret(t, dir) {
		t.Errorf("exit status %d, the secret is there: %t", code, hasSecret(t, dir))
	}
	none := filepath.Join(t.TempDir(), "none")
	if code := Main([]string{"expire", "--state-dir", none}, nil, os.Stderr, os.Stderr, engine.Registry{}); code != 0 {
		t.Errorf("exit status %d without a run", code)
	}
	if _, err := os.Stat(none); !os.IsNotExist(err) {
		t.Errorf("a host without a run has a state directory: %v", err)
	}
	if code := Main([]string{"expire", "--nonsense"}, nil, os.Stderr, os.Stderr, engine.Registry{}); code != 2 {
		t.Errorf("exit status %d for a wrong flag", code)
	}
}

// TestSecretsOfAWorkingAgentStay: while another agent holds the lock of the state, nothing is
// removed, and nobody waits.
func TestSecretsOfAWorkingAgentStay(t *testing.T) {
	dir := withSecret(t, 8*day)
	other := statedir.Open(dir)
	unlock, err := other.Lock(t.Context(), nil, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	state := statedir.Open(dir)
	defer state.Close()
	if err := expireSecrets(state, undo.Open(state, engine.Registry{}, "/")); err == nil {
		t.Error("the lock of another agent was not seen")
	}
	if !hasSecret(t, dir) {
		t.Error("a secret of a working agent was removed")
	}
}

func TestWakeCommand(t *testing.T) {
	argv := strings.Join(wakeCommand(time.Date(2026, 12, 4, 1, 2, 3, 0, time.FixedZone("x", 3600)), "/p/agent", "/var/lib/deployer"), " ")
	for _, want := range []string{"--on-calendar=2026-12-04 00:03:03 UTC ", "--unit=expire-secrets-of-deployer ", " /p/agent expire --state-dir /var/lib/deployer"} {
		if !strings.Contains(argv+" ", want) {
			t.Errorf("%s lacks %q", argv, want)
		}
	}
}

// TestSessionRemovesExpiredSecrets: a session in which the controller only says good-bye removes them.
func TestSessionRemovesExpiredSecrets(t *testing.T) {
	dir := withSecret(t, 8*day)
	root := t.TempDir()
	state := filepath.Join(root, DefaultStateDir)
	if err := errors.Join(os.MkdirAll(filepath.Dir(state), 0o755), os.Rename(dir, state)); err != nil {
		t.Fatal(err)
	}
	b := newBenchAt(t, root, nil)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	<-b.served
	if hasSecret(t, state) {
		t.Error("after a session the secret is there")
	}
}
