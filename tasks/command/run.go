package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// Run writes a script to a temporary file, runs it and removes it.
type Run struct {
	Name     string            `yaml:"name" rule:"line" required:"true" doc:"name of the script in output"`
	Content  string            `yaml:"content" rule:"text" doc:"the script"`
	Blob     string            `yaml:"blob" rule:"sha256" doc:"hex SHA-256 of the script, fetched from the controller; instead of content"`
	Program  []string          `yaml:"program" rule:"text" doc:"interpreter of the script; the path of the script and args are appended. Default: the script itself is executed"`
	Args     []string          `yaml:"args" rule:"text" doc:"arguments of the script"`
	Creates  string            `yaml:"creates" rule:"path" doc:"path or glob; the program does not run if it exists"`
	Removes  string            `yaml:"removes" rule:"path" doc:"path or glob; the program does not run if it does not exist"`
	Chdir    string            `yaml:"chdir" rule:"path" doc:"absolute path of the working directory; default: the home directory of the user of the SSH login, with become_user that user's"`
	Env      map[string]string `yaml:"env" rule:"text" keys:"environment" doc:"variables added to the agent's environment"`
	Stdin    string            `yaml:"stdin" rule:"text" doc:"standard input; default empty"`
	OKExits  []int             `yaml:"ok_exits" range:"0..255" doc:"exit codes that count as success; default 0"`
	OnResume string            `yaml:"on_resume" enum:"run,fail,skip" doc:"action after an interrupted attempt of this task (the host went down, the agent was killed, the run was stopped), when the same run continues or deployer resume continues it: run again, fail so that somebody can check the state of the host, or skip; default run"`

	ReadOnly bool `yaml:"read_only" doc:"the script only reads: it is run in a dry run too and never counts as a change. Default false"`
}

// displayed returns the name of the script in messages.
func (r *Run) displayed() []string { return append([]string{r.Name}, r.Args...) }

// Check evaluates creates and removes; it runs a script that only reads.
func (r *Run) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if (r.Content == "") == (r.Blob == "") {
		return engine.Change{}, errors.New("either content or blob is required")
	}
	effect := engine.Effect{Kind: engine.EffectCommand, Target: hostcmd.Quote(r.displayed()), Action: "run script"}
	return program{r.Creates, r.Removes, r.OnResume, r.ReadOnly, effect, r.run}.check(ctx, sys)
}

// Apply runs the script. The output has stdout and stderr after a failure too.
func (r *Run) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	return r.run(ctx, sys)
}

// run makes the script readable only for the user who runs it: it may hold secrets.
func (r *Run) run(ctx context.Context, sys engine.System) (engine.Output, error) {
	dir, err := os.MkdirTemp(sys.Path("/tmp"), "deployer-script-*")
	if err != nil {
		return nil, fmt.Errorf("creating a file for script %s: %w", r.Name, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, filepath.Base(r.Name))
	err = r.write(ctx, sys, path)
	if err := errors.Join(err, sys.Chown(path), sys.Chown(dir)); err != nil {
		return nil, fmt.Errorf("writing script %s: %w", r.Name, err)
	}
	cmd := engine.Command{Argv: slices.Concat(r.Program, []string{path}, r.Args), Dir: r.Chdir, Stdin: []byte(r.Stdin)}
	for _, key := range slices.Sorted(maps.Keys(r.Env)) {
		cmd.Env = append(cmd.Env, key+"="+r.Env[key])
	}
	for range busyTries {
		out, err := outcome(ctx, sys, cmd, r.displayed(), r.OKExits)
		if !errors.Is(err, syscall.ETXTBSY) {
			return out, err
		}
		time.Sleep(busyWait)
	}
	return outcome(ctx, sys, cmd, r.displayed(), r.OKExits)
}

// Executing a file fails with ETXTBSY while the new process of another step, which has
// inherited the open file, has not yet executed its own program.
const (
	busyTries = 20
	busyWait  = 10 * time.Millisecond
)

func (r *Run) write(ctx context.Context, sys engine.System, path string) error {
	content := io.NopCloser(strings.NewReader(r.Content))
	if r.Blob != "" {
		var err error
		if content, err = sys.Blob(ctx, r.Blob); err != nil {
			return err
		}
	}
	defer content.Close()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
