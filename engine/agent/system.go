package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/protocol"
	"deployer/engine/sanitize"
)

// system is the host as one step sees it; it implements engine.System.
type system struct {
	step *stepRun
	// runsPrograms is true for a module whose programs are the user's: they start in a home
	// directory. Programs of other modules start in the agent's directory.
	runsPrograms bool
}

var _ engine.System = (*system)(nil)

func (s *system) Path(p string) string { return s.step.server.path(p) }

// path maps a path of the host to one of this machine.
func (s *server) path(p string) string {
	if s.opts.Root == "" {
		return p
	}
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	// With a leading slash, Clean keeps ".." below the root.
	return s.opts.Root + strings.TrimSuffix(filepath.Clean(p), "/")
}

func (s *system) RunID() string { return s.step.run }

func (s *system) Run(ctx context.Context, cmd engine.Command) (engine.CommandResult, error) {
	cmd.User = s.step.step.User
	cmd.Env = append(slices.Clip(s.step.step.Env), cmd.Env...)
	if cmd.Dir == "" && s.runsPrograms {
		cmd.Dir = loginHome()
	}
	return s.step.server.opts.Command(ctx, cmd)
}

func (s *system) Chown(path string) error {
	name := s.step.step.User
	if name == "" {
		return nil
	}
	a, err := findAccount(context.Background(), name)
	if err != nil || int(a.uid) == os.Geteuid() {
		return err
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// maxProgress bounds one progress text in bytes.
const maxProgress = 1 << 10

func (s *system) Progress(text string) {
	s.step.startNotice.send()
	if s.step.step.Secret {
		return
	}
	text = sanitize.CutEnd(text, maxProgress)
	_ = s.step.server.conn.SendJSON(protocol.Progress, s.step.segment, protocol.StepMessage{Step: s.step.step.ID, Text: text})
}

func (s *system) Blob(ctx context.Context, digest string) (io.ReadCloser, error) {
	s.step.startNotice.send()
	return s.step.server.blob(ctx, digest)
}

func (s *system) Call(ctx context.Context, method string, in, out any) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("calling %s: %w", method, err)
	}
	answer, err := s.step.server.call(ctx, method, raw)
	if err != nil {
		return fmt.Errorf("calling %s: %w", method, err)
	}
	if out == nil || len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("calling %s: decoding the answer: %w", method, err)
	}
	return nil
}
