package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// maxOutput is the number of bytes kept of each output of a program: its end, which has the
// reason of a failure.
const maxOutput = 8 << 10

// killDelay is the time that a program has to end after SIGTERM.
const killDelay = 5 * time.Second

// run runs a program in a process group of its own and waits for its end, and then for the
// end of its output for killDelay at most. When ctx ends, the group gets SIGTERM, and
// SIGKILL after killDelay.
func run(ctx context.Context, argv, env []string, place string) (engine.Output, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stdout, stderr tail
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killDelay
	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // children that outlive the program
	}
	out := engine.Output{"stdout": stdout.String(), "stderr": stderr.String()}
	if err == nil || errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil { // a child of its may keep the output open
		return out, nil
	}
	failure := &engine.Failure{Message: fmt.Sprintf("%s%s: %v", hostcmd.Quote(argv), place, reason(ctx, err)), Detail: details(stdout.String(), stderr.String())}
	return nil, failure
}

// reason returns why a program has failed.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return fmt.Errorf("exit code %d", exit.ExitCode())
	}
	return err
}

// details joins the outputs of a program.
func details(stdout, stderr string) string {
	if stdout == "" || stderr == "" {
		return stdout + stderr
	}
	return stdout + "\n" + stderr
}

// tail keeps the last maxOutput bytes that are written to it.
type tail struct{ kept []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p[max(0, len(p)-maxOutput):]...)
	if extra := len(t.kept) - maxOutput; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(p), nil
}

// String returns the text that is kept, without a rune that was cut.
func (t *tail) String() string { return strings.ToValidUTF8(string(t.kept), "") }
