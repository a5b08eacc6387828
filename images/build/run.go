package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// packageOf maps a program that the builder runs to its Debian package.
func packageOf(program string) string {
	switch program {
	case "go":
		return "golang-go (1.26 or later; Debian's own may be older, see go.dev/dl)"
	case "dpkg-deb":
		return "dpkg"
	}
	return "apt"
}

// run runs a program in dir with env added, and returns its output. The error contains
// the program's standard error, or the Debian package to install when the program is
// missing. The whole process group ends with ctx: `go build` has child processes.
func run(ctx context.Context, dir string, env []string, program string, args ...string) ([]byte, error) {
	if _, err := exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("%s is not installed: install Debian package %s", program, packageOf(program))
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append([]string{"LC_ALL=C"}, env...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w%s", program, strings.Join(args, " "), err, lastLines(stderr.String()))
	}
	return stdout.Bytes(), nil
}

// stream runs a program with a large output, which consume reads as it arrives.
func stream(ctx context.Context, consume func(io.Reader) error, program string, args ...string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s is not installed: install Debian package %s", program, packageOf(program))
	}
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	consumed := consume(stdout)
	_, drained := io.Copy(io.Discard, stdout)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s %s: %w%s", program, strings.Join(args, " "), err, lastLines(stderr.String()))
	}
	return errors.Join(consumed, drained)
}

// lastLines returns the last lines of a compiler's messages.
func lastLines(text string) string {
	const keep = 20
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > keep {
		lines = lines[len(lines)-keep:]
	}
	if joined := strings.Join(lines, "\n  "); joined != "" {
		return "\n  " + joined
	}
	return ""
}

// keyOf returns one digest over all inputs; their lengths are part of it, so that they
// cannot run into each other.
func keyOf(inputs ...string) string {
	sum := sha256.New()
	for _, in := range inputs {
		fmt.Fprintf(sum, "%d:%s,", len(in), in)
	}
	return hex.EncodeToString(sum.Sum(nil))[:32]
}
