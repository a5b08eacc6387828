package host

import (
	"context"
	"errors"
	"fmt"
	"io"

	"deployer/engine"
	"deployer/engine/agent"
)

// System is this host for modules. Its methods are not safe for concurrent use.
type System struct {
	Name string       // of the host
	Root string       // before every path; empty except in tests
	Say  func(string) // reports what a module waits for
	// Methods answer what modules ask a controller, by the name of the method; a module that asks for
	// another one fails.
	Methods map[string]func(ctx context.Context, in, out any) error

	former []former
}

var _ engine.System = (*System)(nil)

// errAlone is the error of what only a controller can give.
var errAlone = errors.New("there is no controller")

// Path returns the path to open for a path of the host.
func (s *System) Path(p string) string { return s.Root + p }

// Blob fails: blobs are those of a controller.
func (s *System) Blob(context.Context, string) (io.ReadCloser, error) { return nil, errAlone }

// Call calls one of Methods.
func (s *System) Call(ctx context.Context, method string, in, out any) error {
	answer, ok := s.Methods[method]
	if !ok {
		return fmt.Errorf("%s: %w", method, errAlone)
	}
	return answer(ctx, in, out)
}

// Run runs a program on the host.
func (s *System) Run(ctx context.Context, cmd engine.Command) (engine.CommandResult, error) {
	return agent.RunCommand(ctx, cmd)
}

// Chown does nothing: the keeper is root, the owner of what it makes.
func (s *System) Chown(string) error { return nil }

// BackupRegenerated is Backup.
func (s *System) BackupRegenerated(path string) error { return s.Backup(path) }

// BackupState does nothing: only files are put back.
func (s *System) BackupState(string, string, engine.State) error { return nil }

// MarkIrreversible does nothing.
func (s *System) MarkIrreversible(string, string) error { return nil }

// Progress reports what a module waits for.
func (s *System) Progress(text string) { s.Say(text) }

// RunID returns a name for what the keeper does.
func (s *System) RunID() string { return "keeper-" + s.Name }
