// Package tasktest has a host for tests of modules: its file system is a directory, blobs and
// calls are in memory, and commands are scripted or real.
package tasktest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"deployer/engine"
)

// System is a fake engine.System. Its methods are safe for concurrent use; the
// exported fields must be set before the modules run.
type System struct {
	// Root stands for the host's "/".
	Root string
	// Exec answers commands; nil refuses every command.
	Exec func(ctx context.Context, cmd engine.Command) (engine.CommandResult, error)
	// Calls are the methods that the controller knows.
	Calls map[string]func(in json.RawMessage) (any, error)

	mu      sync.Mutex
	blobs   map[string][]byte
	fetched []string
	kept    []string
	states  []string
	lost    []string
	ran     [][]string
	count   int // of commands, ever
}

var _ engine.System = (*System)(nil)

// New returns a host with an empty root below a directory of the test.
func New(t testing.TB) *System {
	t.Helper()
	return &System{Root: t.TempDir(), blobs: map[string][]byte{}, Calls: map[string]func(json.RawMessage) (any, error){}}
}

// Path maps a path of the host below Root.
func (s *System) Path(p string) string { return filepath.Join(s.Root, p) }

// AddBlob gives the controller a blob and returns its digest.
func (s *System) AddBlob(content []byte) string {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs[digest] = content
	return digest
}

// Blob opens a blob added by AddBlob and counts the transfer.
func (s *System) Blob(_ context.Context, digest string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.blobs[digest]
	if !ok {
		return nil, fmt.Errorf("the controller has no blob %s", digest)
	}
	s.fetched = append(s.fetched, digest)
	return io.NopCloser(bytes.NewReader(content)), nil
}

// Call calls the function in Calls; in and out pass as JSON, as in the protocol.
func (s *System) Call(_ context.Context, method string, in, out any) error {
	f, ok := s.Calls[method]
	if !ok {
		return fmt.Errorf("the controller knows no method %q", method)
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := f(raw)
	if err != nil {
		return err
	}
	if raw, err = json.Marshal(answer); err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// Chown does nothing: all steps of these hosts run as the user of the test.
func (s *System) Chown(string) error { return nil }

// Backup records the path.
func (s *System) Backup(path string) error {
	if strings.HasPrefix(path, s.Root) {
		return fmt.Errorf("path %s of a backup is below the test root, want the path on the host", path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, path)
	return nil
}

// BackupRegenerated records the path, and among the states that it has no content.
func (s *System) BackupRegenerated(path string) error {
	if err := s.Backup(path); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = append(s.states, "regenerated "+path)
	return nil
}

// BackupState records the state.
func (s *System) BackupState(kind, name string, now engine.State) error {
	text := kind + " " + name + ": none"
	if now != nil {
		var values []string
		for _, key := range slices.Sorted(maps.Keys(now)) {
			values = append(values, key+"="+now[key])
		}
		text = kind + " " + name + ": " + strings.Join(values, " ")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = append(s.states, text)
	return nil
}

// MarkIrreversible records the resource with its reason.
func (s *System) MarkIrreversible(name, why string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = append(s.lost, name+": "+why)
	return nil
}

// Run records the command and calls Exec.
func (s *System) Run(ctx context.Context, cmd engine.Command) (engine.CommandResult, error) {
	s.mu.Lock()
	s.ran = append(s.ran, cmd.Argv)
	s.count++
	s.mu.Unlock()
	if s.Exec == nil {
		return engine.CommandResult{}, fmt.Errorf("running %q: %w", cmd.Argv, errors.New("this test host runs no commands"))
	}
	return s.Exec(ctx, cmd)
}

// Progress drops the text.
func (*System) Progress(string) {}

// RunID is always "test".
func (*System) RunID() string { return "test" }

// Fetched returns the digests of the blobs that were opened, in order.
func (s *System) Fetched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.fetched)
}

// Kept returns the paths that were backed up, in order.
func (s *System) Kept() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept)
}

// States returns the states of BackupState, in order: "kind name: key=value ...", or "kind
// name: none" for a resource that did not exist.
func (s *System) States() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.states)
}

// Lost returns the irreversible changes of MarkIrreversible, in order: "name: why".
func (s *System) Lost() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lost)
}

// Ran returns the commands that were run since the last call of Ran, each as
// one line.
func (s *System) Ran() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, argv := range s.ran {
		out = append(out, strings.Join(argv, " "))
	}
	s.ran = nil
	return out
}

// commands returns the number of programs that were run.
func (s *System) commands() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Write writes a file of the host, with its directories.
func (s *System) Write(t testing.TB, path, content string, mode os.FileMode) {
	t.Helper()
	p := s.Path(path)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p, mode); err != nil {
		t.Fatal(err)
	}
}

// Mkdir makes a directory on the host.
func (s *System) Mkdir(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(s.Path(path), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Read returns the content of a file of the host.
func (s *System) Read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(s.Path(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
